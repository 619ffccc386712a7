"""Waking whoever waits for a request to change, also when the command line changed it in a process of its own."""

import logging
import sqlite3

import anyio

from approvals.store import Store

# How late a decision of the command line is noticed at most; the service's own changes are noticed at once.
LOOK_SECONDS = 0.25

logger = logging.getLogger(__name__)


class Changes:
    """One event for all; who is woken looks again whether it concerns him."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._event = anyio.Event()

    def tell(self) -> None:
        """Something has changed."""
        event, self._event = self._event, anyio.Event()
        event.set()

    @property
    def next(self) -> anyio.Event:
        """Set with the next change. Take it before you look, so that no change falls between."""
        return self._event

    async def watch(self) -> None:
        """Notice what other processes write, until cancelled."""
        seen = -1
        while True:
            try:
                version = await self._store.version()
                if version != seen:
                    seen = version
                    self.tell()
            except (sqlite3.Error, OSError) as fault:
                logger.warning("The database cannot be read: %s", fault)
            await anyio.sleep(LOOK_SECONDS)
