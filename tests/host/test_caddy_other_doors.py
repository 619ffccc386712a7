"""Whoever does not come by a site's name and its encrypted door gets nowhere."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testinfra.host import Host
    from tests.host.conftest import Backend, Public

OPEN_PORTS = {22, 80, 443}
# The gateway, Prometheus, Caddy's admin API and metrics, the marker behind the test site, neighbours to come.
CLOSED_PORTS = [8710, 9090, 2019, 2018, 8765, 8720, 8730, 8642, 8644, 9100, 3000, 8080, 8443]


def test_a_host_that_has_no_site_reaches_no_server(public: Public, backend: Backend) -> None:
    """A scanner, a forgotten DNS name or a rebinding page would otherwise be shown somebody's site."""
    others = [
        *[
            "other.test",
            "site.talaria.test.",
            "site.talaria.test.other.test",
            "talaria.test",
            "x.site.talaria.test",
            "",
        ],
        *[
            "127.0.0.1",
            "localhost",
            "127.0.0.1:8710",
            public.address,
            f"{public.address}:443",
            "[::1]",
            "site.talaria.test@x",
        ],
        *[
            "site.talaria.test#x",
            "site.talaria.test/x",
            "site.talaria.test%00",
            "site.talaria.test, x",
            "site..talaria.test",
        ],
    ]
    backend.seen()
    for host in others:
        for target in [b"/ok", b"/mcp", b"/mcp/x"]:
            assert backend.marker not in public.get(target, host), host
    assert backend.targets() == []
    for host in ["site.talaria.test", "SITE.Talaria.Test", "site.talaria.test:443"]:
        assert backend.marker in public.get(b"/ok", host)
        assert backend.marker not in public.get(b"/mcp/x", host)
    assert backend.targets() == ["/ok"] * 3


def test_a_request_without_one_host_reaches_no_server(public: Public, backend: Backend) -> None:
    """What two hosts mean, the next server reads differently."""
    site = b"Host: site.talaria.test\r\n"
    backend.seen()
    for line, headers in [
        (b"GET /ok HTTP/1.1", b""),
        (b"GET /ok HTTP/1.0", b""),
        (b"GET /ok HTTP/1.1", site + b"Host: other.test\r\n"),
        (b"GET /ok HTTP/1.1", site + site),
        (b"GET /ok HTTP/1.1", b"Host: other.test\r\n" + site),
        (b"GET http://other.test/ok HTTP/1.1", site),
        (b"GET /ok", b""),
        (b"GET /ok HTTP/0.9", site),
        (b"GET /ok HTTP/1.1", b" Host: site.talaria.test\r\n"),
        (b"GET /ok HTTP/1.1", b"Host : site.talaria.test\r\n"),
    ]:
        answer = public.say(line + b"\r\n" + headers + b"Connection: close\r\n\r\n", patience=2)
        assert backend.marker not in answer, (line, headers)
    assert backend.targets() == []
    assert backend.marker in public.say(b"GET /ok HTTP/1.1\r\n" + site + b"Connection: close\r\n\r\n")


def test_plain_http_leads_to_https_and_reaches_no_server(public: Public, backend: Backend) -> None:
    """What goes over the wire unencrypted is read, and changed, on the way."""
    backend.seen()
    moved = public.say(public.request(b"/ok?a=b"), tls=False)
    assert moved.startswith(b"HTTP/1.1 308 ")
    assert b"\r\nLocation: https://site.talaria.test/ok?a=b\r\n" in moved
    for target in [
        b"/mcp",
        b"/mcp/x",
        b"/MCP",
        b"//mcp/x",
        b"/mcp;x",
        b"/%256dcp",
        b"/mcp-test/x",
        b"x:mcp",
        b"//evil.test/x",
    ]:
        assert public.say(public.request(target), tls=False).startswith(b"HTTP/1.1 404 "), target
    for host in ["other.test", public.address, "site.talaria.test.", "127.0.0.1", ""]:
        answer = public.say(public.request(b"/ok", host), tls=False)
        assert b"\r\nLocation: " not in answer
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
    assert backend.targets() == []
    assert backend.marker in public.get(b"/ok")


