"""What an agent sees: lists, answers, refusals, in both eras of the protocol."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio
MODES = ("legacy", "2026-07-28")


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_is_listed_called_and_answered_in_compact_json(running: Any, answer: Any, mode: str) -> None:
    async with running.client(mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("probe_noop", {})
    assert list(tools) == [
        "probe_noop",
        "probe_echo",
        "probe_wait",
        "probe_refuse",
        "probe_crash",
        "mirror_write",
        "mirror_slow",
        "mirror_crash",
    ]
    assert answer(result) == {"success": True, "word": "hello", "client": "hermes"}
    assert result.content[0].text == '{"success":true,"word":"hello","client":"hermes"}'
