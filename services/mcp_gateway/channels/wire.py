"""The few pieces of HTTP that the gateway answers itself."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack

import anyio
from starlette.types import Message, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]

# The whole body; on loopback it takes milliseconds. A client that trickles it would hold memory as long as it likes.
BODY_SECONDS = 30.0
# What the HTTP server keeps of a body anyway before it stops reading.
SMALL_BODY = 64 * 1024
# How many larger ones of one client are read at a time: eight times MAX_BODY is what one client can fill.
LARGE_BODIES = 8


class BodyRefused(Exception):
    """A body that nobody goes on reading, with the answer to it."""

    status = 400
    word = "bad_body"


class BodyTooLarge(BodyRefused):
    """The body is longer than a request may be."""

    status = 413
    word = "too_large"


class BodyTooSlow(BodyRefused):
    """The body did not come in time."""

    status = 408
    word = "too_slow"


class Disconnected(Exception):
    """The peer went away before its request was complete."""


def headers_of(scope: Scope, name: bytes) -> list[bytes]:
    """Every value of a header, in order."""
    return [value for key, value in scope["headers"] if key == name]


def text_header(scope: Scope, name: bytes) -> str | None:
    """A header that may stand once; None when it is absent, empty text when it stands twice."""
    values = headers_of(scope, name)
    if len(values) > 1:
        return ""
    return values[0].decode("latin-1") if values else None


async def respond(
    send: Send,
    status: int,
    body: bytes = b"",
    content_type: bytes = b"application/json",
    extra: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """One whole response. A body on a HEAD request is dropped by the HTTP server."""
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, status: int, word: str, *extra: tuple[bytes, bytes]) -> None:
    """A refusal in one word, telling nothing about what exists."""
    await respond(send, status, b'{"error":"' + word.encode() + b'"}', extra=extra)


async def read_body(scope: Scope, receive: Receive, limit: int, large: anyio.Semaphore) -> bytes:
    """The whole body; one that is more than SMALL_BODY waits for its turn at `large` before more of it is read.

    Raise BodyTooLarge before more than `limit` bytes are kept, BodyTooSlow after BODY_SECONDS.
    """
    with anyio.move_on_after(BODY_SECONDS):
        async with AsyncExitStack() as turn:
            return await _body(scope, receive, limit, lambda: turn.enter_async_context(large))
    raise BodyTooSlow


async def _body(scope: Scope, receive: Receive, limit: int, turn: Callable[[], Awaitable[object]]) -> bytes:
    declared = text_header(scope, b"content-length") or ""
    if declared.isdigit() and int(declared) > limit:
        raise BodyTooLarge
    parts: list[bytes] = []
    size, more, waited = 0, True, False
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise BodyTooLarge
        if size > SMALL_BODY and not waited:
            await turn()
            waited = True
        more = message.get("more_body", False)
    return b"".join(parts)


def replayed(body: bytes, receive: Receive, left: Callable[[], None]) -> Receive:
    """A `receive` that gives this body first, then whatever comes; `left` is called when the peer hangs up."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        if waiting:
            return waiting.pop()
        message = await receive()
        if message["type"] == "http.disconnect":
            left()
        return message

    return replay
