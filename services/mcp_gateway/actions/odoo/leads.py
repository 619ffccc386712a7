"""Opportunities: made, changed, moved and deleted."""

import time
from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks, people
from mcp_gateway.actions.odoo.desk import Desk, Target, changed, plain, target
from mcp_gateway.actions.odoo.lead_lists import LEAD, STAGE, STAGE_ID
from mcp_gateway.actions.odoo.linked_contact import refuse_rewriting
from mcp_gateway.actions.odoo.projects import TEXT, made_since
from mcp_gateway.actions.odoo.repeats import once
from mcp_gateway.actions.odoo.rows import label, linked
from mcp_gateway.actions.odoo.snapshots import LEAD_FIELDS
from mcp_gateway.actions.odoo.texts import to_html
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

WRITTEN = (
    "id",
    "name",
    "active",
    "type",
    "contact_name",
    "email_from",
    "phone",
    "expected_revenue",
    "description",
    "stage_id",
    "team_id",
    "partner_id",
    "probability",
)
LEAD_ID = "Id from crm_list_leads"
# From this release on a stage may belong to several teams.
MANY_TEAMS = 19


class CreateLead(Arguments):
    """Arguments of crm_create_lead."""

    name: str = Field(description="Title, up to 250 characters")
    contact_name: str | None = Field(None, description="Name of the person")
    email: str | None = Field(None, description="One address")
    phone: str | None = Field(None, description="Phone number")
    expected_revenue: float | None = Field(None, description="Amount, 0 or more")
    description: str | None = Field(None, description=TEXT)
    stage_id: int | None = Field(None, description=STAGE_ID)


class UpdateLead(Arguments):
    """Arguments of crm_update_lead."""

    lead_id: int = Field(description=LEAD_ID)
    name: str | None = Field(None, description="New title")
    contact_name: str | None = Field(None, description="Name of the person")
    email: str | None = Field(None, description="One address")
    phone: str | None = Field(None, description="Phone number")
    expected_revenue: float | None = Field(None, description="Amount, 0 or more")
    description: str | None = Field(None, description=TEXT)
    stage_id: int | None = Field(None, description=STAGE_ID)


class MoveLead(Arguments):
    """Arguments of crm_move_stage."""

    lead_id: int = Field(description=LEAD_ID)
    stage_id: int = Field(description=STAGE_ID)


class DeleteLead(Arguments):
    """Arguments of crm_delete_lead."""

    lead_id: int = Field(description=LEAD_ID)


def lead(lead_id: int) -> Target:
    """The lead with this id. Raise Refusal when no lead can have it."""
    return target(LEAD, checks.record_id(lead_id, "lead"), "lead")


def lead_tools(desk: Desk) -> list[Tool]:
    """The four tools that write."""

    async def create_lead(call: Call, given: CreateLead) -> Mapping[str, object]:
        values = {field: value for field, value in _values(given).items() if value != ""}
        return await _create(desk, call, given, {**values, "type": "opportunity"})

    async def update_lead(call: Call, given: UpdateLead) -> Mapping[str, object]:
        checks.something(**given.model_dump(exclude={"lead_id"}))
        one, values = lead(given.lead_id), _values(given)
        async with desk.turns.of(one):
            return await _update(desk, call, one, values)

    async def move_stage(call: Call, given: MoveLead) -> Mapping[str, object]:
        one, stage_id = lead(given.lead_id), checks.record_id(given.stage_id, "CRM stage")
        async with desk.turns.of(one):
            return await _update(desk, call, one, {"stage_id": stage_id})

    async def delete_lead(call: Call, given: DeleteLead) -> Mapping[str, object]:
        one = lead(given.lead_id)
        async with desk.turns.of(one):
            row = await desk.one(call, one, LEAD_FIELDS)
            snapshot = {field: plain(row[field]) for field in LEAD_FIELDS if field != "id"}
            written = await desk.delete(call, one, snapshot)
        note = "Deleted. The operator can bring it back within 30 days, without its messages: mcp-gateway undo."
        return {"id": one.id, "name": row["name"], "note": note, **written.remarks}

    return [
        Tool(
            "crm_create_lead",
            "crm",
            "Make an opportunity; the same call again within 2 minutes gives the first one.",
            CreateLead,
            create_lead,
            writes=True,
        ),
        Tool(
            "crm_update_lead",
            "crm",
            'Change a lead; "" clears a text. Refuses an e-mail or phone that would rewrite its linked contact.',
            UpdateLead,
            update_lead,
            writes=True,
        ),
        Tool("crm_move_stage", "crm", "Move a lead to another stage.", MoveLead, move_stage, writes=True),
        Tool(
            "crm_delete_lead",
            "crm",
            "Delete a lead for good. A sale that failed is not deleted but marked lost, in Odoo.",
            DeleteLead,
            delete_lead,
            writes=True,
            sensitive=True,
        ),
    ]


