"""What a person is shown before deciding, and by what it is told that nothing changed since."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mcp_gateway.answers import defang, redact
from mcp_gateway.tools import Arguments, Call, Preview, Tool

# One line of a phone, a paragraph of a fact: who decides reads the beginning, the whole stands in the arguments.
MAX_TITLE = 200
MAX_FACT = 2_000
MAX_FACTS = 40


def fingerprint(values: Mapping[str, object]) -> str:
    """Hexadecimal SHA-256 of plain values, whatever their order."""
    written = json.dumps(values, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()


def plain_arguments(typed: Arguments) -> dict[str, object]:
    """The validated arguments as JSON carries them: what a decision is bound to."""
    return typed.model_dump(mode="json", exclude_none=True)


async def preview_of(tool: Tool, call: Call, typed: Arguments) -> Preview:
    """The tool's own preview, else one of its arguments alone. Raise Refusal when the call could not be done anyway."""
    if tool.preview is not None:
        return await tool.preview(call, typed)
    return preview_of_arguments(tool, call, typed)


def preview_of_arguments(tool: Tool, call: Call, typed: Arguments) -> Preview:
    """What is asked for, for a tool that has no record to show."""
    arguments = plain_arguments(typed)
    facts = tuple((name, words(value)) for name, value in arguments.items())
    # Whose employee it is stands in the configuration and not in the arguments, but decides what happens.
    whole = {"tool": tool.name, "arguments": arguments, "employee": call.odoo_employee_id}
    return Preview(f"{tool.name}: {tool.description.splitlines()[0]}", facts, fingerprint(whole))


def words(value: object) -> str:
    """A value for a person's eyes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def harmless(preview: Preview, secrets: Iterable[str]) -> Preview:
    """The same without secrets and control characters, and no longer than a person reads."""
    known = tuple(secrets)

    def clean(text: str, limit: int) -> str:
        text = defang(redact(text, known))
        return text if len(text) <= limit else f"{text[: limit - 1]}…"

    title = clean(" ".join(preview.title.split()), MAX_TITLE)
    facts = tuple((clean(label, MAX_TITLE), clean(value, MAX_FACT)) for label, value in preview.facts[:MAX_FACTS])
    return replace(preview, title=title, facts=facts)


def difference(was: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]) -> str:
    """In words what two previews' facts differ in."""
    before, after = dict(was), dict(now)
    told = [
        f"{label} was {before.get(label, 'not there')!r} and is {after.get(label, 'not there')!r}"
        for label in dict.fromkeys([*before, *after])
        if before.get(label) != after.get(label)
    ]
    return "; ".join(told) or "something that the preview does not show"
