"""A real Prometheus that scrapes itself and has an alert, and stand-ins that misbehave as no real one does."""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc
import pytest

from mcp_gateway.actions.monitoring import monitoring_tools
from mcp_gateway.ports.prometheus import PrometheusPort
from mcp_gateway.settings.prometheus import PrometheusSettings
from mcp_gateway.tools import Call

Run = Callable[..., Awaitable[Mapping[str, object]]]
Handler = Callable[[anyio.abc.SocketStream], Awaitable[None]]
StandIn = Callable[[Handler], AbstractAsyncContextManager[PrometheusPort]]

CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: prometheus
    metrics_path: /prefix/metrics
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""

RULES = """
groups:
  - name: test
    rules:
      - alert: AlwaysFiring
        expr: vector(1)
        labels: {severity: critical, team: owner}
        annotations: {summary: "It always burns"}
      - alert: NotYet
        expr: vector(1)
        for: 1h
        annotations: {description: "Only after an hour"}
      - alert: Never
        expr: vector(1) > 2
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Started:
    """A Prometheus on its way up."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path


@pytest.fixture(scope="session", autouse=True)
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A real Prometheus under a path prefix, started early: its first scrape comes five seconds later."""
    program = shutil.which("prometheus")
    assert program, "install prometheus (apt-get install prometheus): these tests ask a real one"
    place = tmp_path_factory.mktemp("prometheus")
    port = _free_port()
    (place / "prometheus.yml").write_text(CONFIG.format(port=port))
    (place / "rules.yml").write_text(RULES)
    options = {
        "config.file": "prometheus.yml",
        "storage.tsdb.path": "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "web.external-url": f"http://127.0.0.1:{port}/prefix",
        "log.level": "warn",
    }
    url = f"http://127.0.0.1:{port}/prefix"
    with (place / "log").open("wb") as log:
        command = [program, *(f"--{name}={value}" for name, value in options.items())]
        process = subprocess.Popen(command, cwd=place, stdout=log, stderr=log)
    yield Started(url, process, place / "log")
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def prometheus_url(prometheus: Started) -> str:
    """The address of a Prometheus whose alert fires and which has scraped itself."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert prometheus.process.poll() is None, prometheus.log.read_text()
        if _knows_something(prometheus.url):
            return prometheus.url
        time.sleep(0.05)
    raise AssertionError("Prometheus does not get ready:\n" + prometheus.log.read_text())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _knows_something(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?query=up==1", timeout=2) as reply:  # noqa: S310
            scraped = json.load(reply)["data"]["result"]
        with urllib.request.urlopen(f"{url}/api/v1/alerts", timeout=2) as reply:  # noqa: S310
            alerts = json.load(reply)["data"]["alerts"]
    except OSError:
        return False
    return bool(scraped) and len(alerts) == 2


@pytest.fixture
async def port(prometheus_url: str) -> AsyncIterator[PrometheusPort]:
    port = PrometheusPort(PrometheusSettings(url=prometheus_url))
    await port.open()
    yield port
    await port.close()


@pytest.fixture
def run() -> Run:
    """Call a tool over a port with these arguments."""

    async def run(port: PrometheusPort, name: str, seconds: float = 10.0, **arguments: object) -> Mapping[str, object]:
        tool = next(tool for tool in monitoring_tools(port) if tool.name == name)
        call = Call("hermes", "hermes-tools", name, "r-1", "", anyio.current_time() + seconds)
        return await tool.run(call, tool.arguments(**arguments))

    return run


@pytest.fixture
def stand_in() -> StandIn:
    """A port onto a server that answers every connection with this handler."""

    @asynccontextmanager
    async def serve(handler: Handler) -> AsyncIterator[PrometheusPort]:
        async def handle(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                try:
                    await handler(stream)
                except (anyio.BrokenResourceError, anyio.EndOfStream):
                    return

        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        number = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
            port = PrometheusPort(PrometheusSettings(url=f"http://127.0.0.1:{number}"))
            await port.open()
            yield port
            await port.close()
            group.cancel_scope.cancel()

    return serve
