"""How a value of an agent's call is laid out for the person who decides."""

import json
from dataclasses import dataclass

# What fits in a glance: about three lines of a phone. More is folded, and opens whole.
GLANCE_CHARACTERS = 160
GLANCE_LINES = 4
# A browser lays this much out at once; the whole is in the file of exact arguments.
MAX_CHARACTERS = 60_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A value as text; `glance` is its beginning when it is long, `missing` what even the whole leaves out."""

    text: str
    glance: str
    length: int
    missing: int
    is_text: bool


def shown(value: object) -> Shown:
    """A text as it is, everything else as JSON, so that 1, "1" and true are told apart."""
    is_text = isinstance(value, str)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    lines = text.split("\n", GLANCE_LINES)
    glance = ""
    if len(text) > GLANCE_CHARACTERS or len(lines) > GLANCE_LINES:
        glance = " ".join(lines[:GLANCE_LINES])[:GLANCE_CHARACTERS].rstrip()
        text = text if is_text else json.dumps(value, ensure_ascii=False, indent=2)
    return Shown(text[:MAX_CHARACTERS], glance, len(text), max(0, len(text) - MAX_CHARACTERS), is_text)
