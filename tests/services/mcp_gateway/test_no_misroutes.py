"""All 32 tools side by side: whatever is taken away, every call that is left lands at its own backend."""

import itertools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from mcp_gateway.audit import Entry
from mcp_gateway.calls import Caller, Calls
from mcp_gateway.catalogue import CATALOGUE
from mcp_gateway.channels.views import Views
from mcp_gateway.metrics import Metrics
from mcp_gateway.policies.decisions import DEFAULTS
from mcp_gateway.settings import later
from mcp_gateway.settings.loader import load
from mcp_gateway.settings.sections import Catalogue, Section
from mcp_gateway.tools import Arguments, Call, Condition, Tool

PERMUTATIONS = 1_000
SEED = 20_261_204
numbers = itertools.count()


class Mark(Arguments):
    mark: Annotated[int, Field(description="What this call alone carries.")]


class NoSettings(BaseModel):
    """Nothing to set."""


@dataclass
class Stub:
    """A backend that does nothing but remember which of its tools was called with what."""

    name: str
    heard: list[tuple[str, int]] = field(default_factory=list)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def condition(self) -> Condition:
        return Condition("ok")

    def tool(self, toolset: str, name: str) -> Tool:
        async def run(call: Call, given: Mark) -> Mapping[str, object]:
            self.heard.append((name, given.mark))
            return {"backend": self.name, "tool": name, "called": call.tool, "mark": given.mark}

        return Tool(name, toolset, f"The stub of {name}.", Mark, run, sensitive=name in DEFAULTS)


@dataclass
class Office:
    """The real catalogue's names on stubs, and the three answers to where a call landed."""

    stubs: dict[str, Stub]
    catalogue: Catalogue
    # Which backend each tool belongs to, by the design's own table.
    home: dict[str, str]

    def landed(self, name: str, mark: int, answer: Mapping[str, object]) -> bool:
        """Whether exactly the one backend heard exactly this call, and its answer came back."""
        heard = {stub.name: [one for one in stub.heard if one[1] == mark] for stub in self.stubs.values()}
        where = {stub: calls for stub, calls in heard.items() if calls}
        told = {key: answer.get(key) for key in ("success", "backend", "tool", "called", "mark")}
        home = self.home[name]
        expected = {"success": True, "backend": home, "tool": name, "called": name, "mark": mark}
        return where == {home: [(name, mark)]} and told == expected

    def silent(self, mark: int) -> bool:
        return not any(one[1] == mark for stub in self.stubs.values() for one in stub.heard)

    def forget(self) -> None:
        for stub in self.stubs.values():
            stub.heard.clear()


def toolsets_of(section: Section) -> dict[str, tuple[str, ...]]:
    return dict(section.toolsets)


@pytest.fixture
def office() -> Office:
    named = {section.name: toolsets_of(section) for section in CATALOGUE if section.toolsets}
    # What this release does not have yet stands in under the name it will have, so that there are always 32.
    for toolset, names in later.TOOLSETS.items():
        named[toolset] = {toolset: names}
    stubs = {name: Stub(name) for name in named}

    def build(stub: Stub, toolsets: Mapping[str, tuple[str, ...]]) -> Callable[..., Any]:
        tools = [stub.tool(toolset, name) for toolset, names in toolsets.items() for name in names]
        return lambda settings, secrets: (stub, tools)

    catalogue = tuple(Section(name, NoSettings, sets, build(stubs[name], sets)) for name, sets in named.items())
    home = {tool: name for name, sets in named.items() for tools in sets.values() for tool in tools}
    return Office(stubs, catalogue, home)


@pytest.fixture
def furnished(site: Any, office: Office) -> Any:
    """The site with all 32 tools in one channel, none of which asks anybody."""
    del site.document["probe"]
    site.catalogue = office.catalogue
    toolsets = [toolset for section in office.catalogue for toolset in section.toolsets]
    site.write(
        channels={"tools": {"toolsets": toolsets}},
        clients=[{**site.document["clients"][0], "channels": ["tools"], "rate_per_minute": 1_000_000}],
        policy=dict.fromkeys(DEFAULTS, "auto"),
        **{section.name: {} for section in office.catalogue},
    )
    return site


