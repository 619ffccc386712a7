"""Canonical bytes (RFC 8785) of rows and of arguments, so that equal things have equal hashes."""

import hashlib
import json
import math
from collections.abc import Mapping

import rfc8785

from mcp_gateway.audit.entry import Entry

# What the first row follows.
GENESIS = "0" * 64
# RFC 8785 numbers are doubles; a larger integer has no exact form there.
LARGEST_INTEGER = 2**53 - 1

FLAT_TYPES = frozenset({str, bool, int, type(None)})

# A JSON string with nothing escaped but what must be: what RFC 8785 asks for.
_quoted = json.encoder.encode_basestring
_canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def next_head(previous: str, seq: int, time: str, entry: Entry) -> str:
    """SHA-256 of the previous head and the row's fields, as 64 hexadecimal digits."""
    return hashlib.sha256(bytes.fromhex(previous) + row_bytes(seq, time, entry)).hexdigest()


def row_bytes(seq: int, time: str, entry: Entry) -> bytes:
    """The row's fields without its head, keys in order.

    Written out by hand because every call pays for it, and a general encoder takes eight times as long; a test compares
    the two.
    """
    ms = int(entry.ms) if entry.ms.is_integer() else entry.ms
    return (
        f'{{"approval":{_quoted(entry.approval)},"args":[{",".join(map(_quoted, entry.args))}],'
        f'"channel":{_quoted(entry.channel)},"client":{_quoted(entry.client)},"digest":{_quoted(entry.digest)},'
        f'"ms":{ms!r},"outcome":{_quoted(entry.outcome)},"receipt":{_quoted(entry.receipt)},"seq":{seq},'
        f'"time":{_quoted(time)},"tool":{_quoted(entry.tool)}}}'
    ).encode()


def argument_bytes(arguments: Mapping[str, object]) -> bytes:
    """Bytes that are equal for equal arguments; defined for whatever a JSON parser can hand over, never raising."""
    try:
        if _is_flat(arguments):
            return _canonical_json(dict(arguments)).encode()
        return rfc8785.dumps(arguments)  # type: ignore[arg-type]  # what it does not know it refuses, see below
    except (ValueError, RecursionError):
        return _odd_bytes(arguments)


def _is_flat(arguments: Mapping[str, object]) -> bool:
    """Whether the quick encoder is exact: ASCII names, and values that are text, truth, nothing or a safe integer."""
    for name, value in arguments.items():
        if not name.isascii() or type(value) not in FLAT_TYPES:
            return False
        if type(value) is int and abs(value) > LARGEST_INTEGER:
            return False
    return True


def _odd_bytes(arguments: Mapping[str, object]) -> bytes:
    """For what RFC 8785 cannot say (lone surrogates, huge integers, NaN): marked, so it never equals a plain one."""
    try:
        return b"odd:" + json.dumps(_spelt_out(arguments), sort_keys=True, separators=(",", ":")).encode()
    except RecursionError:
        return b"odd:too deep"


def _spelt_out(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _spelt_out(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_spelt_out(member) for member in value]
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return ["integer", hex(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", str(value)]
    return value if isinstance(value, str | int | float | None) else ["type", type(value).__name__]
