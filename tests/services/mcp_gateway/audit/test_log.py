"""Writing: what is on disk when, and in which order."""

import io
import json
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_gateway.audit import AuditLog, Entry, new_receipt
from mcp_gateway.audit.entry import FIELDS, Row
from mcp_gateway.audit.store import Store
from mcp_gateway.audit.verify import verify

pytestmark = pytest.mark.anyio


async def test_started_row_is_on_disk_when_it_returns_seq_and_head(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    place = await log.started(entry("started"))
    (row,) = rows()
    assert place == f"{row.seq}:{row.head}"
    assert row.entry.outcome == "started"


async def test_reads_queued_before_a_write_stand_before_it_in_the_chain(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    log.record(entry(tool="first"))
    log.record(entry(tool="second"))
    await log.started(entry("started", tool="write"))
    log.record(entry(tool="third"))
    await log.finished(entry("ok", tool="write"))
    assert [row.entry.tool for row in rows()] == ["first", "second", "write", "third", "write"]
    assert not verify(iter(rows())).findings


async def test_a_read_is_on_disk_within_the_group_time(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        await anyio.lowlevel.checkpoint()
        began = time.monotonic()
        log.record(entry())
        while not rows():  # noqa: ASYNC110  # the disk gives no event
            await anyio.sleep(0.002)
        took = time.monotonic() - began
        group.cancel_scope.cancel()
    assert took < 0.5  # 50 ms and the slack of a busy test machine


async def test_two_hundred_reads_at_once_share_one_commit_and_are_there_while_the_log_is_open(
    log: AuditLog,
    journal: io.StringIO,
    entry: Callable[..., Entry],
    rows: Callable[[], list[Row]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    append = Store.append

    def counted(store: Store, entries: Sequence[tuple[str, Entry]]) -> list[Row]:
        sizes.append(len(entries))
        return append(store, entries)

    monkeypatch.setattr(Store, "append", counted)
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        for _ in range(200):
            log.record(entry())
        with anyio.fail_after(5):
            while len(rows()) < 200:  # noqa: ASYNC110  # the disk gives no event
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert sizes == [200]
    assert len(journal.getvalue().splitlines()) == 200


async def test_what_waits_is_written_when_the_task_is_cancelled(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        await anyio.lowlevel.checkpoint()
        log.record(entry())
        group.cancel_scope.cancel()
    assert len(rows()) == 1


async def test_an_outcome_is_written_although_its_caller_has_gone(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await log.finished(entry("__TIMEOUT__"))
    assert [row.entry.outcome for row in rows()] == ["__TIMEOUT__"]


async def test_concurrent_writes_make_one_unbroken_chain(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    async def write() -> None:
        call = entry("started")
        place = await log.started(call)
        assert place in {f"{row.seq}:{row.head}" for row in rows() if row.entry.receipt == call.receipt}
        await log.finished(entry("ok", receipt=call.receipt))

    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(write)
    report = verify(iter(rows()))
    assert (report.rows, report.findings, report.notes) == (80, [], [])


async def test_the_loop_keeps_running_while_a_commit_waits_for_a_lock(
    log: AuditLog, entry: Callable[..., Entry], state_dir: Path
) -> None:
    other = sqlite3.connect(state_dir / "audit.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ticks = 0
    async with anyio.create_task_group() as group:
        group.start_soon(log.started, entry("started"))
        for _ in range(20):
            await anyio.sleep(0.005)
            ticks += 1
        other.execute("ROLLBACK")
    other.close()
    assert ticks == 20


async def test_journal_has_one_line_per_call_with_exactly_the_agreed_fields(
    log: AuditLog, journal: io.StringIO, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    call = entry("started", approval="a-1")
    await log.started(call)
    assert journal.getvalue() == ""
    await log.finished(entry("ok", receipt=call.receipt, approval="a-1"))
    (line,) = journal.getvalue().splitlines()
    assert tuple(json.loads(line)) == FIELDS
    outcome = rows()[1]
    assert (json.loads(line)["seq"], json.loads(line)["head"]) == (2, outcome.head)
    assert ": " not in line


async def test_a_clock_that_goes_back_is_recorded_and_order_stays(
    log: AuditLog, entry: Callable[..., Entry], rows: Callable[[], list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(["2026-12-01T03:00:00.000000Z", "2026-12-01T02:00:00.000000Z"])
    monkeypatch.setattr("mcp_gateway.audit.log._now", lambda: next(times))
    await log.started(entry("started"))
    await log.started(entry("started"))
    assert [(row.seq, row.time[11:13]) for row in rows()] == [(1, "03"), (2, "02")]
    assert not verify(iter(rows())).findings


async def test_hostile_names_are_stored_short_and_whole(
    log: AuditLog, journal: io.StringIO, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    log.record(entry(tool="\ud800" * 1000, args=("\udfff\x00\n",) * 500, ms=float("nan")))
    log.record(entry(tool="x" * 100_000, ms=float("inf")))
    log.close()
    assert not verify(iter(rows())).findings
    assert max(map(len, journal.getvalue().splitlines())) < 48 * 1024
    assert len(journal.getvalue().splitlines()) == 2


async def test_a_log_opened_again_continues_its_chain(
    state_dir: Path, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    for _ in range(3):
        log = AuditLog.open(state_dir, None)
        log.record(entry())
        log.close()
    assert [row.seq for row in rows()] == [1, 2, 3]
    assert not verify(iter(rows())).findings


def test_files_belong_to_the_service_alone(log: AuditLog, entry: Callable[..., Entry], state_dir: Path) -> None:
    anyio.run(log.started, entry("started"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state_dir.iterdir()}
    assert set(modes) == {"audit.db", "audit.db-wal", "audit.db-shm", "audit.key"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(state_dir.stat().st_mode) == 0o700


def test_receipts_are_unique_sorted_by_time_and_base32() -> None:
    receipts = []
    for _ in range(50):
        receipts.append(new_receipt())
        time.sleep(0.00002)
    assert receipts == sorted(receipts)
    assert len(set(receipts)) == 50
    assert all(len(receipt) == 28 and receipt.startswith("r-") for receipt in receipts)
    assert set("".join(receipts)) <= set("abcdefghijklmnopqrstuvwxyz234567-")
