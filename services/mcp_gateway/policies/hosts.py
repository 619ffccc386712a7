"""Host and Origin, parsed and compared whole: what a browser is tricked into sending must not look like us."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>[0-9]{1,5}|\*))?")
MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class _Pattern:
    name: str
    port: str


class AllowedHosts:
    """The names under which this service may be addressed: `name`, `name:port` or `name:*`."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = frozenset(parse_pattern(text) for text in patterns)

    def host(self, header: str) -> bool:
        """Whether a Host header is one of ours: exactly, or with any numeric port where the pattern says `*`."""
        match = _HOST.fullmatch(header.lower())
        if match is None:
            return False
        name, port = match["name"], match["port"] or ""
        if port == "*" or (port and int(port) > MAX_PORT):
            return False
        return _Pattern(name, port) in self._patterns or bool(port and _Pattern(name, "*") in self._patterns)

    def origin(self, header: str) -> bool:
        """Whether an Origin is an http(s) page of one of our names; `null` and everything odd is not."""
        scheme, separator, host = header.lower().partition("://")
        return bool(separator) and scheme in ("http", "https") and self.host(host)


def names_this_machine(header: str) -> bool:
    """Whether a Host header is `localhost` or a loopback address, with or without a port."""
    match = _HOST.fullmatch(header.lower())
    if match is None or match["port"] == "*":
        return False
    try:
        return match["name"] == "localhost" or ipaddress.ip_address(match["name"].strip("[]")).is_loopback
    except ValueError:
        return False


def parse_pattern(text: str) -> _Pattern:
    """Raise ValueError when the text is no host, `host:port` or `host:*`."""
    match = _HOST.fullmatch(text.lower())
    if match is None or ((port := match["port"] or "").isdigit() and int(port) > MAX_PORT):
        raise ValueError("must be a host name or address, alone or with :port or :*; IPv6 in brackets")
    return _Pattern(match["name"], port)
