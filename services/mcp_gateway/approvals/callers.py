"""Who a request's client is by the configuration that is in force now."""

from mcp_gateway.calls import Caller
from mcp_gateway.channels.views import Views
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.settings.model import Settings

# The command line's client needs no entry in the configuration.
COMMAND_LINE = "cli"


def caller_of(settings: Settings, views: Views, client: str, channel: str) -> Caller:
    """The caller, with what it may see of the channel. Raise Refusal when it has lost its place or the channel."""
    found = next((one for one in settings.clients if one.name == client), None)
    if found is None and client != COMMAND_LINE:
        raise Refusal(Code.FORBIDDEN, f"There is no client {client} any more. Nothing was executed.")
    if channel not in settings.channels or (found is not None and channel not in found.channels):
        raise Refusal(Code.FORBIDDEN, f"{client} does not hold the channel {channel} any more. Nothing was executed.")
    view = views.view(channel, found)
    return Caller(
        client=client,
        channel=channel,
        tools=view.tools,
        decide=view.decide,
        # An approved call was counted when it was asked for.
        rate_per_minute=found.rate_per_minute if found else 1,
        odoo_employee_id=found.odoo_employee_id if found else None,
    )
