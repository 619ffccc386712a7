"""What a visitor of the operator's own sites may never see: the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.host.conftest import Public

testinfra_hosts = ["ansible://gateway_hosts"]
HIDDEN = (b"/mcp", b"/mcp/hermes-tools", b"/MCP/hermes-tools", b"//mcp/x", b"/a/../mcp/x", b"/%6dcp/x", b"/mcp-test/x")


def test_every_public_site_answers_404_on_the_gateways_paths(public: Public, variables: dict[str, Any]) -> None:
    """One site without the snippet is a door to the tools; without any site there must be no door at all."""
    names = [name for site in variables.get("caddy_sites") or [] for name in site["hosts"]]
    if not names:
        with pytest.raises(OSError, match=r".+"):
            public.secure("nobody.invalid")
    for name in names:
        for path in HIDDEN:
            status = public.say(public.request(path, name), name).partition(b"\r\n")[0]
            assert b" 404" in status, (name, path, status)
