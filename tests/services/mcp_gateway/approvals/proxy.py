"""Something between two services that can stop the world at a chosen request: before it arrives or after its answer."""

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

BEFORE, AFTER = "before", "after"
END_OF_HEAD = b"\r\n\r\n"


@dataclass
class Rule:
    """Once, at the first request that fits: do `act`, and let the connection break."""

    pattern: str
    moment: str
    act: Callable[[], None]
    # What the request's body must hold for it to count.
    holding: bytes = b""
    # Instead of breaking, let the request pass when `act` is done.
    passes: bool = False
    hit: threading.Event = field(default_factory=threading.Event)

    def fits(self, moment: str, line: str, body: bytes) -> bool:
        if self.hit.is_set() or moment != self.moment or self.holding not in body:
            return False
        return re.fullmatch(self.pattern, line) is not None


@dataclass
class Proxy:
    """Forwards every request over a connection of its own, and remembers what it forwarded."""

    upstream: int
    rule: Rule | None = None
    forwarded: list[tuple[str, bytes]] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def at(
        self, pattern: str, moment: str, act: Callable[[], None], holding: bytes = b"", passes: bool = False
    ) -> Rule:
        self.rule = Rule(pattern, moment, act, holding, passes)
        return self.rule

    def count(self, pattern: str, holding: bytes = b"") -> int:
        return sum(bool(re.fullmatch(pattern, line)) and holding in body for line, body in list(self.forwarded))

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with suppress(OSError), peer:
            head, body = _request(peer)
            if not head:
                return
            line = head.split(b"\r\n", 1)[0].decode().rpartition(" ")[0]
            if self._stops(BEFORE, line, body):
                return
            answer = self._forward(line, head, body)
            if answer and not self._stops(AFTER, line, body):
                peer.sendall(_closing(answer))

    def _stops(self, moment: str, line: str, body: bytes) -> bool:
        rule = self.rule
        if rule is None or not rule.fits(moment, line, body):
            return False
        rule.act()
        rule.hit.set()
        return not rule.passes

    def _forward(self, line: str, head: bytes, body: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.upstream)) as upstream:
            self.forwarded.append((line, body))
            upstream.sendall(_closing(head) + body)
            return b"".join(iter(lambda: upstream.recv(65536), b""))


def _request(peer: socket.socket) -> tuple[bytes, bytes]:
    received = b""
    while END_OF_HEAD not in received:
        more = peer.recv(65536)
        if not more:
            return b"", b""
        received += more
    head, _, body = received.partition(END_OF_HEAD)
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        body += peer.recv(65536)
    return head + END_OF_HEAD, body


def _closing(message: bytes) -> bytes:
    """The message with a head that says that its connection ends with it."""
    head, end, rest = message.partition(END_OF_HEAD)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + end + rest
