"""The real tools, as a client of this release is shown them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.catalogue import CATALOGUE
from mcp_gateway.schemas import definition
from mcp_gateway.settings import later
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.tools import Tool

# All 32 tools of the design must fit into 24,000 characters of tools/list: no tool may take more than its share twice.
MAX_CHARACTERS_A_TOOL = 2 * 24_000 // 32
PLAIN_TYPES = {"string", "integer", "number", "boolean", "array", "object"}


def documents(directory: Path) -> dict[str, dict[str, Any]]:
    return {
        "vault": {"transport": "local", "repository": str(directory)},
        "prometheus": {"url": "http://127.0.0.1:9"},
        "odoo": {"url": "http://127.0.0.1:9", "database": "d", "login": "agent", "api_key_file": "odoo.key"},
    }


@pytest.fixture
def tools(tmp_path: Path) -> list[Tool]:
    """Everything that the catalogue builds, from the smallest configuration of each section."""
    written = documents(tmp_path)
    assert {section.name for section in CATALOGUE} == written.keys()
    (tmp_path / "odoo.key").write_text("a key of this test")
    built = [
        section.build(
            section.model.model_validate(written[section.name]),
            Secrets(tmp_path),
            *([tmp_path] if section.keeps_state else []),
        )
        for section in CATALOGUE
    ]
    return [tool for _, tools in built for tool in tools]


def test_the_names_that_a_configuration_may_use_are_those_of_the_tools(tools: list[Tool]) -> None:
    declared = {
        (toolset, name) for section in CATALOGUE for toolset, names in section.toolsets.items() for name in names
    }
    assert {(tool.toolset, tool.name) for tool in tools} == declared
    assert len(tools) == len(declared) == len({tool.name for tool in tools})


def test_what_is_there_is_not_also_announced_for_later(tools: list[Tool]) -> None:
    assert not later.TOOLS & {tool.name for tool in tools}
    assert not later.TOOLSETS.keys() & {tool.toolset for tool in tools}
    assert not later.SECTIONS & {section.name for section in CATALOGUE}
    assert len(later.TOOLS) + len(tools) == 32


def test_every_tool_and_every_parameter_is_described_in_plain_types(tools: list[Tool]) -> None:
    for tool in tools:
        shown = definition(tool)
        assert len(shown["description"]) > 20, tool.name
        schema = shown["inputSchema"]
        assert schema["additionalProperties"] is False
        for name, parameter in schema["properties"].items():
            where = f"{tool.name}.{name}"
            assert len(parameter["description"]) > 5, where
            assert parameter["type"] in PLAIN_TYPES, where
            assert not {"anyOf", "oneOf", "allOf", "$ref", "title", "default"} & parameter.keys(), where


def test_no_definition_takes_more_than_its_share(tools: list[Tool]) -> None:
    for tool in tools:
        assert len(json.dumps(definition(tool), separators=(",", ":"))) < MAX_CHARACTERS_A_TOOL, tool.name


def test_what_changes_something_is_never_shown_as_read_only(tools: list[Tool]) -> None:
    writing = {tool.name for tool in tools if not definition(tool)["annotations"]["readOnlyHint"]}
    reading = {name for name in writing if re.search("_(list|get|search|read|report)(_|$)", name)}
    assert not reading
    assert len(writing) == 1 + 15
