"""From the open socket to the right channel's server: gate, body, session, narrowing."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import Message, Receive, Scope, Send

from mcp_gateway.calls import Caller, Calls
from mcp_gateway.channels.bodies import Screened, screen
from mcp_gateway.channels.direct import (
    PlainCall,
    answer,
    answer_modern,
    cancelled,
    is_modern,
    modern_call,
    plain_call,
    watched,
)
from mcp_gateway.channels.exchange import KEY, Exchange
from mcp_gateway.channels.gate import METHODS, Admitted, Gate, Refused
from mcp_gateway.channels.server import MAX_BODY, ChannelServer, server_info
from mcp_gateway.channels.sessions import SWEEP_SECONDS, Session, Sessions
from mcp_gateway.channels.streams import Streams
from mcp_gateway.channels.views import Views, narrowing_of
from mcp_gateway.channels.wire import LARGE_BODIES, BodyRefused, Disconnected, read_body, refuse, replayed, text_header

ALLOW = (b"allow", ", ".join(METHODS).encode())
CLOSE = (b"connection", b"close")
SESSION_ID = b"mcp-session-id"


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

    def __init__(self, rules: Rules, calls: Calls, metrics: Refusals) -> None:
        self.rules = rules
        self._calls = calls
        self.servers: dict[str, ChannelServer] = {}
        self.sessions = Sessions()
        self.streams = Streams()
        self._metrics = metrics
        # By client: whose turn it is to send a large body.
        self._large = defaultdict[str, anyio.Semaphore](lambda: anyio.Semaphore(LARGE_BODIES))

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
        rules = self.rules
        try:
            body = await read_body(scope, receive, MAX_BODY, self._large[admitted.client.name])
        except BodyRefused as fault:
            self._metrics.refused(fault.word)
            return await refuse(send, fault.status, fault.word, CLOSE)
        except Disconnected:
            return None
        if self.rules is not rules:
            # The configuration changed while the body was on its way: the new one decides.
            verdict = self.rules.gate.decide(scope)
            if isinstance(verdict, Refused):
                return await self._turn_away(scope, send, verdict)
            admitted = verdict
        screened = screen(body)
        session = self._session(admitted, scope)
        if session is not None:
            with self.sessions.using(session):
                return await self._in_session(admitted, session, screened, (scope, receive, send))
        narrowing = narrowing_of(scope["query_string"])
        exchange = self._exchange(admitted, None, narrowing, screened.fault)
        if screened.method == "initialize":
            if not await self._room_for(admitted):
                self._metrics.refused("too_many_sessions")
                return await refuse(send, 503, "too_many_sessions")
            send = self._opening(admitted, narrowing, send)
        call = modern_call(screened.message, scope) if is_modern(scope) else None
        if call is not None:
            return await self._answer_modern(exchange, call, receive, send)
        return await self._serve(exchange, scope, replayed(screened.body, receive, exchange.leave), send)

    async def _in_session(
        self, admitted: Admitted, session: Session, screened: Screened, connection: tuple[Scope, Receive, Send]
    ) -> None:
        scope, receive, send = connection
        exchange = self._exchange(admitted, session, session.toolsets, screened.fault)
        call = plain_call(screened.message, scope)
        if call is not None:
            return await self._answer(exchange, session, call, receive, send)
        if screened.method == "notifications/cancelled" and isinstance(params := screened.message.get("params"), dict):
            session.cancel(params.get("requestId"))
        return await self._serve(exchange, scope, replayed(screened.body, receive, exchange.leave), send)

    async def _answer(
        self, exchange: Exchange, session: Session, call: PlainCall, receive: Receive, send: Send
    ) -> None:
        caller = session.calls[call.id] = exchange.caller()
        try:
            text = await self._text(caller, call, receive)
        finally:
            session.calls.pop(call.id, None)
        if caller.gone:
            return await cancelled(send, call, session.id)
        return await answer(send, call, session.id, text)

    async def _answer_modern(self, exchange: Exchange, call: PlainCall, receive: Receive, send: Send) -> None:
        text = await self._text(exchange.caller(), call, receive)
        await answer_modern(send, call, server_info(exchange.admitted.channel), text)

    async def _text(self, caller: Caller, call: PlainCall, receive: Receive) -> str:
        async with watched(receive, caller.leave):
            return await self._calls.answer(caller, call.name, call.arguments)

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
                await self._stream(exchange, scope, receive, send)
        return None

    async def _stream(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a notification stream, which may be ended from here; then it ends in an orderly way."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        with self.streams.open(exchange.admitted) as ending:
            await self._serve(exchange, scope, receive, noting)
        if ending.cancelled_caught:
            if not started:
                return await refuse(send, 404, "not_found")
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        server = self.servers.get(exchange.admitted.channel)
        if server is None:  # closed a moment ago
            return await refuse(send, 404, "not_found")
        user = _user(exchange.admitted.client.name)
        return await server.manager.handle_request({**scope, KEY: exchange, "user": user}, receive, send)

    def _exchange(
        self, admitted: Admitted, session: Session | None, narrowing: frozenset[str] | None, fault: str = ""
    ) -> Exchange:
        view = self.rules.views.view(admitted.channel, admitted.client, narrowing)
        return Exchange(admitted, view, session, fault)

    def _session(self, admitted: Admitted, scope: Scope) -> Session | None:
        """The session a request belongs to; requests of the newer era belong to none, whatever they carry."""
        if is_modern(scope):
            return None
        identity = text_header(scope, SESSION_ID)
        session = self.sessions.find(identity, admitted.client.name) if identity else None
        return session if session and session.channel == admitted.channel else None

    async def _room_for(self, admitted: Admitted) -> bool:
        """Whether the client may open a session; its oldest idle one makes room."""
        if self.sessions.too_many(admitted.client.name):
            oldest = self.sessions.oldest_idle(admitted.client.name)
            if oldest is None:
                return False
            await self.end(oldest)
        return True

    async def sweep(self) -> None:
        """End sessions that nobody uses any more, for ever."""
        while True:
            await anyio.sleep(SWEEP_SECONDS)
            for session in self.sessions.idle():
                await self.end(session)

    def _opening(self, admitted: Admitted, narrowing: frozenset[str] | None, send: Send) -> Send:
        """A `send` that remembers the session which this response begins."""

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
