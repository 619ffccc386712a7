"""Projects and their stages."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_a_project_is_made_listed_renamed_and_archived(agent: Any) -> None:
    name = agent.unique("Überprüfung 日本語 🚀")
    made = await agent.done("odoo_create_project", name=f"  {name} ", description="One <b>\n\nTwo & three")
    assert made["name"] == name
    assert made["receipt"].startswith("r-")
    assert made["stages"] == 0
    stored = agent.raw.one("project.project", made["id"], "name", "description", "active")
    assert stored["name"] == name
    assert "&lt;b&gt;" in stored["description"]
    listed = await agent.done("odoo_list_projects", limit=200)
    assert {"id": made["id"], "name": name, "archived": False} in listed["projects"]
    renamed = await agent.done("odoo_update_project", project_id=made["id"], name=f"{name} 2", description="")
    assert sorted(renamed["changed"]) == ["description", "name"]
    assert not agent.raw.one("project.project", made["id"], "description")["description"]
    again = await agent.done("odoo_update_project", project_id=made["id"], name=f"{name} 2")
    assert again["changed"] == []


async def test_the_same_create_again_gives_the_first_project(agent: Any) -> None:
    name = agent.unique("Once")
    first = await agent.done("odoo_create_project", name=name)
    second = await agent.done("odoo_create_project", name=name)
    assert second["repeated"] is True
    assert second["id"] == first["id"]
    assert second["first_receipt"] == first["receipt"] != second["receipt"]
    found = agent.raw("project.project", "search_count", domain=[["name", "=", name]])
    assert found == 1


async def test_archiving_says_how_many_tasks_went_with_it_and_back(agent: Any) -> None:
    project = agent.project()
    agent.task(project)
    agent.task(project)
    by_hand = agent.task(project)
    agent.raw("project.task", "write", [by_hand], vals={"active": False})
    gone = await agent.done("odoo_archive_project", project_id=project)
    assert (gone["archived"], gone["tasks"]) == (True, 2)
    assert (await agent.done("odoo_archive_project", project_id=project))["changed"] == []
    listed = await agent.done("odoo_list_tasks", project_id=project)
    assert listed["tasks"] == []
    assert "archived" in listed["note"]
    assert "archived" in await agent.refused("BAD_ARGUMENT", "odoo_create_task", project_id=project, name="New")
    back = await agent.done("odoo_archive_project", project_id=project, archived=False)
    assert (back["archived"], back["tasks"]) == (False, 3)
    assert "by hand" in back["note"]


async def test_archived_projects_are_listed_only_when_asked_for(agent: Any) -> None:
    project = agent.project()
    agent.raw("project.project", "write", [project], vals={"active": False})
    shown = await agent.done("odoo_list_projects", limit=200)
    assert project not in [one["id"] for one in shown["projects"]]
    everything = await agent.done("odoo_list_projects", include_archived=True, limit=200)
    if everything["total"] <= 200:
        assert {"id": project, "archived": True}.items() <= _by_id(everything["projects"])[project].items()


async def test_limits_are_lowered_and_totals_said(agent: Any) -> None:
    agent.project()
    agent.project()
    one = await agent.done("odoo_list_projects", limit=1)
    assert len(one["projects"]) == 1
    assert one["total"] >= 2
    assert f"1 of {one['total']}" in one["note"]
    assert "200" in (await agent.done("odoo_list_projects", limit=100_000))["note"]
    await agent.refused("BAD_ARGUMENT", "odoo_list_projects", limit=0)


async def test_stages_are_listed_in_order(agent: Any) -> None:
    project = agent.project()
    assert "no stages" in (await agent.done("odoo_list_task_stages", project_id=project))["note"]
    new, done = agent.stages(project, "New", "Done")
    listed = (await agent.done("odoo_list_task_stages", project_id=project))["stages"]
    assert [(stage["id"], stage["name"], stage["folded"]) for stage in listed] == [
        (new, "New", False),
        (done, "Done", True),
    ]


NOTHINGS = [0, -1, 99_999_999, 2**31, 2**63]


async def test_ids_of_nothing_are_not_found(agent: Any) -> None:
    for project in NOTHINGS:
        await agent.refused("NOT_FOUND", "odoo_update_project", project_id=project, name="x")
        await agent.refused("NOT_FOUND", "odoo_archive_project", project_id=project)
        await agent.refused("NOT_FOUND", "odoo_list_task_stages", project_id=project)
        await agent.refused("NOT_FOUND", "odoo_list_tasks", project_id=project)
        await agent.refused("NOT_FOUND", "odoo_create_task", project_id=project, name="x")


NO_NUMBERS = ["3", 3.5, True, None, [3], "Apollo"]


async def test_what_is_no_whole_number_is_a_bad_argument(agent: Any) -> None:
    for project in NO_NUMBERS:
        assert "project_id" in await agent.refused("BAD_ARGUMENT", "odoo_update_project", project_id=project, name="x")


NO_NAMES = ["", "   ", "\n", "a\nb", "x" * 251, "nul\x00", "half \ud83d"]


async def test_names_that_say_nothing_or_cannot_be_stored_are_refused(agent: Any) -> None:
    for name in NO_NAMES:
        assert "name" in await agent.refused("BAD_ARGUMENT", "odoo_create_project", name=name)


async def test_an_update_of_nothing_is_refused(agent: Any) -> None:
    assert "at least one" in await agent.refused("BAD_ARGUMENT", "odoo_update_project", project_id=agent.project())


@pytest.mark.users("worker")
async def test_a_missing_right_is_named_and_nobody_else(hire: Any) -> None:
    worker = await hire("worker")
    hint = await worker.refused("FORBIDDEN", "odoo_create_project", name="Mine")
    assert "Project/Administrator" in hint
    manager = await hire()
    project = manager.project()
    hint = await worker.refused("FORBIDDEN", "odoo_update_project", project_id=project, name="Mine")
    assert f"project {project}" in hint
    assert "Project/Administrator" in hint
    assert "Worker" not in hint
    await worker.refused("FORBIDDEN", "odoo_archive_project", project_id=project)


def _by_id(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in rows}