def test_there_are_32_and_every_name_has_one_home(office: Office) -> None:
    assert len(office.home) == 32
    assert sum(len(names) for section in office.catalogue for names in section.toolsets.values()) == 32


@pytest.mark.anyio
async def test_with_each_tool_off_in_turn_the_other_31_answer_from_their_own_backends(
    furnished: Any, office: Office, serve_site: Any, answer: Any
) -> None:
    misrouted = []
    async with serve_site(furnished) as running, running.client("legacy") as client:
        for off in office.home:
            channel = {**furnished.document["channels"]["tools"], "tools": {"exclude": [off]}}
            assert await running.reload(channels={"tools": channel})
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(listed) == sorted(office.home.keys() - {off})
            for name in office.home:
                mark = next(numbers)
                said = answer(await client.call_tool(name, {"mark": mark}))
                if name == off:
                    assert said["error"] == "__NOT_FOUND__"
                    assert office.silent(mark)
                elif not office.landed(name, mark, said):
                    misrouted.append((off, name, said))
            office.forget()
    assert misrouted == []


class Quiet:
    """An audit log that keeps nothing."""

    def digest(self, arguments: Mapping[str, object]) -> str:
        return ""

    async def started(self, entry: Entry) -> str:
        return "1:0"

    def record(self, entry: Entry) -> None: ...

    async def finished(self, entry: Entry) -> None: ...


def some(chance: random.Random, names: list[str]) -> list[str]:
    return chance.sample(names, chance.randint(0, len(names)))


def shuffled(chance: random.Random, names: list[str]) -> dict[str, list[str]]:
    """A filter in one of its states: include absent, some or none, and exclude."""
    one = {"exclude": some(chance, names)} if chance.random() < 0.7 else {}
    return {**one, "include": some(chance, names)} if chance.random() < 0.6 else one


def left(names: list[str], *filters: Mapping[str, list[str]]) -> set[str]:
    """What remains, said once more in the simplest words."""
    remaining = set(names)
    for one in filters:
        remaining = {name for name in remaining if "include" not in one or name in one["include"]}
        remaining = {name for name in remaining if name not in one.get("exclude", [])}
    return remaining


@pytest.mark.anyio
async def test_a_thousand_random_filters_misroute_no_call(furnished: Any, office: Office) -> None:
    chance, calls = random.Random(SEED), Calls(Quiet(), Metrics(), 5)
    settings, names = load(furnished.path, office.catalogue), list(office.home)
    made = [section.build(NoSettings(), None)[1] for section in office.catalogue]
    misrouted, landed = [], 0
    for _ in range(PERMUTATIONS):
        channel, narrowed = shuffled(chance, names), shuffled(chance, names)
        tools = [tool for tools in chance.sample(made, len(made)) for tool in chance.sample(tools, len(tools))]
        document = settings.model_copy(
            update={"channels": {"tools": settings.channels["tools"].model_copy(update={"tools": Filter(channel)})}}
        )
        client = settings.clients[0].model_copy(update={"tools": Filter(narrowed)})
        view = Views(document, tools).view("tools", client)
        expected = left(names, channel, narrowed)
        assert {tool["name"] for tool in view.listing} == expected == view.tools.keys()
        caller = Caller("hermes", "tools", view.tools, view.decide, 1_000_000_000)
        for name in chance.sample(names, len(names)):
            mark = next(numbers)
            said = json.loads(await calls.answer(caller, name, {"mark": mark}))
            right = office.landed(name, mark, said) if name in expected else office.silent(mark)
            landed += name in expected
            if not right or (name not in expected and said["error"] != "__NOT_FOUND__"):
                misrouted.append((name, said))
        office.forget()
    assert misrouted == []
    assert landed > PERMUTATIONS


@dataclass(frozen=True)
class Filter:
    """The three states as the settings hold them."""

    given: Mapping[str, list[str]]

    @property
    def include(self) -> list[str] | None:
        return self.given.get("include")

    @property
    def exclude(self) -> list[str]:
        return self.given.get("exclude", [])
