"""The same in HTTP/2, whose requests are pseudo-headers: written here octet by octet, as no client library would."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.host.conftest import Backend, Public

DATA, HEADERS, RST_STREAM, GOAWAY = 0, 1, 3, 7
END_STREAM, END_HEADERS = 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
GET = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"site.talaria.test")]
HIDDEN = [
    line
    for line in Path(__file__).with_name("hidden_paths.txt").read_bytes().splitlines()
    if line and not line.startswith(b"# ")
]


def length(size: int) -> bytes:
    """Return the length of a header's name or value (RFC 7541, 5.1, without Huffman coding)."""
    if size < 127:
        return bytes([size])
    encoded, size = b"\x7f", size - 127
    while size >= 128:
        encoded, size = encoded + bytes([size % 128 + 128]), size // 128
    return encoded + bytes([size])


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def asking(stream: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the frame that asks, with every header spelled out."""
    block = b"".join(b"\0" + length(len(name)) + name + length(len(value)) + value for name, value in headers)
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, block)


def ask(public: Public, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of the answer to one request on a connection of its own, without the settings before it."""
    answer, pending = b"", b""
    with public.secure("site.talaria.test", "h2") as connection:
        connection.settimeout(5)
        connection.sendall(PREFACE + asking(1, headers))
        while received := connection.recv(65536):
            pending += received
            while len(pending) >= 9 and len(pending) >= (end := 9 + int.from_bytes(pending[:3], "big")):
                kind, flags, payload, pending = pending[3], pending[4], pending[9:end], pending[end:]
                if kind in (DATA, HEADERS, RST_STREAM, GOAWAY):
                    answer += payload
                if kind in (RST_STREAM, GOAWAY) or (kind in (DATA, HEADERS) and flags & END_STREAM):
                    return answer
    return answer


def test_no_path_of_http2_reaches_the_gateways_paths(public: Public, backend: Backend) -> None:
    """In HTTP/2 no request line is parsed: what was refused there may come through here."""
    backend.seen()
    for path in [b"/ok", b"/mcpx", b"/mcp-testing"]:
        assert backend.marker in ask(public, [*GET, (b":path", path)])
    assert backend.targets() == ["/ok", "/mcpx", "/mcp-testing"]
    came_through = [path for path in HIDDEN if backend.marker in ask(public, [*GET, (b":path", path)])]
    assert came_through == []
    assert backend.targets() == []


@pytest.mark.parametrize(
    "headers",
    [
        [*GET, (b":path", b"/ok"), (b":path", b"/mcp")],
        [*GET, (b":path", b"/mcp"), (b":path", b"/ok")],
        [*GET, (b":path", b"")],
        [*GET, (b":path", b"*")],
        [*GET, (b":path", b"/mcp"), (b"host", b"other.test")],
        [*GET[:2], (b":authority", b"other.test"), (b":path", b"/ok"), (b"host", b"site.talaria.test")],
        [*GET[:2], (b":authority", b"site.talaria.test."), (b":path", b"/ok")],
        [*GET[:2], (b":authority", b"127.0.0.1"), (b":path", b"/ok")],
        [*GET[:2], (b":authority", b"site.talaria.test/mcp"), (b":path", b"/ok")],
        [*GET[:2], (b":path", b"/ok")],
        [(b":method", b"CONNECT"), (b":authority", b"127.0.0.1:8710")],
        [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *GET[1:], (b":path", b"/mcp")],
        [(b":method", b"TRACE"), *GET[1:], (b":path", b"/ok")],
        [(b":method", b"GET /mcp HTTP/1.1\r\nX: "), *GET[1:], (b":path", b"/ok")],
        [*GET, (b":path", b"/ok HTTP/1.1\r\nHost: x\r\n\r\nGET /mcp")],
        [*GET, (b":path", b"/mcp"), (b"x-http-method-override", b"GET")],
        [*GET, (b":path", b"/ok"), (b"transfer-encoding", b"chunked")],
        [*GET, (b":path", b"/ok"), (b"x\r\nget /mcp http/1.1", b"y")],
        [*GET, (b":path", b"/ok"), (b"x", b"y\r\n\r\nGET /mcp HTTP/1.1\r\n\r\n")],
        [*GET, (b":path", b"/ok"), (b"upgrade", b"h2c"), (b"connection", b"upgrade")],
        [(b":method", b"GET"), (b":scheme", b"http://127.0.0.1:8710/mcp?"), GET[2], (b":path", b"/mcp")],
    ],
)  # fmt: skip
def test_no_crooked_request_of_http2_reaches_the_server(
    public: Public, backend: Backend, headers: list[tuple[bytes, bytes]]
) -> None:
    """A proxy that turns HTTP/2 into HTTP/1.1 may write a second request, or another host, out of one header."""
    backend.seen()
    assert backend.marker not in ask(public, headers)
    assert backend.targets() == []
    assert backend.marker in ask(public, [*GET, (b":path", b"/ok")])


def test_headers_that_name_another_path_are_not_passed_on(public: Public, backend: Backend) -> None:
    """HTTP/2 writes names in small letters; the rule must hold for them as well."""
    forged = [
        (b"x-original-url", b"/mcp"),
        (b"x-rewrite-url", b"/mcp"),
        (b"x_original_url", b"/mcp"),
        (b"x-harmless", b"seen"),
    ]
    backend.seen()
    assert backend.marker in ask(public, [*GET, (b":path", b"/ok"), *forged])
    [asked] = backend.seen()
    assert "/mcp" not in str(asked["headers"])
    assert "seen" in str(asked["headers"])
