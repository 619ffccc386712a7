"""XML-RPC: every Odoo from 17 to 21 speaks it, with the user's id and the key in each request."""

import xmlrpc.client
from typing import Any
from xml.parsers.expat import ExpatError

from mcp_gateway.ports.odoo.faults import Kind, OdooFault, from_fault
from mcp_gateway.ports.odoo.transport import Broken, Request, Unfit
from mcp_gateway.ports.odoo.wire import Reply, Wire, refuse_status

COMMON, OBJECT = "/xmlrpc/2/common", "/xmlrpc/2/object"
BY_POSITION = {"create": "vals_list", "write": "vals"}
HEADERS = {"Content-Type": "text/xml"}


class XmlRpc:
    """Speaks XML-RPC as one user of one database."""

    def __init__(self, wire: Wire, database: str, login: str) -> None:
        self._wire = wire
        self._database = database
        self._login = login
        self._uid = 0
        self._key = ""

    async def uid(self, key: str) -> int:
        # An empty key is a bug of Odoo 18's, not an answer; nobody can have one.
        found = await _call(self._wire, COMMON, "authenticate", (self._database, self._login, key, {})) if key else 0
        if not isinstance(found, int) or isinstance(found, bool) or found <= 0:
            raise OdooFault(Kind.LOGIN)
        self._uid, self._key = found, key
        return found

    async def run(self, request: Request) -> object:
        arguments: list[object] = [] if request.ids is None else [request.ids]
        named: dict[str, object] = dict(request.arguments)
        # `create` takes them no other way, and before 19 some models call the argument of `write` something else.
        if request.method in BY_POSITION:
            arguments.append(named.pop(BY_POSITION[request.method]))
        if request.context:
            named["context"] = dict(request.context)
        parameters = (self._database, self._uid, self._key, request.model, request.method, arguments, named)
        try:
            return await _call(self._wire, OBJECT, "execute_kw", parameters)
        except OdooFault as fault:
            # A user id that is gone is told like any missing record, and means that we are nobody any more.
            if fault.record == ("res.users", self._uid) and request.model != "res.users":
                raise OdooFault(Kind.LOGIN) from fault
            raise


async def server_version(wire: Wire) -> object:
    """What `version` of the common service says."""
    return await _call(wire, COMMON, "version", ())


async def _call(wire: Wire, path: str, method: str, parameters: tuple[Any, ...]) -> object:
    body = xmlrpc.client.dumps(parameters, method, allow_none=True).encode("utf-8")
    return _result(await wire.post(path, body, HEADERS))


def _result(reply: Reply) -> object:
    if reply.status != 200 or not reply.is_xml:
        refuse_status(reply)
        if reply.status == 200:
            raise Broken
        raise Unfit(f"odoo.url answers {reply.status} to XML-RPC, so no Odoo is there, or a proxy hides /xmlrpc/2")
    if b"<!DOCTYPE" in reply.body[:1000]:  # Odoo sends none, and an entity may be endless
        raise Broken
    try:
        values, _ = xmlrpc.client.loads(reply.body, use_builtin_types=True)
    except xmlrpc.client.Fault as fault:
        raise from_fault(fault.faultCode, str(fault.faultString)) from None
    except (ExpatError, xmlrpc.client.ResponseError, ValueError, TypeError, LookupError, RecursionError) as fault:
        raise Broken from fault
    result: object = values[0]
    return result