def test_plain_http_on_the_encrypted_port_reaches_no_server(public: Public, backend: Backend) -> None:
    """A client that forgot the encryption must learn it."""
    backend.seen()
    with public.connect(public.https_port) as connection:
        connection.sendall(public.request(b"/ok"))
        assert backend.marker not in connection.recv(65536)
    assert backend.targets() == []


@pytest.mark.parametrize("name", [None, "other.test", "talaria.test", "x.site.talaria.test"])
def test_no_certificate_is_shown_for_a_name_without_a_site(public: Public, name: str | None) -> None:
    """A certificate names the sites of the host to whoever tries its address."""
    with public.secure("site.talaria.test") as connection:
        assert connection.getpeercert(binary_form=True)
    with pytest.raises(ssl.SSLError, match="alert"):
        public.secure(name)


def test_one_sites_certificate_does_not_open_another_sites_gateway_paths(public: Public, backend: Backend) -> None:
    """The name in the handshake and the name in the request may differ."""
    backend.seen()
    assert backend.marker in public.say(public.request(b"/ok"), name="files.talaria.test")
    assert backend.marker not in public.say(public.request(b"/mcp/x"), name="files.talaria.test")
    assert backend.marker not in public.say(public.request(b"/mcp/x", "files.talaria.test"), name="site.talaria.test")
    assert backend.targets() == ["/ok"]


def test_files_under_the_gateways_paths_and_hidden_files_are_not_served(public: Public, backend: Backend) -> None:
    """A site of files is hidden like every other, and what begins with a dot was not meant for anybody."""
    for target in [b"/ok", b"/mcpx/x", b"/.well-known/x"]:
        assert backend.marker in public.get(target, "files.talaria.test"), target
    for target in [
        *[
            b"/mcp/x",
            b"/MCP/x",
            b"//mcp/x",
            b"/mcpx/../mcp/x",
            b"/%6dcp/x",
            b"/mcp%2fx",
            b"/mcp-test/x",
            b"/mcp/",
            b"/mcp",
        ],
        *[
            b"/.git/config",
            b"/.env",
            b"/%2egit/config",
            b"//.env",
            b"/mcpx/../.env",
            b"/.well-known/../.env",
            b"/.well-known/..",
        ],
        *[b"/../../../etc/passwd", b"/..%2f..%2f..%2fetc/passwd", b"/mcpx"],
    ]:
        answer = public.get(target, "files.talaria.test")
        assert backend.marker not in answer, target
        assert b"root:" not in answer
    assert b".git" not in public.get(b"/", "files.talaria.test")


def test_only_ssh_and_the_two_doors_answer_from_outside(public: Public, host: Host) -> None:
    """Whatever else listens must do so on loopback: the door would not be the only one."""
    for port in OPEN_PORTS:
        public.connect(port).close()
    for port in CLOSED_PORTS:
        with pytest.raises(ConnectionRefusedError):
            public.connect(port)
    listeners = [line.split()[3].rsplit(":", 1) for line in host.check_output("ss -Hltn").splitlines()]
    outside = {int(port) for address, port in listeners if not address.startswith(("127.", "[::1]", "[::ffff:127."))}
    assert outside <= OPEN_PORTS


def test_http3_is_off_and_udp_is_closed(public: Public, host: Host) -> None:
    """A door that nobody uses is one that nobody watches."""
    assert "caddy" not in host.check_output("ss -Hlunp")
    initial = (
        b"\xc0\x1a\x2a\x3a\x4a\x08" + bytes(8) + b"\x08" + bytes(1200)
    )  # an unknown version, which every QUIC server answers
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(5)
        connection.connect((public.address, public.https_port))
        connection.send(initial)
        with pytest.raises(ConnectionRefusedError):
            connection.recv(2048)
    assert b"alt-svc" not in public.get(b"/ok").lower()
