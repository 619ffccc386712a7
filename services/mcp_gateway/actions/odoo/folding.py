"""Searches for names as people write them: literally, whatever the case, and with or without accents."""

import unicodedata

from mcp_gateway.actions.odoo.checks import bad, text
from mcp_gateway.errors import Code, Refusal

# Odoo compares letter by letter, so a letter that may carry an accent is asked for as "any letter" and the names that
# come back are compared here. Beyond this many names the widest question is not worth its answer.
MAX_CANDIDATES = 2_000
MAX_QUERY = 200
# ASCII letters that carry accents in languages written by more than a village.
_ACCENTED = frozenset("acdeghijklnorstuwyz")
# Letters that no decomposition takes apart.
_SINGLE = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "\N{LATIN SMALL LETTER DOTLESS I}": "i",
        "ŧ": "t",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ß": "ss",
    }
)
_PAIRS = ("ae", "oe", "th", "ss")


def query(value: str, argument: str) -> str:
    """A search text. Raise Refusal when there is nothing to search for."""
    value = text(value, argument).strip()
    if not value:
        raise Refusal(Code.EMPTY_QUERY, f"{argument} is empty; give a part of the name.")
    if len(value) > MAX_QUERY:
        raise bad(f"{argument} has {len(value)} characters; at most {MAX_QUERY} are taken.")
    return value


def fold(value: str) -> str:
    """The text without accents and case."""
    plain = unicodedata.normalize("NFD", value.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).translate(_SINGLE)


def found(wanted: str, value: object) -> bool:
    """Whether a name holds the search text."""
    return isinstance(value, str) and fold(wanted) in fold(value)


def literal(value: str) -> str:
    """The pattern that finds exactly this text: what is a wildcard in SQL is a character here."""
    return "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in value)


def pattern(value: str) -> str:
    """The pattern that finds this text under every accent, and some other names with it."""
    folded = fold(value)
    result, place = "", 0
    while place < len(folded):
        if folded[place : place + 2] in _PAIRS:
            result, place = result + "%", place + 2
        else:
            result, place = result + _letter(folded[place]), place + 1
    return result


def _letter(letter: str) -> str:
    if letter.isascii():
        return "_" if letter in _ACCENTED else literal(letter)
    # Scripts without case have no accents to fold; in those that have case any letter may carry one.
    return literal(letter) if unicodedata.category(letter) == "Lo" else "_"


def narrow(value: str) -> list[str]:
    """Patterns for large databases: as typed, and with an accent on any one or two letters of the plain text."""
    folded = fold(value)[:40]
    spots = [place for place, letter in enumerate(folded) if letter in _ACCENTED]
    pairs = [(one, two) for place, one in enumerate(spots) for two in spots[place:]]
    changed = {"".join("_" if at in pair else literal(letter) for at, letter in enumerate(folded)) for pair in pairs}
    return [literal(value), *sorted(changed)]
