"""`mcp-gateway audit` as an operator uses it."""

import argparse
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_gateway.audit import AuditLog, Entry, new_receipt
from mcp_gateway.cli import audit as command
from mcp_gateway.errors import ConfigurationError

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, state_dir: Path) -> Run:
    config = tmp_path / "mcp_gateway.yml"
    config.write_text(f"state_dir: {state_dir}\n")
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())

    def run(*options: str) -> int:
        return command.run(parser.parse_args(["audit", "--config", str(config), *options]))

    return run


@pytest.fixture
def calls(log: AuditLog, entry: Callable[..., Entry]) -> list[str]:
    """A read, a write, a refused read of another client, and a write that never ended; gives their receipts."""
    receipts = [new_receipt() for _ in range(4)]
    log.record(entry(receipt=receipts[0]))
    anyio.run(log.started, entry("started", tool="vault_write", receipt=receipts[1]))
    log.record(entry("__NOT_FOUND__", client="claude", tool="evil\x1b[2J", receipt=receipts[2]))
    anyio.run(log.finished, entry("ok", tool="vault_write", receipt=receipts[1]))
    anyio.run(log.started, entry("started", tool="vault_write", receipt=receipts[3]))
    return receipts


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, list)
    return found


def test_a_write_is_one_call_and_one_without_an_end_is_unknown(
    run: Run, calls: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--json") == 0
    found = listed(capsys)
    assert [call["receipt"] for call in found] == [calls[0], calls[2], calls[1], calls[3]]
    assert [call["outcome"] for call in found] == ["ok", "__NOT_FOUND__", "ok", "unknown"]
    assert [call["started_seq"] for call in found] == [None, None, 2, 5]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--client", "claude"], [2]),
        (["--tool", "vault_write"], [1, 3]),
        (["--outcome", "unknown"], [3]),
        (["--outcome", "ok"], [0, 1]),
        (["--limit", "1"], [3]),
        (["--since", "2100-01-01T00:00:00+02:00"], []),
        (["--since", "2020-01-01"], [0, 2, 1, 3]),
        (["--client", "nobody"], []),
        (["--tool", "' OR 1=1 --"], []),
    ],
)
def test_filters_narrow_the_list(
    run: Run, calls: list[str], capsys: pytest.CaptureFixture[str], options: list[str], expected: list[int]
) -> None:
    assert run("--json", *options) == 0
    assert [call["receipt"] for call in listed(capsys)] == [calls[number] for number in expected]


def test_a_receipt_finds_its_call(run: Run, calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "--receipt", calls[1]) == 0
    assert [call["seq"] for call in listed(capsys)] == [4]


def test_text_does_not_carry_control_characters(run: Run, calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    assert "evil\\x1b[2J(query) __NOT_FOUND__" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 4


def test_verify_agrees_with_a_journal_and_commits(
    run: Run,
    calls: list[str],
    journal: io.StringIO,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "journal").write_bytes(b"\xff noise\n" + journal.getvalue().encode())
    (tmp_path / "commits").write_text("\n")
    assert run("--verify", "--journal", str(tmp_path / "journal")) == 0
    assert "5 rows, 3 journal lines: agree." in capsys.readouterr().out
    assert run("--verify", "--vault-commits", str(tmp_path / "commits")) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(journal.getvalue()))
    assert run("--verify", "--journal", "-", "--json") == 0
    capsys.readouterr()


def test_verify_prints_findings_naming_the_row_and_fails(
    run: Run, calls: list[str], edit: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    edit("UPDATE rows SET client = 'x' WHERE seq = 3")
    assert run("--verify") == 1
    out = capsys.readouterr().out
    assert "Row 3 does not follow from row 2" in out
    assert "5 rows: do not agree: 1 findings." in out
    assert run("--verify", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert len(report["findings"]) == 1


def test_many_findings_are_counted_not_poured_out(
    run: Run, log: AuditLog, entry: Callable[..., Entry], edit: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(50):
        log.record(entry())
    log.close()
    edit("UPDATE rows SET client = 'x'")
    assert run("--verify") == 1
    out = capsys.readouterr().out
    assert "… and 30 more findings" in out
    assert len(out.splitlines()) == 22


def test_no_log_is_said_with_its_place(run: Run, state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verify") == 1
    assert f"There is no audit log at {state_dir / 'audit.db'}" in capsys.readouterr().err
    assert not state_dir.exists()


def test_a_damaged_file_is_said_not_thrown(
    run: Run, calls: list[str], log: AuditLog, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.close()
    (state_dir / "audit.db").write_bytes(b"no database" * 1000)
    assert run("--verify") == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_fault_elsewhere_in_the_configuration_does_not_hide_the_log(
    run: Run, calls: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mcp_gateway.yml").write_text("state_dir: state\nchannels: [wrong]\n")
    assert run("--verify") == 0
    assert "5 rows: agree." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["listen: []\n", "state_dir: 5\n", "state_dir: ''\n"])
def test_a_configuration_without_a_state_dir_is_refused_by_name(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "mcp_gateway.yml").write_text(text)
    with pytest.raises(ConfigurationError, match="state_dir"):
        run()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--journal", "x"], "go with --verify"),
        (["--verify", "--journal", "-", "--vault-commits", "-"], "from stdin"),
    ],
)
def test_a_wrong_question_is_answered_with_2(
    run: Run, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--since", "yesterday"], ["--limit", "0"], ["--limit", "²"], ["--limit", "x"]])
def test_wrong_values_are_refused_by_the_parser(
    run: Run, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(*options)
    assert options[0] in capsys.readouterr().err


def test_a_journal_that_is_not_there_fails(run: Run, calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verify", "--journal", "/nowhere/journal") == 1
    assert "/nowhere/journal" in capsys.readouterr().err
