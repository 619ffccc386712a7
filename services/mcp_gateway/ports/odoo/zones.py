"""Time zones by their names in Odoo, which the host may lack: Debian keeps the old ones in a package of their own."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from mcp_gateway.errors import Code, Refusal


def zone(name: str) -> tzinfo:
    """The time zone, UTC when none is set, as Odoo has it. Raise Refusal rather than give times of another place."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as fault:  # ZoneInfoNotFoundError is a KeyError
        raise Refusal(
            Code.NOT_CONFIGURED,
            f"This host does not know the Odoo user's time zone {name[:60]}, so days cannot be told. The operator "
            "installs tzdata (for old names tzdata-legacy), or gives the user another zone in Odoo.",
        ) from fault
