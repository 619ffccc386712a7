"""A new configuration takes over without dropping a session, or changes nothing at all."""

import logging
from typing import Any

import anyio
import pytest
from mcp_types import ToolListChangedNotification

pytestmark = pytest.mark.anyio
MODES = ("legacy", "2026-07-28")
TOKEN, NEXT_TOKEN = "token-of-hermes-0123456789", "next-token-of-hermes-00001"
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "probe_noop", "arguments": {}}}


async def tools_of(client: Any) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", MODES)
async def test_an_open_session_sees_the_new_tools_and_is_told(running: Any, answer: Any, mode: str) -> None:
    told = anyio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async with running.client(mode, message_handler=hear) as client:
        before = await tools_of(client)
        if mode == "legacy":
            await anyio.sleep(0.1)  # the client opens its notification stream in the background
            running.site.document["channels"]["tools"]["tools"] = {"include": ["probe_noop"]}
            assert await running.reload()
        else:
            async with client.listen(tools_list_changed=True) as events:
                running.site.document["channels"]["tools"]["tools"] = {"include": ["probe_noop"]}
                assert await running.reload()
                with anyio.fail_after(5):
                    await anext(aiter(events))
                told.set()
        with anyio.fail_after(5):
            await told.wait()
        assert (len(before), await tools_of(client)) == (8, ["probe_noop"])
        assert answer(await client.call_tool("probe_noop", {}))["success"]
        assert answer(await client.call_tool("probe_echo", {"text": "a"}))["error"] == "__NOT_FOUND__"


