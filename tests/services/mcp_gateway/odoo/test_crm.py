"""Opportunities: forced to be some, kept in their team, and never a door into the address book."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_a_lead_is_made_as_an_opportunity_and_changed(agent: Any) -> None:
    name = agent.unique("Big deal")
    stages = (await agent.done("crm_list_stages"))["stages"]
    assert any(stage["is_won"] for stage in stages)
    made = await agent.done(
        "crm_create_lead",
        name=name,
        contact_name="Ann Example",
        email="ann@example.org",
        phone="+1 555 0100",
        expected_revenue=1200,
        description="Wants <two>\n\nSoon",
    )
    row = agent.raw.one("crm.lead", made["id"], "type", "expected_revenue", "description", "contact_name")
    assert (row["type"], row["expected_revenue"], row["contact_name"]) == ("opportunity", 1200.0, "Ann Example")
    assert "&lt;two&gt;" in row["description"]
    (found,) = (await agent.done("crm_list_leads", query=name))["leads"]
    assert (found["id"], found["contact"], found["expected_revenue"]) == (made["id"], "Ann Example", 1200.0)
    changed = await agent.done("crm_update_lead", lead_id=made["id"], expected_revenue=0, contact_name="", email="")
    assert sorted(changed["changed"]) == ["contact_name", "email", "expected_revenue"]
    assert not agent.raw.one("crm.lead", made["id"], "contact_name")["contact_name"]
    again = await agent.done("crm_create_lead", name=agent.unique("Other"), expected_revenue=0.5)
    assert again["id"] != made["id"]


@pytest.mark.users("leaduser")
async def test_a_user_with_the_leads_feature_makes_an_opportunity_too(hire: Any) -> None:
    agent = await hire("leaduser")
    made = await agent.done("crm_create_lead", name=agent.unique("Deal"))
    assert agent.raw.one("crm.lead", made["id"], "type")["type"] == "opportunity"


async def test_moving_to_won_tells_the_probability_and_back(agent: Any) -> None:
    lead, won, open_ = agent.lead(), agent.crm_stage(True), agent.crm_stage(False)
    moved = await agent.done("crm_move_stage", lead_id=lead, stage_id=won)
    assert (moved["probability"], moved["changed"], moved["stage_id"]) == (100.0, ["stage"], won)
    assert (await agent.done("crm_move_stage", lead_id=lead, stage_id=won))["changed"] == []
    assert (await agent.done("crm_move_stage", lead_id=lead, stage_id=open_))["probability"] < 100
    listed = await agent.done("crm_list_leads", stage_id=open_, limit=200)
    assert lead in [row["id"] for row in listed["leads"]]


async def test_a_stage_of_another_team_is_refused(agent: Any) -> None:
    team = agent.raw.create("crm.team", name=agent.unique("Team"))
    of_team = {"team_ids": [[6, 0, [team]]]} if agent.raw.release >= 19 else {"team_id": team}
    stage = agent.raw.create("crm.stage", name=agent.unique("Theirs"), sequence=50, **of_team)
    lead = agent.lead()
    own = agent.raw.one("crm.lead", lead, "team_id", "stage_id")
    assert own["team_id"]
    assert own["team_id"][0] != team
    for tool in ("crm_move_stage", "crm_update_lead"):
        assert "team" in await agent.refused("BAD_ARGUMENT", tool, lead_id=lead, stage_id=stage)
    assert agent.raw.one("crm.lead", lead, "stage_id")["stage_id"] == own["stage_id"]
    await agent.refused("NOT_FOUND", "crm_move_stage", lead_id=lead, stage_id=99_999_999)
    await agent.refused("NOT_FOUND", "crm_move_stage", lead_id=99_999_999, stage_id=agent.crm_stage(True))
    await agent.refused("NOT_FOUND", "crm_list_leads", stage_id=99_999_999)
    await agent.refused("BAD_ARGUMENT", "crm_move_stage", lead_id=lead, stage_id="Won")


async def test_a_leads_email_and_phone_do_not_rewrite_its_contact(agent: Any) -> None:
    contact = agent.contact(email="ann@example.org", phone="+1 555 0100")
    lead = agent.lead(partner_id=contact)
    for given in ({"email": "new@example.org"}, {"phone": "+1 555 0199"}):
        hint = await agent.refused("CONFLICT", "crm_update_lead", lead_id=lead, name="Renamed", **given)
        assert f"contact {contact}" in hint
        assert "odoo_update_contact" in hint
    row = agent.raw.one("res.partner", contact, "email", "phone")
    assert (row["email"], row["phone"]) == ("ann@example.org", "+1 555 0100")
    assert agent.raw.one("crm.lead", lead, "name")["name"] != "Renamed"
    same = await agent.done("crm_update_lead", lead_id=lead, email="ann@example.org", name="Renamed")
    assert "email" not in same["changed"]
    await agent.refused("CONFLICT", "crm_update_lead", lead_id=lead, email="")
    assert agent.raw.one("res.partner", contact, "email")["email"] == "ann@example.org"
    await agent.done("odoo_update_contact", contact_id=contact, phone="+1 555 0123")
    assert agent.raw.one("crm.lead", lead, "phone")["phone"] == "+1 555 0123"


async def test_a_lost_lead_is_not_moved_and_not_listed(agent: Any) -> None:
    name = agent.unique("Lost")
    lead = agent.lead(name=name, active=False)
    assert "lost" in await agent.refused("BAD_ARGUMENT", "crm_move_stage", lead_id=lead, stage_id=agent.crm_stage(True))
    assert (await agent.done("crm_list_leads", query=name))["leads"] == []
    assert (await agent.done("crm_update_lead", lead_id=lead, name=f"{name} 2"))["archived"] is True
    assert agent.raw.one("crm.lead", lead, "active")["active"] is False


NO_REVENUES = [-1, "lots", "12", True, 1e13]


async def test_a_revenue_that_is_none_is_refused(agent: Any) -> None:
    for revenue in NO_REVENUES:
        hint = await agent.refused("BAD_ARGUMENT", "crm_create_lead", name="x", expected_revenue=revenue)
        assert "expected_revenue" in hint


async def test_queries_fold_accents_and_are_literal(agent: Any) -> None:
    mark = agent.unique("lead")
    lead = agent.lead(name=f"Rénovation {mark}")
    agent.lead(name=f"100 {mark}")
    percent = agent.lead(name=f"100% {mark}")
    assert [row["id"] for row in (await agent.done("crm_list_leads", query=f"renovation {mark}"))["leads"]] == [lead]
    assert [row["id"] for row in (await agent.done("crm_list_leads", query=f"100% {mark}"))["leads"]] == [percent]
    await agent.refused("EMPTY_QUERY", "crm_list_leads", query=" ")


async def test_blank_titles_and_bad_addresses_are_refused(agent: Any) -> None:
    # Blank space, a zero width space, a direction mark, a variation selector alone: nobody would see any of them.
    for blank in (" ", "\u200b", "\u202e \u00a0", "\ufe0f"):
        await agent.refused("BAD_ARGUMENT", "crm_create_lead", name=blank)
    await agent.refused("BAD_ARGUMENT", "crm_create_lead", name="x", email="nobody")
    await agent.refused("BAD_ARGUMENT", "crm_create_lead", name="x", type="lead")
    await agent.refused("BAD_ARGUMENT", "crm_update_lead", lead_id=agent.lead())
    await agent.refused("NOT_FOUND", "crm_update_lead", lead_id=-5, name="x")


async def test_a_deleted_lead_is_gone_and_a_second_delete_finds_none(agent: Any) -> None:
    lead = agent.lead()
    answer = await agent.done("crm_delete_lead", lead_id=lead)
    assert (answer["id"], "undo" in answer["note"]) == (lead, True)
    assert agent.raw("crm.lead", "search_count", domain=[["id", "=", lead]]) == 0
    await agent.refused("NOT_FOUND", "crm_delete_lead", lead_id=lead)


@pytest.mark.users("worker")
async def test_a_salesman_may_not_delete_and_sees_only_his_own(hire: Any) -> None:
    worker, manager = await hire("worker"), await hire()
    made = await worker.done("crm_create_lead", name=worker.unique("Mine"))
    assert "Sales/Administrator" in await worker.refused("FORBIDDEN", "crm_delete_lead", lead_id=made["id"])
    theirs = manager.lead()
    await worker.refused("FORBIDDEN", "crm_update_lead", lead_id=theirs, name="x")
    assert theirs not in [row["id"] for row in (await worker.done("crm_list_leads", limit=200))["leads"]]
