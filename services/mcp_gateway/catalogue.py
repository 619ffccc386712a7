"""The sections that this release knows. Adding a backend means: one function and one entry here."""

from pathlib import Path

from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.prometheus import PrometheusSettings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue, Section
from mcp_gateway.settings.vault import VaultSettings
from mcp_gateway.tools import Backend, Tool

# The modules behind a section are imported when the section stands in the configuration: SSH and HTTP clients cost
# start-up time and memory.


def _vault(settings: VaultSettings, secrets: Secrets) -> tuple[Backend, list[Tool]]:
    from mcp_gateway.actions.vault import vault_tools
    from mcp_gateway.ports.vault import VaultPort

    port = VaultPort(settings, secrets)
    return port, vault_tools(port)


def _monitoring(settings: PrometheusSettings, secrets: Secrets) -> tuple[Backend, list[Tool]]:
    from mcp_gateway.actions.monitoring import monitoring_tools
    from mcp_gateway.ports.prometheus import PrometheusPort

    port = PrometheusPort(settings)
    return port, monitoring_tools(port)


def _odoo(settings: OdooSettings, secrets: Secrets, state_dir: Path) -> tuple[Backend, list[Tool]]:
    from mcp_gateway.actions.odoo.backend import OdooBackend

    backend = OdooBackend(settings, secrets, state_dir)
    return backend, backend.tools()


CATALOGUE: Catalogue = (
    Section(
        "odoo",
        OdooSettings,
        {
            "projects": (
                "odoo_list_projects",
                "odoo_create_project",
                "odoo_update_project",
                "odoo_archive_project",
                "odoo_list_task_stages",
                "odoo_move_task_stage",
                "odoo_list_tasks",
                "odoo_get_task",
                "odoo_create_task",
                "odoo_update_task",
            ),
            "contacts": ("odoo_search_contacts", "odoo_create_contact", "odoo_update_contact"),
            "crm": (
                "crm_list_stages",
                "crm_list_leads",
                "crm_create_lead",
                "crm_update_lead",
                "crm_move_stage",
                "crm_delete_lead",
            ),
            "timesheets": ("timesheet_report", "timesheet_log_hours", "timesheet_update", "timesheet_delete"),
        },
        _odoo,
        keeps_state=True,
    ),
    Section(
        "vault",
        VaultSettings,
        {"vault": ("vault_search", "vault_list", "vault_read", "vault_write")},
        _vault,
    ),
    Section(
        "prometheus",
        PrometheusSettings,
        {"monitoring": ("monitoring_alerts", "monitoring_query")},
        _monitoring,
    ),
)
