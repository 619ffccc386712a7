"""Which Odoo answers at an address, found out once and without following a redirect."""

import json

from mcp_gateway.ports.odoo.faults import OdooFault
from mcp_gateway.ports.odoo.transport import Unfit
from mcp_gateway.ports.odoo.wire import Wire, refuse_status
from mcp_gateway.ports.odoo.xmlrpc import server_version

# JSON-2 exists from this release on.
FIRST_JSON2 = 19
OLDEST = 17


async def release(wire: Wire) -> int:
    """The release, such as 18. Raise Unfit when it is too old or no Odoo at all.

    From 19 on `/web/version` says it in JSON; before, that is a page that does not exist and XML-RPC says it.
    """
    reply = await wire.get("/web/version")
    info = _listed(reply.body, "version_info") if reply.status == 200 and reply.is_json else None
    if info is None:
        if reply.status in (429, 502, 503, 504):
            refuse_status(reply)
        try:
            found = await server_version(wire)
        except OdooFault as fault:
            raise Unfit("odoo.url speaks XML-RPC but is no Odoo") from fault
        info = found.get("server_version_info") if isinstance(found, dict) else None
    number = _number(info)
    if number < OLDEST:
        raise Unfit(f"odoo.url is an Odoo {number}; {OLDEST} is the oldest that these tools know")
    return number


def _listed(body: bytes, key: str) -> object:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found.get(key) if isinstance(found, dict) else None


def _number(info: object) -> int:
    """Odoo Online counts `saas~18.2`; its series is what decides."""
    first = info[0] if isinstance(info, list) and info else None
    if isinstance(first, str):
        first = first.rpartition("~")[2].partition(".")[0]
        first = int(first) if first.isdigit() else None
    if not isinstance(first, int) or isinstance(first, bool):
        raise Unfit("odoo.url does not say which release of Odoo it is")
    return first
