"""What a peer may send and how long it may take: bounded before anybody has asked who it is."""

import contextlib
from typing import Any

import anyio
import pytest

from mcp_gateway import connection
from mcp_gateway.channels import streams, wire

pytestmark = pytest.mark.anyio


async def received(stream: Any, seconds: float = 5) -> bytes:
    """Everything until the gateway closes the connection."""
    everything = b""
    with anyio.fail_after(seconds):
        try:
            while True:
                everything += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return everything


async def poured(running: Any, begin: bytes, piece: bytes) -> tuple[bytes, int]:
    """Send `piece` until the gateway has enough; its answer and how much went out."""
    sent = 0
    async with await anyio.connect_tcp("127.0.0.1", running.port) as stream:
        await stream.send(begin)
        try:
            with anyio.fail_after(5):
                while sent < 64 * 1024 * 1024:
                    await stream.send(piece)
                    sent += len(piece)
        except anyio.BrokenResourceError:
            pass
        return await received(stream), sent


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET /mcp/tools HTTP/1.1\r\nHost: localhost:1\r\nX: ", b"a" * 65536),
        (b"GET /mcp/tools HTTP/1.1\r\nHost: localhost:1\r\n", b"X: a\r\n" * 10000),
        (b"POST /mcp/tools HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a" * 65536),
        (b"POST /mcp/tools HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: a\r\n" * 10000),
        (b"POST /mcp/tools HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
    ],
)
async def test_nobody_pours_an_endless_head_into_memory(running: Any, begin: bytes, piece: bytes) -> None:
    _, sent = await poured(running, begin, piece)
    # What lies in the buffers of both sockets was never ours.
    assert sent < 32 * 1024 * 1024


async def test_a_head_that_is_too_large_is_told_so(running: Any) -> None:
    async with await anyio.connect_tcp("127.0.0.1", running.port) as stream:
        await stream.send(b"GET /mcp/tools HTTP/1.1\r\nHost: localhost:1\r\nX: " + b"a" * connection.MAX_HEAD)
        assert (await received(stream)).startswith(b"HTTP/1.1 431 ")


async def test_a_large_head_is_served(running: Any) -> None:
    token = b"Authorization: Bearer token-of-hermes-0123456789"
    status, _ = await running.raw(running.head("GET", "/mcp/tools", token, b"X: " + b"a" * 60_000))
    assert status == 400


async def test_a_trailer_is_no_header(running: Any) -> None:
    body = b"2\r\n{}\r\n0\r\nAuthorization: Bearer token-of-hermes-0123456789\r\n\r\n"
    head = running.head("POST", "/mcp/tools", b"Transfer-Encoding: chunked")
    assert (await running.raw(head + body))[0] == 403


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /mcp/tools HTTP/1.1\r\nHost: localh",
        b"POST /mcp/tools HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc",
    ],
)
async def test_who_does_not_finish_a_request_is_let_go(
    running: Any, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "MESSAGE_SECONDS", 0.4)
    async with await anyio.connect_tcp("127.0.0.1", running.port) as stream:
        if sent:
            await stream.send(sent)
        answer = await received(stream)
    assert answer.startswith(b"HTTP/1.1 403 ") is (b"POST" in sent)


async def test_a_connection_that_has_asked_may_wait_before_it_asks_again(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MESSAGE_SECONDS", 0.2)
    async with await anyio.connect_tcp("127.0.0.1", running.port) as stream:
        for _ in range(2):
            await stream.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
            await anyio.sleep(0.5)


async def test_a_call_may_take_longer_than_its_request(
    running: Any, monkeypatch: pytest.MonkeyPatch, event: Any
) -> None:
    monkeypatch.setattr(connection, "MESSAGE_SECONDS", 0.2)
    params = {"name": "probe_wait", "arguments": {"seconds": 0.6}}
    async with running.session() as client:
        response = await client.post(
            "/mcp/tools", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
    assert '"success":true' in event(response.text)["result"]["content"][0]["text"]


async def test_a_trickled_body_ends_with_a_408(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "BODY_SECONDS", 0.5)
    token = b"Authorization: Bearer token-of-hermes-0123456789"
    async with await anyio.connect_tcp("127.0.0.1", running.port) as stream, anyio.create_task_group() as tasks:

        async def trickle() -> None:
            await stream.send(running.head("POST", "/mcp/tools", token, b"Content-Length: 100000"))
            while True:
                await stream.send(b" ")
                await anyio.sleep(0.05)

        tasks.start_soon(trickle)
        answer = await stream.receive()
        tasks.cancel_scope.cancel()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer


async def test_one_client_cannot_fill_the_memory_with_bodies_under_way(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ninth large one is read no further than the HTTP server does by itself; a small one is not held up."""
    monkeypatch.setattr(wire, "BODY_SECONDS", 3.0)
    token = b"Authorization: Bearer token-of-hermes-0123456789"
    head = running.head("POST", "/mcp/tools", token, b"Content-Length: 1000000")
    kept = 0
    original = wire._body

    async def counting(scope: Any, receive: Any, limit: int, turn: Any) -> bytes:
        async def counted() -> Any:
            nonlocal kept
            message = await receive()
            kept += len(message.get("body", b""))
            return message

        return await original(scope, counted, limit, turn)

    monkeypatch.setattr(wire, "_body", counting)
    async with contextlib.AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        for _ in range(24):
            stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", running.port))
            tasks.start_soon(stream.send, head + b" " * 900_000)
        await anyio.sleep(1)
        assert kept < (wire.LARGE_BODIES + 4) * 1024 * 1024
        async with running.session() as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await client.post("/mcp/tools", json=body)).status_code == 200
        tasks.cancel_scope.cancel()


async def test_one_client_cannot_open_streams_without_end(
    running: Any, monkeypatch: pytest.MonkeyPatch, modern_request: Any
) -> None:
    monkeypatch.setattr(streams, "MAX_PER_CLIENT", 3)
    headers, body = modern_request("subscriptions/listen", notifications={"toolsListChanged": True})
    async with running.http() as client, contextlib.AsyncExitStack() as stack:
        begun, texts = [], []  # a text that nobody holds on to closes its response
        for _ in range(4):
            response = await stack.enter_async_context(client.stream("POST", "/mcp/tools", json=body, headers=headers))
            texts.append(response.aiter_text())
            begun.append(await anext(texts[-1]))
    assert ["acknowledged" in words for words in begun] == [True, True, True, False]
    assert "Too many open streams" in begun[3]
