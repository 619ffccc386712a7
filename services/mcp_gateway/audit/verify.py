"""Comparing the chain with itself, with the journal and with the vault's commits.

The chain alone shows an edited, missing or moved row. A history rewritten from some row on, and one that lost its end,
are whole in themselves: they show against what the journal and the vault's commits remember.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mcp_gateway.audit.canonical import GENESIS, next_head
from mcp_gateway.audit.entry import STARTED, Row

WRITES_TO_VAULT = "vault_write"


@dataclass
class Report:
    """What a comparison gave: the log is sound when there is no finding; notes only tell."""

    rows: int = 0
    journal_lines: int = 0
    commits: int = 0
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Witness:
    """Something outside the log that remembers a row: a journal line (with all its fields) or a commit."""

    name: str
    seq: int
    head: str
    row: Row | None = None


def journal_witnesses(rows: Iterable[Row]) -> list[Witness]:
    """The audit lines of a journal."""
    return [Witness("the journal", row.seq, row.head, row) for row in rows]


def commit_witnesses(lines: Iterable[str]) -> list[Witness]:
    """The `seq:head` lines of `git log --format='%(trailers:key=Talaria-Audit,valueonly)'`, passing over others."""
    found = []
    for line in lines:
        seq, colon, head = line.strip().partition(":")
        if colon and seq.isascii() and seq.isdigit() and len(seq) < 19:
            found.append(Witness("a vault commit", int(seq), head))
    return found


def verify(rows: Iterator[Row], journal: list[Witness] | None = None, commits: list[Witness] | None = None) -> Report:
    """Walk the chain and compare every witness with its row. `None` means that this witness was not asked for.

    Every line of the journal must be read before `rows` is, or newer lines would look like missing rows.
    """
    report = Report(journal_lines=len(journal or ()), commits=len(commits or ()))
    waiting: dict[int, list[Witness]] = {}
    for witness in [*(journal or ()), *(commits or ())]:
        waiting.setdefault(witness.seq, []).append(witness)
    seen = _Seen(report)
    for row in _linked(rows, report):
        witnesses = waiting.pop(row.seq, [])
        seen.add(row, witnesses)
        for witness in witnesses:
            _compare(witness, row, report)
    for seq, witnesses in sorted(waiting.items()):
        report.findings.append(f"Row {seq} is missing in the log, but {witnesses[0].name} has it: the end was cut off.")
    seen.conclude(journal, commits)
    return report


def _linked(rows: Iterator[Row], report: Report) -> Iterator[Row]:
    """Pass the rows on, noting where one does not follow from the one before."""
    last, head = 0, GENESIS
    for row in rows:
        if row.seq != last + 1:
            gap = f"Row {last + 1} is" if row.seq == last + 2 else f"Rows {last + 1} to {row.seq - 1} are"
            report.findings.append(f"{gap} missing in the log: deleted.")
        elif not _follows(head, row):
            report.findings.append(
                f"Row {row.seq} does not follow from row {last}: its fields or the head before it were changed."
            )
        report.rows += 1
        last, head = row.seq, row.head
        yield row


def _follows(previous: str, row: Row) -> bool:
    try:
        return next_head(previous, row.seq, row.time, row.entry) == row.head
    except (ValueError, OverflowError):
        return False  # a head that is no hexadecimal number, a duration that is infinite: no row of ours


def _compare(witness: Witness, row: Row, report: Report) -> None:
    if witness.head != row.head:
        report.findings.append(
            f"Row {row.seq} has another head than {witness.name} says: the history was rewritten at or before it."
        )
    elif witness.row is not None and witness.row != row:
        report.findings.append(f"Row {row.seq} and its journal line differ, though their heads agree: one was edited.")


class _Seen:
    """What the walk notices beside the chain: calls without an end, rows without a witness."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: dict[str, int] = {}
        self._unprinted: list[int] = []
        self._last_printed = 0
        self._first_printed = 0
        self._outcomes = 0
        self._vault_writes = 0

    def add(self, row: Row, witnesses: list[Witness]) -> None:
        """Take one row and what remembers it."""
        if row.entry.outcome == STARTED:
            self._open[row.entry.receipt] = row.seq
            return
        self._outcomes += 1
        self._open.pop(row.entry.receipt, None)
        self._vault_writes += row.entry.tool == WRITES_TO_VAULT and row.entry.outcome == "ok"
        if any(witness.row for witness in witnesses):
            self._first_printed = self._first_printed or row.seq
            self._last_printed = row.seq
        else:
            self._unprinted.append(row.seq)

    def conclude(self, journal: list[Witness] | None, commits: list[Witness] | None) -> None:
        """Say what was noticed; a comparison with nothing is no agreement, so it is a finding."""
        if journal is not None and not journal and self._outcomes:
            self._report.findings.append(f"The journal has no audit line, but the log has {self._outcomes} calls.")
        if commits is not None and not commits and self._vault_writes:
            self._report.findings.append(f"No commit names a row, but the log has {self._vault_writes} vault writes.")
        between = [seq for seq in self._unprinted if self._first_printed < seq < self._last_printed]
        if between:
            self._report.notes.append(
                f"{len(between)} rows have no line in this journal, the first is row {between[0]}: the process was "
                "killed in between, the journal dropped lines, or they were made by the command line."
            )
        if self._open:
            self._report.notes.append(
                f"{len(self._open)} calls started and have no outcome, the first is row {min(self._open.values())}."
            )
