"""Which records have a name like the one that is searched for."""

from collections.abc import Sequence

from mcp_gateway.actions.odoo import folding
from mcp_gateway.ports.odoo.port import OdooPort, Row
from mcp_gateway.tools import Call


async def candidates(
    port: OdooPort, call: Call, model: str, wanted: str, fields: Sequence[str], rest: Sequence[object] = ()
) -> tuple[list[int], bool]:
    """The ids of all that hold the text in one of the fields, best first; False when there may be more of them."""
    broad = await _rows(port, call, model, [folding.pattern(wanted)], fields, rest)
    whole = len(broad) <= folding.MAX_CANDIDATES
    # In a large database the broad question is cut off; then the likely spellings are asked for by themselves.
    rows = broad if whole else [*broad, *await _rows(port, call, model, folding.narrow(wanted), fields, rest)]
    hits = {row["id"]: row for row in rows if any(folding.found(wanted, row[field]) for field in fields)}
    ranked = sorted(hits.values(), key=lambda row: _rank(wanted, row[fields[0]]))
    return [row["id"] for row in ranked], whole


async def _rows(
    port: OdooPort, call: Call, model: str, patterns: Sequence[str], fields: Sequence[str], rest: Sequence[object]
) -> list[Row]:
    leaves: list[object] = [(field, "ilike", pattern) for field in fields for pattern in patterns]
    domain = [*rest, *["|"] * (len(leaves) - 1), *leaves]
    return await port.search_read(call, model, domain, fields, limit=folding.MAX_CANDIDATES + 1, order="id desc")


def _rank(wanted: str, name: object) -> tuple[int, str]:
    """The very name first, then names that begin so, then the others; each by alphabet."""
    folded, sought = folding.fold(str(name or "")), folding.fold(wanted)
    return (0 if folded == sought else 1 if folded.startswith(sought) else 2, folded)
