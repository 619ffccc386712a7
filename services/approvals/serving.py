"""The process: sockets, signals, systemd, and an end within five seconds."""

import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import uvicorn

from approvals import systemd
from approvals.app import Service, build
from approvals.errors import ConfigurationError
from approvals.settings import Configuration, Listen

GRACE_SECONDS = 2
BACKLOG = 256

logger = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serving = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(configuration: Configuration) -> None:
    """Run until SIGTERM or SIGINT. Raise ConfigurationError when it cannot begin."""
    service = build(configuration)
    sockets = [_bound(place, address) for place, address in enumerate(configuration.settings.listen)]
    anyio.run(_serve, service, sockets)


async def _serve(service: Service, sockets: list[socket.socket]) -> None:
    config = uvicorn.Config(
        service.app,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        # Who the peer is decides over /api and /metrics; nobody may claim another address in a header.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config)
    async with service.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(_signals, server)
        tasks.start_soon(_ready, server, sockets)
        await server.serve(sockets)
        tasks.cancel_scope.cancel()


async def _ready(server: _Server, sockets: list[socket.socket]) -> None:
    await server.serving.wait()
    for one in sockets:
        host, port = one.getsockname()[:2]
        logger.info("ready on %s port %d", host, port)
    systemd.tell("READY=1")


async def _signals(server: _Server) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            logger.info("stopping")
            systemd.tell("STOPPING=1")
            server.should_exit = True


def _bound(place: int, address: Listen) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        one = socket.socket(family, kind, protocol)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(where)
        one.listen(BACKLOG)
    except OSError as fault:
        words = f"listen.{place}: {address.host} port {address.port}: {fault.strerror or fault}"
        raise ConfigurationError([f"{words}; see with `ss -ltnp` who has it, or name another"]) from fault
    return one
