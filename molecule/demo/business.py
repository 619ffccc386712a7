"""The agent at work in Odoo: every one of its tools, on a test double of Odoo that runs on the demo's host.

Each run makes records of its own, named by the time, and takes away what can be taken away.
"""

import json
import time
from typing import Any

from demo import place
from demo.calling import Agent, words
from demo.words import chapter, expect, tell
from mcp_gateway.catalogue import CATALOGUE

# Begun with the double, and never changed by the demo but for tasks and hours that it adds.
PROJECT = "Website relaunch"
GATEWAY = "/opt/talaria/current/bin/mcp-gateway"
CREDENTIALS = "/etc/talaria/credentials/mcp_gateway"


class Worker:
    """Calls a tool, says in one line what came of it, and remembers which tools it has used."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.used: set[str] = set()

    async def does(self, tool: str, text: str, **arguments: Any) -> dict[str, Any]:
        """The answer, which must be a success; `text` may name members of it."""
        answer = await self._agent.call(tool, **arguments)
        expect(answer.get("success") is True, f"{tool}: {text.format_map(answer)}", answer)
        self.used.add(tool)
        return answer

    async def is_refused(self, tool: str, code: str, text: str, **arguments: Any) -> None:
        """Show that the call is answered with this code."""
        answer = await self._agent.call(tool, **arguments)
        expect(answer.get("error") == code, f"{tool}, {text}: {words(answer)}", answer)


async def show(agent: Agent) -> None:
    """Show all tools of Odoo. Raise DemoError when one does not do what it says."""
    chapter("The agent in Odoo (a test double that answers like Odoo 19; not Odoo itself)")
    worker, stamp = Worker(agent), time.strftime("%H:%M:%S")
    project_id = await show_projects(worker, stamp)
    task_id = await show_tasks(worker, stamp, project_id)
    await show_contacts(worker, stamp)
    await show_hours(worker, stamp, project_id, task_id)
    await show_leads(worker, stamp)
    odoo = next(section for section in CATALOGUE if section.name == "odoo")
    tools = {tool for names in odoo.toolsets.values() for tool in names}
    expect(worker.used == tools, f"all {len(tools)} tools of Odoo have answered", tools - worker.used)


async def show_projects(worker: Worker, stamp: str) -> int:
    """A project made, renamed and archived. Returns the id of the one to work in."""
    made = await worker.does("odoo_create_project", "project {id}, {name}", name=f"Demo {stamp}")
    await worker.does("odoo_update_project", "now {name}", project_id=made["id"], name=f"Demo {stamp}, renamed")
    await worker.does("odoo_archive_project", "project {id} is archived, nothing deleted", project_id=made["id"])
    late = {"project_id": made["id"], "name": "Too late"}
    await worker.is_refused("odoo_create_task", "__BAD_ARGUMENT__", "in an archived project", **late)
    listed = await worker.does("odoo_list_projects", "{total} projects that are not archived")
    return next(int(one["id"]) for one in listed["projects"] if one["name"] == PROJECT)


async def show_tasks(worker: Worker, stamp: str, project_id: int) -> int:
    """A task from its making to its last stage. Returns its id."""
    stages = (await worker.does("odoo_list_task_stages", "{total} stages", project_id=project_id))["stages"]
    given = {"project_id": project_id, "name": f"Call the printer, {stamp}", "deadline": "2030-03-01"}
    made = await worker.does("odoo_create_task", "task {id} for {deadline}, receipt {receipt}", **given)
    await worker.does("odoo_create_task", "sent a second time, it is still task {id} (repeated: {repeated})", **given)
    moved = {"task_id": made["id"], "stage_id": stages[-1]["id"]}
    await worker.does("odoo_update_task", "changed {changed[0]}", task_id=made["id"], description="Ask for matt paper")
    await worker.does("odoo_move_task_stage", "from {from_stage} to {stage}", **moved)
    await worker.does("odoo_list_tasks", "{total} tasks", project_id=project_id)
    read = await worker.does("odoo_get_task", "read back", task_id=made["id"])
    tell(f"  {read['task']['name']}: {read['task']['stage']}, {read['task']['description']}")
    return int(made["id"])


async def show_contacts(worker: Worker, stamp: str) -> None:
    """A contact made, changed and found without its accents."""
    made = await worker.does("odoo_create_contact", "contact {id}, {name}", name=f"Zoé Demo {stamp}", country="BE")
    await worker.does("odoo_update_contact", "changed {changed[0]}", contact_id=made["id"], email="zoe@demo.example")
    await worker.does("odoo_search_contacts", '{total} found by "zoe demo"', name="zoe demo")


async def show_hours(worker: Worker, stamp: str, project_id: int, task_id: int) -> None:
    """Hours logged, corrected, added up and deleted."""
    given = {"project_id": project_id, "task_id": task_id, "description": f"Telephone, {stamp}"}
    line = await worker.does("timesheet_log_hours", "{hours} h on {date}, line {id}", hours=1.1, **given)
    await worker.is_refused("timesheet_log_hours", "__BAD_ARGUMENT__", "25 hours", hours=25, **given)
    await worker.does("timesheet_update", "corrected to {hours} h", line_id=line["id"], hours=2.2)
    await worker.does("timesheet_report", "{total} lines, {total_hours} h in all", since=line["date"])
    await worker.does("timesheet_delete", "line {id} is deleted", line_id=line["id"])


async def show_leads(worker: Worker, stamp: str) -> None:
    """A lead through the pipeline, deleted, and brought back by the operator."""
    stages = (await worker.does("crm_list_stages", "{total} stages"))["stages"]
    made = await worker.does("crm_create_lead", "lead {id}, {name}", name=f"Sandals {stamp}", expected_revenue=1200)
    await worker.does("crm_update_lead", "changed {changed[0]}", lead_id=made["id"], contact_name="Hermes")
    await worker.does("crm_move_stage", "lead {id} is moved", lead_id=made["id"], stage_id=stages[1]["id"])
    await worker.does("crm_list_leads", '{total} found by "sandals"', query=f"sandals {stamp}")
    gone = await worker.does("crm_delete_lead", "lead {id} is deleted, receipt {receipt}", lead_id=made["id"])
    undone = undo(gone["receipt"])
    expect(undone.get("success") is True, f"the operator's mcp-gateway undo: {undone.get('note', undone)}", undone)


def undo(receipt: str) -> dict[str, Any]:
    """What the operator's command on the host answers."""
    command = ("sudo", "env", f"CREDENTIALS_DIRECTORY={CREDENTIALS}", GATEWAY, "undo", receipt)
    answer: dict[str, Any] = json.loads(place.on_host(*command, "--config", "/etc/talaria/mcp_gateway.yml"))
    return answer
