"""Processes that die in the middle, and several processes at once: the chain stays one chain."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mcp_gateway.audit.entry import Row
from mcp_gateway.audit.journal import journal_rows
from mcp_gateway.audit.verify import journal_witnesses, verify

# Writes reads and writing calls as fast as it can and prints the places of its started rows.
WRITER = """
import sys, anyio
from pathlib import Path
from mcp_gateway.audit import AuditLog, Entry, new_receipt

def entry(outcome):
    return Entry(new_receipt(), "hermes", "hermes-tools", "vault_write", ("path",), "d" * 32, outcome, 1.0)

async def main(state_dir, calls):
    log = AuditLog.open(Path(state_dir), sys.stderr)
    async with anyio.create_task_group() as group:
        group.start_soon(log.run)
        for _ in range(calls):
            log.record(entry("ok"))
            print(await log.started(entry("started")), flush=True)
            await log.finished(entry("ok"))
        group.cancel_scope.cancel()
    log.close()

anyio.run(main, sys.argv[1], int(sys.argv[2]))
"""


def start(state_dir: Path, calls: int, places: Path, journal: Path) -> subprocess.Popen[bytes]:
    with places.open("ab") as out, journal.open("ab") as err:
        return subprocess.Popen([sys.executable, "-c", WRITER, str(state_dir), str(calls)], stdout=out, stderr=err)


def test_killed_at_any_moment_the_chain_is_whole_and_has_every_row_that_was_promised(
    state_dir: Path, tmp_path: Path, rows: Callable[[], list[Row]]
) -> None:
    places, journal = tmp_path / "places", tmp_path / "journal"
    for attempt in range(8):
        before = places.stat().st_size if places.exists() else 0
        process = start(state_dir, 1_000_000, places, journal)
        while places.stat().st_size <= before:
            assert process.poll() is None, journal.read_text()
            time.sleep(0.005)
        time.sleep(0.013 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    witnesses = journal_witnesses(journal_rows(journal.read_text().splitlines()))
    report = verify(iter(rows()), witnesses)
    assert report.findings == []
    assert len(witnesses) > 20
    promised = {place for place in places.read_text().splitlines() if len(place.partition(":")[2]) == 64}
    assert promised <= {f"{row.seq}:{row.head}" for row in rows()}


def test_two_processes_share_one_chain_from_the_first_moment(
    state_dir: Path, tmp_path: Path, rows: Callable[[], list[Row]]
) -> None:
    journal = tmp_path / "journal"
    processes = [start(state_dir, 60, tmp_path / "places", journal) for _ in range(2)]
    assert [process.wait(30) for process in processes] == [0, 0], journal.read_text()
    witnesses = journal_witnesses(journal_rows(journal.read_text().splitlines()))
    report = verify(iter(rows()), witnesses)
    assert (report.rows, report.findings) == (2 * 60 * 3, [])
    places = [int(place.partition(":")[0]) for place in (tmp_path / "places").read_text().split()]
    assert len(set(places)) == 120
