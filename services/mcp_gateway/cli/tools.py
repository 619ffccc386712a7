"""`mcp-gateway tools`: the tools that a channel shows, or that a client sees there, and which ask a person first."""

import argparse
import json

from mcp_gateway.cli.options import add_config
from mcp_gateway.errors import ConfigurationError


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("tools", help="list the tools of a channel or of a client", description=__doc__)
    add_config(parser)
    parser.add_argument("--channel", metavar="C", help="this channel only (all)")
    parser.add_argument("--client", metavar="N", help="as this client sees them, in the channels it is granted")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the tools per channel, as `tools/list` would give them."""
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.planning import plan
    from mcp_gateway.settings.secrets import Secrets

    found = plan(args.config, CATALOGUE, Secrets.unread())
    client = next((one for one in found.settings.clients if one.name == args.client), None)
    problems = []
    if args.client is not None and client is None:
        problems.append(f"--client: {args.client!r} is no client of this configuration")
    if args.channel is not None and args.channel not in found.settings.channels:
        problems.append(f"--channel: {args.channel!r} is no channel of this configuration")
    elif client is not None and args.channel is not None and args.channel not in client.channels:
        problems.append(f"--channel: {args.channel} is not granted to {client.name}")
    if problems:
        raise ConfigurationError(problems)
    names = [args.channel] if args.channel else list(client.channels if client else found.settings.channels)
    views = {name: found.views.view(name, client) for name in names}
    listed = {
        name: [{**tool, "policy": view.decide(tool["name"])} for tool in view.listing] for name, view in views.items()
    }
    if args.json:
        print(json.dumps(listed, ensure_ascii=False))
        return 0
    for name, tools in listed.items():
        print(f"{name}:" if tools else f"{name}: no tools")
        for tool in tools:
            print(f"  {tool['name']}  {tool['policy']}  {tool['description'].splitlines()[0]}")
    return 0
