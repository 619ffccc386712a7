"""What stands before the gateway's tools: nobody without a token gets as far as being read."""

import base64
import itertools
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

testinfra_hosts = ["ansible://gateway_hosts"]

# No JSON-RPC, no JSON, no UTF-8: whoever looked at it would complain about it, not about the token.
MARKER = b"\xff\xfenot JSON {{{ marker"
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
PATHS = (
    "/mcp/hermes-tools",
    "/mcp/closed",
    "/mcp/no-such-channel",
    "/mcp/hermes-tools/",
    "/mcp/hermes-tools?toolsets=vault",
    "/mcp/",
    "/mcp//hermes-tools",
    "/mcp/%68ermes-tools",
)


def strangers(token: str) -> dict[str, str | None]:
    """Everything that is nearly, but not, the right Authorization header."""
    return {
        "no token": None,
        "empty": "Bearer",
        "wrong": "Bearer " + "x" * len(token),
        "last character differs": f"Bearer {token[:-1]}{'a' if token[-1] != 'a' else 'b'}",
        "one character short": f"Bearer {token[:-1]}",
        "one character long": f"Bearer {token}x",
        "other case": f"Bearer {token.swapcase()}",
        "twice": f"Bearer {token} {token}",
        "other scheme": f"Token {token}",
        "bare": token,
        "basic": "Basic " + base64.b64encode(f"hermes:{token}".encode()).decode(),
    }


@pytest.mark.parametrize("path", PATHS)
def test_without_the_right_token_every_path_and_method_is_403_before_anything_is_read(gateway: Any, path: str) -> None:
    """A stranger must not learn which channels exist, nor reach a parser."""
    for method, (dress, authorization) in itertools.product(METHODS, strangers(gateway.tokens[gateway.client]).items()):
        response = gateway.request(method, path, authorization, content=MARKER)
        assert (response.status_code, response.content) == (403, b'{"error":"forbidden"}'), (method, dress)


def first_words(gateway: Any, authorization: str, length: int) -> str:
    """What comes back for a POST that announces a body of this length and then sends one byte of it."""
    address = urlsplit(gateway.url)
    head = (
        f"POST /mcp/{gateway.channel} HTTP/1.1\r\nHost: 127.0.0.1:{address.port}\r\nAuthorization: {authorization}\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n{{"
    )
    with socket.create_connection((address.hostname, address.port), timeout=20) as caller:
        caller.sendall(head.encode())
        return caller.recv(4096).decode()


def test_head_without_a_token_is_403(gateway: Any) -> None:
    """HEAD is how scanners look; it must not tell channels apart either."""
    for path in PATHS:
        assert gateway.request("HEAD", path).status_code == 403, path


def test_the_refusal_comes_while_the_body_is_still_to_come(gateway: Any) -> None:
    """A gate that waits for the body can be held open by anyone."""
    assert first_words(gateway, "Bearer wrong", 1_000_000).startswith("HTTP/1.1 403 ")


def test_a_known_token_on_an_unknown_channel_is_404(gateway: Any) -> None:
    """A misspelt channel must be told from a wrong token by the operator who configures an agent."""
    channel = gateway.channel
    for path in ("/mcp/no-such-channel", f"/mcp/{channel}/", f"/mcp/{channel}/x", f"/mcp/{channel.upper()}"):
        assert gateway.request("POST", path, gateway.bearer(), content=MARKER).status_code == 404, path


def test_another_host_name_is_refused_with_the_right_token(gateway: Any) -> None:
    """A web page must not reach the gateway through a name that was made to point here (DNS rebinding)."""
    for name in ("evil.example", "127.0.0.1:80,evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8710"):
        response = gateway.request(
            "POST", f"/mcp/{gateway.channel}", gateway.bearer(), headers={"Host": name}, content=b"{}"
        )
        assert response.status_code == 421, name


def test_a_foreign_origin_is_refused_with_the_right_token(gateway: Any) -> None:
    """A browser sends the page's origin; no page of another site may speak for the agent."""
    headers = {"Origin": "https://evil.example"}
    assert gateway.request("POST", f"/mcp/{gateway.channel}", gateway.bearer(), headers=headers).status_code == 403


def test_methods_that_mean_nothing_are_answered_at_once(gateway: Any) -> None:
    """A probe of a monitoring system must not hang on a stream."""
    assert gateway.request("HEAD", f"/mcp/{gateway.channel}", gateway.bearer()).status_code == 405
    assert gateway.request("GET", f"/mcp/{gateway.channel}", gateway.bearer()).status_code == 400


def test_a_body_above_one_mebibyte_is_413(gateway: Any) -> None:
    """One call must not fill the memory of the service."""
    assert first_words(gateway, gateway.bearer(), 1024 * 1024 + 1).startswith("HTTP/1.1 413 ")


@pytest.mark.laboratory
def test_a_channel_that_is_not_granted_is_403(gateway: Any) -> None:
    """Who may use one channel must not find another by trying."""
    assert gateway.request("POST", "/mcp/hermes-tools", gateway.bearer("elsewhere"), content=MARKER).status_code == 403
    assert gateway.request("POST", "/mcp/closed", gateway.bearer("hermes"), content=MARKER).status_code == 403
