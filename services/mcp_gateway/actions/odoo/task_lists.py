"""Tasks, listed and read."""

from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks, people
from mcp_gateway.actions.odoo.days import day_of
from mcp_gateway.actions.odoo.desk import Desk, Target, target
from mcp_gateway.actions.odoo.projects import LIMIT, PROJECT_ID, STAGE, TASK, project
from mcp_gateway.actions.odoo.rows import label, listed
from mcp_gateway.actions.odoo.task_view import DETAILS, detail
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

TASK_ID = "Id from odoo_list_tasks"


class ListTasks(Arguments):
    """Arguments of odoo_list_tasks."""

    project_id: int = Field(description=PROJECT_ID)
    stage_id: int | None = Field(None, description="Only this stage")
    limit: int | None = Field(None, description=LIMIT)


class GetTask(Arguments):
    """Arguments of odoo_get_task."""

    task_id: int = Field(description=TASK_ID)


def task(task_id: int) -> Target:
    """The task with this id. Raise Refusal when no task can have it."""
    return target(TASK, checks.record_id(task_id, "task"), "task")


def task_list_tools(desk: Desk) -> list[Tool]:
    """The two tools that only read."""

    async def list_tasks(call: Call, given: ListTasks) -> Mapping[str, object]:
        return await _list(desk, call, given)

    async def get_task(call: Call, given: GetTask) -> Mapping[str, object]:
        row = await desk.one(call, task(given.task_id), DETAILS)
        session = await desk.port.session(call)
        users = await people.names(desk.port, call, people.ids(row, "user_ids"))
        return {"task": detail(row, users, session.login.time_zone)}

    return [
        Tool("odoo_list_tasks", "projects", "List the tasks of a project.", ListTasks, list_tasks),
        Tool("odoo_get_task", "projects", "Read one task with its description.", GetTask, get_task),
    ]


async def _list(desk: Desk, call: Call, given: ListTasks) -> Mapping[str, object]:
    limit, note = checks.limit(given.limit)
    one = project(given.project_id)
    domain: list[object] = [("project_id", "=", one.id)]
    if given.stage_id is not None:
        domain.append(("stage_id", "=", checks.record_id(given.stage_id, "task stage")))
    fields = ["name", "stage_id", "date_deadline", "user_ids"]
    order = "priority desc, sequence, id"
    rows = await desk.port.search_read(call, TASK, domain, fields, limit=limit, order=order)
    notes = [note]
    if not rows:
        notes.append(await _why_none(desk, call, one, given.stage_id))
    total = len(rows) if len(rows) < limit else await desk.port.count(call, TASK, domain)
    users = await people.names(desk.port, call, [user for row in rows for user in people.ids(row, "user_ids")])
    zone = (await desk.port.session(call)).login.time_zone

    def shape(row: Row) -> dict[str, object]:
        return {
            "id": row["id"],
            "name": row["name"],
            "stage": label(row["stage_id"]),
            "deadline": day_of(row["date_deadline"], zone),
            "assignees": [users.get(user, f"user {user}") for user in people.ids(row, "user_ids")],
        }

    return listed("tasks", rows, shape, total, notes)


async def _why_none(desk: Desk, call: Call, one: Target, stage_id: int | None) -> str:
    """An empty list means that there are none, not that the project or stage is wrong. Raise Refusal otherwise."""
    row = await desk.one(call, one, ["active"])
    if stage_id is not None:
        await stage_of(desk, call, stage_id, one.id)
    return "" if row["active"] else f"{one.about} is archived, and its tasks with it."


async def stage_of(desk: Desk, call: Call, stage_id: int, project_id: int) -> Row:
    """The stage. Raise Refusal unless it belongs to this project; Odoo itself would take any."""
    stage = await desk.one(call, target(STAGE, stage_id, "task stage"), ["name", "project_ids"])
    if project_id not in people.ids(stage, "project_ids"):
        raise Refusal(
            Code.BAD_ARGUMENT,
            f"task stage {stage_id} does not belong to project {project_id}; odoo_list_task_stages lists those that "
            "do.",
        )
    return stage
