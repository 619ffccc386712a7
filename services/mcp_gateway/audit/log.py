"""The audit log of a running gateway: reads are written in groups, writing calls before their effect."""

import fcntl
import hmac
import logging
import os
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread

from mcp_gateway.audit.canonical import argument_bytes
from mcp_gateway.audit.entry import STARTED, AuditUnavailable, Entry, Row, storable
from mcp_gateway.audit.journal import journal_line
from mcp_gateway.audit.key import load_key
from mcp_gateway.audit.store import Store
from mcp_gateway.errors import ConfigurationError

# How long a read's row may wait for others to share one commit; with the commit itself it is on disk within 50 ms.
GROUP_SECONDS = 0.03
# How soon a failed commit is tried again when no writing call tries it before.
RETRY_SECONDS = 1.0
# What is kept in memory for a disk that takes nothing: a few MB. Reads beyond it are counted, not kept.
MAX_WAITING = 10_000
# 128 bits tell two values apart for ever; longer only makes longer lines.
DIGEST_CHARACTERS = 32

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Ticket:
    """An entry on its way into the chain."""

    time: str
    entry: Entry
    row: Row | None = None


class AuditLog:
    """One process's hand on the chain of a state directory; several processes may write to the same chain.

    Rows are ordered by `seq`; the time is what the clock said, also when it went backwards. Nothing is deleted.
    """

    def __init__(self, store: Store, key: bytes, journal: TextIO | None) -> None:
        self._store = store
        self._key = key
        self._journal = journal
        self._waiting: deque[Ticket] = deque()
        self._dropped = 0
        self._fault = ""
        self._writing = threading.Lock()
        self._turn = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._wake: anyio.Event | None = None

    @classmethod
    def open(cls, state_dir: Path, journal: TextIO | None = sys.stderr) -> "AuditLog":
        """Create or continue the chain. Raise ConfigurationError naming what stands in the way."""
        store = Store(state_dir)
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(state_dir):
                key = load_key(state_dir)
                store.prepare()
        except (OSError, sqlite3.Error) as fault:
            store.close()
            raise ConfigurationError([f"state_dir: the audit log in {state_dir} cannot be written: {fault}"]) from fault
        return cls(store, key, journal)

    @property
    def healthy(self) -> bool:
        """Whether the last commit and its journal lines went through."""
        return not self._fault

    @property
    def reason(self) -> str:
        """Why the log is not healthy, in plain words; empty when it is."""
        lost = f"; {self._dropped} reads are lost" if self._dropped else ""
        return self._fault + lost if self._fault else ""

    def digest(self, arguments: Mapping[str, object]) -> str:
        """A keyed fingerprint of the values: equal for equal arguments, telling nothing without the key."""
        return hmac.digest(self._key, argument_bytes(arguments), "sha256").hex()[:DIGEST_CHARACTERS]

    async def run(self) -> None:
        """Commit what `record` queued, in groups, until cancelled; then commit the rest."""
        try:
            while True:
                self._wake = anyio.Event()
                if not self._waiting:
                    await self._wake.wait()
                await anyio.sleep(GROUP_SECONDS)
                await self._commit()
                if self._fault:
                    await anyio.sleep(RETRY_SECONDS)
        finally:
            self._wake = None
            await self._commit()

    def record(self, entry: Entry) -> None:
        """Queue the row of a call that changed nothing; on disk within 50 ms. Never raises."""
        if len(self._waiting) >= MAX_WAITING:
            self._dropped += 1
            return
        self._waiting.append(Ticket(_now(), storable(entry)))
        if self._wake is not None:
            self._wake.set()

    async def started(self, entry: Entry) -> str:
        """Write down a call that is about to have an effect; on disk when this returns `seq:head`.

        Raise AuditUnavailable when it cannot be written: the call must then be refused.
        """
        ticket = Ticket(_now(), storable(entry))
        self._waiting.append(ticket)
        await self._commit(ticket)
        if ticket.row is None:
            raise AuditUnavailable(self._fault or "the audit log takes no rows")
        return f"{ticket.row.seq}:{ticket.row.head}"

    async def finished(self, entry: Entry) -> None:
        """Write down how a started call ended; on disk when this returns, also for a caller who has gone.

        With a disk that takes nothing the row is kept in memory and tried again: the effect cannot be undone, so
        raising would only make the agent repeat it. `healthy` shows it.
        """
        ticket = Ticket(_now(), storable(entry))
        self._waiting.append(ticket)
        await self._commit(ticket)

    def close(self) -> None:
        """Write what still waits and let go of the file."""
        self._write()
        self._store.close()

    async def _commit(self, ticket: Ticket | None = None) -> None:
        """Commit everything that waits. Calls that come together share a commit: the later ones find theirs done."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if self._waiting and (ticket is None or ticket.row is None):
                    await anyio.to_thread.run_sync(self._write, limiter=self._thread)

    def _write(self) -> None:
        """Runs in the writer's thread. Takes what waits, and puts back what could not be written."""
        with self._writing:
            batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not batch:
                return
            try:
                rows = self._store.append([(ticket.time, ticket.entry) for ticket in batch])
            except (sqlite3.Error, OSError) as fault:
                # A call that waits for its started row is refused, so that row must not appear later.
                self._waiting.extendleft(ticket for ticket in reversed(batch) if ticket.entry.outcome != STARTED)
                self._failed(f"the audit log cannot be written: {fault}")
                return
            for ticket, row in zip(batch, rows, strict=True):
                ticket.row = row
            self._print([row for row in rows if row.entry.outcome != STARTED])

    def _print(self, rows: list[Row]) -> None:
        try:
            if self._journal is not None and rows:
                self._journal.write("".join(journal_line(row) + "\n" for row in rows))
                self._journal.flush()
        except (OSError, ValueError) as fault:
            self._failed(f"the journal takes no audit lines: {fault}")
            return
        if self._fault:
            logger.warning("The audit log is written again; %d reads are missing in it.", self._dropped)
        self._fault, self._dropped = "", 0

    def _failed(self, fault: str) -> None:
        if not self._fault:
            logger.error("Writing calls are refused or unconfirmed: %s", fault)
        self._fault = fault


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process at a time makes the key and the tables; the lock ends with the process at the latest."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _now() -> str:
    second, microsecond = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{_second(second)}.{microsecond:06}Z"


@lru_cache(maxsize=2)
def _second(second: int) -> str:
    """The part of TIME_FORMAT that many calls share."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
