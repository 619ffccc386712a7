"""A tool's arguments: validated strictly, and every fault at once in words that say what is accepted."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_gateway.answers import defang
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.schemas import properties
from mcp_gateway.tools import Arguments, Tool

# A hint is read by a model: ten faults are more than it needs to start over.
MAX_FAULTS = 10
# A name that a caller made up is shown, but not as a way to fill the answer or the log.
MAX_NAME = 40

KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}
WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def validate(tool: Tool, arguments: Mapping[str, object]) -> Arguments:
    """The typed arguments. Raise Refusal naming every argument that is missing, unknown or mistyped."""
    nulls = [name for name, value in arguments.items() if value is None]
    try:
        typed = tool.arguments.model_validate(arguments)
    except (ValidationError, RecursionError) as fault:
        errors = fault.errors(include_url=False) if isinstance(fault, ValidationError) else []
        raise _refusal(tool, [*_null_words(tool, nulls), *_words(tool, errors, nulls)]) from None
    if nulls:
        raise _refusal(tool, _null_words(tool, nulls))
    return typed


def clipped(name: str) -> str:
    """A name that a caller chose, short and harmless enough to be shown."""
    name = defang(name)
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def _refusal(tool: Tool, words: list[str]) -> Refusal:
    words = list(dict.fromkeys(words)) or ["the arguments are nested too deeply"]
    more = [f"and {len(words) - MAX_FAULTS} more faults"] if len(words) > MAX_FAULTS else []
    return Refusal(Code.BAD_ARGUMENT, f"{'; '.join(words[:MAX_FAULTS] + more)}. {_signature(tool)}")


def _signature(tool: Tool) -> str:
    known = properties(tool)
    if not known:
        return f"{tool.name} takes no arguments."
    names = [name if required else f"{name} (optional)" for name, (_, required) in known.items()]
    return f"{tool.name} takes: {', '.join(names)}."


def _null_words(tool: Tool, names: Iterable[str]) -> list[str]:
    known = properties(tool)
    return [
        f"{name!r} must be {accepted(known[name][0])}, not null{'' if known[name][1] else ' (leave it out instead)'}"
        for name in names
        if name in known
    ]


def _words(tool: Tool, errors: Iterable[ErrorDetails], nulls: list[str]) -> Iterable[str]:
    known = properties(tool)
    for error in errors:
        name = str(error["loc"][0]) if error["loc"] else ""
        if error["type"] == "extra_forbidden":
            yield f"{clipped(name)!r} is no argument of {tool.name}{_meant(name, known)}"
        elif error["type"] == "missing" and len(error["loc"]) == 1:
            yield f"{name!r} is missing; it must be {accepted(known[name][0])}"
        elif error["type"] == "value_error":
            said = error["msg"].removeprefix("Value error, ")
            yield f"{name!r}: {said}" if name else said
        elif name in known and name not in nulls:
            yield _mistyped(name, known[name][0], error)
        elif name not in known:
            yield error["msg"]


def _mistyped(name: str, schema: Mapping[str, Any], error: ErrorDetails) -> str:
    inside = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"][1:])
    if inside:
        return f"{name + inside!r}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    found = KINDS.get(type(error["input"]), "something else")
    wrong_kind = found != WORDS.get(str(schema.get("type"))) and "enum" not in schema
    return f"{name!r} must be {accepted(schema)}{f', not {found}' if wrong_kind else ''}"


def accepted(schema: Mapping[str, Any]) -> str:
    """What a parameter takes, in words."""
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    words = WORDS.get(str(schema.get("type")), "as described")
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if low is not None:
        return f"{words} of {'at least' if 'minimum' in schema else 'more than'} {low}"
    if high is not None:
        return f"{words} of at most {high}"
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    sizes = [f"at least {shortest}" if shortest else "", f"at most {longest}" if longest is not None else ""]
    limits = " and ".join(size for size in sizes if size)
    return f"{words} of {limits} characters" if limits else words


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name[:MAX_NAME], list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
