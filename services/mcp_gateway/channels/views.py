"""What each client sees of each channel, made once per configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from mcp_gateway.policies.decisions import decide
from mcp_gateway.policies.filters import visible
from mcp_gateway.schemas import definition
from mcp_gateway.settings.model import Client, Settings
from mcp_gateway.tools import Tool

# Whoever sends more parameters than this is not naming toolsets.
MAX_PARAMETERS = 16


@dataclass(frozen=True, slots=True)
class View:
    """The tools one caller can list and call, and nothing else."""

    tools: Mapping[str, Tool]
    listing: list[dict[str, Any]]
    decide: Callable[[str], str]


class Views:
    """Views by client, channel and narrowing; all of them follow from the settings and the tools."""

    def __init__(self, settings: Settings, tools: list[Tool]) -> None:
        self._settings = settings
        self._tools = tools
        self._definitions = {tool.name: definition(tool) for tool in tools}
        self._toolsets = frozenset(tool.toolset for tool in tools)
        self._made: dict[tuple[str, str, frozenset[str] | None], View] = {}

    def view(self, channel: str, client: Client | None = None, narrowing: frozenset[str] | None = None) -> View:
        """What a client sees of a channel; without a client, what the channel itself shows."""
        # Only known toolsets make a key, so that nobody can fill the memory with invented ones.
        narrowing = None if narrowing is None else narrowing & self._toolsets
        key = (channel, client.name if client else "", narrowing)
        if key not in self._made:
            self._made[key] = self._make(channel, client, narrowing)
        return self._made[key]

    def offered(self, channel: str) -> Mapping[str, Tool]:
        """What a channel's toolsets hold before any filter and any policy."""
        opened = self._settings.channels[channel].toolsets
        return {tool.name: tool for tool in self._tools if tool.toolset in opened}

    def _make(self, channel: str, client: Client | None, narrowing: frozenset[str] | None) -> View:
        settings = self._settings.channels[channel]
        filters = [settings.tools, *([client.tools] if client else [])]
        rule = partial(decide, channel=settings.policy, general=self._settings.core.policy)
        tools = visible(self._tools, settings.toolsets, filters, rule, narrowing)
        return View(tools, [self._definitions[name] for name in tools], rule)


def narrowing_of(query: bytes) -> frozenset[str] | None:
    """The toolsets that `?toolsets=a,b` names; None when it does not stand there. Twice means both must agree."""
    try:
        parts = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return frozenset()
    named = [frozenset(filter(None, value.split(","))) for key, value in parts if key == "toolsets"]
    return frozenset.intersection(*named) if named else None
