"""What a person sees of the record that a call is about, before deciding: its present values, and what is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_gateway.actions.odoo import lead_lists, projects
from mcp_gateway.actions.odoo.desk import Desk, Target, plain, target
from mcp_gateway.actions.odoo.hours import LINE, refuse_others
from mcp_gateway.actions.odoo.leads import lead
from mcp_gateway.actions.odoo.projects import project
from mcp_gateway.actions.odoo.rows import label
from mcp_gateway.actions.odoo.snapshots import LEAD_FIELDS, LINE_FIELDS
from mcp_gateway.actions.odoo.task_lists import task
from mcp_gateway.actions.odoo.texts import to_text
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.previews import fingerprint, plain_arguments, words
from mcp_gateway.tools import Arguments, Call, Preview, Tool

# Changes with every write to the record, also to fields that are not looked at here.
STAMP = "write_date"
EMPTY = "—"


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of record is found and shown: field by label, and whatever else must not change."""

    argument: str
    find: Callable[[int], Target]
    shown: Mapping[str, str]
    watched: tuple[str, ...] = ()


LEAD = Kind(
    "lead_id",
    lead,
    {
        "name": "name",
        "contact": "contact_name",
        "company": "partner_name",
        "customer": "partner_id",
        "e-mail": "email_from",
        "phone": "phone",
        "expected revenue": "expected_revenue",
        "stage": "stage_id",
        "probability": "probability",
        "salesperson": "user_id",
        "last changed (UTC)": STAMP,
    },
    tuple(field for field in LEAD_FIELDS if field != "id"),
)
HOURS = Kind(
    "line_id",
    lambda number: target(LINE, number, "timesheet line"),
    {
        "date": "date",
        "project": "project_id",
        "task": "task_id",
        "hours": "unit_amount",
        "description": "name",
        "employee": "employee_id",
        "last changed (UTC)": STAMP,
    },
    tuple(field for field in LINE_FIELDS if field != "id"),
)
PROJECT = Kind("project_id", project, {"name": "name", "active": "active", "description": "description"})
TASK = Kind(
    "task_id",
    task,
    {
        "name": "name",
        "project": "project_id",
        "stage": "stage_id",
        "deadline": "date_deadline",
        "description": "description",
    },
)
CONTACT = Kind(
    "contact_id",
    lambda number: target("res.partner", number, "contact"),
    {"name": "name", "e-mail": "email", "phone": "phone", "street": "street", "zip": "zip", "city": "city"},
)

# What each call does to which kind of record. What makes a new one has nothing to show but its arguments.
TITLES: Mapping[str, tuple[str, Kind]] = {
    "crm_delete_lead": ("Delete for good", LEAD),
    "crm_update_lead": ("Change", LEAD),
    "crm_move_stage": ("Move", LEAD),
    "timesheet_delete": ("Delete for good", HOURS),
    "timesheet_update": ("Change", HOURS),
    "odoo_update_project": ("Change", PROJECT),
    "odoo_archive_project": ("Archive or bring back, with its tasks,", PROJECT),
    "odoo_update_task": ("Change", TASK),
    "odoo_move_task_stage": ("Move", TASK),
    "odoo_update_contact": ("Change", CONTACT),
}
# The stages that `stage_id` names, by the kind of record that is moved.
STAGES = {LEAD.argument: lead_lists.STAGE, TASK.argument: projects.STAGE}


def previewed(desk: Desk, tools: list[Tool]) -> list[Tool]:
    """The same tools, those that change a record with a preview of it."""
    return [_previewed(desk, tool) for tool in tools]


def _previewed(desk: Desk, tool: Tool) -> Tool:
    known = TITLES.get(tool.name)
    return tool if known is None else replace(tool, preview=_preview(desk, *known))


def _preview(desk: Desk, verb: str, kind: Kind) -> Callable[[Call, Any], Any]:
    async def preview(call: Call, given: Arguments) -> Preview:
        arguments = plain_arguments(given)
        one = kind.find(int(str(arguments.pop(kind.argument))))
        fields = list(dict.fromkeys([*kind.shown.values(), *kind.watched, STAMP]))
        row = await desk.one(call, one, fields)
        if kind is HOURS:
            await _refuse_foreign(desk, call, one, row)
        asked = [(f"asked: {name}", await _asked(desk, call, kind, name, value)) for name, value in arguments.items()]
        facts = [(name, _said(row.get(field))) for name, field in kind.shown.items()]
        watched = {field: plain(row.get(field)) for field in fields}
        whole = {"tool": call.tool, "record": [one.model, one.id], "employee": call.odoo_employee_id, **watched}
        title = f"{verb} {one.about}: {_said(row.get('name'))}"
        return Preview(title, (*asked, *facts), fingerprint({**whole, "asked": arguments}))

    return preview


async def _refuse_foreign(desk: Desk, call: Call, one: Target, row: Row) -> None:
    if not row["project_id"]:
        raise Refusal(Code.NOT_FOUND, f"{one.about} is a cost or revenue of accounting, not logged hours.")
    await refuse_others(desk, call, one, row)


async def _asked(desk: Desk, call: Call, kind: Kind, name: str, value: object) -> str:
    """An argument in words; a stage by its name."""
    if name == "stage_id" and isinstance(value, int):
        row = await desk.one(call, target(STAGES[kind.argument], value, "stage"), ["name"])
        return f"{_said(row['name'])} ({value})"
    return words(value)


def _said(value: object) -> str:
    if value is False or value is None or value == "":
        return EMPTY
    if name := label(value):
        return name
    return to_text(value) if isinstance(value, str) and "<" in value else words(value)
