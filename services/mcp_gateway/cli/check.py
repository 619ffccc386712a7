"""`mcp-gateway check`: everything that is wrong with a configuration, at once; nothing is started or asked."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_gateway.cli.options import add_config, counted

if TYPE_CHECKING:
    from mcp_gateway.channels.views import Views


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "check", help="tell everything that is wrong with a configuration", description=__doc__
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when the configuration is sound; a client that cannot come in is a fault here."""
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.planning import plan
    from mcp_gateway.settings.secrets import Secrets

    found = plan(args.config, CATALOGUE, Secrets.beside(args.config))
    for warning in found.notes:
        print(f"warning: {warning}", file=sys.stderr)
    for fault in found.clients.shut_out:
        print(fault, file=sys.stderr)
    if found.clients.shut_out:
        return 1
    counts = [counted(len(found.settings.clients), "client"), counted(len(found.settings.channels), "channel")]
    print(f"{args.config}: sound; {', '.join(counts)}.")
    for name in found.settings.channels:
        for line in _decisions(found.views, name):
            print(f"  {name}: {line}")
    return 0


def _decisions(views: "Views", channel: str) -> Iterator[str]:
    """Which tools of a channel do not simply run."""
    decide, shown = views.view(channel).decide, views.view(channel).tools
    offered = views.offered(channel)
    asking = [name for name in shown if decide(name) == "approve"]
    hidden = [name for name in offered if decide(name) == "never"]
    if asking:
        yield f"a person is asked before {', '.join(asking)}"
    if hidden:
        yield f"never: {', '.join(hidden)}"
