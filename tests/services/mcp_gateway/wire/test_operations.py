"""Alive, ready, measured: for this machine only."""

import json
from typing import Any

import anyio
import httpx2
import pytest

from mcp_gateway.tools import Condition

pytestmark = pytest.mark.anyio


async def get(running: Any, path: str) -> Any:
    async with httpx2.AsyncClient(base_url=running.url) as client:
        return await client.get(path)


async def test_health_says_that_the_process_lives(running: Any) -> None:
    response = await get(running, "/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_readiness_tells_channels_and_backends_with_their_reasons(running: Any) -> None:
    response = await get(running, "/readyz")
    assert (response.status_code, response.json()) == (
        200,
        {
            "status": "ok",
            "channels": {
                "tools": {"tools": 8, "status": "ok", "reason": ""},
                "other": {"tools": 5, "status": "ok", "reason": ""},
            },
            "backends": {"audit": {"status": "ok", "reason": ""}, "probe": {"status": "ok", "reason": ""}},
        },
    )


@pytest.mark.parametrize(("state", "status"), [("degraded", 200), ("down", 503)])
async def test_a_backend_in_trouble_shows_with_its_reason(running: Any, state: str, status: int) -> None:
    running.site.probe.condition_ = Condition(state, "the disk is full; free some")
    response = await get(running, "/readyz")
    report = response.json()
    assert (response.status_code, report["status"]) == (status, state)
    assert report["backends"]["probe"] == {"status": state, "reason": "the disk is full; free some"}
    assert report["channels"]["tools"] == {"tools": 8, "status": state, "reason": "probe: the disk is full; free some"}
    metrics = (await get(running, "/metrics")).text
    assert f'mcp_gateway_backend_state{{backend="probe",state="{state}"}} 1.0' in metrics


async def test_a_backend_in_trouble_is_no_trouble_of_a_channel_that_shows_none_of_its_tools(running: Any) -> None:
    running.site.probe.condition_ = Condition("down", "it is away")
    running.site.document["channels"]["other"]["tools"] = {"include": []}
    assert await running.reload()
    report = (await get(running, "/readyz")).json()
    assert report["channels"]["other"] == {"tools": 0, "status": "ok", "reason": ""}
    assert report["channels"]["tools"] == {"tools": 8, "status": "down", "reason": "probe: it is away"}


async def test_before_a_backend_was_asked_nothing_is_ready(running: Any) -> None:
    report = running.gateway.readiness.report()
    assert report["status"] == "down"
    assert report["backends"]["probe"] == {"status": "down", "reason": "not asked yet"}


async def test_a_backend_that_never_answers_or_breaks_its_word_is_down(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> Condition:
        await anyio.sleep_forever()
        raise AssertionError

    async def crash() -> Condition:
        raise ValueError("s3cret")

    monkeypatch.setattr("mcp_gateway.readiness.PATIENCE_SECONDS", 0.05)
    for condition, words in ((hang, "did not say within"), (crash, "could not say how it is (ValueError)")):
        running.site.probe.condition = condition
        running.gateway.readiness.stale()
        response = await get(running, "/readyz")
        assert response.status_code == 503
        assert words in response.json()["backends"]["probe"]["reason"]
        assert "s3cret" not in response.text


async def test_metrics_are_prometheus_text_and_count_calls(running: Any) -> None:
    async with running.client("legacy") as client:
        await client.call_tool("probe_noop", {})
        await client.call_tool("probe_refuse", {})
        await client.call_tool("probe_crash", {"text": "x"})
        await client.call_tool("invented", {})
        metrics = await get(running, "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=")
    calls = 'mcp_gateway_calls_total{channel="tools",client="hermes",'
    for line in (
        calls + 'code="",outcome="ok",tool="probe_noop"} 1.0',
        calls + 'code="__EXISTS__",outcome="refused",tool="probe_refuse"} 1.0',
        calls + 'code="internal",outcome="fault",tool="probe_crash"} 1.0',
        calls + 'code="__NOT_FOUND__",outcome="refused",tool="unknown"} 1.0',
        'mcp_gateway_sessions{channel="tools"} 1.0',
        "mcp_gateway_audit_healthy 1.0",
    ):
        assert line in metrics.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_a_peer_from_elsewhere_gets_404(running: Any, path: str) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "client": ("192.0.2.7", 5), "headers": []}
    await running.gateway(scope, None, send)
    assert sent[0]["status"] == 404
    assert json.loads(sent[1]["body"]) == {"error": "not_found"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_nobody_can_claim_to_be_this_machine(running: Any, path: str) -> None:
    """The header changes nothing: neither who is let in nor who is kept out."""
    status, _ = await running.raw(running.head("GET", path, b"X-Forwarded-For: 192.0.2.7"))
    assert status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_only_reading_is_possible(running: Any, path: str) -> None:
    assert (await running.raw(running.head("POST", path)))[0] == 405
    assert await running.raw(running.head("HEAD", path)) == (200, b"")
