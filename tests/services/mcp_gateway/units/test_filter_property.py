"""From the file through the loader, what is listed is what can be called, for every filter anyone can write."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from mcp_gateway.calls import Caller, Calls
from mcp_gateway.metrics import Metrics
from mcp_gateway.planning import plan
from mcp_gateway.settings.secrets import Secrets

NAMES = ("probe_noop", "probe_refuse", "probe_echo", "mirror_write", "mirror_crash")
TOOLSETS = ("probe", "mirror")

names = some.lists(some.sampled_from(NAMES), max_size=4, unique=True)
filters = some.fixed_dictionaries({}, optional={"include": names, "exclude": names})
narrowings = some.none() | some.frozensets(some.sampled_from((*TOOLSETS, "invented")))


class Quiet:
    def digest(self, arguments: Any) -> str:
        return ""

    async def started(self, entry: Any) -> str:
        return "1:0"

    def record(self, entry: Any) -> None:
        return None

    async def finished(self, entry: Any) -> None:
        return None


def expected(toolsets: list[str], filters: list[dict[str, Any]], narrowing: frozenset[str] | None) -> set[str]:
    """The rule in the words of the manual, written a second time."""
    return {
        name
        for name in NAMES
        if name.split("_")[0] in toolsets
        and (narrowing is None or name.split("_")[0] in narrowing)
        and all("include" not in one or name in one["include"] for one in filters)
        and not any(name in one.get("exclude", []) for one in filters)
    }


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    toolsets=some.lists(some.sampled_from(TOOLSETS), unique=True),
    channel=filters,
    client=filters,
    narrowing=narrowings,
)
def test_listed_is_callable_and_nothing_else(
    site: Any, toolsets: list[str], channel: dict[str, Any], client: dict[str, Any], narrowing: frozenset[str] | None
) -> None:
    site.document["channels"]["tools"] = {"toolsets": toolsets, "tools": channel}
    site.document["clients"][0]["tools"] = client
    site.write()
    found = plan(site.path, site.catalogue, Secrets(site.directory))
    view = found.views.view("tools", found.settings.clients[0], narrowing)
    wanted = expected(toolsets, [channel, client], narrowing)
    assert {tool["name"] for tool in view.listing} & set(NAMES) == wanted
    for name in NAMES:
        reached = anyio.run(call, view, name)
        assert reached is (name in wanted)


async def call(view: Any, name: str) -> bool:
    calls = Calls(Quiet(), Metrics(), 5)
    answer = json.loads(await calls.answer(Caller("hermes", "tools", view.tools, view.decide, 1000), name, {}))
    return bool(answer.get("error") != "__NOT_FOUND__")


@pytest.mark.parametrize("include", [[], ["probe_noop"]])
def test_an_empty_list_is_none_and_not_all(site: Any, include: list[str]) -> None:
    site.document["channels"]["tools"]["tools"] = {"include": include}
    site.write()
    found = plan(site.path, site.catalogue, Secrets(site.directory))
    assert list(found.views.view("tools").tools) == include


def test_turning_one_tool_off_touches_no_other(site: Any) -> None:
    before = plan(site.path, site.catalogue, Secrets(site.directory)).views.view("tools").listing
    site.document["channels"]["tools"]["tools"] = {"exclude": ["probe_echo"]}
    site.write()
    after = plan(site.path, site.catalogue, Secrets(site.directory)).views.view("tools").listing
    assert after == [tool for tool in before if tool["name"] != "probe_echo"]
