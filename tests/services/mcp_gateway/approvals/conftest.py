"""Gateway, approvals service and the test double of Odoo, each a process, with a proxy that can stop between them."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from tests.services.approvals.conftest import TOKEN as SERVICE_TOKEN
from tests.services.approvals.conftest import Process, free_port
from tests.services.mcp_gateway.approvals.proxy import Proxy
from tests.services.mcp_gateway.conftest import modern

from mcp_gateway.clients import token_line

ROOT = Path(__file__).parents[4]
TOKENS = {"hermes": "token-of-hermes-0123456789", "claude": "token-of-claude-9876543210"}
ODOO_KEY = "test-double-key-of-agent"
START_SECONDS = 20.0
# Sooner than this everything that was begun has an end.
END_SECONDS = 25.0
LEAD = 1
ENDS = {"done", "failed", "outcome_unknown", "refused", "expired", "denied"}


class Bundle:
    """The three processes in a folder; the gateway reaches the others through proxies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.approvals = Process(folder / "approvals")
        self.approvals.start()
        self.odoo, odoo_port = _odoo()
        self.asking, self.selling = Proxy(self.approvals.port), Proxy(odoo_port)
        self.port = free_port()
        self.gateway: subprocess.Popen[bytes] | None = None
        self._configure()
        self.start()

    def start(self) -> None:
        """Start the gateway and wait until it answers."""
        with (self.folder / "gateway.log").open("ab") as log:
            command = [sys.executable, "-m", "mcp_gateway", "serve", "--config", str(self.folder / "gateway.yml")]
            self.gateway = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"http://127.0.0.1:{self.port}/healthz", verify=False).status_code == 200:
                    return
            assert self.gateway.poll() is None, self.log
            time.sleep(0.05)
        pytest.fail("the gateway did not answer: " + self.log)

    def kill_gateway(self) -> None:
        assert self.gateway is not None
        self.gateway.kill()
        self.gateway.wait(10)

    def close(self) -> None:
        self.kill_gateway()
        self.approvals.kill()
        self.odoo.kill()
        self.odoo.wait(10)
        assert self.odoo.stdout is not None
        self.odoo.stdout.close()
        self.asking.close()
        self.selling.close()

    def call(self, tool: str = "crm_delete_lead", client: str = "hermes", **arguments: Any) -> dict[str, Any]:
        """What an agent gets; empty when the connection broke."""
        headers, body = modern("tools/call", name=tool, arguments=arguments or {"lead_id": LEAD})
        headers |= {"Authorization": f"Bearer {TOKENS[client]}", "Accept": "application/json, text/event-stream"}
        url = f"http://127.0.0.1:{self.port}/mcp/hermes-tools"
        try:
            answer = httpx2.post(url, json=body, headers=headers, timeout=30, verify=False)
        except httpx2.TransportError:
            return {}
        assert answer.status_code == 200, answer.text
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith(("data: {", "{"))]
        return dict(json.loads(json.loads(lines[-1])["result"]["content"][0]["text"]))

    def asked(self, **arguments: Any) -> str:
        """The id of a request that waits."""
        answer = self.call(**arguments)
        assert answer.get("error") == "__APPROVAL_PENDING__", answer
        return str(answer["approval"])

    def decide(self, request_id: str, word: str = "approve") -> None:
        done = self.approvals.command(word, request_id)
        assert done.returncode == 0, done.stderr

    def state(self, request_id: str) -> str:
        headers = {"Authorization": f"Bearer {SERVICE_TOKEN}"}
        url = f"{self.approvals.url}/api/requests/{request_id}"
        return str(httpx2.get(url, headers=headers, verify=False).json()["state"])

    def end(self, request_id: str) -> str:
        """The state in which it ends."""
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end:
            if (state := self.state(request_id)) in ENDS:
                return state
            time.sleep(0.1)
        pytest.fail(f"{request_id} is still {self.state(request_id)}: {self.log}")

    @property
    def deletions(self) -> int:
        """How often Odoo was told to delete."""
        return self.selling.count("POST .*", b"unlink")

    @property
    def log(self) -> str:
        return (self.folder / "gateway.log").read_text()[-4000:]

    def _configure(self) -> None:
        (self.folder / "approvals.token").write_text(SERVICE_TOKEN)
        (self.folder / "odoo.key").write_text(ODOO_KEY)
        for name, token in TOKENS.items():
            (self.folder / f"{name}.tokens").write_text(token_line(token))
        odoo = {"url": f"http://127.0.0.1:{self.selling.port}", "database": "test", "login": "agent"}
        document = {
            "listen": [{"host": "127.0.0.1", "port": self.port}],
            "state_dir": "state",
            "clients": [
                {"name": name, "tokens_file": f"{name}.tokens", "channels": ["hermes-tools"]} for name in TOKENS
            ],
            "channels": {"hermes-tools": {"toolsets": ["crm"]}},
            "odoo": {**odoo, "api_key_file": "odoo.key", "transport": "xmlrpc"},
            "approvals": {
                "url": f"http://127.0.0.1:{self.asking.port}",
                "token_file": "approvals.token",
                "wait_seconds": 0.5,
            },
        }
        (self.folder / "gateway.yml").write_text(yaml.safe_dump(document))


def _odoo() -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "tests.stand_ins.odoo", "--release", "17", "--port", "0", "--demo"]
    double = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert double.stdout is not None
    return double, int(double.stdout.readline().split(" ")[0].rpartition(":")[2])


@pytest.fixture
def bundle(tmp_path: Path) -> Iterator[Bundle]:
    (tmp_path / "approvals").mkdir()
    one = Bundle(tmp_path)
    yield one
    one.close()
