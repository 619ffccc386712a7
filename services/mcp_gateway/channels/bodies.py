"""The body of a POST, looked at once before the SDK parses it.

JSON that no tool should ever see (a key twice, NaN, half a character, endless nesting) is valid enough for one parser
and an error for the next. Here it becomes one thing: the same call without arguments, and words for the agent.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# No tool nests its arguments at all; what is deeper than this is an attack on a parser.
MAX_DEPTH = 32
# What fits in 64 bits. Longer numbers cost quadratic time and have no exact form elsewhere.
MAX_DIGITS = 19

TWICE = "A key stands twice in the same JSON object ({}); send every key once."
NOT_A_NUMBER = "NaN and Infinity are no JSON numbers; send a finite number."
TOO_LARGE = "A number is too large; at most 19 digits are accepted."
HALF_CHARACTER = (
    "A text holds half of a surrogate pair (such as \\ud800), which is no character; send whole characters."
)
TOO_DEEP = f"The JSON is nested more than {MAX_DEPTH} levels deep; send plain arguments."
NOT_AN_OBJECT = "`arguments` must be a JSON object such as {}; leave it out when there are none."

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


class _Reader:
    """One parse of one body, noting what no tool should see."""

    def __init__(self) -> None:
        self.fault = ""

    def read(self, body: bytes) -> Any:
        return json.loads(
            body,
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self.fault = self.fault or TWICE.format(ascii(twice[:40]))
        return members

    def _constant(self, _: str) -> int:
        self.fault = self.fault or NOT_A_NUMBER
        return 0

    def _float(self, text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else self._constant(text)

    def _int(self, text: str) -> int:
        if len(text) > MAX_DIGITS + text.startswith("-"):
            self.fault = self.fault or TOO_LARGE
            return 0
        return int(text)


@dataclass(frozen=True, slots=True)
class Screened:
    """The body to go on with, what it says, and what is wrong with a call's arguments (empty: nothing)."""

    body: bytes
    message: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    @property
    def method(self) -> object:
        """What the message asks for, as it stands there."""
        return self.message.get("method")


def screen(body: bytes) -> Screened:
    """Look at a body. What is no JSON-RPC message at all is left for the SDK to refuse."""
    reader = _Reader()
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and (pruned := _prune(body)) is not None:
        body, reader.fault = pruned, TOO_DEEP
    try:
        message = reader.read(body)
    except (ValueError, RecursionError):
        return Screened(body)
    if not isinstance(message, dict):
        return Screened(body)
    params = message.get("params")
    if message.get("method") != "tools/call" or not isinstance(params, dict):
        return Screened(body, message)
    if not isinstance(params.get("arguments", {}), dict):
        reader.fault = reader.fault or NOT_AN_OBJECT
    if not reader.fault and _SURROGATE.search(body) and _halved(message):
        reader.fault = HALF_CHARACTER
    if not reader.fault:
        return Screened(body, message)
    params["arguments"] = {}
    return Screened(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"), message, reader.fault)


def _halved(message: object) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _prune(body: bytes) -> bytes | None:
    """The body with 0 in place of everything deeper than MAX_DEPTH; None when nothing is."""
    depth, kept, done = 0, [], 0
    for token in _TOKENS.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                kept += [body[done : token.start()], b"0"]
        elif first in b"]}":
            depth -= 1
            if depth == MAX_DEPTH:
                done = token.end()
    if not kept:
        return None
    return b"".join([*kept, body[done:] if depth <= MAX_DEPTH else b""])
