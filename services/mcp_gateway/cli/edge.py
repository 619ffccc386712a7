"""Where a command becomes an exit status: 0 what was asked holds, 1 it does not, 2 question or file is wrong."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mcp_gateway import __version__
from mcp_gateway.cli import audit, call, channels, check, serve, token, tools, undo
from mcp_gateway.errors import ConfigurationError

COMMANDS = (serve, check, channels, tools, call, token, audit, undo)
BAD_CONFIGURATION = 2


class _Exit(Exception):
    """A status that was decided somewhere inside."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit status of one command line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not hasattr(given, "run"):
        parser.print_help()
        return BAD_CONFIGURATION
    try:
        with told():
            return int(given.run(given))
    except _Exit as exit_:
        return exit_.status
    except BrokenPipeError:  # the reader, such as `head`, has enough
        sys.stderr.close()
        return 1


@contextmanager
def told() -> Iterator[None]:
    """Turn a wrong configuration into its list of problems on stderr, and an interrupt into silence."""
    try:
        yield
    except ConfigurationError as fault:
        for problem in fault.problems:
            print(problem, file=sys.stderr)
        raise _Exit(BAD_CONFIGURATION) from fault
    except KeyboardInterrupt as fault:
        raise _Exit(130) from fault


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mcp-gateway",
        description="Curated tools for an AI agent, behind one gate.",
        epilog="Begin with `mcp-gateway check --config F`, which lists everything that is wrong with a configuration.",
    )
    parser.add_argument("--version", action="version", version=f"mcp-gateway {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser
