"""The methods that can be called from outside, with the arguments that each transport takes."""

from typing import Any

from . import faults
from .models import MODELS, fields
from .office import Office
from .people import User

Row = dict[str, Any]
# Models whose `write` calls its values something else before 19, so that only the position is common.
OTHERWISE = frozenset({"account.analytic.line"})
# Name: whether it is called on records, and its arguments in order.
METHODS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "read": (True, ("fields", "load")),
    "write": (True, ("vals",)),
    "unlink": (True, ()),
    "action_archive": (True, ()),
    "action_unarchive": (True, ()),
    "create": (False, ("vals_list",)),
    "search": (False, ("domain", "offset", "limit", "order")),
    "search_count": (False, ("domain", "limit")),
    "search_read": (False, ("domain", "fields", "offset", "limit", "order")),
    "context_get": (False, ()),
    "fields_get": (False, ("allfields", "attributes")),
}


def call(office: Office, user: User, model: str, method: str, positional: list[Any] | None, named: Row) -> Any:
    """The result of one call; `positional` is None over JSON-2, which has named arguments only."""
    json2 = positional is None
    _check_names(office, model, method, json2)
    on_records, order = METHODS[method]
    named = dict(named)
    context = named.pop("context", None) or {}
    ids = _ids(on_records, positional, named, model, method)
    for name, value in zip(order, positional or [], strict=False):
        if name in named:
            raise faults.inside("TypeError", f"{method}() got multiple values for argument '{name}'")
        named[name] = value
    if method == "create" and not json2 and not positional:
        raise faults.inside("IndexError", "tuple index out of range")
    if method == "write" and not json2 and not positional and model in OTHERWISE and office.release < 19:
        raise faults.inside("TypeError", "write() got an unexpected keyword argument 'vals'")
    _check_arguments(method, order, named, json2)
    return _run(office, user, model, method, ids, named, context, json2)


def _check_names(office: Office, model: str, method: str, json2: bool) -> None:
    if model not in MODELS:
        if json2:
            raise faults.request("NotFound", f"the model '{model}' does not exist", 404)
        raise faults.user(f"Object {model} doesn't exist")
    if method.startswith("_"):
        words = f"Private methods (such as '{model}.{method}') cannot be called remotely."
        raise faults.Fault("odoo.exceptions.AccessError", words, 4, 403)
    if method not in METHODS:
        named = f"{model}.{method}"
        if json2:
            raise faults.request("NotFound", f"The method '{named}' does not exist", 404)
        older = f"The method '{method}' does not exist on the model '{model}'"
        raise faults.inside("AttributeError", older if office.release < 18 else f"The method '{named}' does not exist")


def _ids(on_records: bool, positional: list[Any] | None, named: Row, model: str, method: str) -> list[Any]:
    if not on_records:
        if positional is None and "ids" in named:
            raise faults.request("UnprocessableEntity", f"cannot call {model}.{method} with ids", 422)
        return []
    found = named.pop("ids", []) if positional is None else positional.pop(0)
    return [found] if isinstance(found, int) else list(found or [])


def _check_arguments(method: str, order: tuple[str, ...], named: Row, json2: bool) -> None:
    needed = {"write": "vals", "create": "vals_list"}.get(method)
    if needed and needed not in named:
        words = f"missing a required argument: '{needed}'"
        raise faults.request("UnprocessableEntity", words, 422) if json2 else faults.inside("TypeError", words)
    if unknown := next((name for name in named if name not in order), None):
        words = f"got an unexpected keyword argument '{unknown}'"
        if json2 and method != "search_read":
            raise faults.request("UnprocessableEntity", words, 422)
        raise faults.inside("TypeError", f"BaseModel._read_format() {words}")


def _run(
    office: Office, user: User, model: str, method: str, ids: list[Any], named: Row, context: Row, json2: bool
) -> Any:
    match method:
        case "read":
            return office.read(user, model, ids, named.get("fields") or [])
        case "write":
            return office.write(user, model, ids, named["vals"])
        case "unlink":
            return office.unlink(user, model, ids)
        case "action_archive" | "action_unarchive":
            office.write(user, model, ids, {"active": method == "action_unarchive"})
            return None
        case "create":
            given = named["vals_list"]
            made = [office.create(user, model, one) for one in (given if isinstance(given, list) else [given])]
            return made if json2 or isinstance(given, list) else made[0]
        case "context_get":
            return {"lang": "en_US", "tz": user.zone, "uid": user.uid}
        case "fields_get":
            known = fields(model, office.release)
            return {name: {"type": field.kind} for name, field in known.items() if not field.hidden}
    return _search(office, user, model, method, named, context)


def _search(office: Office, user: User, model: str, method: str, named: Row, context: Row) -> Any:
    rows = office.search(user, model, named.get("domain") or [], named.get("order") or "", context)
    if method == "search_count":
        return len(rows)
    limit, offset = named.get("limit"), named.get("offset") or 0
    if isinstance(limit, int) and limit < 0:
        raise faults.inside("psycopg2.errors.InvalidRowCountInLimitClause", "LIMIT must not be negative\n")
    rows = rows[offset : offset + limit if limit else None]
    if method == "search":
        return [row["id"] for row in rows]
    return office.read(user, model, [row["id"] for row in rows], named.get("fields") or [])
