"""What a backend section of the configuration brings: its model, its toolsets and how to build them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from mcp_gateway.tools import Backend, Tool

# Called with the settings and the secrets, and with the state directory too where the section keeps state.
Build = Callable[..., tuple[Backend, list[Tool]]]


@dataclass(frozen=True, slots=True)
class Section:
    """One backend section, such as `vault:`.

    `toolsets` names the tools beforehand, so that a configuration can be checked without anything being built.
    """

    name: str
    model: type[BaseModel]
    toolsets: Mapping[str, tuple[str, ...]]
    build: Build
    keeps_state: bool = False


Catalogue = tuple[Section, ...]


def sections_by_toolset(catalogue: Catalogue) -> dict[str, Section]:
    """Which section each toolset needs."""
    return {toolset: section for section in catalogue for toolset in section.toolsets}


def tool_names(catalogue: Catalogue) -> frozenset[str]:
    """The names of all native tools."""
    return frozenset(name for section in catalogue for names in section.toolsets.values() for name in names)
