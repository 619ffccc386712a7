"""A client that goes away: its read ends with it, its write is finished and written down."""

from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio
ERAS = ("handshake", "modern")


async def hang_up(running: Any, until: Any, era: str, modern_request: Any, tool: str, seconds: float) -> None:
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
async def test_a_read_ends_with_the_connection(running: Any, until: Any, modern_request: Any, era: str) -> None:
    await hang_up(running, until, era, modern_request, "probe_wait", 30)
    await until(lambda: running.site.probe.cancelled == 1)
    await until(lambda: [row["outcome"] for row in running.site.rows()] == ["cancelled"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_write_is_finished_and_written_down(running: Any, until: Any, modern_request: Any, era: str) -> None:
    await hang_up(running, until, era, modern_request, "mirror_slow", 0.3)
    assert running.site.probe.written == []
    await until(lambda: running.site.probe.written == ["slow"])
    await until(lambda: [row["outcome"] for row in running.site.rows()] == ["started", "ok"])


async def test_a_cancelled_read_ends_and_its_stream_is_closed(running: Any, until: Any, event: Any) -> None:
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


async def test_nobody_cancels_another_sessions_call(running: Any, until: Any) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"name": "probe_wait", "arguments": {"seconds": 0.3}}
    async with running.session() as mine, running.session() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: mine.post("/mcp/tools", json={**call, "params": params}))
        await until(lambda: bool(running.site.probe.begun))
        assert (await other.post("/mcp/tools", json=cancel)).status_code == 202
    assert running.site.probe.cancelled == 0


@pytest.mark.parametrize("request_id", [None, [], {}, 99, "7"])
async def test_a_cancellation_of_nothing_is_nothing(running: Any, until: Any, request_id: object) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    async with running.session() as client:
        assert (await client.post("/mcp/tools", json=cancel)).status_code in (202, 400)
        assert (await client.post("/mcp/tools", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})).status_code == 200


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_gives_up_waiting_ends_its_read(running: Any, until: Any, mode: str) -> None:
    async with running.client(mode) as client:
        with anyio.move_on_after(0.2):
            await client.call_tool("probe_wait", {"seconds": 30})
        await until(lambda: running.site.probe.cancelled == 1)


async def test_a_write_that_runs_at_the_end_of_the_process_is_given_time_and_its_outcome_written_down(
    site: Any, until: Any, serve_site: Any
) -> None:
    async with serve_site(site) as running, running.session() as client, anyio.create_task_group() as tasks:
        params = {"name": "mirror_slow", "arguments": {"seconds": 30}}
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        answers: list[Any] = []

        async def call() -> None:
            answers.append(await client.post("/mcp/tools", json=body))

        tasks.start_soon(call)
        await until(lambda: bool(site.probe.begun))
        running.gateway.stop(0.2)
    assert "__OUTCOME_UNKNOWN__" in answers[0].text
    assert [row["outcome"] for row in site.rows()] == ["started", "__OUTCOME_UNKNOWN__"]
