"""Undo: what a receipt changed in Odoo is put back, unless somebody has changed it since."""

from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo.desk import PROOF, Desk, Target, changed, plain, same
from mcp_gateway.actions.odoo.hours import LINE
from mcp_gateway.actions.odoo.lead_lists import LEAD
from mcp_gateway.actions.odoo.linked_contact import FIELDS as SHARED
from mcp_gateway.actions.odoo.linked_contact import refuse_rewriting
from mcp_gateway.actions.odoo.projects import MODEL as PROJECT
from mcp_gateway.actions.odoo.projects import TASK
from mcp_gateway.actions.odoo.snapshots import LEAD_FIELDS, LINE_FIELDS
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool
from mcp_gateway.undo.store import Change

NAMES = {
    PROJECT: "project",
    TASK: "task",
    "res.partner": "contact",
    LEAD: "lead",
    LINE: "timesheet line",
}
SNAPSHOTS = {LEAD: LEAD_FIELDS, LINE: LINE_FIELDS}
# Beside a project's own fields: which of its tasks went along.
TASKS = "tasks"
# What differs is shown so that a person can decide; a description need not be shown whole for that.
MAX_SHOWN = 200


class Undo(Arguments):
    """Arguments of undo."""

    receipt: str = Field(description="The receipt of a writing call")


def undo_tool(desk: Desk) -> Tool:
    """The operator's undo. It is in no toolset: an agent must not take back what a person relies on."""

    async def undo(call: Call, given: Undo) -> Mapping[str, object]:
        change = await _kept(desk, given.receipt)
        members = await _KINDS[change.kind](desk, call, change)
        await desk.memory.undone(change.receipt)
        return {"undone": change.receipt, "tool": change.tool, **members}

    return Tool("undo", "", "Undo a write.", Undo, undo, writes=True, sensitive=True)


async def _kept(desk: Desk, receipt: str) -> Change:
    change = await desk.memory.change(receipt)
    if change is None:
        raise Refusal(
            Code.NOT_FOUND,
            "Nothing is kept for this receipt: it is older than 30 days, of a call that changed nothing, or mistyped.",
        )
    if change.undone is not None:
        raise Refusal(Code.CONFLICT, "This receipt has been undone already.")
    if change.record is None:
        raise Refusal(
            Code.OUTCOME_UNKNOWN, f"It is not known whether {change.tool} made its record; look for it in Odoo by hand."
        )
    return change


async def _write(desk: Desk, call: Call, change: Change) -> dict[str, object]:
    one = _target(change)
    before = {field: value for field, value in change.before.items() if field != TASKS}
    async with desk.turns.of(one):
        row = await desk.one(call, one, _fields(one, before))
        values = changed(row, before)
        if not values:
            return {"id": one.id, "note": "It stands as it stood before; nothing had to be done."}
        _refuse_changed(one, row, change.wanted if change.after is None else change.after)
        if one.model == LEAD:
            await refuse_rewriting(desk, call, one, row, values)
        written = await desk.write(call, one, row, values)
        # Odoo sets some fields with others, such as the probability with the stage: say those once more.
        if rest := changed({**row, **written.row}, before):
            await desk.port.write(call, one.model, [one.id], rest, one.about)
        await _tasks_back(desk, call, change)
    return {"id": one.id, "restored": sorted(values)}


async def _tasks_back(desk: Desk, call: Call, change: Change) -> None:
    """Tasks that stood otherwise than their project before stand so again."""
    kept = change.before.get(TASKS)
    if not kept or not kept["stood"]:
        return
    rows = await desk.port.read(call, TASK, kept["stood"], ["active"], "the project's tasks")
    was = not change.before["active"]
    wrong = [row["id"] for row in rows if row["active"] is not was]
    if wrong:
        await desk.port.write(call, TASK, wrong, {"active": was}, "the project's tasks")


async def _create(desk: Desk, call: Call, change: Change) -> dict[str, object]:
    one = _target(change)
    expected = change.wanted if change.after is None else change.after
    async with desk.turns.of(one):
        row = await desk.one(call, one, _fields(one, expected))
        _refuse_changed(one, row, expected)
        if one.model == LINE:
            await desk.delete(call, one, {field: plain(row[field]) for field in LINE_FIELDS if field != "id"})
            return {"id": one.id, "note": "The line that it logged is deleted."}
        if one.model == PROJECT and await desk.port.count(call, TASK, [("project_id", "=", one.id)], archived=True):
            raise Refusal(Code.CONFLICT, f"{one.about} has tasks by now; archive it by hand if it shall go.")
        await desk.write(call, one, row, {"active": False})
    return {"id": one.id, "note": "The record that it made is archived, not deleted."}


async def _delete(desk: Desk, call: Call, change: Change) -> dict[str, object]:
    one = _target(change)
    if await desk.port.read(call, one.model, [one.id], PROOF, one.about):
        return {"id": one.id, "note": "It was never deleted; nothing had to be done."}
    values = {field: value for field, value in change.before.items() if value not in (False, None, "", [])}
    if one.model == LINE:
        values.pop("user_id", None)  # follows from the employee
    else:
        values = await _lead_again(desk, call, {**values, "active": change.before["active"]})
    made, _ = await desk.create(call, one.model, f"{one.about} again", values, SNAPSHOTS[one.model], _no_look)
    note = (
        f"Made again as {NAMES[one.model]} {made}: Odoo never gives an id twice. Messages and files did not come back."
    )
    return {"id": made, "old_id": one.id, "note": note}


async def _lead_again(desk: Desk, call: Call, values: dict[str, object]) -> dict[str, object]:
    """The values of a lead whose contact may be gone, or may have another address by now."""
    if isinstance(values.get("tag_ids"), list):
        values["tag_ids"] = [[6, 0, values["tag_ids"]]]
    partner = values.get("partner_id")
    if not isinstance(partner, int):
        return values
    found = await desk.port.read(call, "res.partner", [partner], list(SHARED.values()), f"contact {partner}")
    if not found:
        return {field: value for field, value in values.items() if field != "partner_id"}
    strange = [field for field, its in SHARED.items() if field in values and not same(found[0][its], values[field])]
    return {field: value for field, value in values.items() if field not in strange}


async def _no_look() -> None:
    return None


def _target(change: Change) -> Target:
    assert change.record is not None
    return Target(change.model, change.record, f"{NAMES[change.model]} {change.record}")


def _fields(one: Target, named: Mapping[str, object]) -> list[str]:
    more = ["partner_id"] if one.model == LEAD else []
    return list(dict.fromkeys([*named, *more]))


def _refuse_changed(one: Target, row: Row, expected: Mapping[str, object]) -> None:
    """Raise Refusal with the difference when the record is not as our write left it."""
    differs = {
        field: {"left": _shown(value), "found": _shown(plain(row[field]))}
        for field, value in expected.items()
        if field in row and not same(row[field], value)
    }
    if differs:
        words = f"{one.about} was changed since, so nothing was undone; `difference` shows what it was left at."
        raise Refusal(Code.CONFLICT, words, {"difference": differs})


def _shown(value: object) -> object:
    return value[:MAX_SHOWN] if isinstance(value, str) else value


_KINDS = {"write": _write, "create": _create, "delete": _delete}
