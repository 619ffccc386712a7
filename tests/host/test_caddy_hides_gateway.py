"""From outside, no request may reach what a site has under the gateway's paths.

Every test looks for the mark of the server behind the site, in the answer and in what that server was asked, because a
404 may come from anybody; and every test makes sure that the mark can be seen where it may be.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.host.conftest import Backend, Public

SITE = "site.talaria.test"
OPEN = [b"/", b"/ok", b"/caf%e9/", b"/a%20b/.well-known/x;y=1", b"/100%25", "/نمی‌دانم/".encode(), b"/mcpx", b"/mcp-testing", b"/mcp-tester/x", b"/x/mcp", b"/?q=/mcp", "/日本語".encode()]

HIDDEN = [
    # as they are, in capitals, with a query
    *[b"/mcp", b"/mcp/", b"/mcp/x", b"/mcp?x", b"/mcp-test", b"/mcp-test/", b"/mcp-test/x", b"/MCP/x", b"/Mcp", b"/MCP-Test/x"],
    # slashes, dots
    *[b"//mcp/x", b"///mcp/x", b"////mcp", b"/mcp//x", b"/./mcp/x", b"/a/../mcp/x", b"/../mcp/x", b"/mcp/../mcp", b"/mcp/.", b"/mcp./x"],
    *[b"/mcp-test/../mcp/x", b"/a/%2e%2e/mcp/x", b"/%2e/mcp/x", b"/%2e%2e/mcp;x", b"/.mcp", b"/ok/..;/mcp", b"/ok/..%3b/mcp/x", b"/..;/mcp"],
    *[b"/ok/..%00/mcp", b"/ok/.;/../mcp", b"/ok/%2e%2e;/mcp", b"/ok/..%09/mcp", b"/ok/%20/../mcp", b"/ok/;x/../mcp", b"/ok/%00../mcp"],
    *[b"/mcp/../ok", b"/mcp/..", b"/mcp;/../ok", b"/mcp/%2e%2e/ok", b"/ok/a%5c../../mcp", b"/ok/%c2%ad/../mcp", b"/ok/%c0%ae%c0%ae/mcp"],
    *[b"/ok%c0%af..%c0%afmcp", "/ok/a／../../mcp".encode(), "/ok／．．／mcp".encode(), "/ok/․․/mcp".encode(), b"/ok/%e1%85%9f/../mcp"],
    # encoded letters and slashes, once and twice
    *[b"/%6dcp/x", b"/%6Dcp", b"/%4dcp/x", b"/mc%70/x", b"/%6d%63%70", b"/mcp%2fx", b"/mcp%2Fx", b"/%2fmcp/x", b"/a%2f..%2fmcp/x", b"/a/..%2fmcp"],
    *[b"/mcp%252fx", b"/%256dcp/x", b"/%25%36%64cp", b"/%25256dcp/x", b"/%2525%36dcp", b"/mcp%2dtest", b"/%252e%252e/mcp", b"/a/%252e%252e/mcp"],
    *[b"/%u006dcp/x", b"/%25u006dcp/x", "/％6dcp".encode(), "/％EF％BD％8Dcp".encode()],
    # what some servers cut off
    *[b"/mcp;x/", b"/mcp;x/y", b"/;/mcp/x", b"/mcp%3bx", b"/;x=1/mcp", b"/mcp%3fx", b"/mcp%23x", b"/mcp#x", b"/ok#/../mcp", b"/mcp,x", b"/mcp:x"],
    *[b"/mcp%00/x", b"/mcp%00", b"/%00/mcp", b"/m%00cp", b"/mcp%00x", b"/mcp%20/x", b"/mcp%20", b"/%20mcp", b"/mcp%09", b"/%09/mcp", b"/m%09cp"],
    *[b"/mcp%0a", b"/m%0acp", b"/mcp%0d%0ax", b"/mcp%0d", b"/m%0d%0acp", b"/mcp%7f", b"/mcp%08", b"/mcp~", b"/mcp*", b"/mcp|x", b"/mcp%22", b"/(mcp)"],
    # backslashes
    *[b"/mcp%5cx", b"/mcp\\x", b"/\\mcp/x", b"/%5cmcp/x", b"/a\\..\\mcp/x", b"/a%5c..%5cmcp/x", b"\\mcp/x", b"/ok/..\\mcp", b"/mcp%255cx"],
    # letters that only look the part, spaces that cannot be seen, bytes that are no UTF-8
    *["/ｍｃｐ/x".encode(), b"/%EF%BD%8Dcp/x", "/ｍcp".encode(), "/mｃp".encode(), "/mcｐ".encode(), "/ＭＣＰ".encode(), "/mcp－test".encode()],
    *["/／mcp".encode(), "/ok/．．/mcp".encode(), "/ok/‥/mcp".encode(), "/ok／mcp".encode(), "/🅪p".encode(), "/mcp-teﬆ".encode(), "/mcp；x".encode()],
    *[b"/mcp%c2%a0/x", b"/m%c2%adcp", b"/mcp%e2%80%8b", b"/%e2%80%8bmcp", b"/m%e2%80%8dcp", b"/%ef%bb%bfmcp", b"/mcp%e2%80%ae", b"/m%cc%81cp/x"],
    *[b"/%c0%afmcp/x", b"/%c1%adcp/x", b"/%e0%81%adcp", b"/m%c1%a3p", b"/mc%c1%b0", b"/mcp%c0%af", b"/%ffmcp", b"/m%ffcp", b"/\xffmcp", b"/mcp\xa0"],
    # request targets that are more than a path, or less
    *[b"http://site.talaria.test/mcp/x", b"https://site.talaria.test//mcp/x", b"http://other/mcp/x", b"HTTP://SITE.TALARIA.TEST/MCP"],
    *[b"http://site.talaria.test:443/mcp", b"http://user:pass@site.talaria.test/mcp/x", b"http:///mcp/x", b"http:/mcp", b"ftp://site.talaria.test/mcp"],
    *[b"http:mcp/x", b"http:%2fmcp/x", b"x:mcp", b"x:%2fmcp", b"site.talaria.test/mcp/x", b"site.talaria.test:443/mcp", b"mcp/x", b"?/mcp", b"#/mcp"],
    *[b"//site.talaria.test/mcp/x", b"/%2fsite.talaria.test/mcp", b"//x%ff/mcp", b"///x/mcp", b"//x\\mcp", b"*/mcp", b"/ /mcp", b"/\t/mcp", b"/mcp HTTP/1.1 x"],
]  # fmt: skip


def get(target: bytes, host: str = SITE, method: bytes = b"GET", headers: bytes = b"", version: bytes = b"HTTP/1.1") -> bytes:
    """Return a request, byte by byte as it is written here."""
    return b"%s %s %s\r\nHost: %s\r\nConnection: close\r\n%s\r\n" % (method, target, version, host.encode(), headers)


def reached(public: Public, backend: Backend, targets: list[bytes], **request: bytes) -> list[bytes]:
    """Return the targets at which the server behind the site shows in the answer."""
    return [target for target in targets if backend.marker in public.say(get(target, **request))]


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
    answers = {public.say(get(target)) for target in [b"/mcp", b"/mcp/x", b"/mcp-test", b"/MCP", b"//mcp", b"/mcp;x", b"/%256dcp", b"x:mcp"]}
    heads = {answer.partition(b"\r\nDate: ")[0] for answer in answers}
    assert len(heads) == 1
    assert next(iter(heads)).startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert all(answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")) for answer in map(public.say, map(get, HIDDEN)))
    assert backend.marker in public.say(get(b"/ok"))


def test_no_letter_that_unicode_folds_to_the_right_one_reaches_the_server(public: Public, backend: Backend) -> None:
    """A server that normalises names would take 𝐦cp, ⓜcp or ᵐcp for mcp."""
    lookalikes = [
        f"/{word[:place]}{character}{word[place + 1 :]}/x".encode()
        for word in ("mcp", "mcp-test")
        for character in map(chr, range(0x80, 0x20000))
        if not 0xD800 <= ord(character) < 0xE000
        for place in [word.find(unicodedata.normalize("NFKC", character).casefold(), 4 if word == "mcp-test" else 0)]
        if place >= 0 and len(unicodedata.normalize("NFKC", character).casefold()) == 1
    ]
    assert len(lookalikes) > 200
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
    assert reached(public, backend, lookalikes) == []


@pytest.mark.parametrize(
    "method", [b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI", b"PROPFIND", b"FOO", b"get"]
)
def test_no_method_reaches_the_gateways_paths(public: Public, backend: Backend, method: bytes) -> None:
    """A rule that holds for GET alone would leave the door open to what MCP really uses."""
    backend.seen()
    assert reached(public, backend, [b"/mcp", b"/mcp/x", b"/MCP;x", b"x:mcp/x", b"*"], method=method, headers=b"Content-Length: 0\r\n") == []
    assert backend.targets() == []
    if method not in (b"CONNECT", b"TRACE", b"PRI"):
        public.say(get(b"/ok", method=method, headers=b"Content-Length: 0\r\n"))
        assert backend.targets() == ["/ok"]


def test_connect_trace_and_the_preface_of_http2_reach_no_server(public: Public, backend: Backend) -> None:
    """They make a proxy of the proxy, or show headers to scripts."""
    backend.seen()
    for target, method in [(b"/ok", b"CONNECT"), (b"site.talaria.test:443", b"CONNECT"), (b"127.0.0.1:8710", b"CONNECT"), (b"/ok", b"TRACE")]:
        assert backend.marker not in public.say(get(target, method=method))
    assert backend.marker not in public.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", patience=2)
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
    assert backend.targets() == ["/ok"]


def test_no_header_lets_a_request_name_another_path(public: Public, backend: Backend) -> None:
    """Some frameworks route by these; the server must not even see them."""
    names = ["X-Original-URL", "X-Original-URI", "X-Rewrite-URL", "X_Original_URL", "X-Forwarded-Uri", "X-Forwarded-Path", "X-Forwarded-Prefix", "x-override-url"]  # fmt: skip
    forged = "".join(f"{name}: /mcp/x\r\n" for name in names) + "X-Forwarded-Host: 127.0.0.1:8710\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1;host=x\r\n"
    backend.seen()
    assert reached(public, backend, [b"/ok"], headers=forged.encode() + b"X-Harmless: seen\r\n") == [b"/ok"]
    [asked] = backend.seen()
    headers = str(asked["headers"])
    assert "X-Harmless" in headers
    assert "/mcp" not in headers
    assert "127.0.0.1" not in headers
    overrides = b"X-HTTP-Method-Override: GET\r\nX-Method-Override: GET\r\n"
    assert reached(public, backend, [b"/mcp", b"/mcp/x"], headers=overrides, method=b"POST") == []
    assert backend.targets() == []


def test_only_websockets_take_a_connection_over_and_none_on_the_gateways_paths(public: Public, backend: Backend) -> None:
    """Behind an upgrade to h2c the client speaks to the server directly, past every rule of the door."""
    inner = b"GET /mcp/x HTTP/1.1\r\nHost: x\r\n\r\n"
    backend.seen()
    for upgrade in [b"h2c", b"H2C", b"websocket, h2c", b"h2c, websocket", b"TLS/1.0", b"foo", b" h2c ", b"h2c\r\nUpgrade: foo"]:
        headers = b"Upgrade: %s\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings, close\r\n" % upgrade
        answer = public.say(get(b"/ok", headers=headers) + inner, patience=2)
        assert b" 101 " not in answer, upgrade
    assert all(asked["target"] == "/ok" and "Upgrade" not in dict(asked["headers"]) for asked in backend.seen())
    websocket = b"GET %s HTTP/1.1\r\nHost: site.talaria.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for target in [b"/mcp", b"/mcp/x", b"//mcp", b"/mcp;x"]:
        assert b" 404 " in public.say(websocket % target, patience=0.5)
    assert backend.targets() == []
    both = b"GET /ok HTTP/1.1\r\nHost: site.talaria.test\r\nUpgrade: h2c\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for request in [websocket % b"/ok", both]:
        assert public.say(request, patience=0.5).startswith(b"HTTP/1.1 101 ")
    assert [[value for name, value in asked["headers"] if name == "Upgrade"] for asked in backend.seen()] == [["websocket"], ["websocket"]]


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
    answer = public.say(keep % b"/ok" + keep % b"/mcp" + keep % b"/ok?2" + get(b"/mcp/x"))
    assert answer.count(b"HTTP/1.1 404 ") == 2
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert backend.targets() == ["/ok", "/ok?2"]


def test_an_overlong_header_or_path_is_refused_before_the_server(public: Public, backend: Backend) -> None:
    """A limit that only the server behind has is found by crashing it."""
    backend.seen()
    assert b" 431 " in public.say(get(b"/ok", headers=b"X: " + b"a" * 200_000 + b"\r\n"))
    assert backend.marker not in public.say(get(b"/mcp/" + b"a" * 20_000))
    assert backend.marker not in public.say(get(b"/" + b"/" * 5_000 + b"mcp"))
    assert backend.marker not in public.say(get(b"/a/.." * 3_000 + b"/mcp"))
    assert backend.targets() == []
    assert reached(public, backend, [b"/ok"]) == [b"/ok"]
