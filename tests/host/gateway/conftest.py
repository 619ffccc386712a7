"""How the tests of a deployed bundle reach it: as root on the host, and as an agent through an SSH tunnel."""

import contextlib
import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from testinfra.host import Host

# Long enough for SSH to log in on a busy machine.
TUNNEL_SECONDS = 30.0
READY_SECONDS = 30.0
# A live host's agent keeps its token; the file with it is named here. Test hosts have theirs in the inventory.
TOKEN_FILE = "TALARIA_TOKEN_FILE"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def root(host: Host) -> Iterator[Host]:
    """The host, with every command run as root."""
    with host.sudo():
        yield host


@pytest.fixture(scope="module")
def variables(host: Host) -> dict[str, Any]:
    """The inventory's variables of the host, as they are written there: templates in them are not evaluated."""
    return dict(host.ansible.get_variables())


@dataclass(frozen=True)
class Gateway:
    """A deployed gateway as an agent sees it."""

    url: str
    # Plain tokens by client; the first is the agent that may use every tool of `channel`.
    tokens: dict[str, str]
    channel: str
    http: httpx2.Client

    @property
    def client(self) -> str:
        return next(iter(self.tokens))

    def request(self, method: str, path: str, authorization: str | None = None, **options: Any) -> httpx2.Response:
        """One bare HTTP request; the path goes out as it is written."""
        headers = options.pop("headers", {}) | ({} if authorization is None else {"Authorization": authorization})
        return self.http.request(method, path, headers=headers, **options)

    def is_ready(self) -> bool:
        """Whether it says so now; one that is just starting is not."""
        with contextlib.suppress(httpx2.HTTPError):
            return self.request("GET", "/readyz").status_code == 200
        return False

    def bearer(self, client: str = "") -> str:
        return f"Bearer {self.tokens[client or self.client]}"

    @contextlib.asynccontextmanager
    async def agent(self, client: str = "", mode: str = "legacy", channel: str = "") -> AsyncIterator[Client]:
        """The official MCP client, with a session on a channel."""
        url, headers = f"{self.url}/mcp/{channel or self.channel}", {"Authorization": self.bearer(client)}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as session,
        ):
            yield session


def answer_of(result: Any) -> dict[str, Any]:
    """The one text block of a result; business failures are answers too, never protocol errors."""
    assert not result.is_error
    (block,) = result.content
    answer = json.loads(block.text)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def answer() -> Callable[[Any], dict[str, Any]]:
    return answer_of


def ssh_command(host: Host) -> list[str]:
    """ssh as testinfra would call it, on a connection of its own."""
    backend = host.backend.ansible_runner.get_host(host.backend.host).backend
    command = ["ssh", "-o", "ControlMaster=no", "-o", "ControlPath=none", *shlex.split(backend.ssh_extra_args or "")]
    command += ["-i", backend.ssh_identity_file] if backend.ssh_identity_file else []
    command += ["-p", str(backend.host.port)] if backend.host.port else []
    return [*command, f"{backend.host.user}@{backend.host.name}" if backend.host.user else backend.host.name]


def tokens_of(variables: dict[str, Any]) -> dict[str, str]:
    """Plain tokens by client: from the file that the environment names, else from the inventory of a test host."""
    clients = variables["mcp_gateway_clients"]
    if file := os.environ.get(TOKEN_FILE):
        return {clients[0]["name"]: Path(file).read_text().strip()}
    tokens = {client["name"]: client["tokens"][0] for client in clients if client.get("tokens")}
    assert tokens, f"name the file with the agent's token in {TOKEN_FILE}"
    return tokens


@pytest.fixture(scope="module")
def gateway(host: Host, variables: dict[str, Any]) -> Iterator[Gateway]:
    """The gateway's loopback port, brought to this machine by `ssh -L`: what an agent on the host would talk to."""
    remote = variables["talaria_gateway_port"]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        local = probe.getsockname()[1]
    forward = ["-N", "-o", "ExitOnForwardFailure=yes", "-L", f"127.0.0.1:{local}:127.0.0.1:{remote}"]
    command, *rest = ssh_command(host)
    with subprocess.Popen([command, *forward, *rest], stdin=subprocess.DEVNULL) as tunnel:
        try:
            wait_for(lambda: answers(local), TUNNEL_SECONDS)
            url, channel = f"http://127.0.0.1:{local}", variables["mcp_gateway_clients"][0]["channels"][0]
            with httpx2.Client(base_url=url, timeout=30) as client:
                yield Gateway(url, tokens_of(variables), channel, client)
        finally:
            tunnel.terminate()


def answers(port: int) -> bool:
    """Whether the gateway answers behind the tunnel."""
    with contextlib.suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200
    return False


def wait_for(holds: Callable[[], bool], seconds: float) -> None:
    """Return as soon as it holds; fail when it does not in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"did not come true within {seconds:g} s"
        time.sleep(0.2)


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], float], None]:
    return wait_for
