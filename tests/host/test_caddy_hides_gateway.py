"""From outside, no request may reach what a site has under the gateway's paths.

Every test looks for the mark of the server behind the site, in the answer and in what that server was asked, because a
404 may come from anybody; and every test makes sure that the mark can be seen where it may be.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.host.conftest import Backend, Public

OPEN = [
    b"/",
    b"/ok",
    b"/caf%e9/",
    b"/a%20b/.well-known/x;y=1",
    b"/100%25",
    "/نمی‌دانم/".encode(),
    b"/mcpx",
    b"/mcp-testing",
    b"/mcp-tester/x",
    b"/x/mcp",
    b"/?q=/mcp",
    "/日本語".encode(),
]

NOT_TEXT = [b"/\xffmcp", b"/mcp\xa0", b"/\t/mcp"]
HIDDEN = NOT_TEXT + [
    line
    for line in Path(__file__).with_name("hidden_paths.txt").read_bytes().splitlines()
    if line and not line.startswith(b"# ")
]


def reached(public: Public, backend: Backend, targets: list[bytes], **parts: Any) -> list[bytes]:
    """Return the targets at which the server behind the site shows in the answer."""
    return [target for target in targets if backend.marker in public.get(target, **parts)]


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_no_spelling_of_the_gateways_paths_reaches_the_server_behind_the_site(
    public: Public, backend: Backend, version: bytes
) -> None:
    """Servers read one path in many ways; the door refuses what any of them could read as the gateway's."""
    backend.seen()
    assert reached(public, backend, OPEN, version=version) == OPEN
    assert len(backend.seen()) == len(OPEN)
    assert reached(public, backend, HIDDEN, version=version) == []
    assert backend.targets() == []


