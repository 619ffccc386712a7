"""A disk that takes nothing: writing calls are refused, reads go on, and the log says so until it works again."""

import io
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from mcp_gateway.audit import AuditLog, AuditUnavailable, Entry
from mcp_gateway.audit import log as log_module
from mcp_gateway.audit.entry import Row
from mcp_gateway.audit.verify import verify
from mcp_gateway.errors import ConfigurationError

pytestmark = pytest.mark.anyio


@contextmanager
def full_disk() -> Iterator[None]:
    """Every file of this process is as large as it may get; the kernel refuses the next byte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_refuses_writes_and_heals_without_a_gap(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    await log.started(entry("started", tool="before"))
    with full_disk():
        with pytest.raises(AuditUnavailable, match="cannot be written"):
            await log.started(entry("started", tool="refused"))
        assert (log.healthy, "cannot be written" in log.reason) == (False, True)
        log.record(entry(tool="read"))
        await log.finished(entry("ok", tool="outcome"))
    await log.started(entry("started", tool="after"))
    assert log.healthy
    assert log.reason == ""
    assert [row.entry.tool for row in rows()] == ["before", "read", "outcome", "after"]
    assert not verify(iter(rows())).findings


async def test_the_task_writes_the_reads_once_the_disk_takes_them(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "RETRY_SECONDS", 0.02)
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        with full_disk():
            log.record(entry())
            with anyio.fail_after(5):
                while log.healthy:  # noqa: ASYNC110  # a property gives no event
                    await anyio.sleep(0.01)
        with anyio.fail_after(5):
            while log.reason:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert len(rows()) == 1
        group.cancel_scope.cancel()


async def test_memory_for_reads_is_bounded_and_the_loss_is_said(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "MAX_WAITING", 3)
    with full_disk():
        for _ in range(5):
            log.record(entry())
        await log.finished(entry("ok", tool="outcome"))
        assert "2 reads are lost" in log.reason
    log.close()
    assert [row.entry.tool for row in rows()] == ["vault_search"] * 3 + ["outcome"]


async def test_a_process_that_holds_the_lock_for_ever_refuses_writes_in_time(
    state_dir: Path, entry: Callable[..., Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_gateway.audit.store.BUSY_SECONDS", 0.1)
    log = AuditLog.open(state_dir, None)
    other = sqlite3.connect(state_dir / "audit.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(AuditUnavailable, match="locked"):
        await log.started(entry("started"))
    other.close()
    await log.started(entry("started"))
    log.close()


async def test_a_journal_that_is_gone_is_said_and_does_not_stop_the_rows(
    state_dir: Path, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    journal = io.StringIO()
    journal.close()
    log = AuditLog.open(state_dir, journal)
    await log.finished(entry("ok"))
    assert "journal" in log.reason
    log.close()
    assert len(rows()) == 1


@pytest.mark.parametrize("obstacle", ["file", "directory", "garbage", "newer"])
def test_a_state_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path, obstacle: str) -> None:
    state_dir = tmp_path / "state"
    if obstacle == "file":
        state_dir.write_text("in the way")
    else:
        state_dir.mkdir()
    if obstacle == "directory":
        (state_dir / "audit.db").mkdir()
    if obstacle == "garbage":
        (state_dir / "audit.db").write_bytes(b"no database" * 1000)
    if obstacle == "newer":
        AuditLog.open(state_dir, None).close()
        connection = sqlite3.connect(state_dir / "audit.db")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    with pytest.raises(ConfigurationError, match=r"state_dir: the audit log in .*state cannot be written"):
        AuditLog.open(state_dir, None)