@pytest.mark.parametrize(
    "changes",
    [
        {"colour": 1},
        {"channels": {"tools": {"toolsets": ["nothing"]}, "other": {"toolsets": []}}},
        {"probe": {"secret_file": "absent.key"}},
        {"tool_deadline_seconds": "long"},
    ],
)
async def test_a_bad_configuration_changes_nothing_and_says_why(
    running: Any, answer: Any, changes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with running.client("legacy") as client, running.http() as http:
        running.site.tokens("hermes", NEXT_TOKEN)
        assert not await running.reload(**changes)
        assert len(await tools_of(client)) == 8
        assert answer(await client.call_tool("probe_noop", {}))["success"]
        metrics = (await http.get("/metrics")).text
    assert 'mcp_gateway_config_reloads_total{result="refused"} 1.0' in metrics
    refused = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert refused[0].startswith(f"reload refused: {next(iter(changes))}")
    assert refused[-1] == "reload refused; the one before stays in force"


async def test_every_reason_of_a_refusal_is_logged(running: Any, caplog: pytest.LogCaptureFixture) -> None:
    (running.site.directory / "tokens.d" / "claude").write_text("nonsense")
    assert not await running.reload(probe={"secret_file": "absent.key"})
    assert "clients.1.tokens_file: " in caplog.text
    assert "probe.secret_file: " in caplog.text
    running.site.path.write_text("a: [")
    from mcp_gateway.reload import reload

    assert not await reload(running.gateway, running.site.path)
    assert "is not YAML" in caplog.text


async def test_a_token_is_exchanged_without_a_pause(running: Any) -> None:
    async with running.session() as client:
        running.site.tokens("hermes", TOKEN, NEXT_TOKEN)
        assert await running.reload()
        for token in (TOKEN, NEXT_TOKEN):
            client.headers["Authorization"] = f"Bearer {token}"
            assert (await client.post("/mcp/tools", json=CALL)).status_code == 200
        running.site.tokens("hermes", NEXT_TOKEN)
        assert await running.reload()
        assert (await client.post("/mcp/tools", json=CALL)).status_code == 200
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        assert (await client.post("/mcp/tools", json=CALL)).status_code == 403


async def test_a_tokens_file_that_is_gone_locks_its_client_out(running: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with running.session() as client:
        (running.site.directory / "tokens.d" / "hermes").unlink()
        assert await running.reload()
        assert (await client.post("/mcp/tools", json=CALL)).status_code == 403
    assert "this client can do nothing" in caplog.text


@pytest.mark.parametrize("lost", ["client", "channel", "token"])
async def test_who_loses_the_right_loses_the_session_and_its_streams(running: Any, lost: str) -> None:
    ended = anyio.Event()

    async def listen(client: Any) -> None:
        async with client.stream("GET", "/mcp/tools", timeout=30) as stream:
            assert stream.status_code == 200
            opened.set()
            async for _ in stream.aiter_bytes():
                pass
        ended.set()

    opened = anyio.Event()
    async with running.session() as client, running.http() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(listen, client)
        with anyio.fail_after(5):
            await opened.wait()
        if lost == "client":
            del running.site.document["clients"][0]
        elif lost == "channel":
            running.site.document["clients"][0]["channels"] = []
        else:
            running.site.tokens("hermes", NEXT_TOKEN)
        assert await running.reload()
        with anyio.fail_after(5):
            await ended.wait()
        assert (await other.post("/mcp/tools", json=CALL)).status_code == 403
    assert [session.client for session in running.gateway.entrance.sessions] == (["hermes"] if lost == "token" else [])


async def test_a_stream_of_the_newer_era_ends_with_its_token(running: Any, modern_request: Any) -> None:
    headers, body = modern_request("subscriptions/listen", notifications={"toolsListChanged": True})
    opened, ended = anyio.Event(), anyio.Event()

    async def listen(client: Any) -> None:
        async with client.stream("POST", "/mcp/tools", headers=headers, json=body, timeout=30) as stream:
            assert stream.status_code == 200
            async for _ in stream.aiter_bytes():
                opened.set()
        ended.set()

    async with running.http() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(listen, client)
        with anyio.fail_after(5):
            await opened.wait()
        running.site.tokens("hermes", NEXT_TOKEN)
        assert await running.reload()
        with anyio.fail_after(5):
            await ended.wait()


async def test_channels_come_and_go(running: Any, answer: Any) -> None:
    async with running.http() as http, running.client("legacy") as client:
        assert (await http.get("/mcp/extra")).status_code == 404
        running.site.document["channels"]["extra"] = {"toolsets": ["mirror"]}
        running.site.document["clients"][0]["channels"] = ["tools", "extra"]
        assert await running.reload()
        async with running.client("legacy", "extra") as extra:
            assert await tools_of(extra) == ["mirror_write", "mirror_slow", "mirror_crash"]
        del running.site.document["channels"]["extra"]
        running.site.document["clients"][0]["channels"] = ["tools"]
        assert await running.reload()
        assert (await http.get("/mcp/extra")).status_code == 404
        assert answer(await client.call_tool("probe_noop", {}))["success"]


async def test_a_backend_whose_section_changed_is_replaced_and_the_old_one_closed(
    running: Any, until: Any, answer: Any
) -> None:
    old = running.site.probe
    async with running.client("legacy") as client:
        assert await running.reload(tool_deadline_seconds=0.2)
        assert running.site.probe is old
        assert await running.reload(probe={"word": "changed"})
        new = running.site.probe
        assert answer(await client.call_tool("probe_noop", {}))["word"] == "changed"
        await until(lambda: bool(old.closed))
    assert (old.opened, old.closed, new.opened, new.closed) == (1, 1, 1, 0)


async def test_a_call_that_runs_while_its_backend_is_replaced_is_finished(
    running: Any, until: Any, answer: Any
) -> None:
    said: list[Any] = []
    old = running.site.probe
    async with running.client("legacy") as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            said.append(answer(await client.call_tool("probe_wait", {"seconds": 0.4})))

        tasks.start_soon(call)
        await until(lambda: bool(old.begun))
        assert await running.reload(probe={"word": "changed"})
        assert old.closed == 0
    assert said == [{"success": True}]


async def test_what_only_a_restart_can_change_is_said(running: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert await running.reload(listen=[{"host": "127.0.0.1", "port": 8711}], state_dir="elsewhere")
    for key in ("listen", "state_dir"):
        assert f"{key}: changed; takes effect at the next restart" in caplog.text
    assert not (running.site.directory / "elsewhere").exists()


async def test_a_client_that_does_not_read_holds_up_nobody(running: Any) -> None:
    async with running.session() as client, client.stream("GET", "/mcp/tools", timeout=30):
        with anyio.fail_after(5):
            for _ in range(40):
                assert await running.reload()
            assert (await client.post("/mcp/tools", json=CALL)).status_code == 200


async def test_all_backends_are_closed_at_the_end(site: Any, serve_site: Any) -> None:
    async with serve_site(site) as running:
        assert await running.reload(probe={"word": "changed"})
    assert [(probe.opened, probe.closed) for probe in site.made] == [(1, 1), (1, 1)]
