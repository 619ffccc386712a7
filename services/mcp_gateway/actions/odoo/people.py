"""Who colleagues are for an agent: their names, and which employee the hours are for."""

from collections.abc import Iterable

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import OdooPort, Row
from mcp_gateway.tools import Call


async def names(port: OdooPort, call: Call, users: Iterable[int]) -> dict[int, str]:
    """The names of users; none of those that this user may not read."""
    wanted = sorted(set(users))
    if not wanted:
        return {}
    try:
        rows = await port.read(call, "res.users", wanted, ["name"], "the assignees")
    except Refusal as fault:
        if fault.code is not Code.FORBIDDEN:
            raise
        return {}
    return {row["id"]: row["name"] for row in rows}


def ids(row: Row, field: str) -> list[int]:
    """The ids of an x2many."""
    found = row.get(field)
    return [one for one in found if isinstance(one, int)] if isinstance(found, list) else []
