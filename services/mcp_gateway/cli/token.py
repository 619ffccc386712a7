"""`mcp-gateway token new CLIENT`: a token for the client, and the line that lets it in. Nothing is stored."""

import argparse
import secrets

from mcp_gateway.clients import token_line
from mcp_gateway.settings.model import CLIENT_NAME

# 256 bits: nobody guesses it, and its hash needs no salt and no slow function.
TOKEN_BYTES = 32


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("token", help="make a token for a client", description=__doc__)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="print a new token and its line", description=__doc__)
    new.add_argument("client", metavar="CLIENT", type=_name, help="the client's name in the configuration")
    new.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the token for the client and the line for the gateway."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    print(token)
    print(token_line(token))
    return 0


def _name(text: str) -> str:
    if not CLIENT_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("a client's name may hold letters, digits, _ . and - only")
    return text
