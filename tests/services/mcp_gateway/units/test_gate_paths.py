"""Which paths the gate guards, who is a peer on this machine, and what a narrowing query means."""

# look-alike letters are what is tested
from typing import Any

import pytest

from mcp_gateway.channels.gate import from_loopback, guarded
from mcp_gateway.channels.views import narrowing_of


@pytest.mark.parametrize(
    "path",
    [
        "/mcp",
        "/mcp/",
        "/mcp/x",
        "//mcp/x",
        "/./mcp/x",
        "/a/../mcp/x",
        "/MCP/x",
        "/%6dcp/x",
        "/%256dcp/x",
        "/mcp%2fx",
        "/mcp\\x",
        "/ｍｃｐ/x",
        "/mcp;v=1/x",
        "/mcp/../mcp/x",
    ],
)
def test_a_path_under_mcp_is_guarded_in_every_dress(path: str) -> None:
    assert guarded({"path": path})


@pytest.mark.parametrize("path", ["/", "", "/mcpx", "/x/mcp", "/healthz", "/mcp/../x", "/m/cp"])
def test_somebody_elses_path_is_not(path: str) -> None:
    assert not guarded({"path": path})


@pytest.mark.parametrize(
    ("peer", "loopback"),
    [
        (("127.0.0.1", 1), True),
        (("127.8.9.1", 1), True),
        (("::1", 1), True),
        (("::ffff:127.0.0.1", 1), True),
        (("10.0.0.1", 1), False),
        (("::ffff:10.0.0.1", 1), False),
        (("localhost", 1), False),
        (None, False),
    ],
)
def test_peer(peer: Any, loopback: bool) -> None:
    assert from_loopback({"client": peer}) is loopback


@pytest.mark.parametrize(
    ("query", "toolsets"),
    [
        (b"", None),
        (b"x=1", None),
        (b"toolsets=a", {"a"}),
        (b"toolsets=a,b", {"a", "b"}),
        (b"toolsets=a%2Cb", {"a", "b"}),
        (b"toolsets=", set()),
        (b"toolsets", set()),
        (b"toolsets=,", set()),
        (b"toolsets=a&toolsets=a,b", {"a"}),
        (b"toolsets=a&toolsets=b", set()),
        (b"toolsets=" + b"&x=1" * 50, set()),
        (b"toolsets=\xff", {"ÿ"}),
    ],
)
def test_narrowing(query: bytes, toolsets: set[str] | None) -> None:
    assert narrowing_of(query) == toolsets
