"""An operator's own Caddy is not rewritten, but is told which of its sites would show what the gateway's paths hold."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "roles/caddy/files/sites_without_snippet.py"
SNIPPET = {"match": [{"path": ["/mcp", "/mcp/*", "/mcp-test", "/mcp-test/*"]}], "handle": [{"status_code": 404}]}
ANSWER = {"handle": [{"body": "hello"}]}


def site(host: str, *routes: dict[str, Any]) -> dict[str, Any]:
    """Return a site as Caddy's adapter writes it."""
    return {"match": [{"host": [host]}], "handle": [{"handler": "subroute", "routes": list(routes)}]}


@pytest.mark.parametrize(
    ("listen", "routes", "exposed"),
    [
        (":443", [site("a.example", SNIPPET, ANSWER)], []),
        (":443", [site("a.example", ANSWER)], ["a.example on :443"]),
        (":443", [site("a.example", SNIPPET, ANSWER), site("b.example", ANSWER)], ["b.example on :443"]),
        (":80", [SNIPPET, ANSWER], []),
        (":80", [ANSWER], ["any host on :80"]),
        (":80", [site("a.example", SNIPPET, ANSWER), ANSWER], ["any host on :80"]),
        ("127.0.0.1:2018", [ANSWER], []),
    ],
)
def test_a_public_site_without_the_snippet_is_named(
    listen: str, routes: list[dict[str, Any]], exposed: list[str]
) -> None:
    """A report that overlooks one site is worse than none."""
    spec = importlib.util.spec_from_file_location("sites_without_snippet", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert list(script.exposed({"srv0": {"listen": [listen], "routes": routes}})) == exposed
