"""The sessions of handshake clients: who opened them, what they narrowed, when they may be ended."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mcp.server.session import ServerSession

from mcp_gateway.calls import Caller

# Idle sessions end here; a client that slept through half an hour still finds its own.
IDLE_SECONDS = 4 * 3600.0
# How often it is looked for them.
SWEEP_SECONDS = 60.0
# A client opens one session per agent process; a runaway one must not take the memory of the others.
MAX_PER_CLIENT = 64


@dataclass(slots=True)
class Session:
    """One open session."""

    id: str
    client: str
    channel: str
    # The toolsets it was narrowed to at its start; None for all of the channel's.
    toolsets: frozenset[str] | None
    in_flight: int = 0
    used: float = field(default_factory=time.monotonic)
    peer: ServerSession | None = None
    # The calls that are being answered, by the id their client gave them.
    calls: dict[int | str, Caller] = field(default_factory=dict)

    def cancel(self, identity: object) -> None:
        """The client does not want the answer of this call any more."""
        if isinstance(identity, int | str) and (caller := self.calls.get(identity)) is not None:
            caller.leave()


class Sessions:
    """Every open session of every channel, kept in step with the SDK's own tables."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._open.values()))

    def opened(self, session: Session) -> None:
        """Remember a session that the SDK has just begun."""
        self._open[session.id] = session

    def find(self, identity: str, client: str) -> Session | None:
        """The session with this id, if this client opened it."""
        session = self._open.get(identity)
        return session if session is not None and session.client == client else None

    def ended(self, identity: str) -> None:
        """Forget a session."""
        self._open.pop(identity, None)

    @contextmanager
    def using(self, session: Session) -> Iterator[None]:
        """A request of the session is being served: until it ends, the session is not idle."""
        session.in_flight += 1
        try:
            yield
        finally:
            session.in_flight -= 1
            session.used = self._clock()

    def idle(self) -> list[Session]:
        """Those that nobody has used for so long that they may be ended."""
        limit = self._clock() - IDLE_SECONDS
        return [session for session in self if not session.in_flight and session.used < limit]

    def too_many(self, client: str) -> bool:
        """Whether this client must close a session before it may open another."""
        return len(self._of(client)) >= MAX_PER_CLIENT

    def oldest_idle(self, client: str) -> Session | None:
        """The session of a client that has been without any request for longest."""
        idle = [session for session in self._of(client) if not session.in_flight]
        return min(idle, key=lambda session: session.used, default=None)

    def count(self, channel: str) -> int:
        """How many sessions a channel has open."""
        return sum(session.channel == channel for session in self)

    def _of(self, client: str) -> list[Session]:
        return [session for session in self if session.client == client]
