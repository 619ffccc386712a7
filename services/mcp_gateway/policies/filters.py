"""The three-state filter: the one function that decides what is listed and what can be called."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from mcp_gateway.tools import Tool


class Filter(Protocol):
    """`include` None is all, a list is exactly those, an empty list is none; `exclude` takes away."""

    @property
    def include(self) -> list[str] | None: ...

    @property
    def exclude(self) -> list[str]: ...


def visible(
    tools: Iterable[Tool],
    toolsets: Iterable[str],
    filters: Iterable[Filter],
    decide: Callable[[str], str],
    narrowing: frozenset[str] | None = None,
) -> dict[str, Tool]:
    """The tools by name that a caller can see and call; every filter takes away, none gives back.

    A tool that `decide` says `never` to is not there. `narrowing` are the toolsets a session asked for; None when it
    asked for none in particular.
    """
    opened = frozenset(toolsets) if narrowing is None else narrowing.intersection(toolsets)
    shown = {tool.name: tool for tool in tools if tool.toolset in opened and decide(tool.name) != "never"}
    for one in filters:
        if one.include is not None:
            shown = {name: tool for name, tool in shown.items() if name in one.include}
        shown = {name: tool for name, tool in shown.items() if name not in one.exclude}
    return shown


def state(one: Filter, before: Mapping[str, Tool], after: Mapping[str, Tool]) -> str:
    """A filter in the words of the command line: `all`, `N selected` or `-N excluded`."""
    if one.include is not None or not after:
        return f"{len(after)} selected"
    taken = len(before) - len(after)
    return f"-{taken} excluded" if taken else "all"
