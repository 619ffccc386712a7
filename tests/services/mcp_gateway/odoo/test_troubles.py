"""Odoo away, slow, broken or restarted: every call is answered truly, and nothing happens twice."""

import os
import time
from typing import Any

import anyio
import pytest

from mcp_gateway.actions.odoo import desk as desk_module
from mcp_gateway.ports.odoo import port as port_module

pytestmark = pytest.mark.anyio

# The deadline of a call: a real Odoo answers slower than the test double.
SECONDS = 4.0 if os.environ.get("TALARIA_TEST_ODOO_URL") else 1.2


@pytest.fixture
async def troubled(hire: Any, meddler: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An agent whose requests pass through the meddler, logged in already, with little time and less patience."""
    monkeypatch.setattr(desk_module, "LOOK_AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(port_module, "MARGIN_SECONDS", 0.1)
    agent = await hire(url=meddler.url, seconds=SECONDS)
    await agent.done("crm_list_stages")
    return agent


async def test_a_stopped_odoo_is_down_and_nothing_was_changed(hire: Any) -> None:
    agent = await hire(url="http://127.0.0.1:9", seconds=3)
    assert "cannot be reached" in await agent.refused("UPSTREAM_DOWN", "odoo_list_projects")
    hint = await agent.refused("UPSTREAM_DOWN", "odoo_create_project", name="x")
    assert "Nothing was changed" in hint
    condition = await agent.backend.condition()
    assert (condition.state, "cannot be reached" in condition.reason) == ("down", True)


async def test_a_read_is_tried_twice_and_no_more(troubled: Any, meddler: Any) -> None:
    meddler.times(1, "drop", b"project.project", b"search_read")
    await troubled.done("odoo_list_projects")
    assert meddler.count(b"project.project", b"search_read") == 2
    meddler.times(9, "drop", b"crm.lead", b"search_read")
    await troubled.refused("UPSTREAM_DOWN", "crm_list_leads")
    assert meddler.count(b"crm.lead", b"search_read") == 2


async def test_a_failed_read_is_never_an_empty_success(troubled: Any, meddler: Any) -> None:
    for deed in ("502", "404", "500", "page", "huge", "303"):
        meddler.times(2, deed, b"search_read")
        answer = await troubled("odoo_list_projects")
        assert answer["success"] is False, deed
        assert "projects" not in answer
        assert "/usr/lib" not in answer["hint"]


async def test_a_page_of_a_proxy_after_a_write_leaves_the_outcome_unknown(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    meddler.times(1, "502", b"project.project", b"write")
    hint = await troubled.refused("OUTCOME_UNKNOWN", "odoo_update_project", project_id=project, name="Never")
    assert "may or may not" in hint
    assert meddler.count(b"project.project", b"write", b"Never") == 1
    meddler.times(1, "503", b"project.project", b"write")
    hint = await troubled.refused("UPSTREAM_DOWN", "odoo_update_project", project_id=project, name="Never")
    assert "took nothing" in hint


async def test_a_write_whose_answer_was_lost_is_read_back(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    meddler.once("drop after", b"project.project", b"write")
    answer = await troubled.done("odoo_update_project", project_id=project, name="Renamed")
    assert "reading back" in answer["note"]
    assert troubled.raw.one("project.project", project, "name")["name"] == "Renamed"
    assert meddler.count(b"project.project", b"Renamed") == 1


async def test_a_create_whose_answer_was_lost_is_found_and_not_made_again(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    for tool, model, given in (
        ("odoo_create_task", b"project.task", {"project_id": project, "name": "Lost"}),
        ("odoo_create_project", b"project.project", {"name": troubled.unique("Lost")}),
        ("odoo_create_contact", b"res.partner", {"name": troubled.unique("Lost"), "email": "a@b.example"}),
        ("crm_create_lead", b"crm.lead", {"name": troubled.unique("Lost")}),
        ("timesheet_log_hours", b"analytic.line", {"project_id": project, "hours": 1.25, "description": "Lost"}),
    ):
        meddler.once("drop after", model, b"create")
        answer = await troubled.done(tool, **given)
        assert "reading back" in answer["note"], tool
        again = await troubled.done(tool, **given)
        assert (again["id"], again["repeated"]) == (answer["id"], True)
        assert meddler.count(model, b"create", b"vals_list" if b"json" in meddler.seen[-1][0].encode() else b"") <= 2


async def test_a_delete_whose_answer_was_lost_is_known_to_have_happened(troubled: Any, meddler: Any) -> None:
    lead = troubled.lead()
    meddler.once("drop after", b"crm.lead", b"unlink")
    assert "reading back" in (await troubled.done("crm_delete_lead", lead_id=lead))["note"]
    receipt = (await troubled.refused("NOT_FOUND", "crm_delete_lead", lead_id=lead)) and None
    assert receipt is None


async def test_a_write_that_never_arrived_is_unknown_and_is_not_repeated_blindly(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    given = {"project_id": project, "name": "Once"}
    meddler.once("drop", b"project.task", b"create")
    await troubled.refused("OUTCOME_UNKNOWN", "odoo_create_task", **given)
    answer = await troubled("odoo_create_task", **given)
    assert answer["error"] == "__OUTCOME_UNKNOWN__"
    assert 0 < answer["retry_after_seconds"] <= 120
    assert troubled.raw("project.task", "search_count", domain=[["project_id", "=", project]]) == 0
    late = troubled.raw.create("project.task", **given)
    found = await troubled.done("odoo_create_task", **given)
    assert (found["id"], found["repeated"]) == (late, True)


async def test_an_odoo_that_hangs_is_answered_for_within_the_deadline(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    meddler.times(2, "hang", b"search_read")
    began = time.monotonic()
    await troubled.refused("TIMEOUT", "odoo_list_projects")
    meddler.times(9, "hang", b"project.project", b"Hung")
    hint = await troubled.refused("OUTCOME_UNKNOWN", "odoo_update_project", project_id=project, name="Hung")
    assert "may or may not" in hint
    assert time.monotonic() - began < 2 * SECONDS


async def test_a_slow_write_that_happened_is_found_before_the_deadline(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    meddler.once("hang after", b"project.project", b"write")
    answer = await troubled.done("odoo_update_project", project_id=project, name="Slow")
    assert "reading back" in answer["note"]


async def test_an_odoo_restarting_in_the_middle_of_a_write_is_asked_until_it_is_back(
    troubled: Any, meddler: Any
) -> None:
    project = troubled.project()
    deeds = ["drop after", "drop", "drop", "503", "502", "502"]
    meddler.deed = lambda path, body: deeds.pop(0) if deeds and b"project.project" in path.encode() + body else ""
    meddler.deed = _after_read(meddler.deed)
    answer = await troubled.done("odoo_update_project", project_id=project, name="Restarted")
    assert "reading back" in answer["note"]
    assert not deeds


def _after_read(deed: Any) -> Any:
    reads: list[int] = []

    def choose(path: str, body: bytes) -> str:
        if not reads:
            reads.append(1)
            return ""
        return str(deed(path, body))

    return choose


async def test_an_answer_of_5_mb_is_refused_without_being_read_whole(troubled: Any, meddler: Any) -> None:
    meddler.times(9, "huge", b"search_read")
    await troubled.refused("TOO_LARGE", "odoo_list_projects")


async def test_a_request_too_large_for_a_proxy_changed_nothing(troubled: Any, meddler: Any) -> None:
    project = troubled.project()
    meddler.once("413", b"project.project", b"write")
    hint = await troubled.refused("TOO_LARGE", "odoo_update_project", project_id=project, name="x")
    assert "nothing was changed" in hint


async def test_a_warm_call_never_logs_in_again_and_connections_are_kept(troubled: Any, meddler: Any) -> None:
    meddler.seen.clear()
    before = meddler.connections
    for _ in range(20):
        await troubled.done("crm_list_stages")
    assert len(meddler.seen) == 20
    assert meddler.count(b"authenticate") == meddler.count(b"context_get") == 0
    assert meddler.connections == before


async def test_no_connection_is_shared_by_two_calls_at_once(troubled: Any, meddler: Any) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(troubled.done, "odoo_list_projects")
    assert 1 < meddler.busiest <= 20


async def test_a_cold_start_logs_in_once_for_all_that_wait(hire: Any, meddler: Any) -> None:
    agent = await hire(url=meddler.url)
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(agent.done, "crm_list_stages")
    assert meddler.count(b"context_get") <= 2  # JSON-2 learns the user's id from it


async def test_condition_tells_a_hanging_odoo_within_its_time(
    hire: Any, meddler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_module, "CONDITION_SECONDS", 0.2)
    agent = await hire(url=meddler.url)
    meddler.times(9, "hang")
    condition = await agent.backend.condition()
    assert (condition.state, "0.2 s" in condition.reason) == ("down", True)
