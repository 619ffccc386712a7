"""Tool calls, answered without the SDK's streams.

The SDK carries every message through several tasks and queues, for requests that flow both ways. A tool call needs
none of that: one message in, one out. What is not plainly such a call goes the SDK's way, which also words every
protocol error.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, find_duplicated_routing_header
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from mcp_gateway.channels.wire import headers_of, respond, text_header

PROTOCOL_VERSION = b"mcp-protocol-version"
EVENT_STREAM = b"text/event-stream"
# Nothing on the way may keep or change an answer.
HEADERS = [(b"cache-control", b"no-cache, no-transform")]


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A `tools/call` without anything unusual about it."""

    id: int | str
    name: str
    arguments: Mapping[str, Any]


def is_modern(scope: Scope) -> bool:
    """Whether the SDK takes a request for one of 2026-07-28 or later: by this header alone."""
    versions = headers_of(scope, PROTOCOL_VERSION)
    return bool(versions) and versions[0].decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS


def plain_call(message: Mapping[str, Any], scope: Scope) -> PlainCall | None:
    """The call that a message is; None for everything that the SDK should look at."""
    params, identity = message.get("params"), message.get("id")
    if message.get("method") != "tools/call" or message.get("jsonrpc") != "2.0" or not isinstance(params, dict):
        return None
    name, arguments = params.get("name"), params.get("arguments", {})
    if type(identity) not in (int, str) or not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    if "task" in params or not isinstance(params.get("_meta", {}), dict) or not _takes_events(scope):
        return None
    assert isinstance(identity, int | str)
    return PlainCall(identity, name, arguments)


def modern_call(message: Mapping[str, Any], scope: Scope) -> PlainCall | None:
    """The same for 2026-07-28, whose envelope and headers must agree in every point."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    if find_duplicated_routing_header(headers) is not None:
        return None
    if not isinstance(classify_inbound_request(message, headers=dict(headers)), InboundModernRoute):
        return None
    return plain_call(message, scope)


async def answer_modern(send: Send, call: PlainCall, server: Mapping[str, object], text: str) -> None:
    """Send the answer as the one JSON message that it is in 2026-07-28; `server` says who answers."""
    content = [{"type": "text", "text": text}]
    result = {"content": content, "resultType": "complete", "_meta": {SERVER_INFO_META_KEY: server}}
    await respond(send, 200, _dump({"id": call.id, "result": result}).encode())


async def answer(send: Send, call: PlainCall, session: str, text: str) -> None:
    """Send the answer as the one event of its stream."""
    await _event(send, session, {"id": call.id, "result": {"content": [{"type": "text", "text": text}]}})


async def cancelled(send: Send, call: PlainCall, session: str) -> None:
    """End the stream of a call whose client has cancelled it, in the SDK's words."""
    await _event(send, session, {"id": call.id, "error": {"code": REQUEST_CANCELLED, "message": "Request cancelled"}})


@asynccontextmanager
async def watched(receive: Receive, left: Callable[[], None]) -> AsyncIterator[None]:
    """While the body runs, `left` is called as soon as the peer hangs up."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield
        tasks.cancel_scope.cancel()


async def _event(send: Send, session: str, members: Mapping[str, object]) -> None:
    data = _dump(members)
    # They end no line of an event stream, but some clients' parsers think so.
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    body = f"event: message\r\ndata: {data}\r\n\r\n".encode()
    await respond(send, 200, body, EVENT_STREAM, [(b"mcp-session-id", session.encode()), *HEADERS])


def _dump(members: Mapping[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False, separators=(",", ":"))


def _takes_events(scope: Scope) -> bool:
    accept, content = text_header(scope, b"accept") or "", text_header(scope, b"content-type") or ""
    both = "application/json" in accept and "text/event-stream" in accept
    return both and content.partition(";")[0].strip() == "application/json"
