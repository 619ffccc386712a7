"""Undo: what was replaced comes back, unless somebody has changed it since."""

import time
from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_an_update_is_undone_to_the_letter(agent: Any) -> None:
    markup = "<h1>Plan</h1><ul><li>one</li></ul>"
    task = agent.task(agent.project(), description=markup, date_deadline="2026-12-31 14:30:00")
    before = agent.raw.one("project.task", task, "name", "description", "date_deadline")
    done = await agent.done("odoo_update_task", task_id=task, name="x", description="y", deadline="2027-01-01")
    undone = await agent.undo(done["receipt"])
    assert undone["success"] is True
    assert undone["restored"] == ["date_deadline", "description", "name"]
    assert agent.raw.one("project.task", task, "name", "description", "date_deadline") == before
    assert (await agent.undo(done["receipt"]))["error"] == "__CONFLICT__"


async def test_what_was_changed_since_is_not_undone_and_the_difference_is_shown(agent: Any) -> None:
    contact = agent.contact(city="Ghent")
    done = await agent.done("odoo_update_contact", contact_id=contact, city="Bruges")
    agent.raw("res.partner", "write", [contact], vals={"city": "Antwerp"})
    refused = await agent.undo(done["receipt"])
    assert refused["error"] == "__CONFLICT__"
    assert refused["difference"] == {"city": {"left": "Bruges", "found": "Antwerp"}}
    assert agent.raw.one("res.partner", contact, "city")["city"] == "Antwerp"
    agent.raw("res.partner", "write", [contact], vals={"city": "Bruges", "phone": "1"})
    assert (await agent.undo(done["receipt"]))["success"] is True
    assert agent.raw.one("res.partner", contact, "city", "phone") == {"id": contact, "city": "Ghent", "phone": "1"}


async def test_archiving_a_project_is_undone_with_its_tasks_as_they_were(agent: Any) -> None:
    project = agent.project()
    live, by_hand = agent.task(project), agent.task(project)
    agent.raw("project.task", "write", [by_hand], vals={"active": False})
    gone = await agent.done("odoo_archive_project", project_id=project)
    assert (await agent.undo(gone["receipt"]))["success"] is True
    assert agent.raw.one("project.project", project, "active")["active"] is True
    assert agent.raw.one("project.task", live, "active")["active"] is True
    assert agent.raw.one("project.task", by_hand, "active")["active"] is False


async def test_moves_are_undone_with_what_odoo_changed_along(agent: Any) -> None:
    project = agent.project()
    new, done = agent.stages(project, "New", "Done")
    task = agent.task(project, stage_id=new)
    moved = await agent.done("odoo_move_task_stage", task_id=task, stage_id=done)
    assert (await agent.undo(moved["receipt"]))["success"] is True
    assert agent.raw.one("project.task", task, "stage_id")["stage_id"][0] == new
    lead = agent.lead(probability=35.0)
    stage = agent.raw.one("crm.lead", lead, "stage_id", "probability")
    won = await agent.done("crm_move_stage", lead_id=lead, stage_id=agent.crm_stage(True))
    assert (await agent.undo(won["receipt"]))["success"] is True
    assert agent.raw.one("crm.lead", lead, "stage_id", "probability") == stage


async def test_what_was_made_is_archived_or_deleted(agent: Any) -> None:
    project = await agent.done("odoo_create_project", name=agent.unique("Oops"))
    task = await agent.done("odoo_create_task", project_id=project["id"], name="Oops")
    refused = await agent.undo(project["receipt"])
    assert (refused["error"], "tasks" in refused["hint"]) == ("__CONFLICT__", True)
    assert (await agent.undo(task["receipt"]))["success"] is True
    assert agent.raw.one("project.task", task["id"], "active")["active"] is False
    contact = await agent.done("odoo_create_contact", name=agent.unique("Oops"))
    assert (await agent.undo(contact["receipt"]))["success"] is True
    assert agent.raw.one("res.partner", contact["id"], "active")["active"] is False
    hours = await agent.done("timesheet_log_hours", project_id=agent.project(), hours=1, description="Oops")
    assert (await agent.undo(hours["receipt"]))["success"] is True
    assert agent.raw("account.analytic.line", "search_count", domain=[["id", "=", hours["id"]]]) == 0


