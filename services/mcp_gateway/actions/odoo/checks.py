"""Values an agent gave, checked before Odoo sees them: Odoo takes nearly everything."""

import math
import re
import unicodedata
from datetime import date

from mcp_gateway.errors import Code, Refusal

# Longer names fill every list they stand in.
MAX_NAME = 250
# Telephone numbers, streets, cities: a line on a letter.
MAX_LINE = 250
# So that whatever was written can be read back whole in one answer of 30,000 characters.
MAX_TEXT = 25_000
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2100, 12, 31)
DAY_HOURS = 24
# Sums are exact to the hundredth; anything smaller would be logged and count for nothing.
LEAST_HOURS = 0.01
# Above this a number in a currency is a slip of the keyboard, and floats lose cents.
MAX_REVENUE = 1e12
# PostgreSQL's largest id; XML-RPC has no larger whole number either.
MAX_ID = 2**31 - 1
DEFAULT_LIMIT, MAX_LIMIT = 50, 200

DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
EMAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
# What XML cannot carry, PostgreSQL cannot store or a terminal would obey. TAB, LF and CR are text.
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def bad(words: str) -> Refusal:
    """A refusal of an argument."""
    return Refusal(Code.BAD_ARGUMENT, words)


def record_id(value: int, what: str) -> int:
    """The id. Raise Refusal when no record can have it."""
    if not 0 < value <= MAX_ID:
        raise Refusal(Code.NOT_FOUND, f"Odoo has no {what} {value}: ids are positive whole numbers from a list.")
    return value


def text(value: str, argument: str) -> str:
    """The text with plain line ends. Raise Refusal for characters that would not arrive."""
    if found := _UNFIT.search(value):
        raise bad(f"{argument} has a character that cannot be stored (U+{ord(found[0]):04X}); take it out.")
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    if len(value) > MAX_TEXT:
        raise Refusal(
            Code.TOO_LARGE,
            f"{argument} has {len(value)} characters; at most {MAX_TEXT} are taken, and nothing was changed. "
            "Shorten it, or put the long form into a note and name that.",
        )
    return value


def line(value: str, argument: str) -> str:
    """One line without blank space around it, possibly empty."""
    value = text(value, argument).strip()
    if "\n" in value or "\t" in value:
        raise bad(f"{argument} must be one line, without line breaks and tabs.")
    if len(value) > MAX_LINE:
        raise bad(f"{argument} has {len(value)} characters; at most {MAX_LINE} are taken.")
    return value


def name(value: str, argument: str = "name") -> str:
    """A name that says something."""
    value = line(value, argument)
    # Blank space, marks on nothing and what is never seen (such as U+200B) are no words to anybody.
    if all(unicodedata.category(character)[0] in "CMZ" for character in value):
        raise bad(f"{argument} is blank; give it words that say what it is.")
    return value


def email(value: str) -> str:
    """An address, or nothing."""
    value = line(value, "email")
    if value and not EMAIL.fullmatch(value):
        raise bad("email must be one address such as ann@example.org, with exactly one @.")
    return value


def day(value: str, argument: str) -> str:
    """A date as YYYY-MM-DD. Odoo itself would take times, words and dates that do not exist."""
    try:
        if not DAY.fullmatch(value):
            raise ValueError
        found = date.fromisoformat(value)
    except ValueError:
        raise bad(f"{argument} must be a date that exists, written YYYY-MM-DD.") from None
    if not FIRST_DAY <= found <= LAST_DAY:
        raise bad(f"{argument} must lie between {FIRST_DAY} and {LAST_DAY}.")
    return value


def hours(value: float) -> float:
    """Hours that fit into a day."""
    if not (math.isfinite(value) and LEAST_HOURS <= value <= DAY_HOURS):
        raise bad(f"hours must be from {LEAST_HOURS} to {DAY_HOURS}, as decimals: 1.5 is an hour and a half.")
    return float(value)


def revenue(value: float) -> float:
    """An expected revenue."""
    if not (math.isfinite(value) and 0 <= value <= MAX_REVENUE):
        raise bad(f"expected_revenue must be a number from 0 to {MAX_REVENUE:.0f}.")
    return float(value)


def limit(value: int | None) -> tuple[int, str]:
    """How many are listed, and what to say when that is fewer than was asked for."""
    if value is None:
        return DEFAULT_LIMIT, ""
    if value < 1:
        raise bad(f"limit must be from 1 to {MAX_LIMIT}.")
    if value > MAX_LIMIT:
        return MAX_LIMIT, f"limit was lowered to {MAX_LIMIT}, the most that is listed at once."
    return value, ""


def something(**given: object) -> None:
    """Raise Refusal unless at least one of these arguments was given."""
    if all(value is None for value in given.values()):
        raise bad(f"Nothing to change: give at least one of {', '.join(given)}.")
