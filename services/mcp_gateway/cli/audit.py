"""`mcp-gateway audit`: what was called, and whether the record of it can be trusted."""

import argparse
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from mcp_gateway.audit.calls import Filter, Unreadable, reading
from mcp_gateway.audit.entry import TIME_FORMAT
from mcp_gateway.audit.journal import journal_rows
from mcp_gateway.audit.verify import Report, commit_witnesses, journal_witnesses, verify
from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.document import read_document

# A history that was rewritten early disagrees in every row; a screenful says the same.
MAX_FINDINGS = 20


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("audit", help="list calls, or verify the audit log", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, metavar="F", help="the gateway's configuration file")
    parser.add_argument("--verify", action="store_true", help="walk the hash chain; exit status 0 only if all agrees")
    parser.add_argument(
        "--journal", metavar="FILE", help="with --verify: output of journalctl (-o cat or -o json), - for stdin"
    )
    parser.add_argument(
        "--vault-commits",
        metavar="FILE",
        help="with --verify: output of git log --format='%%(trailers:key=Talaria-Audit,valueonly)', - for stdin",
    )
    for name, words in FILTERS.items():
        parser.add_argument(f"--{name}", metavar=name[0].upper(), help=words)
    parser.add_argument("--since", type=_time, metavar="ISO", help="calls from this time on; UTC unless it says more")
    parser.add_argument("--limit", type=_positive, default=100, metavar="N", help="the newest N calls (100)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.set_defaults(run=run)


FILTERS = {
    "client": "calls of this client only",
    "tool": "calls of this tool only",
    "receipt": "the call with this receipt",
    "outcome": "calls that ended so: ok, an error code such as __NOT_FOUND__, fault, or unknown",
}


def run(args: argparse.Namespace) -> int:
    """Print what was asked for; 0 when it holds, 1 when a finding stands against it, 2 when the question is wrong."""
    witnesses = [name for name in (args.journal, args.vault_commits) if name is not None]
    if witnesses and not args.verify:
        print("--journal and --vault-commits go with --verify.", file=sys.stderr)
        return 2
    if witnesses == ["-", "-"]:
        print("Only one of --journal and --vault-commits can be read from stdin.", file=sys.stderr)
        return 2
    try:
        return _verify(args) if args.verify else _list(args)
    except (Unreadable, OSError, ValueError) as fault:
        print(fault, file=sys.stderr)
    return 1


def _list(args: argparse.Namespace) -> int:
    wanted = Filter(args.client, args.tool, args.receipt, args.outcome, args.since, args.limit)
    with reading(_state_dir(args.config)) as reader:
        calls = reader.calls(wanted)
    if args.json:
        print(json.dumps(calls))
    else:
        for call in calls:
            print(_line(call))
    return 0


def _line(call: dict[str, object]) -> str:
    names = call["args"] if isinstance(call["args"], list) else []
    where = f"{call['client']} {call['channel']} {call['tool']}({', '.join(names)})"
    # A tool's name may come from a hostile agent; it must not steer the terminal.
    plain = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in where)
    return f"{call['seq']} {call['time']} {call['receipt']} {plain} {call['outcome']} {call['ms']} ms"


def _verify(args: argparse.Namespace) -> int:
    # The witnesses first: a line that is printed while we read belongs to a row that the log then has already.
    journal = None if args.journal is None else journal_witnesses(journal_rows(_lines(args.journal)))
    commits = None if args.vault_commits is None else commit_witnesses(_lines(args.vault_commits))
    with reading(_state_dir(args.config)) as reader:
        report = verify(reader.rows(), journal, commits)
    if args.json:
        print(json.dumps({"ok": not report.findings, **asdict(report)}))
    else:
        _print_report(report, journal is not None, commits is not None)
    return 1 if report.findings else 0


def _print_report(report: Report, journal: bool, commits: bool) -> None:
    for finding in report.findings[:MAX_FINDINGS]:
        print(finding)
    if len(report.findings) > MAX_FINDINGS:
        print(f"… and {len(report.findings) - MAX_FINDINGS} more findings; --json gives all.")
    for note in report.notes:
        print(f"Note: {note}")
    sides = [f"{report.rows} rows"]
    sides += [f"{report.journal_lines} journal lines"] if journal else []
    sides += [f"{report.commits} vault commits"] if commits else []
    agree = f"do not agree: {len(report.findings)} findings" if report.findings else "agree"
    print(f"{', '.join(sides)}: {agree}.")


def _lines(name: str) -> Iterator[str]:
    """The lines of a file or of stdin. Journals hold other programs' bytes too: odd ones are carried, not refused."""
    if name == "-":
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="backslashreplace")
        yield from sys.stdin
    else:
        with Path(name).open(encoding="utf-8", errors="backslashreplace") as file:
            yield from file


def _state_dir(config: Path) -> Path:
    """Only this one key is read: the log must be readable also when the configuration has a fault elsewhere."""
    state_dir = read_document(config).get("state_dir")
    if not isinstance(state_dir, str) or not state_dir:
        raise ConfigurationError([f"state_dir: {config} does not name one"])
    return config.resolve().parent / state_dir


def _time(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no ISO time such as 2026-12-01T03:00Z") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime(TIME_FORMAT)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of calls from 1 on")
    return int(text)
