"""`mcp-gateway call`: one call from the command line, through the same policy, as the client `cli`."""

import argparse
import json
from typing import TYPE_CHECKING

from mcp_gateway.cli.options import add_config
from mcp_gateway.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp_gateway.calls import Caller
    from mcp_gateway.planning import Plan
    from mcp_gateway.settings.model import Client
    from mcp_gateway.settings.secrets import Secrets

CLIENT = "cli"
# One call a process; the limit is for agents.
RATE_PER_MINUTE = 600


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser("call", help="call one tool", description=__doc__)
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    add_config(parser)
    parser.add_argument("--args", default="{}", metavar="JSON", help="the arguments as one JSON object ({})")
    parser.add_argument("--channel", metavar="C", help="through this channel; needed when several show the tool")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the answer; 0 only when it says success."""
    import anyio

    from mcp_gateway import logs
    from mcp_gateway.settings.secrets import Secrets

    secrets = Secrets.beside(args.config)
    logs.set_up(lambda: secrets.known)
    answer = anyio.run(_call, args, secrets)
    print(answer)
    return 0 if json.loads(answer)["success"] is True else 1


async def _call(args: argparse.Namespace, secrets: "Secrets") -> str:
    from mcp_gateway.approvals.asking import Asking
    from mcp_gateway.approvals.kept import Kept
    from mcp_gateway.audit import AuditLog
    from mcp_gateway.backends import approvals_of, close_old, open_new
    from mcp_gateway.calls import Calls
    from mcp_gateway.catalogue import CATALOGUE
    from mcp_gateway.metrics import Metrics
    from mcp_gateway.planning import plan

    found = plan(args.config, CATALOGUE, secrets)
    caller = _caller(found, args)
    arguments = _arguments(args.args, caller)
    audit = AuditLog.open(found.settings.state_dir)
    kept = Kept(found.settings.state_dir)
    try:
        await open_new(found.backends, {})
        metrics, deadline = Metrics(), found.settings.core.tool_deadline_seconds
        asking = Asking(lambda: approvals_of(found.backends), kept, metrics, lambda: secrets.known)
        calls = Calls(audit, metrics, deadline, lambda: secrets.known, asking)
        return await calls.answer(caller, args.tool, arguments)
    finally:
        await close_old(found.backends, {})
        kept.close()
        audit.close()


def _caller(found: "Plan", args: argparse.Namespace) -> "Caller":
    """The client `cli`: narrowed like any other when the configuration names one, else seeing all of the channel."""
    from mcp_gateway.calls import Caller

    client = next((one for one in found.settings.clients if one.name == CLIENT), None)
    channel = _channel(found, client, args)
    view = found.views.view(channel, client)
    return Caller(
        client=CLIENT,
        channel=channel,
        tools=view.tools,
        decide=view.decide,
        rate_per_minute=client.rate_per_minute if client else RATE_PER_MINUTE,
        odoo_employee_id=client.odoo_employee_id if client else None,
    )


def _channel(found: "Plan", client: "Client | None", args: argparse.Namespace) -> str:
    """The channel to call through. Raise ConfigurationError when none is named and several would do."""
    names = [name for name in found.settings.channels if client is None or name in client.channels]
    if args.channel in names:
        return str(args.channel)
    if args.channel is not None:
        if args.channel in found.settings.channels:
            raise ConfigurationError([f"--channel: {args.channel} is not granted to {CLIENT}"])
        raise ConfigurationError([f"--channel: {args.channel!r} is no channel of this configuration"])
    if not names:
        raise ConfigurationError(["channels: there is none to call through"])
    showing = [name for name in names if args.tool in found.views.view(name, client).tools]
    if len(showing) > 1:
        raise ConfigurationError([f"--channel: {', '.join(showing)} show {args.tool}; name one of them"])
    return showing[0] if showing else names[0]


def _arguments(text: str, caller: "Caller") -> dict[str, object]:
    """The arguments; what is wrong with them as JSON becomes the same answer that an agent would get."""
    from mcp_gateway.channels.bodies import screen

    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigurationError(['--args: is no JSON; write an object such as \'{"query": "invoice"}\'']) from None
    envelope = f'{{"method":"tools/call","params":{{"name":"","arguments":{text}}}}}'.encode("utf-8", "surrogatepass")
    caller.fault = screen(envelope).fault
    return arguments if isinstance(arguments, dict) else {}
