"""A disk that takes nothing: what writes is refused, what reads is answered, and everybody can see why."""

import sqlite3
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
def full_disk(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(running.gateway._audit._store, "append", fail)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_write_is_refused_before_its_effect_and_a_read_is_answered(
    running: Any, answer: Any, mode: str
) -> None:
    async with running.client(mode) as client:
        written = answer(await client.call_tool("mirror_write", {"text": "a"}))
        read = answer(await client.call_tool("probe_noop", {}))
    assert (written["success"], written["error"]) == (False, "__WRITE_FAILED__")
    assert "disk is full" in written["hint"]
    assert "nothing was changed" in written["hint"]
    assert "receipt" in written
    assert running.site.probe.written == []
    assert read["success"] is True


@pytest.mark.usefixtures("full_disk")
async def test_readiness_and_metrics_are_loud(running: Any) -> None:
    async with running.client("legacy") as client, running.http() as http:
        await client.call_tool("probe_noop", {})
        await anyio.sleep(0.15)
        ready = await http.get("/readyz")
        metrics = await http.get("/metrics")
    assert (ready.status_code, ready.json()["status"]) == (503, "down")
    assert "disk is full" in ready.json()["backends"]["audit"]["reason"]
    assert "mcp_gateway_audit_healthy 0.0" in metrics.text


async def test_when_the_disk_has_room_again_writing_goes_on(
    running: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running.client("legacy") as client:
        with monkeypatch.context() as patch:

            def fail(*_: object) -> None:
                raise sqlite3.OperationalError("database or disk is full")

            patch.setattr(running.gateway._audit._store, "append", fail)
            assert not answer(await client.call_tool("mirror_write", {"text": "a"}))["success"]
        assert answer(await client.call_tool("mirror_write", {"text": "b"}))["success"]
    assert running.site.probe.written == ["b"]
