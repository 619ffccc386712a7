"""Odoo as a backend of the gateway: the port, and the memory of what was written through it."""

from pathlib import Path

from mcp_gateway.actions.contacts import contacts_tools
from mcp_gateway.actions.crm import crm_tools
from mcp_gateway.actions.odoo.desk import Desk
from mcp_gateway.actions.odoo.previews import previewed
from mcp_gateway.actions.projects import projects_tools
from mcp_gateway.actions.timesheets import timesheets_tools
from mcp_gateway.ports.odoo import OdooPort
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.tools import Condition, Tool
from mcp_gateway.undo import Memory


class OdooBackend:
    """What stands behind the four Odoo toolsets."""

    def __init__(self, settings: OdooSettings, secrets: Secrets, state_dir: Path) -> None:
        """Raise ConfigurationError when the key cannot be read."""
        self.port = OdooPort(settings, secrets)
        self.memory = Memory(state_dir)
        self.desk = Desk(self.port, self.memory)

    async def open(self) -> None:
        """Get ready to answer."""
        await self.port.open()

    async def close(self) -> None:
        """Let go of every connection and of the file."""
        await self.port.close()
        self.memory.close()

    async def condition(self) -> Condition:
        """Whether Odoo lets us in now."""
        return await self.port.condition()

    def tools(self) -> list[Tool]:
        """The 23 tools."""
        desk = self.desk
        tools = [*projects_tools(desk), *contacts_tools(desk), *crm_tools(desk), *timesheets_tools(desk)]
        return previewed(desk, tools)
