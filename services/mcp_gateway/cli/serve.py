"""`mcp-gateway serve`: the service, until it is told to stop."""

import argparse
import gc

from mcp_gateway.cli.options import add_config


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("serve", help="run the gateway", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve; 0 after an orderly end. SIGHUP reads the configuration again."""
    # Starting makes half a million objects that stay: looking through them again and again for garbage is a quarter of
    # the time it takes. Collecting begins when the service is ready.
    gc.disable()
    from mcp_gateway import logs
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.settings.secrets import Secrets

    secrets = Secrets.beside(args.config)
    logs.set_up(lambda: secrets.known)
    from mcp_gateway.serving import serve  # after the logs: the SDK would set up its own

    return serve(args.config, CATALOGUE, secrets)
