"""The two servers that are compared, each started as a process of its own with the same HTTP server and loop.

`bare` is the SDK's low-level server with 32 tools that answer at once. `gateway` is the whole gateway (gate, policy,
validation, audit, metrics) with the same 32 tools.
"""

import hashlib
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from mcp import types
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from mcp_gateway import logs, serving
from mcp_gateway.schemas import definition
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Section
from mcp_gateway.tools import Arguments, Call, Condition, Tool

TOOLS = tuple(f"bench_tool_{number:02}" for number in range(32))
CHANNEL = "bench"
TOKEN = "bench-token-that-only-this-machine-sees"
MEMBERS = {"answer": 42}


class Text(Arguments):
    """What an agent typically sends: one required text, one optional number."""

    text: str = Field(description="Some text.")
    limit: int | None = Field(None, ge=1, le=100, description="Some limit.")


async def _nothing(call: Call, arguments: Text) -> Mapping[str, object]:
    return MEMBERS


def _tools() -> list[Tool]:
    return [Tool(name, CHANNEL, "Does nothing and says so.", Text, _nothing) for name in TOOLS]


class _NoBackend:
    """The backend of tools that need none."""

    async def open(self) -> None:
        return None

    async def close(self) -> None:
        return None

    async def condition(self) -> Condition:
        return Condition("ok")


class _NoSettings(BaseModel):
    """The section of tools that need no settings."""


def write_configuration(place: Path, port: int) -> Path:
    """A configuration of the gateway with the bench's tools only."""
    path = place / "mcp_gateway.yml"
    client = {"name": "bench", "tokens_file": "token", "channels": [CHANNEL], "rate_per_minute": 1_000_000}
    document = {
        "listen": [{"host": "127.0.0.1", "port": port}],
        "state_dir": "state",
        "clients": [client],
        "channels": {CHANNEL: {"toolsets": [CHANNEL]}},
        CHANNEL: {},
    }
    path.write_text(json.dumps(document))
    (place / "token").write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    return path


class _Bare:
    """The SDK's low-level server as an ASGI application."""

    def __init__(self) -> None:
        listing = [types.Tool.model_validate(definition(tool)) for tool in _tools()]
        text = json.dumps({"success": True, **MEMBERS}, separators=(",", ":"))

        async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=listing)

        async def on_call(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

        server: Server[Any] = Server("bare", on_list_tools=on_list, on_call_tool=on_call)
        self.manager = StreamableHTTPSessionManager(server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.manager.handle_request(scope, receive, send)


async def _serve_bare(port: int) -> None:
    bare = _Bare()
    config = uvicorn.Config(
        bare, port=port, loop="none", http="httptools", lifespan="off", log_config=None, access_log=False
    )
    async with bare.manager.run():
        await uvicorn.Server(config).serve()


def main(kind: str, place: Path, port: int) -> None:
    """Serve one of the two on this port until SIGTERM."""
    if kind == "bare":
        logging.basicConfig(level=logging.WARNING)
        uvloop.run(_serve_bare(port))
        return
    section = Section(CHANNEL, _NoSettings, {CHANNEL: TOOLS}, lambda model, secrets: (_NoBackend(), _tools()))
    path = write_configuration(place, port)
    secrets = Secrets.beside(path)
    logs.set_up(lambda: secrets.known)
    serving.serve(path, (section,), secrets)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