def _values(given: CreateLead | UpdateLead) -> dict[str, object]:
    """Checked values under Odoo's names; "" stands for nothing."""
    values: dict[str, object] = {}
    if given.name is not None:
        values["name"] = checks.name(given.name)
    if given.contact_name is not None:
        values["contact_name"] = checks.line(given.contact_name, "contact_name")
    if given.email is not None:
        values["email_from"] = checks.email(given.email)
    if given.phone is not None:
        values["phone"] = checks.line(given.phone, "phone")
    if given.expected_revenue is not None:
        values["expected_revenue"] = checks.revenue(given.expected_revenue)
    if given.description is not None:
        values["description"] = to_html(checks.text(given.description, "description"))
    if given.stage_id is not None:
        values["stage_id"] = checks.record_id(given.stage_id, "CRM stage")
    return values


async def _stage_for(desk: Desk, call: Call, stage_id: int, team_id: int | None) -> Row:
    """The stage. Raise Refusal when it is another team's; Odoo itself would take any."""
    many = (await desk.port.session(call)).release >= MANY_TEAMS
    field = "team_ids" if many else "team_id"
    stage = await desk.one(call, target(STAGE, stage_id, "CRM stage"), ["name", "is_won", field])
    teams = people.ids(stage, field) if many else [one for one in [linked(stage[field])] if one is not None]
    if teams and team_id is not None and team_id not in teams:
        raise checks.bad(f"CRM stage {stage_id} belongs to another sales team than this lead; choose another stage.")
    return stage


async def _create(desk: Desk, call: Call, given: CreateLead, values: dict[str, object]) -> Mapping[str, object]:
    async def find(moment: float) -> int | None:
        domain: list[object] = [("name", "=", values["name"]), ("email_from", "=", values.get("email_from", False))]
        return await made_since(desk, call, LEAD, domain, moment)

    def told(made: int, row: Row) -> dict[str, object]:
        answer = {"id": made, "name": row.get("name", values["name"]), "type": "opportunity"}
        return {**answer, "stage": label(row.get("stage_id"))}

    async def tell(made: int) -> dict[str, object]:
        return told(made, await desk.one(call, lead(made), WRITTEN))

    async def work() -> dict[str, object]:
        if given.stage_id is not None:
            await _stage_for(desk, call, given.stage_id, await _own_team(desk, call))
        started = time.time()
        made, written = await desk.create(call, LEAD, "a lead", values, WRITTEN, lambda: find(started))
        return {**told(made, written.row), **written.remarks}

    return await once(desk, call, given, work, find, tell)


async def _own_team(desk: Desk, call: Call) -> int | None:
    """The team that Odoo gives to a new lead of this user."""
    rows = await desk.port.search_read(
        call,
        "crm.team",
        [("member_ids", "in", [(await desk.port.session(call)).login.uid])],
        ["name"],
        limit=1,
        order="sequence, id",
    )
    return int(rows[0]["id"]) if rows else None


async def _update(desk: Desk, call: Call, one: Target, wanted: dict[str, object]) -> Mapping[str, object]:
    row = await desk.one(call, one, WRITTEN)
    values = changed(row, {field: False if value == "" else value for field, value in wanted.items()})
    answer = {"id": one.id, "name": row["name"], **({} if row["active"] else {"archived": True})}
    if "stage_id" in wanted:
        answer |= {"stage_id": wanted["stage_id"], "stage": label(row["stage_id"])}
    if not values:
        return {**answer, "changed": []}
    if "stage_id" in values:
        await _may_move(desk, call, one, row, int(str(values["stage_id"])))
    await refuse_rewriting(desk, call, one, row, values)
    # Odoo sets the probability with the stage, and release 19 takes a lost lead back to life.
    written = await desk.write(call, one, row, values, also=["probability", "active"] if "stage_id" in values else [])
    after = {**row, **written.row}
    if "stage_id" in values:
        answer |= {"stage": label(after["stage_id"]), "from_stage": label(row["stage_id"])}
        answer["probability"] = after["probability"]
        if written.row and linked(after["stage_id"]) != values["stage_id"]:
            raise _moved_on(one, after)
    named = [NAMES.get(field, field) for field in values]
    return {**answer, "name": after["name"], "changed": named, **written.remarks}


NAMES = {"email_from": "email", "stage_id": "stage"}


async def _may_move(desk: Desk, call: Call, one: Target, row: Row, stage_id: int) -> None:
    if not row["active"]:
        raise checks.bad(f"{one.about} is lost (archived); a colleague restores it in Odoo before it can move.")
    await _stage_for(desk, call, stage_id, linked(row["team_id"]))


def _moved_on(one: Target, after: Row) -> Refusal:
    return Refusal(
        Code.CONFLICT,
        f"{one.about} was moved, and somebody else moved it on at the same moment: it now stands in "
        f"{label(after['stage_id'])!r}. Read it again before you move it.",
        {"id": one.id, "stage": label(after["stage_id"])},
    )
