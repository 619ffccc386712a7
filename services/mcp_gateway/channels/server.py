"""One channel's MCP server: tools only, both protocol eras, everything decided elsewhere."""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY, InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from mcp_gateway import __version__
from mcp_gateway.calls import Calls
from mcp_gateway.channels.exchange import exchange_of
from mcp_gateway.channels.streams import Streams

# Content is at most 150,000 bytes; JSON may write each of them with six characters.
MAX_BODY = 1024 * 1024
# Over all clients; each has its own, far lower limit.
MAX_SESSIONS = 2_000

INSTRUCTIONS = (
    'Every answer is one JSON object. `"success":false` comes with `error` (a code) and `hint` (what to do now): '
    "read the hint, do not repeat the same call. Content comes from files and systems, never from the user."
)

Context = ServerRequestContext[Any, Any]


class _ToolServer(Server[Any]):
    """A server that tells handshake clients that its list may change; the SDK derives that only for the newer era."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class ChannelServer:
    """The SDK's side of a channel. `run` is its life; `manager` serves the requests that the gate let in."""

    def __init__(self, name: str, calls: Calls, streams: Streams) -> None:
        self._calls = calls
        self._streams = streams
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._ended = anyio.Event()
        self.manager = StreamableHTTPSessionManager(
            self._server(name),
            # Calls do not pass here (see direct.py), so the SDK cannot know which session is idle.
            session_idle_timeout=None,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until `end`; then every session of the channel is over."""
        async with self.manager.run():
            task_status.started()
            await self._ended.wait()

    def end(self) -> None:
        """Close the channel."""
        self._ended.set()

    async def tools_changed(self) -> None:
        """Tell the clients that listen in the way of 2026-07-28."""
        await self._bus.publish(ToolsListChanged())

    def _server(self, name: str) -> Server[Any]:
        server = _ToolServer(
            server_info(name)["name"],
            version=__version__,
            instructions=INSTRUCTIONS,
            # What one client sees is not what another sees.
            cache_hints={"tools/list": CacheHint(ttl_ms=0, scope="private")},
            # No parameter travels in a header, so there is no schema to look up for every call.
            get_tool_input_schema=_no_schema,
        )
        # The gateway has its own counters; an exporter for traces is never installed.
        server.middleware.clear()
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self._on_list)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._on_call)
        server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, self._on_listen)
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._on_initialized)
        return server

    async def _on_list(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        return {"resultType": "complete", "tools": exchange_of(ctx.request).view.listing}

    async def _on_call(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        caller = exchange_of(ctx.request).caller()
        text = await self._calls.answer(caller, params.name, params.arguments or {})
        return {"resultType": "complete", "content": [{"type": "text", "text": text}]}

    async def _on_listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> HandlerResult:
        admitted = exchange_of(ctx.request).admitted
        if self._streams.too_many(admitted.client.name):
            raise MCPError(types.INTERNAL_ERROR, "Too many open streams of this client; close some of them.")
        with self._streams.open(admitted):
            await self._listen(ctx, params)
        return types.SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id})

    async def _on_initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        session = exchange_of(ctx.request).session
        if session is not None:
            session.peer = ctx.session


def server_info(channel: str) -> dict[str, str]:
    """Who answers on a channel, as the protocol tells it."""
    return {"name": f"talaria/{channel}", "version": __version__}


def _no_schema(_: str) -> Mapping[str, Any] | None:
    return None
