"""The contacts tools: people and companies in the address book."""

import time
from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks, folding
from mcp_gateway.actions.odoo.candidates import candidates
from mcp_gateway.actions.odoo.desk import Desk, Target, changed, target
from mcp_gateway.actions.odoo.projects import LIMIT, archived, made_since
from mcp_gateway.actions.odoo.repeats import once
from mcp_gateway.actions.odoo.rows import label, listed, said
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

MODEL, COUNTRY = "res.partner", "res.country"
SHOWN = ("id", "name", "email", "phone", "parent_id", "company_name", "street", "zip", "city", "country_id")
WRITTEN = ("id", "name", "email", "phone", "street", "zip", "city", "country_id", "is_company", "active")


class SearchContacts(Arguments):
    """Arguments of odoo_search_contacts."""

    name: str = Field(description="Part of the name; case and accents do not matter")
    limit: int | None = Field(None, description=LIMIT)


class CreateContact(Arguments):
    """Arguments of odoo_create_contact."""

    name: str = Field(description="Name, up to 250 characters")
    email: str | None = Field(None, description="One address")
    phone: str | None = Field(None, description="Phone number")
    street: str | None = Field(None, description="Street and number")
    zip: str | None = Field(None, description="Postal code")
    city: str | None = Field(None, description="Town or city")
    country: str | None = Field(None, description="Two-letter code, or name")
    is_company: bool | None = Field(None, description="A company, not a person (false)")


class UpdateContact(Arguments):
    """Arguments of odoo_update_contact."""

    contact_id: int = Field(description="Id from odoo_search_contacts")
    name: str | None = Field(None, description="New name")
    email: str | None = Field(None, description="One address")
    phone: str | None = Field(None, description="Phone number")
    street: str | None = Field(None, description="Street and number")
    zip: str | None = Field(None, description="Postal code")
    city: str | None = Field(None, description="Town or city")
    country: str | None = Field(None, description="Two-letter code, or name")
    is_company: bool | None = Field(None, description="A company, not a person")


def contact(contact_id: int) -> Target:
    """The contact with this id. Raise Refusal when no contact can have it."""
    return target(MODEL, checks.record_id(contact_id, "contact"), "contact")


def contacts_tools(desk: Desk) -> list[Tool]:
    """The three tools of the toolset."""

    async def search(call: Call, given: SearchContacts) -> Mapping[str, object]:
        wanted = folding.query(given.name, "name")
        limit, note = checks.limit(given.limit)
        ids, whole = await candidates(desk.port, call, MODEL, wanted, ["name"])
        rows = await desk.port.read(call, MODEL, ids[:limit], SHOWN, "these contacts") if ids else []
        notes = [note] if whole else [note, "There may be more: the search is broad. Give more of the name."]
        return listed("contacts", rows, _contact, len(ids), notes)

    async def create(call: Call, given: CreateContact) -> Mapping[str, object]:
        values = await _values(desk, call, given)
        return await _create(desk, call, given, {field: value for field, value in values.items() if value != ""})

    async def update(call: Call, given: UpdateContact) -> Mapping[str, object]:
        checks.something(**given.model_dump(exclude={"contact_id"}))
        one = contact(given.contact_id)
        values = await _values(desk, call, given)
        async with desk.turns.of(one):
            row = await desk.one(call, one, WRITTEN)
            values = changed(row, {field: False if value == "" else value for field, value in values.items()})
            if not values:
                return {"id": one.id, "name": row["name"], "changed": [], **archived(row)}
            written = await desk.write(call, one, row, values)
        name = written.row.get("name", row["name"])
        named = ["country" if field == "country_id" else field for field in values]
        return {"id": one.id, "name": name, "changed": named, **archived(row), **written.remarks}

    return [
        Tool("odoo_search_contacts", "contacts", "Find contacts by name.", SearchContacts, search),
        Tool(
            "odoo_create_contact",
            "contacts",
            "Make a contact. Search first: Odoo keeps doubles.",
            CreateContact,
            create,
            writes=True,
        ),
        Tool(
            "odoo_update_contact",
            "contacts",
            'Change a contact; "" clears a field. Its opportunities get a new e-mail or phone too.',
            UpdateContact,
            update,
            writes=True,
        ),
    ]


async def _values(desk: Desk, call: Call, given: CreateContact | UpdateContact) -> dict[str, object]:
    """Checked values under Odoo's names; "" stands for nothing."""
    values: dict[str, object] = {}
    if given.name is not None:
        values["name"] = checks.name(given.name)
    if given.email is not None:
        values["email"] = checks.email(given.email)
    for field in ("phone", "street", "zip", "city"):
        if (value := getattr(given, field)) is not None:
            values[field] = checks.line(value, field)
    if given.is_company is not None:
        values["is_company"] = given.is_company
    if given.country is not None:
        country = checks.line(given.country, "country")
        values["country_id"] = await _country(desk, call, country) if country else ""
    return values


async def _country(desk: Desk, call: Call, country: str) -> int:
    """The country's id. Raise Refusal for a name that Odoo does not know."""
    field = "code" if len(country) == 2 else "name"
    domain = [(field, "=ilike", folding.literal(country))]
    rows = await desk.port.search_read(call, COUNTRY, domain, ["name"], limit=2, order="id")
    if len(rows) != 1:
        raise Refusal(Code.BAD_ARGUMENT, f"Odoo knows no country {country!r}; give its two-letter code, such as BE.")
    return int(rows[0]["id"])


async def _create(desk: Desk, call: Call, given: Arguments, values: dict[str, object]) -> Mapping[str, object]:
    async def find(moment: float) -> int | None:
        domain: list[object] = [("name", "=", values["name"]), ("email", "=", values.get("email", False))]
        return await made_since(desk, call, MODEL, domain, moment)

    async def tell(made: int) -> dict[str, object]:
        return {"id": made, "name": (await desk.one(call, contact(made), ["name"]))["name"]}

    async def work() -> dict[str, object]:
        started = time.time()
        made, written = await desk.create(call, MODEL, "a contact", values, WRITTEN, lambda: find(started))
        return {"id": made, "name": written.row.get("name", values["name"]), **written.remarks}

    return await once(desk, call, given, work, find, tell)


def _contact(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "name": row["name"] or "",
        "email": said(row["email"]),
        "phone": said(row["phone"]),
        "company": label(row["parent_id"]) or said(row["company_name"]),
        "street": said(row["street"]),
        "zip": said(row["zip"]),
        "city": said(row["city"]),
        "country": label(row["country_id"]),
    }
