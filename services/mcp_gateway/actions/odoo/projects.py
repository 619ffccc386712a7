"""Projects and the stages of their tasks."""

import time
from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks
from mcp_gateway.actions.odoo.desk import Desk, Target, changed, target
from mcp_gateway.actions.odoo.repeats import once, since
from mcp_gateway.actions.odoo.rows import listed
from mcp_gateway.actions.odoo.texts import to_html
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

MODEL, STAGE, TASK = "project.project", "project.task.type", "project.task"
FIELDS = ("id", "name", "active", "description")
# What undo of an archived project has to know of its tasks; beyond this it restores the project alone.
MAX_TASKS_KEPT = 5_000

PROJECT_ID = "Id from odoo_list_projects"
LIMIT = "At most 200 (50)"
TEXT = "Plain text"


class ListProjects(Arguments):
    """Arguments of odoo_list_projects."""

    include_archived: bool | None = Field(None, description="Also archived ones (false)")
    limit: int | None = Field(None, description=LIMIT)


class CreateProject(Arguments):
    """Arguments of odoo_create_project."""

    name: str = Field(description="Name, up to 250 characters")
    description: str | None = Field(None, description=TEXT)


class UpdateProject(Arguments):
    """Arguments of odoo_update_project."""

    project_id: int = Field(description=PROJECT_ID)
    name: str | None = Field(None, description="New name")
    description: str | None = Field(None, description='New text; "" clears')


class ArchiveProject(Arguments):
    """Arguments of odoo_archive_project."""

    project_id: int = Field(description=PROJECT_ID)
    archived: bool | None = Field(None, description="false brings it back (true)")


class ListStages(Arguments):
    """Arguments of odoo_list_task_stages."""

    project_id: int = Field(description=PROJECT_ID)


def project(project_id: int) -> Target:
    """The project with this id. Raise Refusal when no project can have it."""
    return target(MODEL, checks.record_id(project_id, "project"), "project")


def project_tools(desk: Desk) -> list[Tool]:
    """The five tools about projects themselves."""

    async def list_projects(call: Call, given: ListProjects) -> Mapping[str, object]:
        limit, note = checks.limit(given.limit)
        archived = bool(given.include_archived)
        rows = await desk.port.search_read(
            call, MODEL, [], ["name", "active"], limit=limit, order="name, id", archived=archived
        )
        total = len(rows) if len(rows) < limit else await desk.port.count(call, MODEL, [], archived=archived)
        return listed("projects", rows, _project, total, [note])

    async def create_project(call: Call, given: CreateProject) -> Mapping[str, object]:
        values: dict[str, object] = {"name": checks.name(given.name)}
        if given.description is not None:
            values["description"] = to_html(checks.text(given.description, "description"))
        return await _create(desk, call, given, values)

    async def update_project(call: Call, given: UpdateProject) -> Mapping[str, object]:
        checks.something(name=given.name, description=given.description)
        values: dict[str, object] = {}
        if given.name is not None:
            values["name"] = checks.name(given.name)
        if given.description is not None:
            values["description"] = to_html(checks.text(given.description, "description"))
        one = project(given.project_id)
        async with desk.turns.of(one):
            row = await desk.one(call, one, FIELDS)
            return await _update(desk, call, one, row, changed(row, values))

    async def archive_project(call: Call, given: ArchiveProject) -> Mapping[str, object]:
        one = project(given.project_id)
        async with desk.turns.of(one):
            return await _archive(desk, call, one, given.archived is not False)

    async def list_stages(call: Call, given: ListStages) -> Mapping[str, object]:
        one = project(given.project_id)
        domain = [("project_ids", "in", [one.id])]
        fields = ["name", "sequence", "fold"]
        rows = await desk.port.search_read(call, STAGE, domain, fields, limit=checks.MAX_LIMIT, order="sequence, id")
        notes = []
        if not rows:
            await desk.one(call, one, ["name"])
            notes.append("This project has no stages; a colleague adds them in Odoo.")
        return listed("stages", rows, _stage, len(rows), notes)

    return [
        Tool("odoo_list_projects", "projects", "List projects with their ids.", ListProjects, list_projects),
        Tool(
            "odoo_create_project",
            "projects",
            "Make a project. It has no task stages until a colleague adds some.",
            CreateProject,
            create_project,
            writes=True,
        ),
        Tool(
            "odoo_update_project",
            "projects",
            "Change a project's name or description.",
            UpdateProject,
            update_project,
            writes=True,
        ),
        Tool(
            "odoo_archive_project",
            "projects",
            "Archive a project with all its tasks, or bring it back. Nothing is deleted.",
            ArchiveProject,
            archive_project,
            writes=True,
        ),
        Tool("odoo_list_task_stages", "projects", "List the task stages of a project.", ListStages, list_stages),
    ]


