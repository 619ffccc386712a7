"""Names that the design knows and this release does not have: refused as such, so that nobody believes they work.

Whoever adds one of these parts takes its line out here and adds a section to `mcp_gateway/catalogue.py`.
"""

from collections.abc import Mapping

# Top-level sections, and keys of a channel and of a channel's `tools`.
SECTIONS = frozenset({"docker", "odoo", "content", "approvals"})
CHANNEL_KEYS = frozenset({"upstream"})
FILTER_KEYS = frozenset({"arguments"})

TOOLSETS: Mapping[str, tuple[str, ...]] = {
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
    "docker": ("docker_read", "docker_manage"),
    "content": ("content_generate",),
}
TOOLS = frozenset(name for names in TOOLSETS.values() for name in names)
