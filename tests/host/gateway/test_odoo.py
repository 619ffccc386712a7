"""What an agent gets from Odoo through the deployed tools, and what it never gets."""

import re
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://gateway_hosts"]
pytestmark = pytest.mark.anyio
MODES = ("legacy", "2026-07-28")
TOOLS = 23
# What changes nothing; on a live host nothing else is called.
READS: dict[str, dict[str, Any]] = {
    "odoo_list_projects": {"limit": 1},
    "odoo_search_contacts": {"name": "a", "limit": 1},
    "crm_list_stages": {},
    "timesheet_report": {"since": "2099-12-31"},
}
KEY = "/etc/talaria/credentials/mcp_gateway/odoo.key"

Answer = Callable[[Any], dict[str, Any]]


def odoo_tools(names: set[str]) -> set[str]:
    return {name for name in names if re.match("odoo_|crm_|timesheet_", name)}


async def test_the_tools_of_odoo_are_there_and_answer_exactly_when_there_is_an_odoo(
    gateway: Any, answer: Answer, variables: dict[str, Any]
) -> None:
    """A tool that is offered must work, and without an Odoo none may be offered."""
    async with gateway.agent() as agent:
        offered = odoo_tools({tool.name for tool in (await agent.list_tools()).tools})
        answers = [answer(await agent.call_tool(name, READS[name])) for name in sorted(offered & set(READS))]
    assert all(found["success"] for found in answers), answers
    if not variables.get("mcp_gateway_odoo_url"):
        assert offered == set()


def test_the_key_is_a_file_of_root_exactly_when_there_is_an_odoo(root: Host, variables: dict[str, Any]) -> None:
    """Whoever has the key is the agent in Odoo; one that is no longer needed must not lie about."""
    file = root.file(KEY)
    assert file.exists == bool(variables.get("mcp_gateway_odoo_url"))
    if file.exists:
        assert (file.user, file.group, file.mode) == ("root", "root", 0o600)
        assert root.run(f"runuser -u mcp_gateway -- cat {KEY}").rc != 0


@pytest.mark.laboratory
@pytest.mark.parametrize("mode", MODES)
async def test_a_task_is_made_moved_and_read_back(gateway: Any, answer: Answer, mode: str) -> None:
    """The everyday job, in both eras of the protocol: what was written is what is read."""
    title = f"Проверка {secrets.token_hex(4)}"
    async with gateway.agent(mode=mode) as agent:
        listed = answer(await agent.call_tool("odoo_list_projects", {}))
        project = next(one["id"] for one in listed["projects"] if one["name"] == "Website relaunch")
        stages = answer(await agent.call_tool("odoo_list_task_stages", {"project_id": project}))["stages"]
        given = {"project_id": project, "name": title, "description": "a < b", "deadline": "2031-02-28"}
        made = answer(await agent.call_tool("odoo_create_task", given))
        again = answer(await agent.call_tool("odoo_create_task", given))
        moved = answer(
            await agent.call_tool("odoo_move_task_stage", {"task_id": made["id"], "stage_id": stages[-1]["id"]})
        )
        read = answer(await agent.call_tool("odoo_get_task", {"task_id": made["id"]}))["task"]
    assert made["receipt"].startswith("r-")
    assert (again["id"], again["repeated"]) == (made["id"], True)
    assert moved["success"]
    assert (read["name"], read["description"], read["deadline"]) == (title, "a < b", "2031-02-28")
    assert read["stage"] == stages[-1]["name"]


@pytest.mark.laboratory
async def test_what_odoo_would_take_but_nobody_wants_is_refused(gateway: Any, answer: Answer) -> None:
    """Odoo itself logs 25 hours a day and takes an id of nothing for success."""
    async with gateway.agent() as agent:
        project = answer(await agent.call_tool("odoo_list_projects", {}))["projects"][0]["id"]
        hours = {"project_id": project, "hours": 25, "description": "x"}
        too_many = answer(await agent.call_tool("timesheet_log_hours", hours))
        nobody = answer(await agent.call_tool("odoo_update_contact", {"contact_id": 999_999, "name": "x"}))
        hidden = answer(await agent.call_tool("crm_delete_lead", {"lead_id": 1}))
    assert too_many["error"] == "__BAD_ARGUMENT__"
    assert nobody["error"] == "__NOT_FOUND__"
    assert hidden["error"] == "__NOT_FOUND__", "the policy never lets it run, so it is as if nobody had it"


@pytest.mark.laboratory
async def test_all_tools_but_the_one_that_the_policy_hides_are_offered(gateway: Any) -> None:
    """Four toolsets in one channel: nothing is lost between them, and the hidden one stays hidden."""
    async with gateway.agent() as agent:
        offered = odoo_tools({tool.name for tool in (await agent.list_tools()).tools})
    assert len(offered) == TOOLS - 1
    assert "crm_delete_lead" not in offered


@pytest.mark.laboratory
async def test_a_deleted_line_is_brought_back_by_its_receipt(gateway: Any, answer: Answer, root: Host) -> None:
    """The operator's way back from an agent's mistake works on the host, beside the running service."""
    words = f"verify {secrets.token_hex(4)}"
    async with gateway.agent() as agent:
        projects = answer(await agent.call_tool("odoo_list_projects", {}))["projects"]
        project = next(one["id"] for one in projects if one["name"] == "Website relaunch")
        line = answer(
            await agent.call_tool("timesheet_log_hours", {"project_id": project, "hours": 0.5, "description": words})
        )
        gone = answer(await agent.call_tool("timesheet_delete", {"line_id": line["id"]}))
        root.check_output(
            "env CREDENTIALS_DIRECTORY=/etc/talaria/credentials/mcp_gateway /opt/talaria/current/bin/mcp-gateway"
            f" undo {gone['receipt']} --config /etc/talaria/mcp_gateway.yml"
        )
        report = answer(await agent.call_tool("timesheet_report", {"since": line["date"], "project_id": project}))
        (back,) = [one for one in report["lines"] if one["description"] == words]
        assert answer(await agent.call_tool("timesheet_delete", {"line_id": back["id"]}))["success"]
    assert back["hours"] == 0.5
