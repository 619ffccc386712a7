"""Ages, spans and moments in a visitor's words."""

from datetime import UTC, datetime

from approvals.routes.pages.language import Language

MINUTE, HOUR, DAY = 60, 3600, 86400


def span(words: Language, seconds: float) -> str:
    """How long, in at most two units: `40 s`, `5 min`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return words("span.seconds", seconds=whole)
    if whole < HOUR:
        return words("span.minutes", minutes=whole // MINUTE)
    if whole < DAY:
        hours, minutes = whole // HOUR, whole % HOUR // MINUTE
        return words("span.hours" if minutes else "span.whole_hours", hours=hours, minutes=minutes)
    days, hours = whole // DAY, whole % DAY // HOUR
    return words("span.days" if hours else "span.whole_days", days=days, hours=hours)


def moment(words: Language, at: float) -> str:
    """When, by the clock of this machine, with the name of its zone."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime(words("time.format"))


def machine_time(at: float) -> str:
    """The same for the `datetime` attribute of a page."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
