"""The command `approvals`: serve, check, and decide on the host itself."""

import argparse
import logging
import sqlite3
import sys
from pathlib import Path

from approvals.cli import decisions, passphrase
from approvals.errors import ConfigurationError
from approvals.settings import load

CONFIGURATION = Path("/etc/talaria/approvals.yml")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0 only when what was asked holds."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except ConfigurationError as fault:
        for problem in fault.problems:
            print(problem, file=sys.stderr)
        return 2
    except (sqlite3.Error, OSError) as fault:
        print(f"The database cannot be used: {fault}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="approvals", description="Asks a person before a sensitive call runs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    settings = argparse.ArgumentParser(add_help=False)
    settings.add_argument("--config", type=Path, default=CONFIGURATION, help=f"configuration ({CONFIGURATION})")
    for name, run, words in (("serve", _serve, "answer until stopped"), ("check", _check, "look for faults")):
        commands.add_parser(name, parents=[settings], help=words).set_defaults(run=run)
    decisions.add(commands, settings)
    passphrase.add(commands)
    return parser


def _serve(options: argparse.Namespace) -> int:
    from approvals.serving import serve

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # Addresses of other services may hold a token.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    serve(load(options.config))
    return 0


def _check(options: argparse.Namespace) -> int:
    from approvals.app import load_hashes
    from approvals.tokens import load_tokens

    configuration = load(options.config)
    problems = []
    for look in (load_tokens, load_hashes):
        try:
            look(configuration)
        except ConfigurationError as fault:
            problems += fault.problems
    if problems:
        raise ConfigurationError(problems)
    print(f"{options.config}: no fault found")
    return 0
