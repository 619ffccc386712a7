"""A browser by hand: what it would post, with a header or a field more or less."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from tests.services.approvals.console.conftest import PASSPHRASE


@contextmanager
def log_in(url: str) -> Iterator[httpx2.Client]:
    """Somebody with a session."""
    with httpx2.Client(base_url=url, timeout=10) as client:
        assert client.post("/login", data={"passphrase": PASSPHRASE}).status_code == 303
        yield client


def token_of(client: httpx2.Client) -> str:
    """The token in the forms of this session."""
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)
    assert found
    return found[1]


def decide(client: httpx2.Client, id_: str, word: str = "approve", **more: Any) -> httpx2.Response:
    """A decision as a form posts it; `csrf` and `headers` may differ."""
    data = {"csrf": more.pop("csrf", None) or token_of(client), "reason": more.pop("reason", "")}
    return client.post(f"/requests/{id_}/{word}", data=data, **more)