def test_refusals_are_404_or_400_and_tell_nothing(public: Public, backend: Backend) -> None:
    """An answer that differs from any other unknown path's would say that there is something to find."""
    few = [b"/mcp", b"/mcp/x", b"/mcp-test", b"/MCP", b"//mcp", b"/mcp;x", b"/%256dcp", b"x:mcp"]
    answers = {public.get(target) for target in few}
    heads = {answer.partition(b"\r\nDate: ")[0] for answer in answers}
    assert len(heads) == 1
    assert next(iter(heads)).startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert all(answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")) for answer in map(public.get, HIDDEN))
    assert backend.marker in public.get(b"/ok")


def test_no_letter_that_unicode_folds_to_the_right_one_reaches_the_server(public: Public, backend: Backend) -> None:
    """A server that normalises names would take a raised, a circled or a mathematical m for an m."""
    letters = [
        (chr(point), unicodedata.normalize("NFKC", chr(point)).casefold())
        for point in (*range(0x80, 0xD800), *range(0xE000, 0x20000))
    ]
    lookalikes = [
        f"/{path[:place]}{character}{path[place + 1 :]}/x".encode()
        for character, letter in letters
        for path, place in [("mcp", "mcp".find(letter)), ("mcp-test", "mcp-test".find(letter, 4))]
        if len(letter) == 1 and place >= 0
    ]
    assert len(lookalikes) > 200
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
    assert reached(public, backend, lookalikes) == []


@pytest.mark.parametrize("method", b"GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT TRACE PRI PROPFIND FOO get".split())
def test_no_method_reaches_the_gateways_paths(public: Public, backend: Backend, method: bytes) -> None:
    """A rule that holds for GET alone would leave the door open to what MCP really uses."""
    backend.seen()
    hidden, empty = [b"/mcp", b"/mcp/x", b"/MCP;x", b"x:mcp/x", b"*"], b"Content-Length: 0\r\n"
    assert reached(public, backend, hidden, method=method, headers=empty) == []
    assert backend.targets() == []
    if method not in (b"CONNECT", b"TRACE", b"PRI"):
        public.get(b"/ok", method=method, headers=empty)
        assert backend.targets() == ["/ok"]


def test_connect_trace_and_the_preface_of_http2_reach_no_server(public: Public, backend: Backend) -> None:
    """They make a proxy of the proxy, or show headers to scripts."""
    backend.seen()
    for target in [b"/ok", b"site.talaria.test:443", b"127.0.0.1:8765", b"127.0.0.1:8710"]:
        assert backend.marker not in public.get(target, method=b"CONNECT")
    assert backend.marker not in public.get(b"/ok", method=b"TRACE")
    assert backend.marker not in public.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", patience=2)
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
    assert backend.targets() == ["/ok"]


def test_no_header_lets_a_request_name_another_path(public: Public, backend: Backend) -> None:
    """Some frameworks route by these; the server must not even see them."""
    names = ["X-Original-URL", "X-Original-URI", "X-Rewrite-URL", "X_Original_URL", "X-Forwarded-Uri", "x-override-url"]
    forged = "".join(f"{name}: /mcp/x\r\n" for name in names).encode()
    forged += b"X-Forwarded-Host: 127.0.0.1:8710\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1;host=x\r\n"
    backend.seen()
    assert reached(public, backend, [b"/ok"], headers=forged + b"X-Harmless: seen\r\n") == [b"/ok"]
    [asked] = backend.seen()
    headers = str(asked["headers"])
    assert "X-Harmless" in headers
    assert "/mcp" not in headers
    assert "127.0.0.1" not in headers
    overrides = b"X-HTTP-Method-Override: GET\r\nX-Method-Override: GET\r\n"
    assert reached(public, backend, [b"/mcp", b"/mcp/x"], headers=overrides, method=b"POST") == []
    assert backend.targets() == []


def test_only_websockets_take_a_connection_over_and_none_on_the_gateways_paths(
    public: Public, backend: Backend
) -> None:
    """Behind an upgrade to h2c the client speaks to the server directly, past every rule of the door."""
    inner = b"GET /mcp/x HTTP/1.1\r\nHost: x\r\n\r\n"
    backend.seen()
    for upgrade in [
        b"h2c",
        b"H2C",
        b"websocket, h2c",
        b"h2c, websocket",
        b"TLS/1.0",
        b"foo",
        b" h2c ",
        b"h2c\r\nUpgrade: foo",
    ]:
        headers = (
            b"Upgrade: %s\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings, close\r\n"
            % upgrade
        )
        answer = public.say(public.request(b"/ok", headers=headers) + inner, patience=2)
        assert b" 101 " not in answer, upgrade
    assert all(asked["target"] == "/ok" and "Upgrade" not in dict(asked["headers"]) for asked in backend.seen())
    websocket = b"GET %s HTTP/1.1\r\nHost: site.talaria.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for target in [b"/mcp", b"/mcp/x", b"//mcp", b"/mcp;x"]:
        assert b" 404 " in public.say(websocket % target, patience=0.5)
    assert backend.targets() == []
    both = (websocket % b"/ok").replace(b"Upgrade: w", b"Upgrade: h2c\r\nUpgrade: w")
    for request in [websocket % b"/ok", both]:
        assert public.say(request, patience=0.5).startswith(b"HTTP/1.1 101 ")
    granted = [value for asked in backend.seen() for name, value in asked["headers"] if name == "Upgrade"]
    assert granted == ["websocket", "websocket"]


def test_no_smuggled_request_reaches_the_server(public: Public, backend: Backend) -> None:
    """Where two servers disagree on the end of a request, a second one hides in the first one's body."""
    hidden = b"GET /mcp/x HTTP/1.1\r\nHost: site.talaria.test\r\n\r\n"
    size = b"Content-Length: %d\r\n"
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
    bodies = [
        (size % (len(hidden) + 5) + b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden),
        (size % 4 + b"Transfer-Encoding: chunked\r\n", chunked),
        (size % (len(hidden) + 5) + b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n" + hidden),
        (size % (len(hidden) + 5) + b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + hidden),
        (size % (len(hidden) + 5) + b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n" + hidden),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n" + hidden),
        (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n" + hidden),
        (size % 0 + size % len(hidden), hidden),
        (size % len(hidden) + size % 0, hidden),
        (b"Content-Length: +%d\r\n" % len(hidden), hidden),
        (b"Content-Length: 0x10\r\n", hidden),
        (size % len(hidden) + b"Content-Length : 0\r\n", hidden),
        (b"X: y\n" + size % len(hidden), hidden),
        (b"X: y\r\n\r " + size % 0, hidden),
        (b"Transfer-Encoding: chunked\r\n", b"0;x=\nGET /mcp HTTP/1.1\r\n\r\n" + hidden),
        (b"Transfer-Encoding: chunked\r\n", b"-1\r\n" + hidden),
        (b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff1\r\n" + hidden),
        (b"Expect: 100-continue\r\n" + size % len(hidden), hidden),
    ]
    backend.seen()
    for headers, body in bodies:
        public.say(b"POST /ok HTTP/1.1\r\nHost: site.talaria.test\r\n" + headers + b"\r\n" + body, patience=0.4)
    assert {asked["target"] for asked in backend.seen()} <= {"/ok"}
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
    assert backend.targets() == ["/ok"]


def test_a_pipelined_second_request_is_judged_like_a_first(public: Public, backend: Backend) -> None:
    """A rule that looks at the first request of a connection only is none."""
    keep = b"GET %s HTTP/1.1\r\nHost: site.talaria.test\r\n\r\n"
    backend.seen()
    answer = public.say(keep % b"/ok" + keep % b"/mcp" + keep % b"/ok?2" + public.request(b"/mcp/x"))
    assert answer.count(b"HTTP/1.1 404 ") == 2
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert backend.targets() == ["/ok", "/ok?2"]


def test_an_overlong_header_or_path_is_refused_before_the_server(public: Public, backend: Backend) -> None:
    """A limit that only the server behind has is found by crashing it."""
    backend.seen()
    assert b" 431 " in public.get(b"/ok", headers=b"X: " + b"a" * 200_000 + b"\r\n")
    assert backend.marker not in public.get(b"/mcp/" + b"a" * 20_000)
    assert backend.marker not in public.get(b"/" + b"/" * 5_000 + b"mcp")
    assert backend.marker not in public.get(b"/a/.." * 3_000 + b"/mcp")
    assert backend.targets() == []
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