async def _create(desk: Desk, call: Call, given: Arguments, values: dict[str, object]) -> Mapping[str, object]:
    about = "a project"

    async def find(moment: float) -> int | None:
        return await made_since(desk, call, MODEL, [("name", "=", values["name"])], moment)

    async def tell(made: int) -> dict[str, object]:
        row = await desk.one(call, target(MODEL, made, "project"), FIELDS)
        return {"id": made, "name": row["name"], "stages": 0, "note": NO_STAGES}

    async def work() -> dict[str, object]:
        started = time.time()
        made, written = await desk.create(call, MODEL, about, values, FIELDS, lambda: find(started))
        stored = written.row.get("name", values["name"])
        return {"id": made, "name": stored, "stages": 0, "note": NO_STAGES, **written.remarks}

    return await once(desk, call, given, work, find, tell)


NO_STAGES = "It has no task stages; its tasks have none until a colleague adds stages in Odoo."


async def made_since(desk: Desk, call: Call, model: str, domain: list[object], moment: float) -> int | None:
    """The newest record of our own making since a moment that fits; to learn what became of a lost answer."""
    session = await desk.port.session(call)
    ours = [*domain, ("create_uid", "=", session.login.uid), ("create_date", ">=", since(moment))]
    rows = await desk.port.search_read(call, model, ours, ["id"], limit=1, order="id desc", archived=True)
    return int(rows[0]["id"]) if rows else None


async def _update(desk: Desk, call: Call, one: Target, row: Row, values: dict[str, object]) -> Mapping[str, object]:
    if not values:
        return {"id": one.id, "name": row["name"], "changed": [], **archived(row)}
    written = await desk.write(call, one, row, values)
    after = {**row, **written.row}
    return {"id": one.id, "name": after["name"], "changed": list(values), **archived(row), **written.remarks}


def archived(row: Row) -> dict[str, object]:
    """Says so of an archived record, and nothing otherwise."""
    return {} if row.get("active", True) else {"archived": True}


async def _archive(desk: Desk, call: Call, one: Target, away: bool) -> Mapping[str, object]:
    row = await desk.one(call, one, FIELDS)
    if bool(row["active"]) is not away:
        return {"id": one.id, "name": row["name"], "archived": away, "changed": [], "tasks": 0}
    domain = [("project_id", "=", one.id)]
    tasks = await desk.port.search_read(
        call, TASK, domain, ["active"], limit=MAX_TASKS_KEPT + 1, order="id", archived=True
    )
    moving = [task["id"] for task in tasks if task["active"] is away]
    staying = [task["id"] for task in tasks if task["active"] is not away]
    # Odoo moves all tasks along, also back: those that stood otherwise before must be known to undo it.
    kept = {"tasks": {"moved": moving, "stood": staying}} if len(tasks) <= MAX_TASKS_KEPT else {}
    count = len(moving) if kept else await _count(desk, call, one.id, away)
    written = await desk.write(call, one, row, {"active": not away}, extra=kept)
    answer: dict[str, object] = {"id": one.id, "name": row["name"], "archived": away, "changed": ["archived"]}
    return {**answer, "tasks": count, "note": _moved(count, away), **written.remarks}


async def _count(desk: Desk, call: Call, project_id: int, away: bool) -> int:
    domain = [("project_id", "=", project_id), ("active", "=", away)]
    return await desk.port.count(call, TASK, domain, archived=True)


def _moved(count: int, away: bool) -> str:
    tasks = f"{count} task{'' if count == 1 else 's'}"
    if away:
        return f"{tasks} went into the archive with it."
    return f"{tasks} came back with it, also those that were archived by hand before."


def _project(row: Row) -> dict[str, object]:
    return {"id": row["id"], "name": row["name"] or "", "archived": not row["active"]}


def _stage(row: Row) -> dict[str, object]:
    return {"id": row["id"], "name": row["name"], "sequence": row["sequence"], "folded": row["fold"]}


def refuse_archived(row: Row, one: Target) -> None:
    """Raise Refusal for something new in an archived project: Odoo would take it and show it to nobody."""
    if not row["active"]:
        raise Refusal(
            Code.BAD_ARGUMENT,
            f"{one.about} is archived and takes nothing new; bring it back with odoo_archive_project first.",
        )
