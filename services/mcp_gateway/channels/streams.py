"""The streams that stay open without a call: they end when the token that opened them does, and at shutdown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from mcp_gateway.channels.gate import Admitted

# A stream costs about 50 kB. A client listens once per agent process; a runaway one must not take everybody's memory.
MAX_PER_CLIENT = 128


class Streams:
    """Every open notification stream."""

    def __init__(self) -> None:
        self._open: dict[anyio.CancelScope, Admitted] = {}

    @contextmanager
    def open(self, admitted: Admitted) -> Iterator[anyio.CancelScope]:
        """While the body runs it can be ended from here; it then ends without an error."""
        with anyio.CancelScope() as scope:
            self._open[scope] = admitted
            try:
                yield scope
            finally:
                del self._open[scope]

    def too_many(self, client: str) -> bool:
        """Whether this client must close a stream before it may open another."""
        return sum(admitted.client.name == client for admitted in self._open.values()) >= MAX_PER_CLIENT

    def end_all(self) -> None:
        """The process stops."""
        for scope in self._open:
            scope.cancel()

    def end_unless(self, still_admitted: Callable[[Admitted], bool]) -> None:
        """End those that would not be let in any more."""
        for scope, admitted in self._open.items():
            if not still_admitted(admitted):
                scope.cancel()
