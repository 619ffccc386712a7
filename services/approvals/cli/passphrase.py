"""`approvals passphrase`: from a passphrase to the hash that stands for it in a file."""

import argparse
import getpass
import sys
from typing import Any

# Short ones are guessed; the console only slows guessing.
MIN_CHARACTERS = 12


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("passphrase", help="read a passphrase and print its hash; nothing is stored")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read it twice from a terminal, or one line from a pipe."""
    from approvals.app import new_hash

    if sys.stdin.isatty():
        given = getpass.getpass("Passphrase: ")
        if getpass.getpass("Once more: ") != given:
            print("They differ. Nothing was made.", file=sys.stderr)
            return 1
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    if len(given) < MIN_CHARACTERS:
        print(f"At least {MIN_CHARACTERS} characters: a few words are better than a short riddle.", file=sys.stderr)
        return 1
    print(new_hash(given))
    return 0
