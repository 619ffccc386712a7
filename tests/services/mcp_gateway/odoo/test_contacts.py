"""Contacts: found as people write them, never corrupted."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_a_contact_is_made_changed_and_cleared(agent: Any) -> None:
    name = agent.unique("Acme")
    given = {"email": "office@acme.example", "phone": "+32 2 555 01 11", "street": "Rue de l'Été 1", "zip": "9000"}
    made = await agent.done("odoo_create_contact", name=name, city="Ghent", country="be", is_company=True, **given)
    (found,) = (await agent.done("odoo_search_contacts", name=name))["contacts"]
    assert found == {"id": made["id"], "name": name, "company": None, "city": "Ghent", "country": "Belgium", **given}
    changed = await agent.done("odoo_update_contact", contact_id=made["id"], email="", country="", city="Bruges")
    assert sorted(changed["changed"]) == ["city", "country", "email"]
    row = agent.raw.one("res.partner", made["id"], "email", "country_id", "city", "is_company")
    assert not row["email"]
    assert not row["country_id"]
    assert (row["city"], row["is_company"]) == ("Bruges", True)
    again = await agent.done("odoo_create_contact", name=name, city="Ghent", country="be", is_company=True, **given)
    assert (again["id"], again["repeated"]) == (made["id"], True)


@pytest.mark.parametrize(
    ("stored", "sought"),
    [
        ("José Ñandú", "jose nandu"),
        ("jose nandu", "José Ñandú"),
        ("Žluťoučký", "zlutoucky"),
        ("Müller-Straße", "muller-strasse"),
        ("Strasse Muller", "straße müller"),
        ("Łukasz Øster", "lukasz oster"),
        ("Nguyễn Thị Ánh", "nguyen thi anh"),
        ("Œuvre", "oeuvre"),
        ("Андрей", "андреи"),
        ("李小龙", "小龙"),
        ("O'Neil", "O'NEIL"),
    ],
)
async def test_accents_and_case_do_not_matter_in_either_direction(agent: Any, stored: str, sought: str) -> None:
    mark = agent.unique("q")
    contact = agent.contact(name=f"{stored} {mark}")
    agent.contact(name=f"Somebody {mark}")
    found = await agent.done("odoo_search_contacts", name=f"{sought} {mark}")
    assert [row["id"] for row in found["contacts"]] == [contact]
    assert contact in [row["id"] for row in (await agent.done("odoo_search_contacts", name=sought))["contacts"]]


@pytest.mark.parametrize("sought", ["%", "_", "' OR 1=1", "\\", "a%z", "%%%", "100%"])
async def test_searches_are_literal(agent: Any, sought: str) -> None:
    mark = agent.unique("lit")
    agent.contact(name=f"Plain {mark} abz 1000")
    contact = agent.contact(name=f"{mark} {sought} there")
    found = await agent.done("odoo_search_contacts", name=f"{mark} {sought}")
    assert [row["id"] for row in found["contacts"]] == [contact]
    everything = (await agent.done("odoo_search_contacts", name=sought, limit=200))["contacts"]
    assert all(sought.casefold() in row["name"].casefold() for row in everything)


async def test_an_empty_search_is_refused_and_never_lists_everybody(agent: Any) -> None:
    for nothing in ("", "   ", "\n"):
        await agent.refused("EMPTY_QUERY", "odoo_search_contacts", name=nothing)
    await agent.refused("BAD_ARGUMENT", "odoo_search_contacts", name="x" * 201)
    assert (await agent.done("odoo_search_contacts", name=agent.unique("nobody has this")))["contacts"] == []


async def test_the_company_of_a_person_is_shown_and_archived_contacts_are_not(agent: Any) -> None:
    mark = agent.unique("Acme")
    company = agent.contact(name=mark, is_company=True)
    person = agent.contact(name=f"Ann {mark}", parent_id=company)
    gone = agent.contact(name=f"Gone {mark}", active=False)
    found = (await agent.done("odoo_search_contacts", name=mark))["contacts"]
    assert [(row["id"], row["company"]) for row in found] == [(company, None), (person, mark)]
    assert (await agent.done("odoo_update_contact", contact_id=gone, city="Ghent"))["archived"] is True


NO_ADDRESSES = ["ann", "@", "ann@", "ann@a@b", "ann @example.org", "a@b, c@d", "Ann <ann@x.org>"]


async def test_an_email_without_one_at_is_refused(agent: Any) -> None:
    for email in NO_ADDRESSES:
        name = agent.unique("Ann")
        assert "email" in await agent.refused("BAD_ARGUMENT", "odoo_create_contact", name=name, email=email)
        await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=agent.contact(), email=email)
        assert agent.raw("res.partner", "search_count", domain=[["name", "=", name]]) == 0


async def test_contacts_keep_their_name_and_countries_must_exist(agent: Any) -> None:
    contact = agent.contact()
    for name in ("", "  ", "x" * 251):
        await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=contact, name=name)
        await agent.refused("BAD_ARGUMENT", "odoo_create_contact", name=name)
    for country in ("Atlantis", "XX", "%", "_e"):
        hint = await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=contact, country=country)
        assert "country" in hint
    assert (await agent.done("odoo_update_contact", contact_id=contact, country="Belgium"))["changed"] == ["country"]
    await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=contact)
    await agent.refused("NOT_FOUND", "odoo_update_contact", contact_id=99_999_999, city="x")
    await agent.refused("NOT_FOUND", "odoo_update_contact", contact_id=0, city="x")
    await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=contact, phone="1\n2")
    await agent.refused("BAD_ARGUMENT", "odoo_update_contact", contact_id=contact, mobile="1")


@pytest.mark.users("limited")
async def test_a_user_without_the_right_reads_contacts_and_changes_none(hire: Any) -> None:
    limited = await hire("limited")
    name = (await hire()).unique("Ann")
    manager = await hire()
    contact = manager.contact(name=name)
    assert (await limited.done("odoo_search_contacts", name=name))["total"] == 1
    hint = await limited.refused("FORBIDDEN", "odoo_update_contact", contact_id=contact, city="x")
    assert "Creation" in hint
    await limited.refused("FORBIDDEN", "odoo_create_contact", name=name)
