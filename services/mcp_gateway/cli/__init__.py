"""The command line: one module per command."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its status."""
    from mcp_gateway.cli.edge import run  # only now, so that importing a command does not import all of them

    sys.exit(run(arguments))
