"""The whole gateway: what one configuration makes of it, and how it lives, changes and ends."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from mcp.server.session import ServerSession
from starlette.types import Receive, Scope, Send

from mcp_gateway import backends as standing
from mcp_gateway.approvals.asking import Asking
from mcp_gateway.approvals.callers import caller_of
from mcp_gateway.approvals.dispatcher import Dispatcher
from mcp_gateway.approvals.kept import Kept
from mcp_gateway.audit import AuditLog
from mcp_gateway.backends import Backends
from mcp_gateway.calls import Caller, Calls
from mcp_gateway.channels.entrance import Entrance, Rules
from mcp_gateway.channels.gate import Gate, guarded
from mcp_gateway.channels.server import ChannelServer
from mcp_gateway.channels.wire import refuse
from mcp_gateway.metrics import Metrics
from mcp_gateway.planning import Plan, plan
from mcp_gateway.policies.hosts import AllowedHosts
from mcp_gateway.ports.approvals import ApprovalsPort
from mcp_gateway.readiness import DOWN, Readiness, Standings
from mcp_gateway.routes.operations import PATHS, Operations
from mcp_gateway.settings.model import Settings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue
from mcp_gateway.tools import Condition

# How long a client may take to be told that its tools changed; one that does not read must not hold up the others.
TELL_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Gateway:
    """The running service as an ASGI application. Use `open_gateway`."""

    def __init__(self, first: Plan, catalogue: Catalogue, secrets: Secrets, audit: AuditLog, tasks: TaskGroup) -> None:
        self.present = first
        self.catalogue = catalogue
        self.secrets = secrets
        self.metrics = Metrics()
        self._audit = audit
        self._tasks = tasks
        self._kept = Kept(first.settings.state_dir)
        asking = Asking(self._approvals, self._kept, self.metrics, lambda: secrets.known)
        deadline = first.settings.core.tool_deadline_seconds
        self.calls = Calls(audit, self.metrics, deadline, lambda: secrets.known, asking)
        self.dispatcher = Dispatcher(
            self._approvals, self._kept, self.calls, self._caller, first.settings.state_dir, self.metrics
        )
        self.entrance = Entrance(_rules(first), self.calls, self.metrics)
        self.readiness = Readiness(self._standings, self._audit_condition, self._told, catalogue)
        self._operations = Operations(self._ready, self._render)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        if scope["path"] in PATHS:
            await self._operations(scope, send)
        elif guarded(scope):
            await self.entrance(scope, receive, send)
        else:
            await refuse(send, 404, "not_found")

    async def put_in_force(self, new: Plan) -> None:
        """Serve by this plan from now on. Nothing can fail here that could be known before."""
        old = self.present
        await standing.open_new(new.backends, old.backends)
        self.present = new
        self.calls.deadline_seconds = new.settings.core.tool_deadline_seconds
        self.metrics.know_tools(tool.name for tool in standing.tools_of(new.backends))
        await self._open_channels(new.settings)
        self.entrance.rules = _rules(new)
        self.readiness.stale()
        self.dispatcher.changed()
        await self._close_channels(new.settings)
        await self._end_sessions(new)
        if old is not new:
            self._tasks.start_soon(self._close_backends_later, old.backends, new.backends)

    async def tell_tools_changed(self) -> None:
        """Tell every connected client of either era to ask for its tools again."""
        for server in self.entrance.servers.values():
            await server.tools_changed()
        for session in self.entrance.sessions:
            if session.peer is not None:
                self._tasks.start_soon(_tell, session.peer)

    def stop(self, seconds: float) -> None:
        """End the streams that only wait, and give what still writes this long to finish."""
        self.entrance.streams.end_all()
        self.dispatcher.stop()
        self.calls.hurry(seconds)

    def close(self) -> None:
        """Let go of what was kept on disk."""
        self._kept.close()

    def _approvals(self) -> ApprovalsPort | None:
        return standing.approvals_of(self.present.backends)

    def _caller(self, client: str, channel: str) -> Caller:
        return caller_of(self.present.settings, self.present.views, client, channel)

    async def _open_channels(self, settings: Settings) -> None:
        for name in settings.channels:
            if name not in self.entrance.servers:
                server = ChannelServer(name, self.calls, self.entrance.streams)
                await self._tasks.start(server.run)
                self.entrance.servers[name] = server

    async def _close_channels(self, settings: Settings) -> None:
        for name in [name for name in self.entrance.servers if name not in settings.channels]:
            self.entrance.servers.pop(name).end()
            for session in self.entrance.sessions:
                if session.channel == name:
                    self.entrance.sessions.ended(session.id)

    async def _end_sessions(self, new: Plan) -> None:
        """A client that is gone, or has lost a channel, keeps no session and no stream."""
        granted = {client.name: client.channels for client in new.settings.clients}
        for session in self.entrance.sessions:
            if session.channel not in granted.get(session.client, []):
                await self.entrance.end(session)
        self.entrance.streams.end_unless(
            lambda admitted: (
                admitted.token_hash in new.clients.hashes and admitted.channel in granted.get(admitted.client.name, [])
            )
        )

    async def _close_backends_later(self, old: Backends, kept: Backends) -> None:
        """Calls that began with a backend may finish with it."""
        try:
            await anyio.sleep(self.calls.deadline_seconds)
        finally:
            with anyio.CancelScope(shield=True):
                await standing.close_old(old, kept)

    async def _ready(self) -> dict[str, object]:
        await self.readiness.ask()
        return self.readiness.report()

    def _told(self, name: str, condition: Condition) -> None:
        self.metrics.backend(name, condition)
        standing_ = self.present.backends.get(name)
        # Only the vault has a remote that may lag behind: by so many commits, the oldest so many seconds old.
        unpushed: tuple[int, float] | None = getattr(standing_.backend, "unpushed", None) if standing_ else None
        if unpushed is not None:
            self.metrics.vault_unpushed(*unpushed)

    def _render(self) -> bytes:
        self.metrics.audit(self._audit.healthy)
        for channel in self.present.settings.channels:
            self.metrics.sessions(channel, self.entrance.sessions.count(channel))
        return self.metrics.render()

    def _standings(self) -> Standings:
        views = self.present.views
        shown = {name: views.view(name).tools.values() for name in self.present.settings.channels}
        return Standings(self.present.backends, shown)

    def _audit_condition(self) -> Condition:
        return Condition("ok") if self._audit.healthy else Condition(DOWN, self._audit.reason)


@asynccontextmanager
async def open_gateway(path: Path, catalogue: Catalogue, secrets: Secrets) -> AsyncIterator[Gateway]:
    """A gateway that serves by this configuration until the context ends. Raise ConfigurationError."""
    first = plan(path, catalogue, secrets)
    for words in first.remarks:
        logger.warning("%s", words)
    audit = AuditLog.open(first.settings.state_dir, sys.stderr)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(audit.run)
            async with anyio.create_task_group() as serving:
                gateway = Gateway(first, catalogue, secrets, audit, serving)
                await standing.open_new(first.backends, {})
                await gateway.put_in_force(first)
                serving.start_soon(gateway.entrance.sweep)
                serving.start_soon(gateway.dispatcher.run)
                try:
                    yield gateway
                finally:
                    serving.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await standing.close_old(gateway.present.backends, {})
                gateway.close()
            tasks.cancel_scope.cancel()
    finally:
        audit.close()


def _rules(new: Plan) -> Rules:
    allowed = AllowedHosts(new.settings.core.allowed_hosts)
    return Rules(Gate(new.clients, new.settings.channels, allowed), new.views)


async def _tell(peer: ServerSession) -> None:
    with anyio.move_on_after(TELL_SECONDS):
        await peer.send_tool_list_changed()
