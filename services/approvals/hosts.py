"""Host and Origin, parsed and compared whole, so that no page elsewhere can make a browser speak for its user here."""

import re
from collections.abc import Iterable

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>[0-9]{1,5}|\*))?")


def parse_pattern(text: str) -> tuple[str, str]:
    """Name and port (`*`: any, empty: none). Raise ValueError when it is no host, `host:port` or `host:*`."""
    match = _HOST.fullmatch(text.lower())
    if match is None:
        raise ValueError("must be a host name or address, alone or with :port or :*; IPv6 in brackets")
    return match["name"], match["port"] or ""


class AllowedHosts:
    """The names under which this service may be addressed."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = frozenset(parse_pattern(text) for text in patterns)

    def host(self, header: str) -> bool:
        """Whether a Host header is one of them."""
        try:
            name, port = parse_pattern(header)
        except ValueError:
            return False
        if port == "*":
            return False
        return (name, port) in self._patterns or bool(port and (name, "*") in self._patterns)

    def origin(self, header: str) -> bool:
        """Whether an Origin is an http(s) page of one of them."""
        scheme, separator, host = header.lower().partition("://")
        return bool(separator) and scheme in ("http", "https") and self.host(host)
