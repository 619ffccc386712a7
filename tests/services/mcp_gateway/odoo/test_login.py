"""Who we are for Odoo, and what the operator is told when that is not clear."""

import sys
import zoneinfo
from typing import Any

import pytest
from pydantic import ValidationError

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.ports.odoo import OdooPort
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets

pytestmark = pytest.mark.anyio


async def test_readiness_says_which_odoo_over_which_transport(agent: Any, system: Any) -> None:
    condition = await agent.backend.condition()
    name = {"json2": "JSON-2", "xmlrpc": "XML-RPC"}[system.transport]
    assert (condition.state, condition.reason) == ("ok", f"Odoo {agent.raw.release} over {name}")


async def test_auto_takes_json2_from_19_on_and_asks_once(hire: Any, meddler: Any) -> None:
    agent = await hire(url=meddler.url, transport="auto")
    await agent.done("crm_list_stages")
    reason = (await agent.backend.condition()).reason
    assert reason.endswith("JSON-2" if agent.raw.release >= 19 else "XML-RPC")
    await agent.done("crm_list_stages")
    assert meddler.count(b"/web/version") == 1


async def test_json2_on_an_older_release_is_not_configured(hire: Any) -> None:
    agent = await hire(transport="json2")
    if agent.raw.release < 19:
        assert "set it to auto" in await agent.refused("NOT_CONFIGURED", "crm_list_stages")
    else:
        await agent.done("crm_list_stages")


async def test_a_wrong_key_is_not_configured_with_the_remedy_and_red_in_readiness(hire: Any, system: Any) -> None:
    agent = await hire(key="wrong-key-of-this-test")
    for tool, given in (("odoo_list_projects", {}), ("odoo_create_project", {"name": "x"})):
        hint = await agent.refused("NOT_CONFIGURED", tool, **given)
        assert "API key" in hint
        assert "odoo.api_key_file" in hint
    condition = await agent.backend.condition()
    assert (condition.state, "odoo.api_key_file" in condition.reason) == ("down", True)


async def test_an_unknown_login_is_not_configured(hire: Any, system: Any) -> None:
    key = system.keys[system.login]
    agent = await hire("nobody", key=key)
    assert "odoo.login" in await agent.refused("NOT_CONFIGURED", "odoo_list_projects")


async def test_a_wrong_database_is_not_configured_and_its_host_is_not_told(hire: Any) -> None:
    agent = await hire(database="no_such_database")
    hint = await agent.refused("NOT_CONFIGURED", "odoo_list_projects")
    assert "odoo.database" in hint
    assert "5432" not in hint
    assert "odoo.database" in (await agent.backend.condition()).reason


async def test_a_new_key_is_used_without_a_restart(hire: Any, system: Any, place: Any) -> None:
    agent = await hire(key="wrong-key-of-this-test")
    await agent.refused("NOT_CONFIGURED", "crm_list_stages")
    (place / f"{system.login}.key").write_text(system.keys[system.login])
    await agent.done("crm_list_stages")


async def test_a_session_that_odoo_forgot_is_renewed_within_the_call(hire: Any, system: Any, place: Any) -> None:
    agent = await hire()
    await agent.done("crm_list_stages")
    transport = agent.backend.port._sessions.present.transport
    if system.transport == "json2":
        transport._headers["Authorization"] = "bearer revoked-key-of-this-test"
    else:
        transport._key = "revoked-key-of-this-test"
    project = await agent.done("odoo_create_project", name=agent.unique("Renewed"))
    assert agent.raw.one("project.project", project["id"], "name")


async def test_something_else_than_odoo_is_named_so(hire: Any, meddler: Any) -> None:
    for deed, word in (("404", "no Odoo"), ("301", "redirects"), ("502", "cannot be reached"), ("page", "reached")):
        meddler.times(9, deed)
        agent = await hire(url=meddler.url, seconds=3)
        answer = await agent("odoo_list_projects")
        assert answer["success"] is False
        assert word in answer["hint"], deed


async def test_a_missing_key_file_is_a_configuration_error(place: Any) -> None:
    given = {"url": "http://127.0.0.1:8069", "database": "d", "login": "l", "api_key_file": "odoo.key"}
    with pytest.raises(ConfigurationError, match=r"odoo\.api_key_file"):
        OdooPort(OdooSettings.model_validate(given), Secrets(place))


@pytest.mark.parametrize(
    "change",
    [
        {"url": "odoo.example"},
        {"url": "https://user:pass@odoo.example"},
        {"url": "https://odoo.example/web"},
        {"url": "https://odoo.example/?db=x"},
        {"url": "ftp://odoo.example"},
        {"transport": "jsonrpc"},
        {"database": ""},
        {"login": "a\nb"},
        {"password": "x"},
    ],
)
async def test_settings_that_cannot_work_are_refused(change: dict[str, str]) -> None:
    given = {"url": "https://odoo.example", "database": "d", "login": "l", "api_key_file": "odoo.key"}
    OdooSettings.model_validate(given)
    with pytest.raises(ValidationError):
        OdooSettings.model_validate({**given, **change})


async def test_a_time_zone_that_the_host_lacks_is_said_and_no_day_is_guessed(
    agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = agent.project()
    if not agent.raw("res.users", "context_get")["tz"]:
        return
    # Neither the system's zones nor those of the PyPI package: a None in sys.modules makes an import fail.
    for name in {"tzdata", *(name for name in sys.modules if name.startswith("tzdata."))}:
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    try:
        condition = await agent.backend.condition()
        assert (condition.state, "tzdata" in condition.reason) == ("degraded", True)
        given = {"project_id": project, "name": "x", "deadline": "2026-12-31"}
        assert "tzdata" in await agent.refused("NOT_CONFIGURED", "odoo_create_task", **given)
    finally:
        zoneinfo.reset_tzpath()
        zoneinfo.ZoneInfo.clear_cache()
