"""Options that several commands share."""

import argparse
from pathlib import Path


def add_config(parser: argparse.ArgumentParser) -> None:
    """Which configuration the command is about."""
    parser.add_argument("--config", type=Path, required=True, metavar="F", help="the gateway's configuration file")
