"""Whatever answers at prometheus.url: a failed read is never an empty success, and never takes longer than the call."""

import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.abc
import pytest

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.prometheus import MAX_BYTES, PrometheusPort
from mcp_gateway.settings.prometheus import PrometheusSettings

pytestmark = pytest.mark.anyio

Run = Callable[..., Awaitable[Mapping[str, Any]]]
Handler = Callable[[anyio.abc.SocketStream], Awaitable[None]]
StandIn = Callable[[Handler], AbstractAsyncContextManager[PrometheusPort]]

OK = "200 OK"


def http(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def answer(data: object, **more: object) -> bytes:
    return json.dumps({"status": "success", "data": data, **more}).encode()


def vector(*samples: object) -> object:
    return {"resultType": "vector", "result": list(samples)}


def saying(reply: bytes) -> Handler:
    """Answer every request of a connection with these bytes."""

    async def handle(stream: anyio.abc.SocketStream) -> None:
        while await stream.receive():
            await stream.send(reply)

    return handle


async def outcome(run: Run, port: PrometheusPort, seconds: float = 5.0) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await run(port, "monitoring_query", seconds, promql="up")
    return caught.value


BAD = {
    "html": http(OK, b"<html>Welcome</html>"),
    "empty": http(OK, b""),
    "no object": http(OK, b"[]"),
    "no data": http(OK, b'{"status":"success"}'),
    "unknown status": http(OK, b'{"status":"fine","data":{}}'),
    "unknown type": http(OK, answer({"resultType": "tensor", "result": []})),
    "wrong samples": http(OK, answer(vector({"metric": [], "value": [1, "1"]}))),
    "number for text": http(OK, answer(vector({"metric": {}, "value": [1, 1]}))),
    "infinite time": http(OK, answer(vector({"metric": {}, "value": [0, "1"]})).replace(b"[0,", b"[1e999,")),
    "NaN time": http(OK, answer(vector({"metric": {}, "value": [0, "1"]})).replace(b"[0,", b"[NaN,")),
    "no utf-8": http(OK, answer(vector()).replace(b"vector", b"vec\xfftor")),
    "too deep": http(OK, b'{"status":"success","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "redirect": http("302 Found", b"", "Location: http://127.0.0.1:1/"),
    "not found": http("404 Not Found", b"404 page not found\n"),
    "bad gateway": http("502 Bad Gateway", b"<html>nginx</html>"),
    "forbidden": http("403 Forbidden", b""),
    "good body, bad status": http("500 Internal Server Error", answer(vector())),
    "internal": http("500 x", b'{"status":"error","errorType":"internal","error":"disk"}'),
    "unknown error": http("500 x", b'{"status":"error","errorType":"odd"}'),
    "compressed": http(OK, b"\x1f\x8b", "Content-Encoding: gzip"),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD)
async def test_an_answer_that_is_not_prometheus_is_an_upstream_error(stand_in: StandIn, run: Run, reply: bytes) -> None:
    async with stand_in(saying(reply)) as port:
        fault = await outcome(run, port)
    assert fault.code == Code.UPSTREAM_ERROR
    assert fault.hint.endswith("tell the operator.")


@pytest.mark.parametrize(
    "reply", [http(OK, b"{}"), http(OK, answer({"alerts": {}})), http(OK, answer({"alerts": [{}]}))]
)
async def test_alerts_of_an_unknown_form_are_no_empty_list(stand_in: StandIn, run: Run, reply: bytes) -> None:
    async with stand_in(saying(reply)) as port:
        with pytest.raises(Refusal) as caught:
            await run(port, "monitoring_alerts")
    assert caught.value.code == Code.UPSTREAM_ERROR


@pytest.mark.parametrize(
    ("kind", "code"),
    [("timeout", Code.TIMEOUT), ("canceled", Code.TIMEOUT), ("unavailable", Code.UPSTREAM_DOWN)],
)
async def test_prometheus_own_errors_have_their_codes(stand_in: StandIn, run: Run, kind: str, code: Code) -> None:
    body = json.dumps({"status": "error", "errorType": kind, "error": "its words"}).encode()
    async with stand_in(saying(http("503 Service Unavailable", body))) as port:
        fault = await outcome(run, port)
    assert fault.code == code
    assert "its words" in fault.hint


async def test_a_port_nobody_listens_on_is_down(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = PrometheusPort(PrometheusSettings(url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
        await port.open()
        fault = await outcome(run, port)
        condition = await port.condition()
        await port.close()
    assert fault.code == Code.UPSTREAM_DOWN
    assert (condition.state, condition.reason) == ("down", "Prometheus cannot be reached.")


async def silent(stream: anyio.abc.SocketStream) -> None:
    while await stream.receive():
        pass


async def half(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()
    await stream.send(http(OK, b"x" * 100)[:-50])
    await anyio.sleep_forever()


async def dripping(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()
    for byte in http(OK, b" " * 10_000):
        await stream.send(bytes([byte]))
        await anyio.sleep(0.01)


@pytest.mark.parametrize("handler", [silent, half, dripping])
async def test_a_server_that_hangs_is_left_at_the_deadline(stand_in: StandIn, run: Run, handler: Handler) -> None:
    async with stand_in(handler) as port:
        began = anyio.current_time()
        fault = await outcome(run, port, 0.8)
        assert anyio.current_time() - began < 0.8
    assert fault.code == Code.TIMEOUT


async def test_condition_of_a_server_that_hangs_comes_within_two_seconds(stand_in: StandIn) -> None:
    async with stand_in(silent) as port:
        began = anyio.current_time()
        condition = await port.condition()
        assert anyio.current_time() - began < 2.3
    assert condition.state == "down"


@pytest.mark.parametrize(("status", "words"), [("503 Service Unavailable", "starting"), ("404 x", "no Prometheus")])
async def test_condition_says_what_is_wrong(stand_in: StandIn, status: str, words: str) -> None:
    async with stand_in(saying(http(status, b""))) as port:
        condition = await port.condition()
    assert condition.state == "down"
    assert words in condition.reason


async def breaking(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()
    await stream.send(http(OK, b"x" * 100)[:-50])


async def closing(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()


async def garbage(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()
    await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


async def endless_headers(stream: anyio.abc.SocketStream) -> None:
    await stream.receive()
    await stream.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await stream.send(b"X: " + b"y" * 60_000 + b"\r\n")


@pytest.mark.parametrize("handler", [breaking, closing, garbage, endless_headers])
async def test_a_connection_that_breaks_is_down(stand_in: StandIn, run: Run, handler: Handler) -> None:
    async with stand_in(handler) as port:
        assert (await outcome(run, port)).code == Code.UPSTREAM_DOWN


async def test_a_kept_connection_that_died_is_replaced_without_the_agent_noticing(stand_in: StandIn, run: Run) -> None:
    connections = 0

    async def once(stream: anyio.abc.SocketStream) -> None:
        nonlocal connections
        connections += 1
        await stream.receive()
        await stream.send(http(OK, answer(vector())))
        if connections == 1:
            await stream.receive()  # take the second request and close without a word

    async with stand_in(once) as port:
        for _ in range(2):
            assert (await run(port, "monitoring_query", promql="up"))["total"] == 0
    assert connections == 2


@pytest.mark.parametrize("announced", [True, False])
async def test_an_answer_without_end_is_left_at_five_megabytes(stand_in: StandIn, run: Run, announced: bool) -> None:
    sent = 0

    async def pour(stream: anyio.abc.SocketStream) -> None:
        nonlocal sent
        await stream.receive()
        length = b"Content-Length: 99999999999\r\n" if announced else b""
        await stream.send(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n")
        while True:
            await stream.send(b" " * 100_000)
            sent += 100_000

    async with stand_in(pour) as port:
        assert (await outcome(run, port)).code == Code.TOO_LARGE
    assert sent < MAX_BYTES + 20_000_000  # what the sockets hold


async def test_hostile_labels_and_texts_stay_inside_the_answer(stand_in: StandIn, run: Run) -> None:
    huge = {"metric": {"a": "x" * 100_000}, "value": [1, "1"]}
    small = {"metric": {"b": "\u0000\n\U0001d11e"}, "value": [1e300, "what"]}
    async with stand_in(saying(http(OK, answer(vector(small, huge, small), warnings=["w" * 5000] * 50)))) as port:
        found = await run(port, "monitoring_query", promql="up")
    assert found["samples"] == [{"labels": small["metric"], "value": "what", "time": 1e300}]
    assert found["total"] == 3
    assert "1 of 3 series" in found["cut"]
    assert len(json.dumps(found)) < 30_000
    assert len(found["warnings"]) == 5


async def test_many_alerts_are_cut_with_words_and_true_totals(stand_in: StandIn, run: Run) -> None:
    alerts = [
        {
            "labels": {"alertname": f"A{n}"},
            "annotations": {"summary": "s" * 500},
            "state": "pending" if n % 2 else "firing",
        }
        for n in range(1000)
    ]
    async with stand_in(saying(http(OK, answer({"alerts": alerts})))) as port:
        found = await run(port, "monitoring_alerts")
    assert (found["total"], found["firing"], found["pending"]) == (1000, 500, 500)
    assert f"Only {len(found['alerts'])} of 1000 alerts" in found["cut"]
    assert {alert["state"] for alert in found["alerts"]} == {"firing"}
    assert len(json.dumps(found, ensure_ascii=False)) < 30_000


async def test_warnings_and_infos_are_passed_on(stand_in: StandIn, run: Run) -> None:
    reply = http(OK, answer(vector(), warnings=["partial data"], infos=["not a counter"]))
    async with stand_in(saying(reply)) as port:
        found = await run(port, "monitoring_query", promql="up")
    assert (found["warnings"], found["infos"]) == (["partial data"], ["not a counter"])


async def test_a_native_histogram_is_shown_without_its_buckets(stand_in: StandIn, run: Run) -> None:
    histogram = {"count": "5", "sum": "1.5", "buckets": [[0, "0", "1", "5"]]}
    one = {"metric": {}, "histogram": [1.5, histogram]}
    range_ = {"metric": {}, "histograms": [[1.5, histogram]]}
    for data in (vector(one), {"resultType": "matrix", "result": [range_]}):
        async with stand_in(saying(http(OK, answer(data)))) as port:
            found = await run(port, "monitoring_query", promql="up")
        assert '"count": "5", "sum": "1.5"' in json.dumps(found)
