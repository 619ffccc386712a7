"""Who gets in: decided before anything is parsed, in this order, and told in one word."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
TOKEN = b"token-of-hermes-0123456789"
BEARER = b"Authorization: Bearer " + TOKEN
OTHER = b"Authorization: Bearer token-of-claude-9876543210"
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE")
PATHS = (
    "/mcp",
    "/mcp/",
    "/mcp/tools",
    "/mcp/tools/",
    "/mcp/other",
    "/mcp/nowhere",
    "/mcp/tools?toolsets=probe",
    "/mcp//tools",
    "//mcp/tools",
    "/%6dcp/tools",
    "/mcp%2ftools",
    "/MCP/tools",
    "/mcp/../mcp/tools",
)
FORBIDDEN = b'{"error":"forbidden"}'


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def running(shared_site: Any, serve_site: Any) -> AsyncIterator[Any]:
    async with serve_site(shared_site) as running:
        yield running


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", PATHS)
async def test_no_bearer_is_403_on_every_path_and_method(running: Any, method: str, path: str) -> None:
    status, body = await running.raw(running.head(method, path))
    assert (status, body) == (403, b"" if method == "HEAD" else FORBIDDEN)


@pytest.mark.parametrize(
    "headers",
    [
        [b"Authorization: Bearer"],
        [b"Authorization: Bearer "],
        [b"Authorization:"],
        [b"Authorization: Bearer wrong"],
        [BEARER[:-1]],
        [BEARER + b"0"],
        [BEARER.replace(b"hermes", b"Hermes")],
        [b"Authorization: Basic " + TOKEN],
        [b"Authorization: " + TOKEN],
        [b"Authorization: Bearer  " + TOKEN],
        [b"Authorization: Bearer\t" + TOKEN],
        [b'Authorization: Bearer "' + TOKEN + b'"'],
        [b"Authorization: Bearer " + TOKEN + b"," + TOKEN],
        [b"Authorization: Bearer " + TOKEN + b" x"],
        [b"Authorization: Bearer " + TOKEN + b"\xe9"],
        [b"Authorization: Bearer \xff\xfe"],
        [b"Authorization: Token Bearer " + TOKEN],
        [BEARER, BEARER],
        [BEARER, b"Authorization: Bearer wrong"],
        [b"Proxy-Authorization: Bearer " + TOKEN],
        [b"X-Authorization: Bearer " + TOKEN],
        [b"Cookie: Authorization=Bearer " + TOKEN],
    ],
)
async def test_a_malformed_or_unknown_bearer_is_403_and_tells_nothing(running: Any, headers: list[bytes]) -> None:
    assert await running.raw(running.head("POST", "/mcp/tools", *headers, b"Content-Length: 0")) == (403, FORBIDDEN)


async def test_a_token_in_the_query_or_the_path_opens_nothing(running: Any) -> None:
    for path in (f"/mcp/tools?token={TOKEN.decode()}", f"/mcp/tools?access_token={TOKEN.decode()}"):
        assert (await running.raw(running.head("POST", path)))[0] == 403


async def test_the_hash_of_a_token_is_no_token(running: Any) -> None:
    [known, *_] = running.gateway.present.clients.hashes
    assert (await running.raw(running.head("POST", "/mcp/tools", b"Authorization: Bearer " + known.hex().encode())))[
        0
    ] == 403


@pytest.mark.parametrize("scheme", [b"bearer", b"BEARER", b"BeArEr"])
async def test_the_scheme_is_the_same_word_in_any_case(running: Any, scheme: bytes) -> None:
    status, _ = await running.raw(running.head("GET", "/mcp/tools", b"Authorization: " + scheme + b" " + TOKEN))
    assert status == 400


@pytest.mark.parametrize("method", METHODS)
async def test_a_known_bearer_learns_that_there_is_no_such_channel(running: Any, method: str) -> None:
    for path in (
        "/mcp/nowhere",
        "/mcp/tools/",
        "/mcp/",
        "/mcp",
        "/mcp/tools/x",
        "/mcp/TOOLS",
        "/%6dcp/tools",
        "/mcp%2ftools",
    ):
        status, _ = await running.raw(running.head(method, path, BEARER))
        assert status == 404, path


async def test_a_channel_that_is_not_granted_is_403(running: Any) -> None:
    assert await running.raw(running.head("GET", "/mcp/other", BEARER)) == (403, FORBIDDEN)
    assert await running.raw(running.head("GET", "/mcp/tools", OTHER)) == (403, FORBIDDEN)
    assert (await running.raw(running.head("GET", "/mcp/other", OTHER)))[0] == 400


async def test_head_is_405_and_get_without_a_session_400_at_once(running: Any) -> None:
    assert await running.raw(running.head("HEAD", "/mcp/tools", BEARER)) == (405, b"")
    for accept in (b"Accept: */*", b"Accept: text/event-stream", b"Accept: text/html"):
        assert (await running.raw(running.head("GET", "/mcp/tools", BEARER, accept)))[0] == 400
    assert (await running.raw(running.head("DELETE", "/mcp/tools", BEARER)))[0] == 400


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "PATCH", "TRACE", "HEAD"])
async def test_other_methods_are_405_and_the_answer_names_those_that_work(running: Any, method: str) -> None:
    async with running.http() as client:
        response = await client.request(method, "/mcp/tools")
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize(
    "host",
    [
        b"Host: evil.example",
        b"Host: 127.0.0.1",
        b"Host: 127.0.0.1:80,evil.example",
        b"Host: 127.0.0.1:80@evil.example",
        b"Host: evil.example:8710",
        b"Host:",
    ],
)
async def test_a_foreign_host_is_421_but_only_for_those_who_may_come_in(running: Any, host: bytes) -> None:
    assert (await running.raw(running.head("POST", "/mcp/tools", host, BEARER)))[0] == 421
    assert (await running.raw(running.head("POST", "/mcp/tools", host)))[0] == 403


async def test_the_operational_pages_are_not_for_a_page_that_a_browser_was_tricked_into(running: Any) -> None:
    for host, status in (
        (b"evil.example:8710", 421),
        (b"127.0.0.1:80,evil.example", 421),
        (b"", 421),
        (b"localhost", 200),
    ):
        assert (await running.raw(running.head("GET", "/readyz", b"Host: " + host)))[0] == status


async def test_two_hosts_are_421(running: Any) -> None:
    here = f"Host: 127.0.0.1:{running.port}".encode()
    assert (await running.raw(running.head("POST", "/mcp/tools", here, here, BEARER)))[0] == 421


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (b"Origin: http://127.0.0.1:3000", 400),
        (b"Origin: http://localhost:1", 400),
        (b"Origin: null", 403),
        (b"Origin: https://evil.example", 403),
        (b"Origin: http://127.0.0.1:80.evil.example", 403),
        (b"Origin:", 403),
        (b"Origin: http://localhost:1\r\nOrigin: http://localhost:1", 403),
    ],
)
async def test_a_foreign_origin_is_403(running: Any, origin: bytes, status: int) -> None:
    assert (await running.raw(running.head("GET", "/mcp/tools", BEARER, origin)))[0] == status


async def test_a_body_above_one_mebibyte_is_413_before_it_is_sent(running: Any) -> None:
    big = b"Content-Length: 1048577"
    assert (await running.raw(running.head("POST", "/mcp/tools", BEARER, big)))[0] == 413
    assert (await running.raw(running.head("POST", "/mcp/tools", big)))[0] == 403
    assert (await running.raw(running.head("POST", "/mcp/nowhere", BEARER, big)))[0] == 404


async def test_a_chunked_body_is_cut_off_at_one_mebibyte(running: Any) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = running.head("POST", "/mcp/tools", BEARER, b"Transfer-Encoding: chunked")
    assert (await running.raw(head + chunk * 17))[0] == 413


async def test_a_body_of_exactly_one_mebibyte_is_read(running: Any, event: Any, answer: Any) -> None:
    start, end = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe_noop","arguments":{}', "}}"
    body = start + " " * (1024 * 1024 - len(start) - len(end)) + end
    async with running.session() as client:
        response = await client.post("/mcp/tools", content=body)
        assert (await client.post("/mcp/tools", content=body + " ")).status_code == 413
    assert '\\"success\\":true' in response.text


async def test_refusals_are_counted_by_their_reason(running: Any) -> None:
    async def count(reason: str) -> float:
        async with running.http() as client:
            lines = (await client.get("/metrics")).text.splitlines()
        name = f'mcp_gateway_gate_refusals_total{{reason="{reason}"}} '
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    before = [await count("forbidden"), await count("not_found")]
    await running.raw(running.head("POST", "/mcp/tools"))
    await running.raw(running.head("POST", "/mcp/nowhere", BEARER))
    assert [await count("forbidden"), await count("not_found")] == [one + 1 for one in before]


@pytest.mark.parametrize("path", ["/", "/mcpx", "/docs", "/healthz/", "/favicon.ico", "/mcp-test", "*"])
async def test_what_is_nothing_of_ours_is_404(running: Any, path: str) -> None:
    assert (await running.raw(running.head("GET", path)))[0] == 404


async def test_a_token_never_stands_in_an_answer_or_the_log(running: Any, caplog: pytest.LogCaptureFixture) -> None:
    for path in PATHS:
        _, body = await running.raw(running.head("POST", path, BEARER, b"Content-Length: 0"))
        assert TOKEN not in body
    assert TOKEN.decode() not in caplog.text
