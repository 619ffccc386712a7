"""`mcp-gateway channels`: how much of each channel each client sees."""

import argparse

from mcp_gateway.cli.options import add_config, counted


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("channels", help="how much of each channel each client sees", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """One line per channel, and under it one per client that it is granted to."""
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.planning import plan
    from mcp_gateway.policies.filters import state
    from mcp_gateway.settings.secrets import Secrets

    found = plan(args.config, CATALOGUE, Secrets.unread())
    for name, channel in found.settings.channels.items():
        offered, shown = found.views.offered(name), found.views.view(name).tools
        print(f"{name}: {state(channel.tools, offered, shown)} ({counted(len(shown), 'tool')})")
        for client in found.settings.clients:
            if name in client.channels:
                seen = found.views.view(name, client).tools
                print(f"  {client.name}: {state(client.tools, shown, seen)} ({counted(len(seen), 'tool')})")
    return 0
