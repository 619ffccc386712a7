"""Reading the log: rows in order, and calls as a person asks for them. Never writes, works while a service does."""

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_gateway.audit.entry import STARTED, Entry, Row
from mcp_gateway.audit.journal import row_fields
from mcp_gateway.audit.store import BUSY_SECONDS, COLUMNS, FILE_NAME

# Shown for a started row that nothing follows: the process ended in between, or the call is still running.
UNKNOWN = "unknown"

# One row per call: the outcome's, or the started one where no outcome exists; with the seq of the started row.
CALLS = f"""
SELECT {COLUMNS}, (SELECT min(s.seq) FROM rows s WHERE s.receipt = r.receipt AND s.outcome = '{STARTED}')
FROM rows r
WHERE NOT (r.outcome = '{STARTED}'
           AND EXISTS (SELECT 1 FROM rows o WHERE o.receipt = r.receipt AND o.outcome <> '{STARTED}'))
"""  # noqa: S608  # our own constants


@dataclass(frozen=True, slots=True)
class Filter:
    """Which calls to list; `since` is a time as the rows write it, `limit` keeps the newest."""

    client: str | None = None
    tool: str | None = None
    receipt: str | None = None
    outcome: str | None = None
    since: str | None = None
    limit: int = 100


class Unreadable(Exception):
    """The log is not there or cannot be read; the text says what to do."""


class Reader:
    """The log at one moment: everything it gives comes from one snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self) -> Iterator[Row]:
        """Every row in the order of `seq`."""
        for columns in self._connection.execute(f"SELECT {COLUMNS} FROM rows ORDER BY seq"):  # noqa: S608
            yield _row(columns)

    def calls(self, wanted: Filter) -> list[dict[str, object]]:
        """The newest calls that fit, newest last: the journal's fields and `started_seq` (null for a read)."""
        conditions = {
            "r.client = ?": wanted.client,
            "r.tool = ?": wanted.tool,
            "r.receipt = ?": wanted.receipt,
            "r.outcome = ?": STARTED if wanted.outcome == UNKNOWN else wanted.outcome,
            "r.time >= ?": wanted.since,
        }
        used = {condition: value for condition, value in conditions.items() if value is not None}
        statement = CALLS + "".join(f" AND {condition}" for condition in used) + " ORDER BY r.seq DESC LIMIT ?"
        found = self._connection.execute(statement, [*used.values(), wanted.limit]).fetchall()
        return [_call(columns) for columns in reversed(found)]


@contextmanager
def reading(state_dir: Path) -> Iterator[Reader]:
    """A snapshot of this state directory's log. Raise Unreadable when there is none or it is not readable."""
    path = state_dir / FILE_NAME
    if not path.is_file():
        raise Unreadable(f"There is no audit log at {path}: has the gateway run with this state_dir?")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", BUSY_SECONDS, isolation_level=None, uri=True)
    except sqlite3.Error as fault:
        raise Unreadable(f"The audit log {path} cannot be opened: {fault}") from fault
    try:
        # Whoever edited the file by hand may have left bytes that are no text; they must show, not stop the reading.
        connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
        connection.execute("BEGIN")
        yield Reader(connection)
    except sqlite3.Error as fault:
        raise Unreadable(f"The audit log {path} cannot be read: {fault}") from fault
    finally:
        connection.close()


def _call(columns: tuple[object, ...]) -> dict[str, object]:
    *row, started_seq = columns
    fields = row_fields(_row(tuple(row)))
    if fields["outcome"] == STARTED:
        fields["outcome"] = UNKNOWN
    return {**fields, "started_seq": started_seq}


def _row(columns: tuple[object, ...]) -> Row:
    """What was edited into something that is no row of ours becomes a row whose head cannot be right."""
    seq, time, receipt, client, channel, tool, args, digest, outcome, ms, approval, head = columns
    caller = (str(receipt), str(client), str(channel), str(tool))
    duration = float(ms) if isinstance(ms, int | float) else math.nan
    entry = Entry(*caller, _names(str(args)), str(digest), str(outcome), duration, str(approval))
    return Row(seq if isinstance(seq, int) else 0, str(time), entry, str(head))


def _names(text: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return tuple(names)
    return (f"unreadable: {text}",)
