"""`mcp-gateway undo`: put back what a writing call changed in Odoo, unless somebody has changed it since."""

import argparse
import json
from typing import TYPE_CHECKING

from mcp_gateway.cli.options import add_config
from mcp_gateway.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp_gateway.settings.secrets import Secrets

# How the audit log names who undid and where.
CLIENT = CHANNEL = "cli"
RATE_PER_MINUTE = 600


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("undo", help="undo one writing call in Odoo", description=__doc__)
    parser.add_argument("receipt", metavar="RECEIPT", help="the receipt in the call's answer or in the audit log")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what was done; 0 only when it says success."""
    import anyio

    from mcp_gateway import logs
    from mcp_gateway.settings.secrets import Secrets

    secrets = Secrets.beside(args.config)
    logs.set_up(lambda: secrets.known)
    answer = anyio.run(_undo, args, secrets)
    print(answer)
    return 0 if json.loads(answer)["success"] is True else 1


async def _undo(args: argparse.Namespace, secrets: "Secrets") -> str:
    from mcp_gateway.actions.odoo.backend import OdooBackend
    from mcp_gateway.actions.odoo.restore import undo_tool
    from mcp_gateway.audit import AuditLog
    from mcp_gateway.calls import Caller, Calls
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.metrics import Metrics
    from mcp_gateway.planning import plan

    found = plan(args.config, CATALOGUE, secrets)
    standing = found.backends.get("odoo")
    if standing is None or not isinstance(standing.backend, OdooBackend):
        raise ConfigurationError(["odoo: the section is missing, so there is nothing that could be undone"])
    tool = undo_tool(standing.backend.desk)
    caller = Caller(CLIENT, CHANNEL, {tool.name: tool}, lambda name: "auto", RATE_PER_MINUTE)
    audit = AuditLog.open(found.settings.state_dir)
    await standing.backend.open()
    try:
        calls = Calls(audit, Metrics(), found.settings.core.tool_deadline_seconds, lambda: secrets.known)
        return await calls.answer(caller, tool.name, {"receipt": args.receipt})
    finally:
        await standing.backend.close()
        audit.close()
