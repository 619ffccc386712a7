"""The timesheet tools: hours reported, logged, corrected and deleted."""

import time
from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks
from mcp_gateway.actions.odoo.days import today
from mcp_gateway.actions.odoo.desk import Desk, Target, changed, plain, target
from mcp_gateway.actions.odoo.hours import LINE, log_for, refuse_others
from mcp_gateway.actions.odoo.hours_report import report
from mcp_gateway.actions.odoo.projects import PROJECT_ID, made_since, project, refuse_archived
from mcp_gateway.actions.odoo.repeats import once
from mcp_gateway.actions.odoo.rows import label, linked
from mcp_gateway.actions.odoo.snapshots import LINE_FIELDS
from mcp_gateway.actions.odoo.task_lists import task
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

LINE_ID = "Id from timesheet_report"


class Report(Arguments):
    """Arguments of timesheet_report."""

    since: str = Field(description="First day, YYYY-MM-DD")
    until: str | None = Field(None, description="Last day, YYYY-MM-DD")
    project_id: int | None = Field(None, description="Only this project")


class LogHours(Arguments):
    """Arguments of timesheet_log_hours."""

    project_id: int = Field(description=PROJECT_ID)
    hours: float = Field(description="0.01 to 24; 1.5 is 1 h 30 min")
    description: str = Field(description="What was done")
    task_id: int | None = Field(None, description="A task of this project")
    date: str | None = Field(None, description="YYYY-MM-DD (today)")


class UpdateLine(Arguments):
    """Arguments of timesheet_update."""

    line_id: int = Field(description=LINE_ID)
    hours: float | None = Field(None, description="0.01 to 24")
    description: str | None = Field(None, description="What was done")
    date: str | None = Field(None, description="YYYY-MM-DD")


class DeleteLine(Arguments):
    """Arguments of timesheet_delete."""

    line_id: int = Field(description=LINE_ID)


def line(line_id: int) -> Target:
    """The line with this id. Raise Refusal when no line can have it."""
    return target(LINE, checks.record_id(line_id, "timesheet line"), "timesheet line")


def timesheets_tools(desk: Desk) -> list[Tool]:
    """The four tools of the toolset."""

    async def give_report(call: Call, given: Report) -> Mapping[str, object]:
        return await report(desk, call, given.since, given.until, given.project_id)

    async def log_hours(call: Call, given: LogHours) -> Mapping[str, object]:
        return await _log(desk, call, given)

    async def update(call: Call, given: UpdateLine) -> Mapping[str, object]:
        checks.something(hours=given.hours, description=given.description, date=given.date)
        values: dict[str, object] = {}
        if given.hours is not None:
            values["unit_amount"] = checks.hours(given.hours)
        if given.description is not None:
            values["name"] = checks.name(given.description, "description")
        if given.date is not None:
            values["date"] = checks.day(given.date, "date")
        one = line(given.line_id)
        async with desk.turns.of(one):
            row = await _own(desk, call, one)
            values = changed(row, values)
            written = await desk.write(call, one, row, values) if values else None
        after = {**row, **(written.row if written else {})}
        named = [{"unit_amount": "hours", "name": "description"}.get(field, field) for field in values]
        return {**_told(one.id, after), "changed": named, **(written.remarks if written else {})}

    async def delete(call: Call, given: DeleteLine) -> Mapping[str, object]:
        one = line(given.line_id)
        async with desk.turns.of(one):
            row = await _own(desk, call, one)
            snapshot = {field: plain(row[field]) for field in LINE_FIELDS if field != "id"}
            written = await desk.delete(call, one, snapshot)
        note = "Deleted. The operator can bring it back within 30 days: mcp-gateway undo."
        return {**_told(one.id, row), "note": note, **written.remarks}

    return [
        Tool(
            "timesheet_report",
            "timesheets",
            "List logged hours, newest first, and their exact sum.",
            Report,
            give_report,
        ),
        Tool(
            "timesheet_log_hours",
            "timesheets",
            "Log hours for your employee; the same call again within 2 minutes gives the first line.",
            LogHours,
            log_hours,
            writes=True,
        ),
        Tool("timesheet_update", "timesheets", "Correct a line of your employee.", UpdateLine, update, writes=True),
        Tool(
            "timesheet_delete",
            "timesheets",
            "Delete a line of your employee.",
            DeleteLine,
            delete,
            writes=True,
            sensitive=True,
        ),
    ]


async def _own(desk: Desk, call: Call, one: Target) -> Row:
    """The line of the caller's employee. Raise Refusal for others' lines and for what is no timesheet."""
    row = await desk.one(call, one, LINE_FIELDS)
    if not row["project_id"]:
        raise Refusal(Code.NOT_FOUND, f"{one.about} is a cost or revenue of accounting, not logged hours.")
    await refuse_others(desk, call, one, row)
    return row


async def _log(desk: Desk, call: Call, given: LogHours) -> Mapping[str, object]:
    one = project(given.project_id)
    zone = (await desk.port.session(call)).login.time_zone
    values: dict[str, object] = {
        "project_id": one.id,
        "unit_amount": checks.hours(given.hours),
        "name": checks.name(given.description, "description"),
        # Odoo's own default is the same day, but then a repeat after midnight could not be told from the first.
        "date": today(zone) if given.date is None else checks.day(given.date, "date"),
    }
    if given.task_id is not None:
        values["task_id"] = task(given.task_id).id
    if call.odoo_employee_id is not None:
        values["employee_id"] = call.odoo_employee_id

    async def find(moment: float) -> int | None:
        domain: list[object] = [(field, "=", value) for field, value in values.items() if field != "unit_amount"]
        return await made_since(desk, call, LINE, domain, moment)

    async def tell(made: int) -> dict[str, object]:
        return _told(made, await desk.one(call, line(made), LINE_FIELDS))

    async def work() -> dict[str, object]:
        await _may_log(desk, call, one, given.task_id)
        started = time.time()
        made, written = await log_for(desk, call, values, lambda: find(started))
        return {**_told(made, {**values, **written.row}), **written.remarks}

    return await once(desk, call, given, work, find, tell)


async def _may_log(desk: Desk, call: Call, one: Target, task_id: int | None) -> None:
    """Raise Refusal unless the project takes hours and the task is one of its own; Odoo checks neither."""
    row = await desk.one(call, one, ["name", "active", "allow_timesheets"])
    refuse_archived(row, one)
    if not row["allow_timesheets"]:
        raise checks.bad(f"{one.about} does not take timesheets; a colleague turns them on in its settings in Odoo.")
    if task_id is None:
        return
    its = linked((await desk.one(call, task(task_id), ["project_id"]))["project_id"])
    if its != one.id:
        belongs = f"project {its}" if its else "no project"
        raise checks.bad(f"task {task_id} belongs to {belongs}, not to project {one.id}; name a task of the project.")


def _told(made: int, row: Row) -> dict[str, object]:
    return {
        "id": made,
        "name": row["name"],
        "date": row["date"],
        "hours": row["unit_amount"],
        "project": label(row["project_id"]),
        "task": label(row.get("task_id")),
        "employee": label(row.get("employee_id")),
    }
