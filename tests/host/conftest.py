"""How the tests reach a deployed host from outside, like anybody on its network, and what they put behind its sites."""

import base64
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

SITE = "site.talaria.test"
BACKEND_PORT = 8765
BACKEND_DIRECTORY = "/run/talaria_test_backend"


@dataclass(frozen=True)
class Public:
    """The address of the host on its network, to which the tests speak raw bytes: no client library tidies them up."""

    address: str
    http_port: int = 80
    https_port: int = 443

    def connect(self, port: int) -> socket.socket:
        """Return a connection; raise ConnectionRefusedError when nothing listens."""
        connection = socket.create_connection((self.address, port), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else every request waits 40 ms for an ACK
        return connection

    def secure(self, name: str | None, protocol: str = "http/1.1") -> ssl.SSLSocket:
        """Return a TLS connection to the site of this name; the test host's certificates are nobody's concern here."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        return context.wrap_socket(self.connect(self.https_port), server_hostname=name)

    @staticmethod
    def request(
        target: bytes, host: str = SITE, method: bytes = b"GET", headers: bytes = b"", version: bytes = b"HTTP/1.1"
    ) -> bytes:
        """Return a request, byte by byte as it is written here."""
        return b"%s %s %s\r\nHost: %s\r\nConnection: close\r\n%s\r\n" % (
            method,
            target,
            version,
            host.encode(),
            headers,
        )

    def get(self, target: bytes, host: str = SITE, **parts: bytes) -> bytes:
        """Return the answer to one request, over TLS."""
        return self.say(self.request(target, host, **parts))

    def say(self, request: bytes, name: str | None = SITE, tls: bool = True, patience: float = 10) -> bytes:
        """Return everything that is answered until the other side closes or stays silent for `patience` seconds."""
        answer = b""
        with self.secure(name) if tls else self.connect(self.http_port) as connection:
            connection.settimeout(patience)
            try:
                connection.sendall(request)
                while received := connection.recv(65536):
                    answer += received
            except OSError:
                pass  # closed, reset or silent: what came until then is the answer
        return answer


@dataclass(frozen=True)
class Backend:
    """The lax server behind the test sites."""

    host: Host
    marker: bytes = b"talaria-test-backend"

    def seen(self) -> list[dict[str, Any]]:
        """Return what the server was asked since it was last looked at: method, target and headers."""
        record = f"{BACKEND_DIRECTORY}/seen"
        lines = self.host.check_output(f"cat {record} && : >{record}").splitlines()
        return [json.loads(line) for line in lines]

    def targets(self) -> list[str]:
        """Return the request targets that the server was asked for since it was last looked at."""
        return [asked["target"] for asked in self.seen()]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the sites of the test hosts, or puts a server behind them, is nothing for a live host."""
    for item in items:
        needs_sites = item.path.name.startswith("test_caddy_") or "backend" in getattr(item, "fixturenames", ())
        if needs_sites:
            item.add_marker(pytest.mark.laboratory)


@pytest.fixture(scope="module")
def public(host: Host) -> Public:
    """Return the way to the host from outside."""
    return Public(host.check_output("hostname -I").split()[0])


@pytest.fixture(scope="module")
def backend(host: Host) -> Iterator[Backend]:
    """Run the lax server behind site.talaria.test and lay files behind files.talaria.test; remove both afterwards."""
    source = base64.b64encode(Path(__file__).with_name("marker_backend.py").read_bytes()).decode()
    marker = Backend.marker.decode()
    host.check_output(
        f"echo {source} | base64 -d >{BACKEND_DIRECTORY}.py && systemd-run --quiet --unit talaria_test_backend"
        f" -p DynamicUser=yes -p RuntimeDirectory=talaria_test_backend -p RuntimeDirectoryMode=0755"
        f" /usr/bin/python3 -I {BACKEND_DIRECTORY}.py {BACKEND_PORT} {BACKEND_DIRECTORY}/seen"
        " && cd /srv && mkdir -p www/files && cd www/files && mkdir -p mcp mcp-test mcpx .git .well-known"
        f" && for file in ok mcp/x mcp-test/x mcpx/x .git/config .env .well-known/x; do echo {marker} >$file; done"
        f" && for i in $(seq 50); do ss -Hltn | grep -q :{BACKEND_PORT} && break; sleep 0.1; done"
    )
    yield Backend(host)
    host.check_output(f"systemctl stop talaria_test_backend; rm -rf {BACKEND_DIRECTORY}.py /srv/www/files")
