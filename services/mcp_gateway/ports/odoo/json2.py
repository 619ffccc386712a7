"""JSON-2: Odoo 19 and newer, named arguments, a key that says by itself who we are."""

import json

from mcp_gateway.ports.odoo.faults import Kind, OdooFault, from_error
from mcp_gateway.ports.odoo.transport import Broken, Request, Unfit
from mcp_gateway.ports.odoo.wire import Reply, Wire, refuse_status


class Json2:
    """Speaks JSON-2 with one key to one database."""

    def __init__(self, wire: Wire, database: str, login: str) -> None:
        self._wire = wire
        self._database = database
        self._login = login
        self._headers: dict[str, str] = {}

    async def uid(self, key: str) -> int:
        if not (key.isascii() and key.isprintable()):  # it has to travel in a header
            raise OdooFault(Kind.LOGIN)
        self._headers = {
            "Authorization": f"bearer {key}",
            "X-Odoo-Database": self._database,
            "Content-Type": "application/json",
        }
        context = await self.run(Request("res.users", "context_get", {}))
        found = context.get("uid") if isinstance(context, dict) else None
        if not isinstance(found, int) or isinstance(found, bool) or found <= 0:
            raise Broken
        rows = await self.run(Request("res.users", "read", {"fields": ["login"]}, ids=[found]))
        named = rows[0].get("login") if isinstance(rows, list) and rows and isinstance(rows[0], dict) else None
        if named != self._login:
            raise Unfit("odoo.login is not the user to whom the key in odoo.api_key_file belongs; make them agree")
        return found

    async def run(self, request: Request) -> object:
        body: dict[str, object] = dict(request.arguments)
        if request.ids is not None:
            body["ids"] = request.ids
        if request.context:
            body["context"] = dict(request.context)
        encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        return _result(await self._wire.post(f"/json/2/{request.model}/{request.method}", encoded, self._headers))


def _result(reply: Reply) -> object:
    if not reply.is_json:
        refuse_status(reply)
        if reply.status == 404:  # the page that Odoo shows when it has no such database
            raise OdooFault(Kind.DATABASE)
        if reply.status < 400:
            raise Broken
        raise Unfit(f"odoo.url answers {reply.status} to JSON-2 with something that is not JSON")
    try:
        value: object = json.loads(reply.body)
    except (ValueError, RecursionError) as fault:
        raise Broken from fault
    if reply.status == 200:
        return value
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        refuse_status(reply)
        raise Broken
    raise from_error(reply.status, value["name"], str(value.get("message", "")))
