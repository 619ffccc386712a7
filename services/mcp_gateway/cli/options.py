"""Options and words that several commands share."""

import argparse
from pathlib import Path


def add_config(parser: argparse.ArgumentParser) -> None:
    """Which configuration the command is about."""
    parser.add_argument("--config", type=Path, required=True, metavar="F", help="the gateway's configuration file")


def counted(count: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
