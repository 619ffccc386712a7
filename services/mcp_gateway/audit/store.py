"""The chain on disk: one SQLite table, appended to by any number of processes, one transaction at a time."""

import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from mcp_gateway.audit.canonical import GENESIS, next_head
from mcp_gateway.audit.entry import Entry, Row
from mcp_gateway.audit.key import give_to_owner

FILE_NAME = "audit.db"
VERSION = 1
# Another process on the same state directory (the command line) holds the write lock for milliseconds. Longer means
# that it hangs, and a call must not wait for it until its own deadline.
BUSY_SECONDS = 5.0

COLUMNS = "seq, time, receipt, client, channel, tool, args, digest, outcome, ms, approval, head"

SIZES = (64, 16, 4, 1)
INSERT = f"INSERT INTO rows ({COLUMNS}) VALUES "  # noqa: S608  # our own constant
VALUES = "(?,?,?,?,?,?,?,?,?,?,?,?)"
INSERTS = {size: INSERT + ",".join([VALUES] * size) for size in SIZES}

SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, receipt TEXT NOT NULL, client TEXT NOT NULL, channel TEXT NOT NULL,
    tool TEXT NOT NULL, args TEXT NOT NULL, digest TEXT NOT NULL, outcome TEXT NOT NULL, ms REAL NOT NULL,
    approval TEXT NOT NULL, head TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS rows_by_receipt ON rows (receipt);
"""


class Store:
    """Appends rows. Used by one thread at a time; raises sqlite3.Error or OSError, and is usable again afterwards."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE_NAME
        self._connection: sqlite3.Connection | None = None

    def append(self, entries: Sequence[tuple[str, Entry]]) -> list[Row]:
        """Chain and commit these entries with their times: all of them, on disk, or none.

        The head is read inside the transaction, because another process may have appended since ours did.
        """
        connection = self._connection or self._open()
        try:
            connection.execute("BEGIN IMMEDIATE")
            rows = chained(entries, *_last(connection))
            _insert(connection, rows)
            connection.execute("COMMIT")
        except BaseException:
            # A connection that met a full or failing disk is not worth trusting; closing it also rolls back.
            self.close()
            raise
        return rows

    def prepare(self) -> None:
        """Create what is missing and see that a row could be written. Raise sqlite3.Error or OSError when not."""
        connection = self._connection or self._open()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"it was written by a newer release (format {version})")
        connection.executescript(SCHEMA + f"PRAGMA user_version = {VERSION};")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file; the next append opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # SQLite would create the file readable for others; its -wal and -shm files take over this file's mode.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        give_to_owner(self.path)
        connection = sqlite3.connect(self.path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # Every commit is on disk before its journal line is printed and before a write has its effect.
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection
        return connection


def chained(entries: Sequence[tuple[str, Entry]], seq: int, head: str) -> list[Row]:
    """The rows that follow row `seq` with this head."""
    rows = []
    for time, entry in entries:
        seq += 1
        head = next_head(head, seq, time, entry)
        rows.append(Row(seq, time, entry, head))
    return rows


def _insert(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Many rows in one statement: every statement hands the interpreter to the serving thread and waits to get it back.

    The sizes are few, so that SQLite's prepared statements are found again.
    """
    start = 0
    for size in SIZES:
        while len(rows) - start >= size:
            values = [value for row in rows[start : start + size] for value in _columns(row)]
            connection.execute(INSERTS[size], values)
            start += size


def _last(connection: sqlite3.Connection) -> tuple[int, str]:
    found = connection.execute("SELECT seq, head FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    return found or (0, GENESIS)


def _columns(row: Row) -> tuple[object, ...]:
    entry = row.entry
    return (
        row.seq,
        row.time,
        entry.receipt,
        entry.client,
        entry.channel,
        entry.tool,
        json.dumps(entry.args),
        entry.digest,
        entry.outcome,
        entry.ms,
        entry.approval,
        row.head,
    )
