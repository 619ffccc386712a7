"""Tasks: made, changed and moved."""

import time
from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks
from mcp_gateway.actions.odoo.days import day_of, end_of_day
from mcp_gateway.actions.odoo.desk import Desk, Target, changed
from mcp_gateway.actions.odoo.projects import (
    PROJECT_ID,
    TASK,
    TEXT,
    archived,
    made_since,
    project,
    refuse_archived,
)
from mcp_gateway.actions.odoo.repeats import once
from mcp_gateway.actions.odoo.rows import label, linked
from mcp_gateway.actions.odoo.task_lists import TASK_ID, stage_of, task
from mcp_gateway.actions.odoo.texts import to_html
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

WRITTEN = ("id", "name", "active", "description", "date_deadline", "stage_id", "project_id", "user_ids")
STAGE_ID = "Id from odoo_list_task_stages"
DEADLINE = "YYYY-MM-DD, 18:00 for the Odoo user"


class CreateTask(Arguments):
    """Arguments of odoo_create_task."""

    project_id: int = Field(description=PROJECT_ID)
    name: str = Field(description="Title, up to 250 characters")
    description: str | None = Field(None, description=TEXT)
    deadline: str | None = Field(None, description=DEADLINE)
    stage_id: int | None = Field(None, description=STAGE_ID)


class UpdateTask(Arguments):
    """Arguments of odoo_update_task."""

    task_id: int = Field(description=TASK_ID)
    name: str | None = Field(None, description="New title")
    description: str | None = Field(None, description='New text; "" clears')
    deadline: str | None = Field(None, description='YYYY-MM-DD; "" clears')


class MoveTask(Arguments):
    """Arguments of odoo_move_task_stage."""

    task_id: int = Field(description=TASK_ID)
    stage_id: int = Field(description=STAGE_ID)


def task_tools(desk: Desk) -> list[Tool]:
    """The three tools that write."""

    async def create_task(call: Call, given: CreateTask) -> Mapping[str, object]:
        return await _create(desk, call, given)

    async def update_task(call: Call, given: UpdateTask) -> Mapping[str, object]:
        checks.something(name=given.name, description=given.description, deadline=given.deadline)
        one = task(given.task_id)
        values = _texts(given.name, given.description)
        deadline = given.deadline and checks.day(given.deadline, "deadline")
        async with desk.turns.of(one):
            row = await desk.one(call, one, WRITTEN)
            zone = (await desk.port.session(call)).login.time_zone
            if deadline is not None and (day_of(row["date_deadline"], zone) or "") != deadline:
                values["date_deadline"] = end_of_day(deadline, zone) if deadline else False
            values = changed(row, values)
            if not values:
                return {"id": one.id, "name": row["name"], "changed": [], **archived(row)}
            written = await desk.write(call, one, row, values)
        after = {**row, **written.row}
        named = ["deadline" if field == "date_deadline" else field for field in values]
        answer = {"id": one.id, "name": after["name"], "changed": named}
        if "deadline" in named:
            answer["deadline"] = day_of(after["date_deadline"], zone)
        return {**answer, **archived(row), **written.remarks}

    async def move_task(call: Call, given: MoveTask) -> Mapping[str, object]:
        one, stage_id = task(given.task_id), checks.record_id(given.stage_id, "task stage")
        async with desk.turns.of(one):
            return await _move(desk, call, one, stage_id)

    return [
        Tool(
            "odoo_move_task_stage",
            "projects",
            "Move a task to another stage of its project.",
            MoveTask,
            move_task,
            writes=True,
        ),
        Tool(
            "odoo_create_task",
            "projects",
            "Make a task; the same call again within 2 minutes gives the first one.",
            CreateTask,
            create_task,
            writes=True,
        ),
        Tool(
            "odoo_update_task",
            "projects",
            "Change a task's title, description or deadline.",
            UpdateTask,
            update_task,
            writes=True,
        ),
    ]


def _texts(name: str | None, description: str | None) -> dict[str, object]:
    values: dict[str, object] = {}
    if name is not None:
        values["name"] = checks.name(name)
    if description is not None:
        values["description"] = to_html(checks.text(description, "description"))
    return values


async def _create(desk: Desk, call: Call, given: CreateTask) -> Mapping[str, object]:
    one = project(given.project_id)
    values: dict[str, object] = {"project_id": one.id, **_texts(given.name, given.description or None)}
    deadline = given.deadline and checks.day(given.deadline, "deadline")
    if given.stage_id is not None:
        values["stage_id"] = checks.record_id(given.stage_id, "task stage")
    zone = (await desk.port.session(call)).login.time_zone
    if deadline:
        values["date_deadline"] = end_of_day(deadline, zone)

    async def find(moment: float) -> int | None:
        domain: list[object] = [("name", "=", values["name"]), ("project_id", "=", one.id)]
        return await made_since(desk, call, TASK, domain, moment)

    def told(made: int, row: Row) -> dict[str, object]:
        return {
            "id": made,
            "name": row.get("name", values["name"]),
            "project_id": one.id,
            "stage": label(row.get("stage_id")),
            "deadline": day_of(row.get("date_deadline", values.get("date_deadline")), zone),
        }

    async def tell(made: int) -> dict[str, object]:
        return told(made, await desk.one(call, task(made), WRITTEN))

    async def work() -> dict[str, object]:
        refuse_archived(await desk.one(call, one, ["active"]), one)
        if given.stage_id is not None:
            await stage_of(desk, call, given.stage_id, one.id)
        started = time.time()
        made, written = await desk.create(call, TASK, "a task", values, WRITTEN, lambda: find(started))
        return {**told(made, written.row), **written.remarks}

    return await once(desk, call, given, work, find, tell)


async def _move(desk: Desk, call: Call, one: Target, stage_id: int) -> Mapping[str, object]:
    row = await desk.one(call, one, [*WRITTEN, "state"])
    project_id = linked(row["project_id"])
    if project_id is None:
        raise checks.bad(f"{one.about} belongs to no project, so it has no stages to move through.")
    stage = await stage_of(desk, call, stage_id, project_id)
    answer = {"id": one.id, "name": row["name"], "stage_id": stage_id, "stage": stage["name"], **archived(row)}
    if linked(row["stage_id"]) == stage_id:
        return {**answer, "changed": []}
    written = await desk.write(call, one, row, {"stage_id": stage_id}, also=["state"])
    now = written.row.get("stage_id", [stage_id])
    if linked(now) != stage_id:
        raise Refusal(
            Code.CONFLICT,
            f"{one.about} was moved to {stage['name']!r}, and somebody else moved it on at the same moment: it now "
            f"stands in {label(now)!r}. Read it again before you move it.",
            {"id": one.id, "stage": label(now)},
        )
    return {**answer, "from_stage": label(row["stage_id"]), "changed": ["stage"], **written.remarks}
