"""The CRM tools: stages and opportunities."""

from mcp_gateway.actions.odoo.desk import Desk
from mcp_gateway.actions.odoo.lead_lists import list_tools
from mcp_gateway.actions.odoo.leads import lead_tools
from mcp_gateway.tools import Tool


def crm_tools(desk: Desk) -> list[Tool]:
    """The six tools of the toolset."""
    return [*list_tools(desk), *lead_tools(desk)]
