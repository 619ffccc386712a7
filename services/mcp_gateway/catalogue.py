"""The sections that this release knows. Adding a backend means: one function and one entry here."""

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


CATALOGUE: Catalogue = (
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
