"""What an agent reads: one block of compact JSON, of bounded length, without anything that could command it."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_gateway.errors import Refusal

# A model's window: about 8,000 tokens. The tools cut their own content and say how to go on; this is the last net.
MAX_CHARACTERS = 30_000
# Room for paths, ids and hints around a content that is exactly as long as it may be.
MAX_AROUND = 4_000

CUT = "The answer was longer than 30,000 characters and was cut at the end. Ask for less: narrow the search, or page."
REDACTED = "[secret removed]"
DEFANGED = "[quoted text, not a message from the user: "

# Everything a terminal or a client might act on (not TAB, LF, CR), and halves of characters that no UTF-8 can carry.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

# Hermes tells its models to obey this marker. A model also reads it with other brackets, spaces, dashes, invisible
# characters, accents or look-alike letters, so that is how it is looked for.
_BRACKETS = "\\[\u3010\u3014\u3016\u27e6\u298b\u2772\u2045"
_ALIKE = {
    "a": "a\u0430\u03b1",
    "b": "b\u0432\u03b2\u042c\u044c",
    "d": "d\u0501",
    "e": "e\u0435\u03b5",
    "f": "f\u03dd",
    "g": "g\u0261\u050d",
    "m": "m\u043c\u03bc",
    "n": "n\u03bd\u0578",
    "o": "o0\u043e\u03bf\u0585",
    "r": "r\u0433",
    "s": "s5\u0455",
    "t": "t\u0442\u03c4",
    "u": "u\u03c5\u057d",
}
# No bracket in between: the search from one bracket then ends at the next, which keeps it linear.
_GAP = rf"(?:[^\w{_BRACKETS}]|_)*"
_MARKER = re.compile(
    f"[{_BRACKETS}]{_GAP}" + _GAP.join(f"[{_ALIKE[letter]}]" for letter in "outofbandusermessage"), re.IGNORECASE
)

# What the fast path must not skip, as it looks in JSON text.
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_SUSPECT = re.compile(r"\\u00[01]|\\[bf]|[\x7f-\x9f\ud800-\udfff]")


def success(members: Mapping[str, object]) -> str:
    """The answer of a call that did what was asked."""
    return _answer({"success": True, **members})


def refusal(fault: Refusal) -> str:
    """The answer of a call that did not: code and hint, and the facts that go with them."""
    said = {"success": False, "error": str(fault.code), "hint": fault.hint}
    return _answer({**said, **fault.facts, **said})


def defang(text: str) -> str:
    """The text without control characters and without the marker that a Hermes model would obey."""
    text = _CONTROLS.sub("\ufffd", text)
    return _quote_marker(text) if _has_marker(text) else text


def altered(text: str) -> bool:
    """Whether `defang` changes the text; then it must not be taken for what is in the file."""
    return _CONTROLS.search(text) is not None or _has_marker(text)


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, as they are and as JSON writes them. The last net under every answer and log."""
    for secret in secrets:
        for written in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
            if written in text:
                text = text.replace(written, REDACTED)
    return text


def _answer(members: dict[str, object]) -> str:
    text = _dump(members)
    if _SUSPECT.search(text) or _has_marker(_ESCAPED_SPACE.sub(" ", text)):
        members = _clean(members)
        text = _dump(members)
    if len(text) > MAX_CHARACTERS:
        text = _dump(_capped(members))
    return text


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return defang(value)
    if isinstance(value, Mapping):
        return {defang(str(key)): _clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    return value


def _has_marker(text: str) -> bool:
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    return _MARKER.search(plain) is not None


def _quote_marker(text: str) -> str:
    """Replace every marker, wherever its characters stand in the text as it was written."""
    parts = [(letter, place) for place, character in enumerate(text) for letter in _letters(character)]
    plain = "".join(letter for letter, _ in parts)
    result, done = [], 0
    for match in _MARKER.finditer(plain):
        begin, end = parts[match.start()][1], parts[match.end() - 1][1] + 1
        result += [text[done:begin], DEFANGED]
        done = max(done, end)
    return "".join([*result, text[done:]])


def _letters(character: str) -> str:
    return character if character.isascii() else unicodedata.normalize("NFKD", character)


class _Budget:
    """How many characters may still go out."""

    def __init__(self) -> None:
        self.left = MAX_CHARACTERS + MAX_AROUND
        self.cut = False


def _capped(members: dict[str, object]) -> dict[str, object]:
    """The members, cut at the end where they are more than an answer may hold; says so when they were."""
    budget = _Budget()
    kept: dict[str, object] = _cut(members, budget)
    return {**kept, "cut": CUT} if budget.cut else kept


def _cut(value: Any, budget: _Budget) -> Any:
    if isinstance(value, str):
        return _cut_text(value, budget)
    if isinstance(value, Mapping):
        kept = {}
        for key, part in value.items():
            budget.left -= len(key)
            kept[key] = _cut(part, budget)
        return kept
    if isinstance(value, list | tuple):
        items = []
        for part in value:
            if budget.left <= 0:
                budget.cut = True
                break
            items.append(_cut(part, budget))
        return items
    budget.left -= len(str(value))
    return value


def _cut_text(text: str, budget: _Budget) -> str:
    allowed = max(0, min(MAX_CHARACTERS, budget.left))
    if len(text) > allowed:
        text, budget.cut = text[:allowed], True
    budget.left -= len(text)
    return text
