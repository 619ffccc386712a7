"""A load of tool calls over plain sockets: so light that the server, not the load, is what is measured."""

import asyncio
import json
import statistics
import sys
import time
from dataclasses import dataclass

import uvloop

PROTOCOL = "2025-11-25"


@dataclass(slots=True)
class Session:
    """One MCP session of the handshake era on one kept-open connection."""

    host: str
    path: str
    token: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    headers: str = ""

    @classmethod
    async def open(cls, port: int, path: str, token: str) -> "Session":
        """Connect and shake hands."""
        session = cls(f"127.0.0.1:{port}", path, token, *await asyncio.open_connection("127.0.0.1", port))
        client = {"name": "bench", "version": "0"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        head, _ = await session.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        identity = next(line[16:] for line in head.split("\r\n") if line.lower().startswith("mcp-session-id: "))
        session.headers = f"Mcp-Session-Id: {identity}\r\nMCP-Protocol-Version: {PROTOCOL}\r\n"
        await session.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return session

    async def call(self, number: int) -> None:
        """One tool call whose answer must be the right one."""
        params = {"name": f"bench_tool_{number % 32:02}", "arguments": {"text": "some words to look for", "limit": 5}}
        message = {"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params}
        head, body = await self.post(message)
        if " 200 " not in head[:16] or rb"\"answer\":42" not in body or f'"id":{number + 1}'.encode() not in body:
            raise RuntimeError(f"A call was not answered: {head} {body!r}")

    async def post(self, message: dict[str, object]) -> tuple[str, bytes]:
        """Header and body of the answer."""
        body = json.dumps(message).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{self.headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        if "transfer-encoding: chunked" in answer.lower():
            return answer, await self._chunks()
        length = next(line for line in answer.lower().split("\r\n") if line.startswith("content-length:"))
        return answer, await self.reader.readexactly(int(length.partition(":")[2]))

    async def _chunks(self) -> bytes:
        parts = []
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            parts.append(await self.reader.readexactly(size + 2))
        await self.reader.readexactly(2)
        return b"".join(parts)


async def load(port: int, path: str, token: str, sessions: int, seconds: float) -> dict[str, float]:
    """Calls a second over so many sessions, and the median time of one call."""
    opened = [await Session.open(port, path, token) for _ in range(sessions)]
    times: list[float] = []
    began = time.perf_counter()
    end = began + seconds

    async def repeat(session: Session) -> None:
        number = 0
        while (before := time.perf_counter()) < end:
            await session.call(number)
            times.append(time.perf_counter() - before)
            number += 1

    await asyncio.gather(*map(repeat, opened))
    took = time.perf_counter() - began
    for session in opened:
        session.writer.close()
    return {"calls_per_second": len(times) / took, "p50_ms": statistics.median(times) * 1000}


if __name__ == "__main__":
    port, path, token, sessions, seconds = sys.argv[1:]
    print(json.dumps(uvloop.run(load(int(port), path, token, int(sessions), float(seconds)))))
