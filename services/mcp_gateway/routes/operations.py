"""`/healthz`, `/readyz` and `/metrics`: for this machine only, answered without asking anybody who they are."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.types import Scope, Send

from mcp_gateway.channels.gate import from_loopback
from mcp_gateway.channels.wire import refuse, respond
from mcp_gateway.metrics import CONTENT_TYPE

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
READING = ("GET", "HEAD")
ALLOW = (b"allow", b"GET, HEAD")


@dataclass(frozen=True, slots=True)
class Operations:
    """The three pages, each fed by one function."""

    ready: Callable[[], Awaitable[dict[str, object]]]
    metrics: Callable[[], bytes]
    addressed: Callable[[Scope], bool]

    async def __call__(self, scope: Scope, send: Send) -> None:
        """Answer one of PATHS."""
        if not from_loopback(scope):
            return await refuse(send, 404, "not_found")
        if not self.addressed(scope):
            return await refuse(send, 421, "unknown_host")
        if scope["method"] not in READING:
            return await refuse(send, 405, "method_not_allowed", ALLOW)
        if scope["path"] == "/healthz":
            return await respond(send, 200, b'{"status":"ok"}')
        if scope["path"] == "/metrics":
            return await respond(send, 200, self.metrics(), CONTENT_TYPE.encode())
        report = await self.ready()
        return await respond(send, 503 if report["status"] == "down" else 200, json.dumps(report).encode())
