"""Hours: believable, on the right project, of the right person, and added up exactly."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

pytestmark = pytest.mark.anyio


async def test_hours_are_logged_corrected_reported_and_deleted(agent: Any) -> None:
    project = agent.project()
    task = agent.task(project)
    given = {"project_id": project, "description": "Draft", "task_id": task, "date": "2026-11-30"}
    made = await agent.done("timesheet_log_hours", hours=1.5, **given)
    assert (made["name"], made["hours"], made["date"]) == ("Draft", 1.5, "2026-11-30")
    assert made["employee"]
    again = await agent.done("timesheet_log_hours", hours=1.5, **given)
    assert (again["id"], again["repeated"]) == (made["id"], True)
    await agent.done("timesheet_update", line_id=made["id"], hours=2, description="Final", date="2026-12-01")
    report = await agent.done("timesheet_report", since="2026-11-01", project_id=project)
    assert report["total_hours"] == 2.0
    (line,) = report["lines"]
    assert (line["id"], line["hours"], line["description"], line["date"]) == (made["id"], 2.0, "Final", "2026-12-01")
    assert line["employee"] == made["employee"]
    assert "undo" in (await agent.done("timesheet_delete", line_id=made["id"]))["note"]
    await agent.refused("NOT_FOUND", "timesheet_delete", line_id=made["id"])
    await agent.refused("NOT_FOUND", "timesheet_update", line_id=made["id"], hours=1)
    empty = await agent.done("timesheet_report", since="2026-11-01", project_id=project)
    assert (empty["lines"], empty["total_hours"]) == ([], 0.0)


async def test_today_is_the_users_today(agent: Any) -> None:
    zone = ZoneInfo(agent.raw("res.users", "context_get")["tz"] or "UTC")
    project = agent.project()
    before = datetime.now(zone).date().isoformat()
    made = await agent.done("timesheet_log_hours", project_id=project, hours=1, description="x")
    assert before <= made["date"] <= datetime.now(zone).date().isoformat()


NO_HOURS = [0, -1, 24.01, 25, 10_000, 1e308, True, "2", "1:30"]


async def test_hours_that_no_day_has_are_refused(agent: Any) -> None:
    for hours in NO_HOURS:
        project = agent.project()
        given = {"project_id": project, "description": "x"}
        assert "hours" in await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", hours=hours, **given)
        line = (await agent.done("timesheet_log_hours", hours=24, **given))["id"]
        await agent.refused("BAD_ARGUMENT", "timesheet_update", line_id=line, hours=hours)


async def test_project_and_task_must_belong_together(agent: Any) -> None:
    project, other = agent.project(), agent.project()
    theirs = agent.task(other)
    private = agent.raw.create("project.task", name=agent.unique("Private"))
    given = {"project_id": project, "hours": 1, "description": "x"}
    assert f"project {other}" in await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", task_id=theirs, **given)
    assert "no project" in await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", task_id=private, **given)
    await agent.refused("NOT_FOUND", "timesheet_log_hours", task_id=99_999_999, **given)
    await agent.refused("NOT_FOUND", "timesheet_log_hours", **{**given, "project_id": 99_999_999})
    assert agent.raw("account.analytic.line", "search_count", domain=[["project_id", "=", project]]) == 0


async def test_a_project_must_take_timesheets_and_not_be_archived(agent: Any) -> None:
    off, gone = agent.project(allow_timesheets=False), agent.project(active=False)
    turned_off = agent.project()
    agent.raw("project.project", "write", [turned_off], vals={"allow_timesheets": False})
    for project, word in ((off, "timesheets"), (turned_off, "timesheets"), (gone, "archived")):
        hint = await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", project_id=project, hours=1, description="x")
        assert word in hint


NO_DATES = ["last monday", "today", "-7d", "=monday -1w", "30/11/2026", "2026-02-30", ""]


async def test_a_report_since_no_date_is_refused(agent: Any) -> None:
    for since in NO_DATES:
        assert "since" in await agent.refused("BAD_ARGUMENT", "timesheet_report", since=since)
        await agent.refused("BAD_ARGUMENT", "timesheet_report", since="2026-11-01", until=since)
        line = agent.raw.create("account.analytic.line", project_id=agent.project(), unit_amount=1.0, name="x")
        await agent.refused("BAD_ARGUMENT", "timesheet_update", line_id=line, date=since)


async def test_a_span_is_inclusive_and_must_not_run_backwards(agent: Any) -> None:
    project = agent.project()
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        agent.raw.create("account.analytic.line", project_id=project, unit_amount=1.0, name=day, date=day)
    span = {"since": "2026-03-01", "until": "2026-03-02", "project_id": project}
    report = await agent.done("timesheet_report", **span)
    assert [line["date"] for line in report["lines"]] == ["2026-03-02", "2026-03-01"]
    await agent.refused("BAD_ARGUMENT", "timesheet_report", since="2026-03-02", until="2026-03-01")
    await agent.refused("NOT_FOUND", "timesheet_report", since="2026-03-01", project_id=99_999_999)


async def test_the_sum_is_exact_to_the_hundredth_over_more_lines_than_are_shown(agent: Any) -> None:
    project = agent.project()
    lines = [{"project_id": project, "unit_amount": 0.1, "name": "tenth", "date": "2026-04-01"}] * 300
    agent.raw("account.analytic.line", "create", vals_list=[*lines, {**lines[0], "unit_amount": 0.005}])
    report = await agent.done("timesheet_report", since="2026-04-01", until="2026-04-01", project_id=project)
    assert report["total_hours"] == 30.01
    assert report["total"] == 301
    assert 100 < len(report["lines"]) <= 200
    assert "of 301" in report["note"]


async def test_hours_that_no_sum_would_show_are_refused(agent: Any) -> None:
    project = agent.project()
    for hours in (0.001, 0.005, 0.0099):
        await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", project_id=project, hours=hours, description="x")
    line = (await agent.done("timesheet_log_hours", project_id=project, hours=0.01, description="x"))["id"]
    await agent.refused("BAD_ARGUMENT", "timesheet_update", line_id=line, hours=0.004)


async def test_a_blank_description_is_refused(agent: Any) -> None:
    project = agent.project()
    for words in ("", "  ", "\u200b", "a\nb"):
        await agent.refused("BAD_ARGUMENT", "timesheet_log_hours", project_id=project, hours=1, description=words)


@pytest.mark.users("worker")
async def test_only_lines_of_the_own_employee_can_be_changed(hire: Any) -> None:
    worker, manager = await hire("worker", client="worker"), await hire()
    project = manager.project()
    given = {"project_id": project, "hours": 1, "description": "x"}
    theirs = (await worker.done("timesheet_log_hours", **given))["id"]
    # Odoo would let a project manager change it.
    assert "another employee" in await manager.refused("FORBIDDEN", "timesheet_update", line_id=theirs, hours=2)
    await manager.refused("FORBIDDEN", "timesheet_delete", line_id=theirs)
    own = (await manager.done("timesheet_log_hours", **given))["id"]
    await worker.refused("FORBIDDEN", "timesheet_update", line_id=own, hours=2)
    seen = (await worker.done("timesheet_report", since="2026-01-01", project_id=project))["lines"]
    assert [line["id"] for line in seen] == [theirs]


@pytest.mark.users("worker")
async def test_the_clients_employee_is_used_only_if_odoo_lets_the_login(hire: Any) -> None:
    worker, manager = await hire("worker"), await hire()
    (his,) = manager.raw("hr.employee", "search", domain=[["user_id", "=", _uid(worker)]])
    (mine,) = manager.raw("hr.employee", "search", domain=[["user_id", "=", _uid(manager)]])
    given = {"project_id": manager.project(), "hours": 1, "description": "x"}
    boss = await hire(employee=his, client="boss")
    line = await boss.done("timesheet_log_hours", **given)
    assert line["employee"] == manager.raw.one("hr.employee", his, "name")["name"]
    await boss.done("timesheet_update", line_id=line["id"], hours=3)
    usurper = await hire("worker", employee=mine, client="usurper")
    assert "odoo_employee_id" in await usurper.refused("FORBIDDEN", "timesheet_log_hours", **given)


@pytest.mark.users("noemp")
async def test_a_login_without_employee_is_the_operators_to_mend(hire: Any) -> None:
    agent, manager = await hire("noemp"), await hire()
    hint = await agent.refused(
        "NOT_CONFIGURED", "timesheet_log_hours", project_id=manager.project(), hours=1, description="x"
    )
    assert "employee" in hint


def _uid(agent: Any) -> int:
    return int(agent.raw("res.users", "context_get")["uid"])
