"""What must survive the process: which request an agent's words became, and results not yet handed in."""

import fcntl
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from mcp_gateway.audit.key import give_to_owner

FILE_NAME = "approvals.db"
# The command line and the service may write at the same time, each for milliseconds.
BUSY_SECONDS = 5.0
# Longer than any request is answered for; a forgotten one is only asked about again.
KEEP_SECONDS = 30 * 24 * 3600

SCHEMA = """
CREATE TABLE IF NOT EXISTS asked (digest TEXT PRIMARY KEY, request TEXT NOT NULL, time REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS asked_by_time ON asked (time);
CREATE TABLE IF NOT EXISTS results (
    request TEXT PRIMARY KEY, outcome TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL
) STRICT;
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result:
    """How an approved call ended."""

    request: str
    outcome: str
    answer: dict[str, Any]


class Kept:
    """One SQLite file of the state directory, opened with the first use. Raise sqlite3.Error or OSError."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE_NAME
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._thread = anyio.CapacityLimiter(1)

    async def asked(self, digest: str) -> str | None:
        """The id of the request that this question became."""
        row = await self._run(lambda c: c.execute("SELECT request FROM asked WHERE digest = ?", (digest,)).fetchone())
        return None if row is None else str(row[0])

    async def ask(self, digest: str, request: str) -> None:
        """Remember which request a question became."""
        await self._run(lambda connection: _ask(connection, digest, request))

    async def end(self, result: Result) -> None:
        """Keep a result until it was handed in; on disk when this returns."""
        values = (result.request, result.outcome, json.dumps(result.answer), time.time())
        await self._run(lambda c: c.execute("INSERT OR REPLACE INTO results VALUES (?,?,?,?)", values))

    async def results(self) -> list[Result]:
        """What was not handed in yet, oldest first."""
        query = "SELECT request, outcome, answer FROM results ORDER BY time"
        rows = await self._run(lambda c: c.execute(query).fetchall())
        return [Result(request, outcome, json.loads(answer)) for request, outcome, answer in rows]

    async def handed_in(self, request: str) -> None:
        """A result is where it belongs."""
        await self._run(lambda c: c.execute("DELETE FROM results WHERE request = ?", (request,)))

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
            except (OSError, sqlite3.Error):
                self._shut()  # which also rolls back
                raise
            return found

    def _open(self) -> sqlite3.Connection:
        # It holds answers; SQLite would create it readable for others.
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
            # A result that a power cut took could not be told from a call that nobody saw end.
            connection.execute("PRAGMA synchronous = FULL")
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


def _ask(connection: sqlite3.Connection, digest: str, request: str) -> None:
    now = time.time()
    connection.execute("DELETE FROM asked WHERE time < ?", (now - KEEP_SECONDS,))
    connection.execute("INSERT OR REPLACE INTO asked VALUES (?,?,?)", (digest, request, now))
