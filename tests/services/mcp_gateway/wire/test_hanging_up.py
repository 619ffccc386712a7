"""A client that goes away: its read ends with it, its write is finished and written down."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio
ERAS = ("handshake", "modern")


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():
            await anyio.sleep(0.01)


async def hang_up(running: Any, era: str, modern_request: Any, tool: str, seconds: float) -> None:
    """Begin a call and drop the connection while it runs."""
    arguments = {"seconds": seconds}
    probe = running.site.probe
    headers: dict[str, str] = {}
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    body["params"] = {"name": tool, "arguments": arguments}
    if era == "modern":
        headers, body = modern_request("tools/call", name=tool, arguments=arguments)
    async with running.http() if era == "modern" else running.session() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.post("/mcp/tools", json=body, headers=headers))
        await until(lambda: bool(probe.begun))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("era", ERAS)
async def test_a_read_ends_with_the_connection(running: Any, modern_request: Any, era: str) -> None:
    await hang_up(running, era, modern_request, "probe_wait", 30)
    await until(lambda: running.site.probe.cancelled == 1)
    await until(lambda: [row["outcome"] for row in running.site.rows()] == ["cancelled"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_write_is_finished_and_written_down(running: Any, modern_request: Any, era: str) -> None:
    await hang_up(running, era, modern_request, "mirror_slow", 0.3)
    assert running.site.probe.written == []
    await until(lambda: running.site.probe.written == ["slow"])
    await until(lambda: [row["outcome"] for row in running.site.rows()] == ["started", "ok"])


async def test_a_cancelled_read_ends_and_its_stream_is_closed(running: Any, event: Any) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "late"}}
    answers: list[Any] = []
    async with running.session() as client, anyio.create_task_group() as tasks:

        async def ask() -> None:
            params = {"name": "probe_wait", "arguments": {"seconds": 30}}
            answers.append(await client.post("/mcp/tools", json={**call, "params": params}))

        tasks.start_soon(ask)
        await until(lambda: bool(running.site.probe.begun))
        assert (await client.post("/mcp/tools", json=cancel)).status_code == 202
    assert event(answers[0].text)["error"]["code"] == -32800
    assert running.site.probe.cancelled == 1


async def test_nobody_cancels_another_sessions_call(running: Any) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"name": "probe_wait", "arguments": {"seconds": 0.3}}
    async with running.session() as mine, running.session() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: mine.post("/mcp/tools", json={**call, "params": params}))
        await until(lambda: bool(running.site.probe.begun))
        assert (await other.post("/mcp/tools", json=cancel)).status_code == 202
    assert running.site.probe.cancelled == 0


@pytest.mark.parametrize("request_id", [None, [], {}, 99, "7"])
async def test_a_cancellation_of_nothing_is_nothing(running: Any, request_id: object) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    async with running.session() as client:
        assert (await client.post("/mcp/tools", json=cancel)).status_code in (202, 400)
        assert (await client.post("/mcp/tools", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})).status_code == 200


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_gives_up_waiting_ends_its_read(running: Any, mode: str) -> None:
    async with running.client(mode) as client:
        with anyio.move_on_after(0.2):
            await client.call_tool("probe_wait", {"seconds": 30})
        await until(lambda: running.site.probe.cancelled == 1)
