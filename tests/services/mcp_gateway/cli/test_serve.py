"""The service as systemd runs it: ready when its tools answer, reloaded by SIGHUP, gone within five seconds."""

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "token-of-hermes-0123456789"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
# What the product promises. The machine that runs the tests may be busy, so that its clock gets some slack.
MAX_RESIDENT_KB = 110 * 1024
MAX_START_SECONDS = 3.0
MAX_STOP_SECONDS = 5.0
SLACK = 3


async def read_a_note(url: str) -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=20) as http,
        Client(streamable_http_client(f"{url}/mcp/notes", http_client=http), mode="legacy", cache=None) as client,
    ):
        result = await client.call_tool("vault_read", {"path": "inbox/note.md"})
    said = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert isinstance(said, dict)
    return said


def test_it_starts_answers_and_ends_within_its_limits(command: Any) -> None:
    child = command.start()
    assert command.until_ready(child) < MAX_START_SECONDS * SLACK
    assert anyio.run(read_a_note, command.url)["content"] == "A first note.\n"
    status = Path(f"/proc/{child.pid}/status").read_text()
    [resident] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")]
    assert resident < MAX_RESIDENT_KB
    code, said, seconds = command.stop(child)
    assert (code, seconds < MAX_STOP_SECONDS) == (0, True)
    lines = said.splitlines()
    assert f"INFO mcp_gateway.serving: ready on 127.0.0.1 port {command.document['listen'][0]['port']}" in lines
    assert lines[-1] == "INFO mcp_gateway.serving: stopped"
    [audit] = [json.loads(line) for line in lines if line.startswith("{")]
    assert (audit["client"], audit["tool"], audit["outcome"]) == ("hermes", "vault_read", "ok")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_streams_do_not_hold_up_the_end(command: Any, number: int) -> None:
    child = command.start()
    command.until_ready(child)
    headers = {**HEADERS, "Accept": "application/json, text/event-stream"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    with httpx2.Client(base_url=command.url, headers=headers, timeout=20) as http:
        http.headers["Mcp-Session-Id"] = http.post("/mcp/notes", json=body).headers["Mcp-Session-Id"]
        with http.stream("GET", "/mcp/notes") as stream:
            assert stream.status_code == 200
            code, said, seconds = command.stop(child, number)
            assert b"".join(stream.iter_bytes()) == b""
    assert code == 0
    assert seconds < 2 * SLACK
    assert "ERROR" not in said


def test_systemd_hears_ready_reloading_ready_and_stopping(command: Any) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(command.directory / "notify"))
        systemd.settimeout(20)
        child = command.start(NOTIFY_SOCKET=str(command.directory / "notify"), WATCHDOG_USEC="200000")

        def heard() -> str:
            while (word := systemd.recv(200).decode()) == "WATCHDOG=1":
                watched.append(word)
            return word

        watched: list[str] = []
        assert heard() == "READY=1"
        assert httpx2.get(f"{command.url}/readyz").status_code == 200
        command.write(colour=1)
        child.send_signal(signal.SIGHUP)
        word, _, stamp = heard().partition("\n")
        assert (word, stamp.startswith("MONOTONIC_USEC=")) == ("RELOADING=1", True)
        assert heard() == "READY=1"
        time.sleep(0.3)
        child.send_signal(signal.SIGTERM)
        assert heard() == "STOPPING=1"
        assert watched
        said = child.communicate(timeout=20)[1]
    assert "reload refused: colour: unknown key" in said
    assert "reload refused; the one before stays in force" in said


def test_sighup_puts_a_new_configuration_in_force(command: Any) -> None:
    child = command.start()
    command.until_ready(child)
    assert httpx2.head(f"{command.url}/mcp/more", headers=HEADERS).status_code == 404
    command.document["channels"]["more"] = {"toolsets": []}
    command.document["clients"][0]["channels"] = ["notes", "more"]
    command.write()
    child.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 20
    while httpx2.head(f"{command.url}/mcp/more", headers=HEADERS).status_code == 404 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert httpx2.head(f"{command.url}/mcp/more", headers=HEADERS).status_code == 405
    code, said, _ = command.stop(child)
    assert (code, "reload ok" in said) == (0, True)


def test_it_listens_on_every_address_of_the_list(command: Any) -> None:
    [first] = command.document["listen"]
    command.write(
        listen=[first, {"host": "127.0.0.2", "port": first["port"]}], allowed_hosts=["127.0.0.2:*", "127.0.0.1:*"]
    )
    child = command.start()
    command.until_ready(child)
    other = command.url.replace("127.0.0.1", "127.0.0.2")
    assert [httpx2.get(f"{url}/healthz").status_code for url in (command.url, other)] == [200, 200]
    assert httpx2.get(f"{other}/mcp/notes").status_code == 403


def test_a_taken_port_is_named_and_nothing_is_started(command: Any) -> None:
    with socket.create_server(("127.0.0.1", command.document["listen"][0]["port"])):
        child = command.start()
        said = child.communicate(timeout=30)[1]
    assert child.returncode == 2
    assert said.startswith("listen.0: 127.0.0.1 port ")
    assert "Address already in use" in said
    assert "Traceback" not in said


def test_a_bad_configuration_is_listed_and_nothing_is_started(command: Any) -> None:
    command.write(colour=1, docker={})
    child = command.start()
    said = child.communicate(timeout=30)[1]
    assert (child.returncode, len(said.splitlines())) == (2, 2)


def test_a_backend_that_is_away_delays_nothing_and_shows_in_readiness(command: Any) -> None:
    command.document["channels"]["watch"] = {"toolsets": ["monitoring"]}
    command.write(prometheus={"url": "http://127.0.0.1:9"})
    child = command.start()
    assert command.until_ready(child) < MAX_START_SECONDS * SLACK
    report = httpx2.get(f"{command.url}/readyz")
    assert (report.status_code, report.json()["channels"]["notes"]["status"]) == (503, "ok")
    assert report.json()["channels"]["watch"]["status"] == "down"
    assert anyio.run(read_a_note, command.url)["success"] is True
