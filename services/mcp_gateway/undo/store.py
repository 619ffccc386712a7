"""Replaced values and first answers on disk, in one SQLite file of the state directory."""

import fcntl
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from mcp_gateway.audit.key import give_to_owner
from mcp_gateway.errors import Code, Refusal

FILE_NAME = "undo.db"
# The command line and the service may write at the same time, each for milliseconds.
BUSY_SECONDS = 5.0
KEEP_SECONDS = 30 * 24 * 3600
# A client re-sends after its own time-out, which is a minute at most; afterwards the same words mean it again.
REPEAT_SECONDS = 120

SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
    receipt TEXT PRIMARY KEY, time REAL NOT NULL, client TEXT NOT NULL, tool TEXT NOT NULL, kind TEXT NOT NULL,
    model TEXT NOT NULL, record INTEGER, before TEXT NOT NULL, wanted TEXT NOT NULL, after TEXT, undone REAL
) STRICT;
CREATE INDEX IF NOT EXISTS changes_by_time ON changes (time);
CREATE TABLE IF NOT EXISTS repeats (
    key TEXT PRIMARY KEY, time REAL NOT NULL, receipt TEXT NOT NULL, result TEXT
) STRICT;
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """One write: what stood there before, what was asked for, and what stood there after (None: nobody looked)."""

    receipt: str
    client: str
    tool: str
    kind: str
    model: str
    record: int | None
    before: Mapping[str, Any]
    wanted: Mapping[str, Any]
    after: Mapping[str, Any] | None = None
    time: float = 0.0
    undone: float | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The first call with these arguments: its answer, or None while its outcome is not known."""

    time: float
    receipt: str
    result: dict[str, object] | None


class Memory:
    """Keeps changes for 30 days and answers for two minutes. Survives a killed process; opened with the first use.

    Raise Refusal when the disk takes nothing: then a write must not happen, because it could not be undone.
    """

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE_NAME
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._thread = anyio.CapacityLimiter(1)

    async def begin(self, change: Change) -> None:
        """Keep what a write is about to replace."""
        await self._run(lambda connection: _begin(connection, change))

    async def finish(self, receipt: str, record: int, after: Mapping[str, Any] | None) -> None:
        """Keep what stands there now."""
        values = (record, None if after is None else json.dumps(after), receipt)
        await self._run(lambda c: c.execute("UPDATE changes SET record = ?, after = ? WHERE receipt = ?", values))

    async def forget(self, receipt: str) -> None:
        """The write did not happen."""
        await self._run(lambda c: c.execute("DELETE FROM changes WHERE receipt = ?", (receipt,)))

    async def change(self, receipt: str) -> Change | None:
        """What was kept about a receipt."""
        return await self._run(lambda connection: _change(connection, receipt))

    async def undone(self, receipt: str) -> None:
        """It was undone, so it cannot be undone again."""
        values = (time.time(), receipt)
        await self._run(lambda c: c.execute("UPDATE changes SET undone = ? WHERE receipt = ?", values))

    async def first(self, key: str, receipt: str) -> Repeat | None:
        """The call that came first with this key, within the time; None when this one is the first."""
        return await self._run(lambda connection: _first(connection, key, receipt))

    async def answered(self, key: str, result: Mapping[str, object]) -> None:
        """Keep the first answer."""
        values = (json.dumps(result), key)
        await self._run(lambda c: c.execute("UPDATE repeats SET result = ? WHERE key = ?", values))

    async def unanswered(self, key: str) -> None:
        """The first call did nothing: the next one is the first again."""
        await self._run(lambda c: c.execute("DELETE FROM repeats WHERE key = ?", (key,)))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._shut()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._work, work, limiter=self._thread)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                connection = self._connection or self._open()
                connection.execute("BEGIN IMMEDIATE")
                found = work(connection)
                connection.execute("COMMIT")
            except (OSError, sqlite3.Error) as fault:
                self._shut()  # which also rolls back
                words = f"The gateway's memory of writes takes nothing ({fault}). Tell the operator."
                raise Refusal(Code.WRITE_FAILED, words) from fault
            return found

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It holds what stood in Odoo's records; SQLite would create it readable for others.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        give_to_owner(self.path)
        # One at a time: to switch a new file to WAL, SQLite waits for nobody and says that it is locked.
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            return self._opened()
        finally:
            os.close(folder)

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # A killed process loses nothing; only a power cut may take the last moments, and a write's worth is in
            # Odoo. Waiting for the disk at every call would cost more than the call.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _shut(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _begin(connection: sqlite3.Connection, change: Change) -> None:
    now = time.time()
    connection.execute("DELETE FROM changes WHERE time < ?", (now - KEEP_SECONDS,))
    connection.execute(
        "INSERT INTO changes (receipt, time, client, tool, kind, model, record, before, wanted) VALUES "
        "(?,?,?,?,?,?,?,?,?)",
        (
            change.receipt,
            now,
            change.client,
            change.tool,
            change.kind,
            change.model,
            change.record,
            json.dumps(change.before),
            json.dumps(change.wanted),
        ),
    )


def _change(connection: sqlite3.Connection, receipt: str) -> Change | None:
    row = connection.execute(
        "SELECT receipt, client, tool, kind, model, record, before, wanted, after, time, undone FROM changes "
        "WHERE receipt = ? AND time >= ?",
        (receipt, time.time() - KEEP_SECONDS),
    ).fetchone()
    if row is None:
        return None
    receipt, client, tool, kind, model, record, before, wanted, after, moment, undone = row
    return Change(
        receipt,
        client,
        tool,
        kind,
        model,
        record,
        json.loads(before),
        json.loads(wanted),
        None if after is None else json.loads(after),
        moment,
        undone,
    )


def _first(connection: sqlite3.Connection, key: str, receipt: str) -> Repeat | None:
    now = time.time()
    connection.execute("DELETE FROM repeats WHERE time < ? OR time > ?", (now - REPEAT_SECONDS, now + REPEAT_SECONDS))
    row = connection.execute("SELECT time, receipt, result FROM repeats WHERE key = ?", (key,)).fetchone()
    if row is not None:
        return Repeat(row[0], row[1], None if row[2] is None else json.loads(row[2]))
    connection.execute("INSERT INTO repeats (key, time, receipt) VALUES (?,?,?)", (key, now, receipt))
    return None
