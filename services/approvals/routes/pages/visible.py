"""What cannot be seen, or changes how its neighbours are seen, is shown by its number.

A person decides by what the page shows; a text that hides, reorders or forges what stands on it must not.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from markupsafe import Markup, escape

# Control, format (bidi overrides, zero widths, tags), surrogate, private, unassigned, line and paragraph separators.
UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters, marks and spaces by category that show as nothing.
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# The breaks of a text, and the no-break spaces that French typography puts before its marks.
SEEN = frozenset("\n\t\u00a0\u202f")
SPACE_CATEGORY = "Zs"
JOINER = "\u200d"
STYLES = frozenset("\ufe0e\ufe0f")
# Before a style selector: symbols and the bases of keycaps.
STYLED_CATEGORIES = frozenset({"So", "Sm", "Po", "Nd"})
# More marks than any script stacks; piled higher they cover the lines above.
MAX_MARKS = 4
TIMES = "\u00d7"


def plain(text: str) -> str:
    """The text with ⟦U+202E⟧ in place of what is not seen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(piece if seen else f"⟦{piece}⟧" for piece, seen in pieces(text))


def marked(text: str) -> Markup:
    """The text as HTML with a mark in place of what is not seen."""
    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup("").join(
        escape(piece) if seen else Markup('<mark class="unseen">{}</mark>').format(piece)
        for piece, seen in pieces(text)
    )


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of the text that are seen, and the numbers of what is not, equal ones counted together."""
    for (seen, character), run in groupby(_judged(text), key=lambda one: (one[1], "" if one[1] else one[0])):
        if seen:
            yield "".join(one for one, _ in run), True
        else:
            times = sum(1 for _ in run)
            yield f"U+{ord(character):04X}" + (f" {TIMES}{times}" if times > 1 else ""), False


def _judged(text: str) -> Iterator[tuple[str, bool]]:
    marks = 0
    previous = ""
    for position, character in enumerate(text):
        marks = marks + 1 if _category(character) in ("Mn", "Me") else 0
        following = text[position + 1 : position + 2]
        yield character, _is_seen(character, previous, following) and marks <= MAX_MARKS
        previous = character


def _is_seen(character: str, previous: str, following: str) -> bool:
    if character in SEEN:
        return True
    if character == JOINER:  # between two pictures it makes one of them
        return _picture(previous) and _picture(following)
    if character in STYLES:
        return bool(previous) and _category(previous) in STYLED_CATEGORIES
    return _shows(character)


def _picture(character: str) -> bool:
    return bool(character) and (character in STYLES or _category(character) in ("So", "Sk"))


@lru_cache(maxsize=4096)
def _shows(character: str) -> bool:
    if _category(character) == SPACE_CATEGORY:
        return character == " "
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return not selector and character not in UNSEEN and _category(character) not in UNSEEN_CATEGORIES


@lru_cache(maxsize=4096)
def _category(character: str) -> str:
    return unicodedata.category(character)
