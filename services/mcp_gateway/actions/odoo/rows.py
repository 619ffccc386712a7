"""Odoo's records in an agent's words, and lists that fit into an answer."""

import json
from collections.abc import Callable, Sequence

from mcp_gateway.ports.odoo.port import Row

# An answer holds 30,000 characters; this leaves room for the totals and the names of members.
MAX_LIST_CHARACTERS = 25_000


def linked(value: object) -> int | None:
    """The id behind a many2one, given as [id, name] or as a bare id."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def label(value: object) -> str | None:
    """The name behind a many2one."""
    found = value[1] if isinstance(value, list | tuple) and len(value) > 1 else None
    return found if isinstance(found, str) and found else None


def said(value: object) -> str | None:
    """A text, or None for Odoo's `false` and for nothing."""
    return value if isinstance(value, str) and value else None


def listed(
    name: str, rows: Sequence[Row], shape: Callable[[Row], dict[str, object]], total: int, notes: Sequence[str] = ()
) -> dict[str, object]:
    """The members of a list: as many rows as fit, how many there are, and what to do about the rest."""
    shown: list[dict[str, object]] = []
    left = MAX_LIST_CHARACTERS
    for row in rows:
        shaped = shape(row)
        left -= len(json.dumps(shaped, ensure_ascii=False)) + 1
        if left < 0:
            break
        shown.append(shaped)
    notes = [*notes]
    if len(shown) < total:
        notes.append(f"{len(shown)} of {total} are shown; narrow the search or raise limit for more.")
    return {name: shown, "total": total, **({"note": " ".join(notes)} if any(notes) else {})}
