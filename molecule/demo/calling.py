"""How the demo's agent calls tools: with the official MCP client."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


class Agent:
    """Calls tools and gets their answers."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool: one JSON object."""
        result = await self.client.call_tool(tool, arguments)
        (block,) = result.content
        answer: dict[str, Any] = json.loads(getattr(block, "text", "null"))
        return answer


@asynccontextmanager
async def agent_at(url: str, token: str) -> AsyncIterator[Agent]:
    """An agent with a session on a channel."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield Agent(client)


def words(answer: dict[str, Any]) -> str:
    """The code and the hint of a refusal."""
    return f"{answer.get('error')} ({answer.get('hint')})"
