"""The projects tools: projects, the stages of their tasks, and the tasks."""

from mcp_gateway.actions.odoo.desk import Desk
from mcp_gateway.actions.odoo.projects import project_tools
from mcp_gateway.actions.odoo.task_lists import task_list_tools
from mcp_gateway.actions.odoo.tasks import task_tools
from mcp_gateway.tools import Tool


def projects_tools(desk: Desk) -> list[Tool]:
    """The ten tools of the toolset."""
    return [*project_tools(desk), *task_list_tools(desk), *task_tools(desk)]
