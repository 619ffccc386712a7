"""The journal's side of the audit: one compact line per call, written here and read back for comparison."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mcp_gateway.audit.entry import FIELDS, Entry, Row

_quoted = json.encoder.encode_basestring_ascii


def journal_line(row: Row) -> str:
    """One line of ASCII JSON with exactly the fields of `FIELDS`; by hand, because every call pays for it."""
    entry = row.entry
    return (
        f'{{"time":{_quoted(row.time)},"seq":{row.seq},"head":{_quoted(row.head)},"receipt":{_quoted(entry.receipt)},'
        f'"client":{_quoted(entry.client)},"channel":{_quoted(entry.channel)},"tool":{_quoted(entry.tool)},'
        f'"args":[{",".join(map(_quoted, entry.args))}],"digest":{_quoted(entry.digest)},'
        f'"outcome":{_quoted(entry.outcome)},"ms":{entry.ms!r},"approval":{_quoted(entry.approval)}}}'
    )


def row_fields(row: Row) -> dict[str, object]:
    """The row as the journal and `--json` show it."""
    entry = row.entry
    return {
        "time": row.time,
        "seq": row.seq,
        "head": row.head,
        "receipt": entry.receipt,
        "client": entry.client,
        "channel": entry.channel,
        "tool": entry.tool,
        "args": list(entry.args),
        "digest": entry.digest,
        "outcome": entry.outcome,
        "ms": entry.ms,
        "approval": entry.approval,
    }


def journal_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Every audit line among these lines of a journal.

    Understands plain lines, `journalctl -o cat` and its other one-line forms, and `journalctl -o json`; whatever is no
    audit line is passed over.
    """
    for line in lines:
        fields = _object_in(line)
        if "MESSAGE" in fields and "seq" not in fields:
            fields = _object_in(_message(fields["MESSAGE"]))
        if set(fields) == set(FIELDS):
            row = _row(fields)
            if row is not None:
                yield row


def _object_in(line: str) -> dict[str, Any]:
    """The JSON object that ends this line, after whatever prefix the journal put before it; empty if there is none."""
    start = line.find("{")
    if start < 0:
        return {}
    try:
        found = json.loads(line[start:])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _message(message: object) -> str:
    """`journalctl -o json` gives a message that is not plain text as a list of bytes."""
    if isinstance(message, list):
        try:
            return bytes(message).decode("utf-8", "replace")
        except (TypeError, ValueError):
            return ""
    return message if isinstance(message, str) else ""


def _row(fields: dict[str, Any]) -> Row | None:
    texts = [fields[name] for name in FIELDS if name not in ("seq", "args", "ms")]
    args, seq, ms = fields["args"], fields["seq"], fields["ms"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(args, list):
        return None
    if type(seq) is not int or not isinstance(ms, int | float):
        return None
    names = {name: fields[name] for name in ("receipt", "client", "channel", "tool", "digest", "outcome", "approval")}
    return Row(seq, fields["time"], Entry(args=tuple(map(str, args)), ms=float(ms), **names), fields["head"])
