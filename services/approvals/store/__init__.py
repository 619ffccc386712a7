"""The database behind every surface; the service and the command line open the same file."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from approvals.store.schema import open_database

T = TypeVar("T")


class Store:
    """Runs pieces of work, each in one transaction that is on disk when `run` returns.

    Raise sqlite3.Error or OSError when the disk takes nothing; then nothing of that work happened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._thread = anyio.CapacityLimiter(1)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of one piece of work, done in a thread."""
        return await anyio.to_thread.run_sync(self.do, work, limiter=self._thread)

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The same, in this thread."""
        with self._lock:
            try:
                connection = self._connection = self._connection or open_database(self.path)
                connection.execute("BEGIN IMMEDIATE")
                found = work(connection)
                connection.execute("COMMIT")
            except (sqlite3.Error, OSError):
                self._shut()  # which also rolls back
                raise
            except BaseException:
                connection.rollback()
                raise
            return found

    async def version(self) -> int:
        """A number that changes when another process has written; nothing is locked for it."""
        return await anyio.to_thread.run_sync(self._version, limiter=self._thread)

    def _version(self) -> int:
        with self._lock:
            self._connection = self._connection or open_database(self.path)
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
