"""`/healthz`, `/readyz` and `/metrics`: for this machine only, answered without asking anybody who they are."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.types import Scope, Send

from mcp_gateway.channels.gate import addressed, from_loopback
from mcp_gateway.channels.wire import refuse, respond
from mcp_gateway.metrics import CONTENT_TYPE
from mcp_gateway.policies.hosts import names_this_machine

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
READING = ("GET", "HEAD")
ALLOW = (b"allow", b"GET, HEAD")


@dataclass(frozen=True, slots=True)
class Operations:
    """The three pages, fed by what the gateway knows of itself."""

    ready: Callable[[], Awaitable[dict[str, object]]]
    metrics: Callable[[], bytes]

    async def __call__(self, scope: Scope, send: Send) -> None:
        """Answer one of PATHS."""
        if not from_loopback(scope):
            return await refuse(send, 404, "not_found")
        # A browser on this machine must not be tricked into reading them under somebody else's name.
        if not addressed(scope, names_this_machine):
            return await refuse(send, 421, "unknown_host")
        if scope["method"] not in READING:
            return await refuse(send, 405, "method_not_allowed", ALLOW)
        if scope["path"] == "/healthz":
            return await respond(send, 200, b'{"status":"ok"}')
        if scope["path"] == "/metrics":
            return await respond(send, 200, self.metrics(), CONTENT_TYPE.encode())
        report = await self.ready()
        return await respond(send, 503 if report["status"] == "down" else 200, json.dumps(report).encode())
