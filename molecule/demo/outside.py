"""The world outside: what a public visitor sees of the host, over HTTPS with the certificate checked."""

import http.client
import socket
import ssl
import tempfile
from pathlib import Path

from demo import place
from demo.words import chapter, expect

SITE = "demo.talaria.internal"
# Where Caddy keeps the authority that signs the certificates of sites that are not public.
AUTHORITY = "/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt"


class _ToHost(http.client.HTTPSConnection):
    """HTTPS to the site by its name, at the published port of this machine."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(SITE, context=context, timeout=20)
        self._address, self._tls = ("127.0.0.1", port), context

    def connect(self) -> None:
        self.sock = self._tls.wrap_socket(socket.create_connection(self._address, 20), server_hostname=SITE)


def show(port: int) -> None:
    """Show that the site answers and that the gateway cannot be seen. Raise DemoError when it is otherwise."""
    chapter(f"A visitor from the outside, at https://{SITE} (port {port} of this machine)")
    context = trusting(place.on_host("sudo", "cat", AUTHORITY))
    status, body = get(port, context, "/")
    expect(status == 200, f"/ answers 200: {body.strip()[:60]}", status)
    for path in ("/mcp/hermes-tools", "/mcp", "/MCP/hermes-tools", "//mcp/hermes-tools", "/%6dcp/hermes-tools"):
        status, _ = get(port, context, path, place.token())
        expect(status == 404, f"{path} answers 404, even with the agent's token", status)


def trusting(authority: str) -> ssl.SSLContext:
    """TLS settings that trust this authority and no other."""
    with tempfile.NamedTemporaryFile("w", suffix=".crt") as file:
        Path(file.name).write_text(authority)
        return ssl.create_default_context(cafile=file.name)


def get(port: int, context: ssl.SSLContext, path: str, token: str = "") -> tuple[int, str]:
    """The status and the body of a page."""
    connection = _ToHost(port, context)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    finally:
        connection.close()
