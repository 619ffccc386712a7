"""The few pieces of HTTP that the gateway answers itself."""

from collections.abc import Callable, Iterable

from starlette.types import Message, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]


class BodyTooLarge(Exception):
    """The body is longer than a request may be."""


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


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body. Raise BodyTooLarge before more than `limit` bytes are kept."""
    declared = text_header(scope, b"content-length") or ""
    if declared.isdigit() and int(declared) > limit:
        raise BodyTooLarge
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise BodyTooLarge
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
