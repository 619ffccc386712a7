"""Every way to falsify the record is found, by the chain alone or with the help of its witnesses."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_gateway.audit import AuditLog, Entry
from mcp_gateway.audit.entry import Row
from mcp_gateway.audit.journal import journal_rows
from mcp_gateway.audit.verify import Report, commit_witnesses, journal_witnesses, verify

Check = Callable[[], Report]


@pytest.fixture
def commits(log: AuditLog, entry: Callable[..., Entry]) -> list[str]:
    """Ten reads and one vault write (rows 6 and 7); gives what the vault's commits say."""
    for number in range(5):
        log.record(entry(tool=f"read_{number}"))
    call = entry("started", tool="vault_write")
    place = anyio.run(log.started, call)
    anyio.run(log.finished, entry("ok", tool="vault_write", receipt=call.receipt))
    for number in range(5):
        log.record(entry(tool=f"later_{number}"))
    log.close()
    return ["", place, ""]


@pytest.fixture
def alone(rows: Callable[[], list[Row]], commits: list[str]) -> Check:
    """The chain by itself."""
    return lambda: verify(iter(rows()))


@pytest.fixture
def compared(rows: Callable[[], list[Row]], journal: io.StringIO, commits: list[str]) -> Check:
    """The chain with both witnesses."""

    def compare() -> Report:
        lines = journal.getvalue().splitlines()
        return verify(iter(rows()), journal_witnesses(journal_rows(lines)), commit_witnesses(commits))

    return compare


def test_an_untouched_log_agrees_with_both_witnesses(compared: Check) -> None:
    report = compared()
    assert (report.rows, report.journal_lines, report.commits) == (12, 11, 1)
    assert (report.findings, report.notes) == ([], [])


@pytest.mark.parametrize(
    "change",
    ["tool = 'other'", "outcome = 'fault'", "ms = 2", "args = '[]'", "time = 'never'", "client = ''", "digest = 'e'"],
)
def test_an_edited_row_is_found_by_the_chain_alone(alone: Check, edit: Callable[..., None], change: str) -> None:
    edit(f"UPDATE rows SET {change} WHERE seq = 4")  # noqa: S608
    (finding,) = alone().findings
    assert finding.startswith("Row 4 does not follow from row 3")


@pytest.mark.parametrize(
    "change", ["args = 'no list'", "args = '{\"query\":1}'", "head = 'zz'", "args = '5'", "head = CAST(x'ff' AS TEXT)"]
)
def test_a_row_edited_into_nonsense_is_a_finding_not_a_crash(
    alone: Check, edit: Callable[..., None], change: str
) -> None:
    edit(f"UPDATE rows SET {change} WHERE seq = 4")  # noqa: S608
    assert any("ow 4" in finding for finding in alone().findings)


@pytest.mark.parametrize(
    ("where", "words"),
    [("seq = 4", "Row 4 is missing"), ("seq BETWEEN 4 AND 6", "Rows 4 to 6 are missing"), ("seq = 1", "Row 1 is miss")],
)
def test_a_deleted_row_is_found_by_the_chain_alone(
    alone: Check, edit: Callable[..., None], where: str, words: str
) -> None:
    edit(f"DELETE FROM rows WHERE {where}")  # noqa: S608
    (finding,) = alone().findings
    assert finding.startswith(words)


def test_two_swapped_rows_are_found_by_the_chain_alone(alone: Check, edit: Callable[..., None]) -> None:
    edit(
        "UPDATE rows SET seq = 100 WHERE seq = 3",
        "UPDATE rows SET seq = 3 WHERE seq = 4",
        "UPDATE rows SET seq = 4 WHERE seq = 100",
    )
    findings = alone().findings
    assert {finding.split(" ")[1] for finding in findings} >= {"3", "4"}


def test_a_cut_end_is_found_by_the_journal(alone: Check, compared: Check, edit: Callable[..., None]) -> None:
    edit("DELETE FROM rows WHERE seq > 10")
    assert alone().findings == []
    assert [finding.split(",")[0] for finding in compared().findings] == [
        "Row 11 is missing in the log",
        "Row 12 is missing in the log",
    ]


def test_a_cut_end_with_the_vaults_commit_is_found_by_the_commit(
    commits: list[str], rows: Callable[[], list[Row]], edit: Callable[..., None]
) -> None:
    edit("DELETE FROM rows WHERE seq > 5")
    (finding,) = verify(iter(rows()), None, commit_witnesses(commits)).findings
    assert finding.startswith("Row 6 is missing in the log, but a vault commit has it")


def test_a_wholly_rewritten_history_disagrees_with_journal_and_commits(
    alone: Check, compared: Check, state_dir: Path, entry: Callable[..., Entry], rows: Callable[[], list[Row]]
) -> None:
    old = rows()
    shutil.rmtree(state_dir)
    forged = AuditLog.open(state_dir, None)
    for row in old:
        tool = "harmless" if row.seq == 2 else row.entry.tool
        forged.record(entry(row.entry.outcome, tool=tool, receipt=row.entry.receipt))
    forged.close()
    assert alone().findings == []
    report = compared()
    assert len(report.findings) == 12  # eleven journal lines and the commit
    assert report.findings[0].startswith("Row 1 has another head than the journal says")
    assert any("a vault commit" in finding for finding in report.findings)


def test_an_edited_journal_line_is_found(journal: io.StringIO, compared: Check) -> None:
    text = journal.getvalue().replace("read_3", "read_x")
    journal.seek(0)
    journal.write(text)
    (finding,) = compared().findings
    assert finding.startswith("Row 4 and its journal line differ")


def test_nothing_to_compare_with_is_no_agreement(rows: Callable[[], list[Row]], commits: list[str]) -> None:
    findings = verify(iter(rows()), [], []).findings
    assert findings == [
        "The journal has no audit line, but the log has 11 calls.",
        "No commit names a row, but the log has 1 vault writes.",
    ]


def test_a_line_missing_in_the_middle_of_the_journal_is_a_note(
    journal: io.StringIO, rows: Callable[[], list[Row]], commits: list[str]
) -> None:
    lines = journal.getvalue().splitlines()
    del lines[4]
    report = verify(iter(rows()), journal_witnesses(journal_rows(lines)))
    assert report.findings == []
    assert report.notes[0].startswith("1 rows have no line in this journal, the first is row 5")


def test_a_journal_is_understood_in_every_form_and_other_lines_are_passed_over(
    journal: io.StringIO, commits: list[str]
) -> None:
    lines = journal.getvalue().splitlines()
    text = [json.dumps({"MESSAGE": line, "_PID": "1"}) for line in lines[:3]]
    raw = [json.dumps({"MESSAGE": list(lines[3].encode()), "_PID": "1"})]
    short = [f"Dec 01 03:22:11 host mcp-gateway[7]: {lines[4]}"]
    noise = [
        "",
        "INFO started",
        "{",
        "[]",
        '{"MESSAGE": null}',
        '{"MESSAGE": [300]}',
        '{"seq": 1}',
        "[" * 5000 + "{" * 5000,
    ]
    wrong = [json.dumps({**json.loads(lines[0]), "seq": "1"}), json.dumps({**json.loads(lines[0]), "args": 5})]
    found = journal_rows([*noise, *text, *raw, *short, *wrong, *lines[5:], lines[-1][:-10]])
    assert [row.seq for row in found] == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]


def test_commit_lines_that_are_no_places_are_passed_over() -> None:
    lines = ["", "abc", "1", ":", "²:x", "9" * 30 + ":x", " 5:abc \n"]
    assert [(witness.seq, witness.head) for witness in commit_witnesses(lines)] == [(5, "abc")]
