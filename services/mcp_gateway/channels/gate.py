"""The gate: who is it, does the channel exist, is it granted. Decided before anything else is looked at."""

import ipaddress
import posixpath
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.types import Scope

from mcp_gateway.channels.wire import headers_of
from mcp_gateway.clients import Clients
from mcp_gateway.policies.hosts import AllowedHosts
from mcp_gateway.settings.model import Channel, Client

PREFIX = "/mcp/"
METHODS = ("GET", "POST", "DELETE")
# How often a path is unquoted to see what it really says: a proxy or two may each have quoted it.
MAX_UNQUOTES = 4

# RFC 9110: the scheme in any case, one space, the token. RFC 6750: what a token may hold.
_BEARER = re.compile(rb"bearer ([A-Za-z0-9\-._~+/]+=*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refused:
    """What the gate answers."""

    status: int
    word: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """Who came in, with which token, to which channel."""

    client: Client
    token_hash: bytes
    channel: str


FORBIDDEN = Refused(403, "forbidden")
NOT_FOUND = Refused(404, "not_found")
BAD_HOST = Refused(421, "unknown_host")
BAD_ORIGIN = Refused(403, "forbidden_origin")
BAD_METHOD = Refused(405, "method_not_allowed")


class Gate:
    """Decides over one request from its head alone."""

    def __init__(self, clients: Clients, channels: dict[str, Channel], allowed: AllowedHosts) -> None:
        self._clients = clients
        self._channels = channels
        self._allowed = allowed

    def decide(self, scope: Scope) -> Admitted | Refused:
        """403 without a known token, 404 for what is no channel, 403 for one not granted, then host and method."""
        held = self._holder(scope)
        if held is None:
            return FORBIDDEN
        client, token_hash = held
        channel = _channel_of(scope)
        if channel not in self._channels:
            return NOT_FOUND
        if channel not in client.channels:
            return FORBIDDEN
        if not addressed(scope, self._allowed.host):
            return BAD_HOST
        origins = headers_of(scope, b"origin")
        if origins and not (len(origins) == 1 and self._allowed.origin(origins[0].decode("latin-1"))):
            return BAD_ORIGIN
        if scope["method"] not in METHODS:
            return BAD_METHOD
        return Admitted(client, token_hash, channel)

    def _holder(self, scope: Scope) -> tuple[Client, bytes] | None:
        values = headers_of(scope, b"authorization")
        match = _BEARER.fullmatch(values[0]) if len(values) == 1 else None
        return self._clients.holder(match[1]) if match else None


def addressed(scope: Scope, allowed: Callable[[str], bool]) -> bool:
    """Whether there is one Host header, and an allowed one."""
    hosts = headers_of(scope, b"host")
    return len(hosts) == 1 and allowed(hosts[0].decode("latin-1"))


def guarded(scope: Scope) -> bool:
    """Whether a path means /mcp or something under it, however it is dressed up."""
    path = scope["path"]
    for _ in range(MAX_UNQUOTES):
        path = unquote(path)
    path = unicodedata.normalize("NFKC", path).casefold().replace("\\", "/")
    first = posixpath.normpath("/" + path.lstrip("/")).split("/")[1]
    return first.partition(";")[0] == "mcp"


def from_loopback(scope: Scope) -> bool:
    """Whether the peer is this machine itself."""
    peer = scope.get("client")
    if not peer:
        return False
    try:
        address = ipaddress.ip_address(peer[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _channel_of(scope: Scope) -> str | None:
    """The channel's name, from the path exactly as it was sent: a quoted letter is already another path."""
    raw = scope.get("raw_path") or scope["path"].encode()
    path = raw.partition(b"?")[0].decode("latin-1")
    return path.removeprefix(PREFIX) if path.startswith(PREFIX) else None
