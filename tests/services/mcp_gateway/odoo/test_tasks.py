"""Tasks: what is written comes back as it was meant."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def test_a_task_comes_back_as_it_was_written(agent: Any) -> None:
    project = agent.project()
    stage, _ = agent.stages(project, "New", "Done")
    words = "First line\nsecond  line\n\nNew <paragraph> & more: 1 < 2\n\n\n  indented, žluťoučký 🚀"
    name = agent.unique("Call <Ann>")
    made = await agent.done(
        "odoo_create_task", project_id=project, name=name, description=words, deadline="2026-12-31", stage_id=stage
    )
    assert (made["name"], made["stage"], made["deadline"]) == (name, "New", "2026-12-31")
    task = (await agent.done("odoo_get_task", task_id=made["id"]))["task"]
    assert task["description"] == words
    assert (task["name"], task["project_id"], task["stage_id"]) == (name, project, stage)
    assert (task["state"], task["archived"], task["priority"]) == ("in_progress", False, 0)
    assert (task["deadline"], task["deadline_time"]) == ("2026-12-31", "18:00")
    listed = (await agent.done("odoo_list_tasks", project_id=project))["tasks"]
    assert [(row["id"], row["stage"], row["deadline"]) for row in listed] == [(made["id"], "New", "2026-12-31")]
    assert listed[0]["assignees"] == task["assignees"] != []


async def test_a_deadline_is_the_end_of_that_day_where_the_user_lives(agent: Any) -> None:
    zone = agent.raw("res.users", "context_get")["tz"] or "UTC"
    task = agent.task(agent.project())
    await agent.done("odoo_update_task", task_id=task, deadline="2026-07-31")
    stored = agent.raw.one("project.task", task, "date_deadline")["date_deadline"]
    moment = datetime.fromisoformat(stored).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    assert moment.isoformat()[:16] == "2026-07-31T18:00"


async def test_a_deadline_that_a_person_set_to_the_minute_is_kept_when_the_day_is_the_same(agent: Any) -> None:
    task = agent.task(agent.project(), date_deadline="2026-12-31 14:30:00")
    answer = await agent.done("odoo_update_task", task_id=task, deadline="2026-12-31")
    assert answer["changed"] == []
    assert agent.raw.one("project.task", task, "date_deadline")["date_deadline"] == "2026-12-31 14:30:00"


async def test_empty_text_clears_deadline_and_description(agent: Any) -> None:
    task = agent.task(agent.project(), date_deadline="2026-12-31 14:30:00", description="<p>x</p>")
    answer = await agent.done("odoo_update_task", task_id=task, deadline="", description="")
    assert answer["deadline"] is None
    row = agent.raw.one("project.task", task, "date_deadline", "description")
    assert not row["date_deadline"]
    assert not row["description"]


NO_DATES = [
    "tomorrow",
    "31/12/2026",
    "2026-13-01",
    "2026-02-30",
    "2026-12-31 10:00",
    "2026-12-31T10:00:00Z",
    "1999-12-31",
    "2101-01-01",
    "0001-01-01",
    "26-12-31",
    "2026-1-1",
    "٢٠٢٦-١٢-٣١",
    " 2026-12-31",
]


async def test_a_deadline_that_is_no_date_is_refused_and_nothing_is_made(agent: Any) -> None:
    for deadline in NO_DATES:
        project = agent.project()
        hint = await agent.refused("BAD_ARGUMENT", "odoo_create_task", project_id=project, name="x", deadline=deadline)
        assert "deadline" in hint
        assert agent.raw("project.task", "search_count", domain=[["project_id", "=", project]]) == 0


async def test_moving_stays_within_the_project(agent: Any) -> None:
    project, other = agent.project(), agent.project()
    new, done = agent.stages(project, "New", "Done")
    (strange,) = agent.stages(other, "Strange")
    task = agent.task(project, stage_id=new)
    hint = await agent.refused("BAD_ARGUMENT", "odoo_move_task_stage", task_id=task, stage_id=strange)
    assert f"project {project}" in hint
    await agent.refused("BAD_ARGUMENT", "odoo_create_task", project_id=project, name="x", stage_id=strange)
    await agent.refused("BAD_ARGUMENT", "odoo_list_tasks", project_id=project, stage_id=strange)
    await agent.refused("NOT_FOUND", "odoo_move_task_stage", task_id=task, stage_id=99_999_999)
    await agent.refused("NOT_FOUND", "odoo_move_task_stage", task_id=99_999_999, stage_id=done)
    await agent.refused("BAD_ARGUMENT", "odoo_move_task_stage", task_id=task, stage_id="Done")
    assert agent.raw.one("project.task", task, "stage_id")["stage_id"][0] == new
    moved = await agent.done("odoo_move_task_stage", task_id=task, stage_id=done)
    assert (moved["stage"], moved["from_stage"], moved["changed"]) == ("Done", "New", ["stage"])
    assert agent.raw.one("project.task", task, "stage_id")["stage_id"][0] == done
    assert (await agent.done("odoo_move_task_stage", task_id=task, stage_id=done))["changed"] == []
    # Odoo keeps the state apart: a task in the folded stage is still in progress, and the agent can see that.
    assert (await agent.done("odoo_get_task", task_id=task))["task"]["state"] == "in_progress"


async def test_a_private_task_has_no_stages_to_move_through(agent: Any) -> None:
    (stage,) = agent.stages(agent.project(), "New")
    task = agent.raw.create("project.task", name=agent.unique("Private"))
    assert "no project" in await agent.refused("BAD_ARGUMENT", "odoo_move_task_stage", task_id=task, stage_id=stage)


async def test_two_agents_moving_one_task_at_once_both_learn_where_it_stands(hire: Any) -> None:
    one, two = await hire(client="one"), await hire(client="two")
    project = one.project()
    new, doing, done = one.stages(project, "New", "Doing", "Done")
    task = one.task(project, stage_id=new)
    answers: list[Any] = []

    async def move(agent: Any, stage: int) -> None:
        answers.append(await agent("odoo_move_task_stage", task_id=task, stage_id=stage))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(move, one, doing)
        tasks.start_soon(move, two, done)
    now = one.raw.one("project.task", task, "stage_id")["stage_id"]
    for answer in answers:
        if answer["success"]:
            assert answer["stage"] in ("Doing", "Done")
        else:
            assert (answer["error"], answer["stage"]) == ("__CONFLICT__", now[1])
    assert any(answer["success"] and answer["stage"] == now[1] for answer in answers)


async def test_the_same_create_again_is_one_task_and_another_client_gets_its_own(hire: Any) -> None:
    agent, other = await hire(), await hire(client="other")
    project = agent.project()
    given = {"project_id": project, "name": "Once", "deadline": "2026-12-31"}
    answers: list[Any] = []

    async def create(who: Any) -> None:
        answers.append(await who.done("odoo_create_task", **given))

    async with anyio.create_task_group() as tasks:
        for who in (agent, agent, agent, other):
            tasks.start_soon(create, who)
    assert len({answer["id"] for answer in answers}) == 2
    assert sum("repeated" in answer for answer in answers) == 2
    assert agent.raw("project.task", "search_count", domain=[["project_id", "=", project]]) == 2


async def test_a_repeat_is_known_after_a_restart(hire: Any) -> None:
    before = await hire()
    project = before.project()
    first = await before.done("odoo_create_task", project_id=project, name="Once")
    await before.backend.close()
    after = await hire()
    again = await after.done("odoo_create_task", project_id=project, name="Once")
    assert (again["id"], again["repeated"]) == (first["id"], True)


async def test_a_refused_create_is_no_first_time(agent: Any) -> None:
    project = agent.project(active=False)
    await agent.refused("BAD_ARGUMENT", "odoo_create_task", project_id=project, name="Once")
    agent.raw("project.project", "write", [project], vals={"active": True})
    assert "repeated" not in await agent.done("odoo_create_task", project_id=project, name="Once")


async def test_a_description_of_200000_characters_is_refused_whole(agent: Any) -> None:
    project = agent.project()
    task = agent.task(project, description="<p>kept</p>")
    long = "word " * 40_000
    assert "200000" in await agent.refused("TOO_LARGE", "odoo_update_task", task_id=task, description=long)
    await agent.refused("TOO_LARGE", "odoo_create_task", project_id=project, name="x", description=long)
    assert "kept" in agent.raw.one("project.task", task, "description")["description"]


async def test_a_long_description_of_a_person_is_cut_and_says_so(agent: Any) -> None:
    task = agent.task(agent.project(), description=f"<p>{'word ' * 40_000}</p>")
    found = (await agent.done("odoo_get_task", task_id=task))["task"]
    assert len(found["description"]) == 27_000
    assert "199999 characters" in found["cut"]


async def test_many_long_tasks_fit_into_one_answer(agent: Any) -> None:
    project = agent.project()
    values = [{"name": f"{place:03} " + "x" * 400, "project_id": project} for place in range(120)]
    agent.raw("project.task", "create", vals_list=values)
    listed = await agent.done("odoo_list_tasks", project_id=project, limit=120)
    assert listed["total"] == 120
    assert 20 < len(listed["tasks"]) < 120
    assert f"{len(listed['tasks'])} of 120" in listed["note"]
    assert (await agent.done("odoo_list_tasks", project_id=project))["total"] == 120


@pytest.mark.parametrize("name", ["🚀", "' OR 1=1 --", "%", "_", "\\", "{{7*7}}", "<script>alert(1)</script>"])
async def test_odd_names_are_only_names(agent: Any, name: str) -> None:
    project = agent.project()
    made = await agent.done("odoo_create_task", project_id=project, name=name)
    assert agent.raw.one("project.task", made["id"], "name")["name"] == name
    assert [row["name"] for row in (await agent.done("odoo_list_tasks", project_id=project))["tasks"]] == [name]


async def test_markup_of_people_reads_as_text(agent: Any) -> None:
    markup = "<div><h1>Plan</h1><ul><li>one</li><li>two &amp; three</li></ul><p>a<br>b</p><script>x()</script></div>"
    task = agent.task(agent.project(), description=markup)
    found = (await agent.done("odoo_get_task", task_id=task))["task"]["description"]
    assert found == "Plan\n\n- one\n- two & three\n\na\nb"


@pytest.mark.users("worker", "limited")
async def test_what_a_record_rule_hides_is_forbidden_and_not_listed(hire: Any) -> None:
    manager, worker = await hire(), await hire("worker")
    hidden = manager.project(privacy_visibility="followers")
    task = manager.task(hidden)
    hint = await worker.refused("FORBIDDEN", "odoo_get_task", task_id=task)
    assert f"task {task}" in hint
    await worker.refused("FORBIDDEN", "odoo_update_task", task_id=task, name="x")
    project = manager.project()
    shown = manager.task(project)
    limited = await hire("limited")
    await limited.refused("FORBIDDEN", "odoo_update_task", task_id=shown, name="x")
    await limited.refused("FORBIDDEN", "odoo_create_task", project_id=project, name="x")


async def test_an_archived_task_is_said_to_be_archived(agent: Any) -> None:
    task = agent.task(agent.project(), active=False)
    assert (await agent.done("odoo_get_task", task_id=task))["task"]["archived"] is True
    assert (await agent.done("odoo_update_task", task_id=task, name="x"))["archived"] is True
