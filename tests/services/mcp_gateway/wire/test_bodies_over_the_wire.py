"""Whatever JSON a call is made of, it is answered with HTTP 200 and words, in both eras."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
ERAS = ("handshake", "modern")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def running(shared_site: Any, serve_site: Any) -> AsyncIterator[Any]:
    async with serve_site(shared_site) as running:
        yield running


async def posted(running: Any, era: str, arguments: str, modern_request: Any, tool: str = "probe_echo") -> Any:
    """The response to a call whose arguments are this text."""
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": "HERE"}}
    if era == "handshake":
        async with running.session() as client:
            return await client.post("/mcp/tools", content=spliced(body, arguments))
    headers, body = modern_request("tools/call", name=tool, arguments="HERE")
    async with running.http() as client:
        return await client.post("/mcp/tools", headers=headers, content=spliced(body, arguments))


def spliced(body: Any, arguments: str) -> bytes:
    return json.dumps(body).replace('"HERE"', arguments).encode("utf-8", "surrogatepass")


def answered(response: Any, event: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    result = event(response.text)["result"]
    assert not result.get("isError")
    assert "structuredContent" not in result
    [block] = result["content"]
    said = json.loads(block["text"])
    assert isinstance(said, dict)
    return said


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"text":"a","text":"a"}', "stands twice"),
        ('{"text":"a","weight":NaN}', "NaN"),
        ('{"text":"a","weight":1e999}', "NaN and Infinity"),
        ('{"text":"\\ud800"}', "surrogate"),
        ('{"text":"\ud800"}', "surrogate"),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("7", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ('{"text":' + "[" * 2000 + "]" * 2000 + "}", "nested"),
        ('{"text":' + "[" * 200_000 + "]" * 200_000 + "}", "nested"),
        ('{"text":"a","times":' + "9" * 5000 + "}", "too large"),
        ('{"text":"a","times":"2"}', "'times' must be a whole number from 1 to 5, not text"),
        ('{"text":"a","times":2.0}', "'times' must be a whole number from 1 to 5, not a number"),
        ('{"text":"a","times":true}', "'times' must be a whole number from 1 to 5, not true or false"),
        ('{"text":"a","times":null}', "not null"),
        ('{"text":"a","time":2}', "did you mean 'times'?"),
        ("{}", "'text' is missing"),
    ],
)
async def test_faulty_arguments_are_an_everyday_answer(
    running: Any, modern_request: Any, event: Any, era: str, arguments: str, words: str
) -> None:
    said = answered(await posted(running, era, arguments, modern_request), event)
    assert (said["success"], said["error"]) == (False, "__BAD_ARGUMENT__")
    assert words in said["hint"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_faulty_body_of_an_unknown_tool_tells_of_the_tool(
    running: Any, modern_request: Any, event: Any, era: str
) -> None:
    said = answered(await posted(running, era, "[]", modern_request, tool="invented"), event)
    assert said["error"] == "__NOT_FOUND__"


@pytest.mark.parametrize("era", ERAS)
async def test_every_character_of_unicode_survives_the_way_there_and_back(
    running: Any, modern_request: Any, event: Any, era: str
) -> None:
    text = 'é e\u0301 日本 😀 \u202e\u2028\u2029 \t\r\n \\ " </script> data: x\r\n\r\nevent: y'
    said = answered(await posted(running, era, json.dumps({"text": text}), modern_request), event)
    assert said == {"success": True, "text": text}


async def test_a_call_without_arguments_is_one_without_arguments(running: Any, event: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "probe_noop"}}
    async with running.session() as client:
        assert answered(await client.post("/mcp/tools", json=body), event)["success"] is True


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1}',
        b"[" * 100_000,
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    ],
)
@pytest.mark.parametrize("era", ERAS)
async def test_what_is_no_message_is_a_400_and_never_a_500(
    running: Any, modern_request: Any, era: str, body: bytes
) -> None:
    headers = modern_request("ping")[0] if era == "modern" else {}
    async with running.session() if era == "handshake" else running.http() as client:
        response = await client.post("/mcp/tools", content=body, headers=headers)
    assert response.status_code == 400
    assert "Traceback" not in response.text


@pytest.mark.parametrize(("message", "status"), [("id", 202), ("name", 200), ("jsonrpc", 400)])
async def test_an_odd_call_gets_the_protocols_own_answer(running: Any, event: Any, message: str, status: int) -> None:
    """What is not plainly a call goes the SDK's way, and comes out of it as a refusal and not as a 500."""
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "probe_noop"}}
    (call["params"] if message == "name" else call)[message] = 1.5
    async with running.session() as client:
        response = await client.post("/mcp/tools", json=call)
    assert response.status_code == status
    assert status == 202 or "error" in event(response.text)


async def test_headers_that_disagree_with_the_body_are_refused(running: Any, modern_request: Any) -> None:
    headers, body = modern_request("tools/call", name="probe_noop", arguments={})
    async with running.http() as client:
        for change in (
            {"Mcp-Name": "probe_echo"},
            {"Mcp-Method": "tools/list"},
            {"MCP-Protocol-Version": "2099-01-01"},
        ):
            assert (await client.post("/mcp/tools", headers={**headers, **change}, json=body)).status_code == 400


@pytest.mark.parametrize(("header", "status"), [({"Accept": "text/html"}, 406), ({"Content-Type": "text/plain"}, 400)])
async def test_a_client_that_speaks_something_else_is_told(running: Any, header: dict[str, str], status: int) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "probe_noop"}}
    async with running.session() as client:
        assert (await client.post("/mcp/tools", json=body, headers=header)).status_code == status