async def test_deleted_leads_and_lines_are_made_again_and_the_new_id_is_said(agent: Any) -> None:
    contact = agent.contact(email="ann@example.org")
    stage = agent.crm_stage(False)
    given = {"partner_id": contact, "expected_revenue": 99.5, "description": "<p>x</p>", "stage_id": stage}
    lead = agent.lead(city="Ghent", **given)
    fields = (
        "name",
        "city",
        "partner_id",
        "expected_revenue",
        "description",
        "stage_id",
        "email_from",
        "type",
        "user_id",
    )
    before = agent.raw.one("crm.lead", lead, *fields)
    gone = await agent.done("crm_delete_lead", lead_id=lead)
    back = await agent.undo(gone["receipt"])
    assert (back["old_id"], str(back["id"]) in back["note"]) == (lead, True)
    assert agent.raw.one("crm.lead", back["id"], *fields) == {**before, "id": back["id"]}
    project = agent.project()
    line = await agent.done("timesheet_log_hours", project_id=project, hours=1.25, description="x", date="2026-11-30")
    gone = await agent.done("timesheet_delete", line_id=line["id"])
    back = await agent.undo(gone["receipt"])
    found = agent.raw.one("account.analytic.line", back["id"], "name", "date", "unit_amount", "project_id")
    assert (found["name"], found["date"], found["unit_amount"]) == ("x", "2026-11-30", 1.25)
    assert found["project_id"][0] == project


async def test_a_lead_made_again_does_not_rewrite_its_contact(agent: Any) -> None:
    contact = agent.contact(email="old@example.org")
    lead = agent.lead(partner_id=contact)
    gone = await agent.done("crm_delete_lead", lead_id=lead)
    agent.raw("res.partner", "write", [contact], vals={"email": "new@example.org"})
    assert (await agent.undo(gone["receipt"]))["success"] is True
    assert agent.raw.one("res.partner", contact, "email")["email"] == "new@example.org"


async def test_a_receipt_of_a_read_of_a_refusal_or_of_nobody_undoes_nothing(agent: Any) -> None:
    contact = agent.contact()
    refused = await agent("odoo_update_contact", contact_id=contact, email="nobody")
    for receipt in (refused["receipt"], "r-" + "a" * 26, "'; DROP TABLE changes"):
        assert (await agent.undo(receipt))["error"] == "__NOT_FOUND__"


async def test_values_are_kept_for_30_days_and_no_longer(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    contact = agent.contact(city="Ghent")
    done = await agent.done("odoo_update_contact", contact_id=contact, city="Bruges")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 30 * 24 * 3600 + 1)
    assert (await agent.undo(done["receipt"]))["error"] == "__NOT_FOUND__"
    await agent.done("odoo_update_contact", contact_id=contact, city="Antwerp")
    rows = agent.backend.memory._connection.execute("SELECT receipt FROM changes").fetchall()
    assert (done["receipt"],) not in rows


async def test_a_write_that_could_not_be_undone_does_not_happen(agent: Any) -> None:
    contact = agent.contact(city="Ghent")
    agent.backend.memory.path.parent.mkdir(parents=True, exist_ok=True)
    agent.backend.memory.path.mkdir()
    await agent.refused("WRITE_FAILED", "odoo_update_contact", contact_id=contact, city="Bruges")
    assert agent.raw.one("res.partner", contact, "city")["city"] == "Ghent"


async def test_the_memory_is_for_the_service_alone(agent: Any) -> None:
    await agent.done("odoo_create_project", name=agent.unique("Private"))
    for file in agent.backend.memory.path.parent.glob("undo.db*"):
        assert file.stat().st_mode & 0o077 == 0
