"""A few open channels, lent to one caller each."""

import contextlib
import threading
import time
from collections.abc import Iterator

from vault_helper.channels import Channel, Opener
from vault_helper.errors import AnswerLate
from vault_helper.shell import Deadline

# sshd allows ten sessions on one connection (MaxSessions); two are left for whoever shares it.
MAX_CHANNELS = 8
# A resident forced command takes about 15 MB on the vault host; one that nobody needed for this long is ended.
IDLE_SECONDS = 120.0


class ChannelPool:
    """At most MAX_CHANNELS at once; the last used is lent first, so that the others can go idle and be closed."""

    def __init__(self, opener: Opener, size: int = MAX_CHANNELS) -> None:
        self._opener = opener
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Channel]] = []
        self._lent: set[Channel] = set()
        self._closed = False

    @contextlib.contextmanager
    def channel(self, deadline: Deadline, fresh: bool = False) -> Iterator[Channel]:
        """Lend a channel; `fresh` asks for a newly opened one. Raise AnswerLate when none is free in time."""
        if not self._free.acquire(timeout=deadline.left()):
            raise AnswerLate("every channel to the vault host is busy")
        try:
            channel = (None if fresh else self._take()) or self._opener.open(deadline)
            self._lent.add(channel)
            try:
                yield channel
            except BaseException:
                # Whatever went wrong, an answer may still be on its way: the next caller must not get it.
                channel.close()
                raise
            finally:
                self._lent.discard(channel)
            self._give_back(channel)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close every channel; who still waits for an answer on one learns that it broke."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for channel in [*(channel for _, channel in idle), *self._lent]:
            channel.close()
        self._opener.close()

    def _take(self) -> Channel | None:
        with self._lock:
            since = time.monotonic() - IDLE_SECONDS
            stale = [c for used, c in self._idle[:-1] if used < since or not c.usable()]
            self._idle = [(used, c) for used, c in self._idle if c not in stale]
            channel = self._idle.pop()[1] if self._idle else None
        for old in stale:
            old.close()
        if channel and not channel.usable():
            channel.close()
            return self._take()
        return channel

    def _give_back(self, channel: Channel) -> None:
        with self._lock:
            if not self._closed and channel.usable():
                self._idle.append((time.monotonic(), channel))
                return
        channel.close()
