"""A tool as the protocol shows it: plain types, every parameter described, nothing else."""

from functools import lru_cache
from typing import Any

from mcp_gateway.tools import Arguments, Tool

# What pydantic writes for its own sake and a model would only stumble over.
_NOISE = frozenset({"title", "default", "$defs"})


def definition(tool: Tool) -> dict[str, Any]:
    """The entry of `tools/list`."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": plain_schema(tool.arguments),
        "annotations": {
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.sensitive,
            "openWorldHint": False,
        },
    }


def properties(tool: Tool) -> dict[str, tuple[dict[str, Any], bool]]:
    """Every parameter's schema, and whether it is required."""
    schema = plain_schema(tool.arguments)
    required = schema.get("required", [])
    return {name: (part, name in required) for name, part in schema["properties"].items()}


@lru_cache(maxsize=256)
def plain_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments without unions with null, references and titles.

    Raise TypeError for a model that cannot be said in plain types: a mistake of whoever wrote the tool.
    """
    schema = arguments.model_json_schema()
    definitions = schema.get("$defs", {})
    shown = {name: _plain(part, definitions, name) for name, part in schema.get("properties", {}).items()}
    result: dict[str, Any] = {"type": "object", "properties": shown, "additionalProperties": False}
    if required := schema.get("required"):
        result["required"] = required
    return result


def _plain(part: dict[str, Any], definitions: dict[str, Any], name: str) -> dict[str, Any]:
    if "$ref" in part:
        part = {**definitions[part["$ref"].rpartition("/")[2]], **part}
        del part["$ref"]
    if "anyOf" in part:
        options = [option for option in part["anyOf"] if option.get("type") != "null"]
        if len(options) != 1:
            raise TypeError(f"{name}: more than one type cannot be told to a model in plain words")
        part = {**_plain(options[0], definitions, name), **{key: one for key, one in part.items() if key != "anyOf"}}
    if "const" in part:
        part = {**part, "enum": [part["const"]]}
        del part["const"]
    kept = {key: value for key, value in part.items() if key not in _NOISE}
    if isinstance(items := kept.get("items"), dict):
        kept["items"] = _plain(items, definitions, name)
    if "properties" in kept:
        kept["properties"] = {key: _plain(one, definitions, key) for key, one in kept["properties"].items()}
    return kept
