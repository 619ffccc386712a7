"""Days of people in Odoo's times: naive UTC on the wire, a date in the user's own time zone for the agent."""

from datetime import UTC, date, datetime, time

from mcp_gateway.ports.odoo.zones import zone

# A deadline given as a date means the end of that working day.
WORKDAY_END = time(18, 0)
STORED = "%Y-%m-%d %H:%M:%S"


def end_of_day(day: str, tz: str) -> str:
    """The moment that a deadline on this date means, as Odoo stores it."""
    moment = datetime.combine(date.fromisoformat(day), WORKDAY_END, zone(tz))
    return moment.astimezone(UTC).strftime(STORED)


def day_of(stored: object, tz: str) -> str | None:
    """The date of a stored moment where the user lives; a stored date is that date."""
    moment = local(stored, tz)
    if moment is None:
        return stored if isinstance(stored, str) and len(stored) == len("2026-12-31") else None
    return moment.date().isoformat()


def local(stored: object, tz: str) -> datetime | None:
    """A stored moment where the user lives."""
    if not isinstance(stored, str) or " " not in stored:
        return None
    try:
        return datetime.strptime(stored, STORED).replace(tzinfo=UTC).astimezone(zone(tz))
    except (ValueError, OverflowError):
        return None


def today(tz: str) -> str:
    """The date it is for the user."""
    return datetime.now(zone(tz)).date().isoformat()
