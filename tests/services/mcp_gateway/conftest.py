"""A gateway on a real loopback socket with tools made for testing: one that reads, one that writes, one that breaks."""

import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import httpx2
import pytest
import uvicorn
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict, Field

from mcp_gateway.app import Gateway, open_gateway
from mcp_gateway.audit.calls import reading
from mcp_gateway.clients import token_line
from mcp_gateway.connection import Connection
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.reload import reload
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue, Section
from mcp_gateway.tools import Arguments, Backend, Call, Condition, Tool

MODES = ("legacy", "2026-07-28")
TOKEN = "token-of-hermes-0123456789"
OTHER_TOKEN = "token-of-claude-9876543210"


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def modern(method: str, **params: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of one request of 2026-07-28."""
    version = "2026-07-28"
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": version, f"{prefix}/clientCapabilities": {}}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def event_of(text: str) -> dict[str, Any]:
    """The message of a response: an event stream with one event, or plain JSON."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert len(data) <= 1
    message = json.loads(data[0] if data else text)
    assert isinstance(message, dict)
    return message


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Nothing(Arguments):
    """No arguments."""


class Echo(Arguments):
    text: Annotated[str, Field(description="What to give back.", max_length=200_000)]
    times: Annotated[int | None, Field(description="How often.", ge=1, le=5)] = None
    kind: Annotated[Literal["plain", "loud"] | None, Field(description="How.")] = None
    weight: Annotated[float | None, Field(description="How heavy.")] = None
    flag: Annotated[bool | None, Field(description="Whether.")] = None


class Wait(Arguments):
    seconds: Annotated[float, Field(description="How long.", ge=0, le=60)]


class ProbeSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    word: str = "hello"
    secret_file: str | None = None


@dataclass
class Probe:
    """A backend that remembers what happened to it."""

    settings: ProbeSettings
    condition_: Condition = field(default_factory=lambda: Condition("ok"))
    opened: int = 0
    closed: int = 0
    written: list[str] = field(default_factory=list)
    begun: int = 0
    cancelled: int = 0

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    async def condition(self) -> Condition:
        return self.condition_

    async def noop(self, call: Call, arguments: Nothing) -> Mapping[str, object]:
        return {"word": self.settings.word, "client": call.client}

    async def echo(self, call: Call, arguments: Echo) -> Mapping[str, object]:
        return {"text": arguments.text * (arguments.times or 1)}

    async def wait(self, call: Call, arguments: Wait) -> Mapping[str, object]:
        self.begun += 1
        try:
            await anyio.sleep(arguments.seconds)
        except BaseException:
            self.cancelled += 1
            raise
        return {}

    async def write(self, call: Call, arguments: Echo) -> Mapping[str, object]:
        assert call.audit
        self.written.append(arguments.text)
        return {"text": arguments.text}

    async def slow_write(self, call: Call, arguments: Wait) -> Mapping[str, object]:
        self.begun += 1
        await anyio.sleep(arguments.seconds)
        self.written.append("slow")
        return {}

    async def refuse(self, call: Call, arguments: Nothing) -> Mapping[str, object]:
        raise Refusal(Code.EXISTS, "It is there already.", {"path": "a.md"})

    async def crash(self, call: Call, arguments: Echo) -> Mapping[str, object]:
        raise KeyError(arguments.text)


def probe_tools(probe: Probe) -> list[Tool]:
    return [
        Tool("probe_noop", "probe", "Do nothing.", Nothing, probe.noop),
        Tool("probe_echo", "probe", "Give a text back.", Echo, probe.echo),
        Tool("probe_wait", "probe", "Wait.", Wait, probe.wait),
        Tool("probe_refuse", "probe", "Refuse.", Nothing, probe.refuse),
        Tool("probe_crash", "probe", "Break.", Echo, probe.crash),
        Tool("mirror_write", "mirror", "Write a text.", Echo, probe.write, writes=True),
        Tool("mirror_slow", "mirror", "Write slowly.", Wait, probe.slow_write, writes=True, sensitive=True),
        Tool("mirror_crash", "mirror", "Break while writing.", Echo, probe.crash, writes=True),
    ]


TOOL_NAMES = {
    "probe": ("probe_noop", "probe_echo", "probe_wait", "probe_refuse", "probe_crash"),
    "mirror": ("mirror_write", "mirror_slow", "mirror_crash"),
}


def make_catalogue(made: list[Probe]) -> Catalogue:
    def build(settings: ProbeSettings, secrets: Secrets) -> tuple[Backend, list[Tool]]:
        if settings.secret_file:
            secrets.read(settings.secret_file, "probe.secret_file")
        probe = Probe(settings)
        made.append(probe)
        return probe, probe_tools(probe)

    return (Section("probe", ProbeSettings, TOOL_NAMES, build),)


@dataclass
class Site:
    """A configuration on disk that a test may change, and the backends that were built from it."""

    directory: Path
    document: dict[str, Any]
    made: list[Probe] = field(default_factory=list)
    catalogue: Catalogue = ()

    @property
    def path(self) -> Path:
        return self.directory / "mcp_gateway.yml"

    @property
    def probe(self) -> Probe:
        return self.made[-1]

    def write(self, **changes: Any) -> Path:
        self.document.update(changes)
        self.path.write_text(yaml.safe_dump(self.document, sort_keys=False))
        return self.path

    def tokens(self, client: str, *tokens: str) -> None:
        folder = self.directory / "tokens.d"
        folder.mkdir(exist_ok=True)
        (folder / client).write_text("# who may come in\n\n" + "".join(token_line(token) + "\n" for token in tokens))

    def rows(self) -> list[dict[str, Any]]:
        """The audit rows on disk, oldest first."""
        with reading(self.directory / "state") as reader:
            return [{"seq": row.seq, **asdict(row.entry)} for row in reader.rows()]


@dataclass
class Running:
    """A gateway that serves."""

    site: Site
    gateway: Gateway
    url: str
    port: int

    def mcp(self, channel: str = "tools") -> str:
        return f"{self.url}/mcp/{channel}"

    @contextlib.asynccontextmanager
    async def client(
        self, mode: str, channel: str = "tools", token: str = TOKEN, query: str = "", **options: Any
    ) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(
                streamable_http_client(self.mcp(channel) + query, http_client=http), mode=mode, cache=None, **options
            ) as client,
        ):
            yield client

    async def raw(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of one request sent byte by byte; the connection is closed after it."""
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await stream.send(request)
            received = b""
            with anyio.fail_after(5):
                while b"\r\n\r\n" not in received:
                    received += await stream.receive()
                head, _, body = received.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                while len(body) < length and not request.startswith(b"HEAD"):
                    body += await stream.receive()
        return int(head.split()[1]), body

    def head(self, method: str = "POST", path: str = "/mcp/tools", *headers: bytes) -> bytes:
        """The bytes of a request without a body."""
        lines = [f"{method} {path} HTTP/1.1".encode(), *headers]
        if not any(line.lower().startswith(b"host:") for line in headers):
            lines.append(f"Host: 127.0.0.1:{self.port}".encode())
        return b"\r\n".join([*lines, b"", b""])

    @contextlib.asynccontextmanager
    async def http(self, token: str = TOKEN) -> AsyncIterator[httpx2.AsyncClient]:
        """An HTTP client that says what an MCP client says."""
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        async with httpx2.AsyncClient(headers=headers, base_url=self.url, timeout=20) as client:
            yield client

    @contextlib.asynccontextmanager
    async def session(self, path: str = "/mcp/tools", token: str = TOKEN) -> AsyncIterator[httpx2.AsyncClient]:
        """The same within an initialized session of the handshake era."""
        async with self.http(token) as client:
            response = await client.post(path, json=INITIALIZE)
            assert response.status_code == 200, response.text
            client.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
            client.headers["MCP-Protocol-Version"] = "2025-11-25"
            assert (await client.post(path, json=INITIALIZED)).status_code == 202
            yield client

    async def reload(self, **changes: Any) -> bool:
        self.site.write(**changes)
        return await reload(self.gateway, self.site.path)


def answer_of(result: Any) -> dict[str, Any]:
    """The one text block of a result, as an agent reads it."""
    assert not result.is_error
    assert result.structured_content is None
    assert len(result.content) == 1
    answer = json.loads(result.content[0].text)
    assert isinstance(answer, dict)
    return answer


def make_site(directory: Path) -> Site:
    site = Site(
        directory,
        {
            "listen": [{"host": "127.0.0.1", "port": 8710}],
            "allowed_hosts": ["127.0.0.1:*", "localhost:*"],
            "state_dir": "state",
            "tool_deadline_seconds": 10,
            "clients": [
                {"name": "hermes", "tokens_file": "tokens.d/hermes", "channels": ["tools"], "rate_per_minute": 100_000},
                {"name": "claude", "tokens_file": "tokens.d/claude", "channels": ["other"], "rate_per_minute": 100_000},
            ],
            "channels": {"tools": {"toolsets": ["probe", "mirror"]}, "other": {"toolsets": ["probe"]}},
            "probe": {},
        },
    )
    site.catalogue = make_catalogue(site.made)
    site.tokens("hermes", TOKEN)
    site.tokens("claude", OTHER_TOKEN)
    site.write()
    return site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """For a module whose tests change nothing in the gateway they ask."""
    return make_site(tmp_path_factory.mktemp("site"))


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for what a test cannot be told of."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110  # nobody sets an event
            await anyio.sleep(0.01)


@contextlib.asynccontextmanager
async def serving(site: Site) -> AsyncIterator[Running]:
    secrets = Secrets.beside(site.path)
    async with open_gateway(site.path, site.catalogue, secrets) as gateway, anyio.create_task_group() as tasks:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            gateway,
            http=Connection,
            lifespan="off",
            log_config=None,
            ws="none",
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # signals belong to pytest
        tasks.start_soon(server.serve, [listener])
        await until(lambda: server.started)
        yield Running(site, gateway, f"http://127.0.0.1:{port}", port)
        gateway.stop(0.5)
        server.should_exit = server.force_exit = True


@pytest.fixture
async def running(site: Site) -> AsyncIterator[Running]:
    async with serving(site) as running:
        yield running


@pytest.fixture
def answer() -> Any:
    return answer_of


@pytest.fixture
def modern_request() -> Any:
    return modern


@pytest.fixture
def event() -> Any:
    return event_of


@pytest.fixture(name="until", scope="session")
def until_fixture() -> Any:
    return until


@pytest.fixture(scope="session")
def serve_site() -> Any:
    return serving
