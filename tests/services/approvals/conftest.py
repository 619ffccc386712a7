"""A real approvals process, its configuration, and somebody who asks it."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

TOKEN, OTHER_TOKEN = "gateway-token-0123456789abcdef", "relay-token-0123456789abcdefgh"
PASSPHRASE = "olives under the old wall"
START_SECONDS = 15.0


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Process:
    """`approvals serve` in a folder of its own; may be killed and started again."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.configuration = folder / "approvals.yml"
        for name, token in (("gateway", TOKEN), ("relay", OTHER_TOKEN)):
            (folder / f"{name}.tokens").write_text("sha256:" + hashlib.sha256(token.encode()).hexdigest() + "\n")
        document = {
            "listen": [{"host": "127.0.0.1", "port": self.port}],
            "database": "approvals.db",
            "services": [
                {"name": "mcp_gateway", "tokens_file": "gateway.tokens"},
                {"name": "agent_relay", "tokens_file": "relay.tokens"},
            ],
            **settings,
        }
        self.configuration.write_text(yaml.safe_dump(document))
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "approvals", "serve", "--config", str(self.configuration)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(self.url + "/healthz").status_code == 200:
                    return
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        pytest.fail("approvals did not answer: " + self.log.read_text())

    def kill(self) -> None:
        """kill -9, as the kernel would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> float:
        """SIGTERM; how many seconds it took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(10) == 0
        return time.monotonic() - began

    def command(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """`approvals` with these words, as the person on the host."""
        command = [sys.executable, "-m", "approvals", *words]
        if words[0] != "passphrase":
            command += ["--config", str(self.configuration)]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=30, env=os.environ)


class Asking:
    """A service that asks."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}

    def ask(self, client: str = "hermes", tool: str = "crm_delete_lead", **arguments: Any) -> httpx2.Response:
        """Ask for one call."""
        preview = {"title": f"Delete {arguments}", "facts": [["name", "Lyre"]], "fingerprint": "ab"}
        body = {"client": client, "channel": "hermes-tools", "tool": tool, "arguments": arguments or {"lead_id": 7}}
        return self._send("POST", "/api/requests", json={**body, "preview": preview, "receipt": "r-1"})

    def request(self, **arguments: Any) -> dict[str, Any]:
        """The request for one call."""
        answer = self.ask(**arguments)
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    def get(self, path: str, **query: Any) -> httpx2.Response:
        """Anything under the API."""
        return self._send("GET", path, params=query)

    def state(self, request_id: str) -> str:
        """The state of a request."""
        return str(self.get(f"/api/requests/{request_id}").json()["state"])

    def post(self, request_id: str, what: str, body: Any = None) -> httpx2.Response:
        """claim, cancel or result."""
        return self._send("POST", f"/api/requests/{request_id}/{what}", json={} if body is None else body)

    def send(self, content: bytes) -> httpx2.Response:
        """A body of one's own making."""
        return self._send("POST", "/api/requests", content=content)

    def _send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return httpx2.request(method, self._url + path, headers=self._headers, timeout=40, verify=False, **more)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """One running service."""
    one = Process(tmp_path)
    one.start()
    yield one
    one.kill()


@pytest.fixture
def gateway(process: Process) -> Asking:
    """The gateway as it asks."""
    return Asking(process.url)
