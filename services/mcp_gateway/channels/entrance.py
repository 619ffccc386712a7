"""From the open socket to the right channel's server: gate, body, session, narrowing."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from mcp_gateway.channels.bodies import screen
from mcp_gateway.channels.exchange import KEY, Exchange
from mcp_gateway.channels.gate import METHODS, Admitted, Gate, Refused
from mcp_gateway.channels.server import MAX_BODY, ChannelServer
from mcp_gateway.channels.sessions import Session, Sessions
from mcp_gateway.channels.streams import Streams
from mcp_gateway.channels.views import Views, narrowing_of
from mcp_gateway.channels.wire import BodyTooLarge, Disconnected, read_body, refuse, replayed, text_header

ALLOW = (b"allow", ", ".join(METHODS).encode())
CLOSE = (b"connection", b"close")
SESSION_ID, PROTOCOL_VERSION = b"mcp-session-id", b"mcp-protocol-version"


class Refusals(Protocol):
    """What the entrance needs of the metrics."""

    def refused(self, reason: str) -> None: ...


@dataclass(slots=True)
class Rules:
    """What follows from one configuration; swapped as a whole."""

    gate: Gate
    views: Views


class Entrance:
    """The ASGI application of everything under /mcp/."""

    def __init__(self, rules: Rules, metrics: Refusals) -> None:
        self.rules = rules
        self.servers: dict[str, ChannelServer] = {}
        self.sessions = Sessions()
        self.streams = Streams()
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        verdict = self.rules.gate.decide(scope)
        if isinstance(verdict, Refused):
            await self._turn_away(scope, send, verdict)
        elif scope["method"] == "POST":
            await self._post(verdict, scope, receive, send)
        else:
            await self._session_only(verdict, scope, receive, send)

    async def end(self, session: Session) -> None:
        """End a session as its own client would."""
        self.sessions.ended(session.id)
        server = self.servers.get(session.channel)
        if server is not None:
            headers = [(SESSION_ID, session.id.encode())]
            scope = {"type": "http", "method": "DELETE", "path": "/", "query_string": b"", "headers": headers}
            await server.manager.handle_request({**scope, "user": _user(session.client)}, _empty, _ignore)

    async def _turn_away(self, scope: Scope, send: Send, verdict: Refused) -> None:
        self._metrics.refused(verdict.word)
        await refuse(send, verdict.status, verdict.word, *([ALLOW] if verdict.status == 405 else []))

    async def _post(self, admitted: Admitted, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, receive, MAX_BODY)
        except BodyTooLarge:
            self._metrics.refused("too_large")
            return await refuse(send, 413, "too_large", CLOSE)
        except Disconnected:
            return None
        screened = screen(body)
        session = self._session(admitted, scope)
        narrowing = session.toolsets if session else narrowing_of(scope["query_string"])
        exchange = self._exchange(admitted, session, narrowing)
        exchange.fault = screened.fault
        receive = replayed(screened.body, receive, exchange.leave)
        if session is not None:
            with self.sessions.using(session):
                return await self._serve(exchange, scope, receive, send)
        if screened.method == "initialize":
            if not await self._room_for(admitted):
                self._metrics.refused("too_many_sessions")
                return await refuse(send, 503, "too_many_sessions")
            send = self._opening(exchange, narrowing, send)
        return await self._serve(exchange, scope, receive, send)

    async def _session_only(self, admitted: Admitted, scope: Scope, receive: Receive, send: Send) -> None:
        """GET and DELETE mean a session; without one they are answered at once instead of being held open."""
        if not text_header(scope, SESSION_ID):
            return await refuse(send, 400, "no_session")
        session = self._session(admitted, scope)
        exchange = self._exchange(admitted, session, session.toolsets if session else frozenset())
        if session is None:
            return await self._serve(exchange, scope, receive, send)
        with self.sessions.using(session):
            if scope["method"] == "DELETE":
                await self._serve(exchange, scope, receive, send)
                self.sessions.ended(session.id)
            else:
                with self.streams.open(admitted):
                    await self._serve(exchange, scope, receive, send)
        return None

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        server = self.servers[exchange.admitted.channel]
        user = _user(exchange.admitted.client.name)
        await server.manager.handle_request({**scope, KEY: exchange, "user": user}, receive, send)

    def _exchange(self, admitted: Admitted, session: Session | None, narrowing: frozenset[str] | None) -> Exchange:
        return Exchange(admitted, self.rules.views.view(admitted.channel, admitted.client, narrowing), session)

    def _session(self, admitted: Admitted, scope: Scope) -> Session | None:
        """The session a request belongs to; requests of the newer era belong to none, whatever they carry."""
        version = text_header(scope, PROTOCOL_VERSION)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return None
        identity = text_header(scope, SESSION_ID)
        session = self.sessions.find(identity, admitted.client.name) if identity else None
        return session if session and session.channel == admitted.channel else None

    async def _room_for(self, admitted: Admitted) -> bool:
        """Whether the client may open a session; its oldest idle one makes room."""
        self.sessions.forget_idle()
        if self.sessions.too_many(admitted.client.name):
            oldest = self.sessions.oldest_idle(admitted.client.name)
            if oldest is None:
                return False
            await self.end(oldest)
        return True

    def _opening(self, exchange: Exchange, narrowing: frozenset[str] | None, send: Send) -> Send:
        """A `send` that remembers the session which this response begins."""
        admitted = exchange.admitted

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                identity = next((value for key, value in message["headers"] if key.lower() == SESSION_ID), b"")
                if identity:
                    name = identity.decode("ascii")
                    self.sessions.opened(Session(name, admitted.client.name, admitted.channel, narrowing))
            await send(message)

        return watch


@lru_cache(maxsize=256)
def _user(client: str) -> AuthenticatedUser:
    """The SDK binds a session to this; it names the client, so that both its tokens may use the session."""
    return AuthenticatedUser(AccessToken(token="", client_id=client, scopes=[]))


async def _empty() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    return None
