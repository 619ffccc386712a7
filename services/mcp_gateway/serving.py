"""The process: sockets, signals, systemd, and an end within five seconds."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import uvicorn
import uvloop

from mcp_gateway import notify
from mcp_gateway.app import Gateway, open_gateway
from mcp_gateway.connection import Connection
from mcp_gateway.errors import ConfigurationError
from mcp_gateway.reload import reload
from mcp_gateway.settings.model import Listen, Settings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue

# An orderly end takes at most five seconds: three for the answers that are on their way, the rest for closing.
GRACE_SECONDS = 3
# How often the backends are asked on our own account, so that metrics show a fault that nobody called into.
ASK_SECONDS = 15.0
BACKLOG = 512
# A client that finds its idle connection closed may lose the whole session over it; a proxy's usual minute is safe.
KEEP_ALIVE_SECONDS = 75

logger = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would end the process by the signal before our own side is closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serving = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(path: Path, catalogue: Catalogue, secrets: Secrets) -> int:
    """Run until SIGTERM or SIGINT. Raise ConfigurationError when the service cannot even begin."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(path, catalogue, secrets))
    logger.info("stopped")
    return 0


async def _serve(path: Path, catalogue: Catalogue, secrets: Secrets) -> None:
    with only_configuration_errors():
        async with open_gateway(path, catalogue, secrets) as gateway:
            server = _Server(_config(gateway))
            sockets = listening(gateway.present.settings)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_signals, server, gateway, path)
                tasks.start_soon(notify.keep_watchdog)
                tasks.start_soon(_ask, server, gateway)
                await server.serve(sockets)
                tasks.cancel_scope.cancel()


def _config(gateway: Gateway) -> uvicorn.Config:
    return uvicorn.Config(
        gateway,
        loop="none",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        # Who the peer is decides over /metrics; nobody may claim another address in a header.
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def listening(settings: Settings) -> list[socket.socket]:
    """A socket for every address. Raise ConfigurationError naming all that cannot be had."""
    sockets: list[socket.socket] = []
    problems: list[str] = []
    for place, address in enumerate(settings.core.listen):
        try:
            sockets.append(_bound(address))
        except OSError as fault:
            problems.append(
                f"listen.{place}: {address.host} port {address.port}: {fault.strerror or fault}; "
                "see with `ss -ltnp` who has it, or name another"
            )
    if problems:
        for one in sockets:
            one.close()
        raise ConfigurationError(problems)
    return sockets


def _bound(address: Listen) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    one = socket.socket(family, kind, protocol)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Answers go out in several small writes; without this the peer's delayed ACK costs 40 ms each. Accepted
        # connections inherit it.
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.bind(place)
        one.listen(BACKLOG)  # now, so that a second server on the same address is refused before it says it is ready
    except OSError:
        one.close()
        raise
    return one


async def _signals(server: uvicorn.Server, gateway: Gateway, path: Path) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            if number == signal.SIGHUP:
                await reload(gateway, path)
                continue
            logger.info("stopping")
            notify.stopping()
            gateway.stop(GRACE_SECONDS - 0.5)
            server.should_exit = True


async def _ask(server: _Server, gateway: Gateway) -> None:
    """Ask the backends once, say that the tools answer, and keep asking."""
    await server.serving.wait()
    await gateway.readiness.ask()
    _collect_from_now_on()
    notify.ready()
    for address in gateway.present.settings.core.listen:
        logger.info("ready on %s port %d", address.host, address.port)
    while True:
        await anyio.sleep(ASK_SECONDS)
        await gateway.readiness.ask()


def _collect_from_now_on() -> None:
    """What the start made lives as long as the process, so no collection ever needs to look at it."""
    gc.collect()
    gc.freeze()
    gc.enable()


@contextlib.contextmanager
def only_configuration_errors() -> Iterator[None]:
    """Take a ConfigurationError out of the groups that the task groups wrap around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        wrong = group.subgroup(ConfigurationError)
        if wrong is None:
            raise
        problems = [problem for fault in _leaves(wrong) for problem in fault.problems]
        raise ConfigurationError(problems) from group


def _leaves(group: BaseExceptionGroup[ConfigurationError]) -> Iterator[ConfigurationError]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one
