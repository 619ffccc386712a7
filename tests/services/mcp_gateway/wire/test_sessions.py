"""Sessions belong to the client that opened them, are narrowed at their start, and are bounded."""

from typing import Any

import anyio
import pytest

from mcp_gateway.channels import sessions

pytestmark = pytest.mark.anyio
OTHER_TOKEN = "token-of-claude-9876543210"
NEXT_TOKEN = "next-token-of-hermes-00001"
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "probe_noop", "arguments": {}}}
LIST = {"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {}}


async def names(client: Any, event: Any, path: str = "/mcp/tools") -> list[str]:
    return [tool["name"] for tool in event((await client.post(path, json=LIST)).text)["result"]["tools"]]


async def test_another_clients_session_does_not_exist(running: Any) -> None:
    running.site.document["clients"][1]["channels"] = ["tools", "other"]
    assert await running.reload()
    async with running.session() as mine, running.http(OTHER_TOKEN) as theirs:
        for method, json in (("POST", CALL), ("POST", LIST), ("GET", None), ("DELETE", None)):
            response = await theirs.request(
                method, "/mcp/tools", json=json, headers={"Mcp-Session-Id": mine.headers["Mcp-Session-Id"]}
            )
            assert response.status_code == 404
        assert (await mine.post("/mcp/tools", json=CALL)).status_code == 200


async def test_both_live_tokens_of_a_client_may_use_its_session(running: Any) -> None:
    running.site.tokens("hermes", "token-of-hermes-0123456789", NEXT_TOKEN)
    assert await running.reload()
    async with running.session() as client:
        client.headers["Authorization"] = f"Bearer {NEXT_TOKEN}"
        assert (await client.post("/mcp/tools", json=CALL)).status_code == 200


async def test_a_session_of_another_channel_does_not_exist(running: Any) -> None:
    running.site.document["clients"][0]["channels"] = ["tools", "other"]
    assert await running.reload()
    async with running.session("/mcp/tools") as client:
        assert (await client.post("/mcp/other", json=CALL)).status_code == 404


async def test_an_unknown_session_is_404_so_that_a_client_begins_anew(running: Any) -> None:
    async with running.http() as client:
        for name in ("invented", "x" * 5000, "é".encode(), ""):
            response = await client.post("/mcp/tools", json=CALL, headers={"Mcp-Session-Id": name})
            assert response.status_code == 404


async def test_a_session_that_was_deleted_is_gone(running: Any) -> None:
    async with running.session() as client:
        assert (await client.delete("/mcp/tools")).status_code == 200
        assert (await client.post("/mcp/tools", json=CALL)).status_code == 404
    assert list(running.gateway.entrance.sessions) == []


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("?toolsets=mirror", ["mirror_write", "mirror_slow", "mirror_crash"]),
        ("?toolsets=", []),
        ("?toolsets=invented", []),
        ("?toolsets=mirror,invented", ["mirror_write", "mirror_slow", "mirror_crash"]),
    ],
)
async def test_a_narrowing_is_bound_when_the_session_begins(
    running: Any, event: Any, query: str, tools: list[str]
) -> None:
    async with running.session("/mcp/tools" + query) as client:
        assert await names(client, event) == tools
        assert await names(client, event, "/mcp/tools?toolsets=probe,mirror") == tools
        response = await client.post("/mcp/tools?toolsets=probe", json=CALL)
        assert "__NOT_FOUND__" in response.text


async def test_a_session_without_a_narrowing_is_not_narrowed_later(running: Any, event: Any) -> None:
    async with running.session() as client:
        assert len(await names(client, event, "/mcp/tools?toolsets=")) == 8


@pytest.mark.parametrize(
    ("query", "count"), [("", 8), ("?toolsets=mirror", 3), ("?toolsets=", 0), ("?toolsets=zzz", 0)]
)
async def test_a_request_of_the_newer_era_is_narrowed_by_itself(
    running: Any, modern_request: Any, event: Any, query: str, count: int
) -> None:
    headers, body = modern_request("tools/list")
    async with running.http() as client:
        response = await client.post("/mcp/tools" + query, headers=headers, json=body)
    assert len(event(response.text)["result"]["tools"]) == count


async def test_a_narrowing_never_widens_what_the_channel_or_the_client_shows(running: Any, event: Any) -> None:
    running.site.document["channels"]["tools"]["tools"] = {"include": ["probe_noop"]}
    running.site.document["clients"][0]["tools"] = {"exclude": ["probe_noop"]}
    assert await running.reload()
    async with running.session("/mcp/tools?toolsets=probe,mirror") as client:
        assert await names(client, event) == []


async def test_a_request_of_the_newer_era_cannot_borrow_a_sessions_rights(
    running: Any, modern_request: Any, event: Any
) -> None:
    headers, body = modern_request("tools/list")
    async with running.session() as client:
        response = await client.post("/mcp/tools?toolsets=mirror", headers=headers, json=body)
    assert len(event(response.text)["result"]["tools"]) == 3


async def test_a_clients_sessions_are_bounded_and_the_oldest_idle_one_makes_room(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_PER_CLIENT", 2)
    async with running.session() as first, running.session() as second:
        assert (await first.post("/mcp/tools", json=CALL)).status_code == 200
        async with running.session() as third:
            assert (await second.post("/mcp/tools", json=CALL)).status_code == 404
            assert (await first.post("/mcp/tools", json=CALL)).status_code == 200
            assert (await third.post("/mcp/tools", json=CALL)).status_code == 200


async def test_sessions_in_use_are_not_taken_away_so_the_next_one_is_refused(
    running: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_PER_CLIENT", 1)
    call = {**CALL, "params": {"name": "probe_wait", "arguments": {"seconds": 30}}}
    async with running.session() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.post("/mcp/tools", json=call))
        await until(lambda: bool(running.site.probe.begun))
        async with running.http() as another:
            response = await another.post("/mcp/tools", json={**LIST, "method": "initialize", "params": {}})
            assert (response.status_code, response.json()) == (503, {"error": "too_many_sessions"})
        tasks.cancel_scope.cancel()


async def test_an_idle_session_ends_and_one_in_use_does_not(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "IDLE_SECONDS", 0.2)
    async with running.session() as idle, running.session() as busy:
        for _ in range(4):
            await anyio.sleep(0.1)
            assert (await busy.post("/mcp/tools", json=CALL)).status_code == 200
            for session in running.gateway.entrance.sessions.idle():
                await running.gateway.entrance.end(session)
        assert (await busy.post("/mcp/tools", json=CALL)).status_code == 200
        assert (await idle.post("/mcp/tools", json=CALL)).status_code == 404
