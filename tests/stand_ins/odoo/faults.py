"""The faults of Odoo: the class that JSON-2 names, the code that XML-RPC gives, and the words."""


class Fault(Exception):
    """One fault. `name` is the class in Odoo's own words."""

    def __init__(self, name: str, text: str, code: int, status: int) -> None:
        super().__init__(text)
        self.name, self.text, self.code, self.status = name, text, code, status


def user(text: str) -> Fault:
    return Fault("odoo.exceptions.UserError", text, 2, 422)


def invalid(text: str) -> Fault:
    return Fault("odoo.exceptions.ValidationError", text, 2, 422)


def missing(model: str, record: object, uid: int) -> Fault:
    words = f"Record does not exist or has been deleted.\n(Record: {model}({record},), User: {uid})"
    return Fault("odoo.exceptions.MissingError", words, 2, 404)


def denied() -> Fault:
    return Fault("odoo.exceptions.AccessDenied", "Access Denied", 3, 401)


def not_allowed(verb: str, label: str, model: str, groups: list[str]) -> Fault:
    listed = "\n".join(f"\t- {group}" for group in groups)
    words = (
        f"You are not allowed to {verb} '{label}' ({model}) records.\n\nThis operation is allowed for the following "
        f"groups:\n{listed}\n\nContact your administrator to request access if necessary."
    )
    return Fault("odoo.exceptions.AccessError", words, 4, 403)


def secret(name: str, uid: int, verb: str, label: str, model: str) -> Fault:
    words = (
        "Uh-oh! Looks like you have stumbled upon some top-secret records.\n\n"
        f"Sorry, {name} (id={uid}) doesn't have '{verb}' access to:\n- {label} ({model})\n\n"
        "If you really, really need access, perhaps you can win over your friendly administrator with a batch of "
        "freshly baked cookies."
    )
    return Fault("odoo.exceptions.AccessError", words, 4, 403)


def inside(name: str, text: str) -> Fault:
    """A Python error: over XML-RPC it comes with its whole traceback."""
    return Fault(name if "." in name else f"builtins.{name}", text, 1, 500)


def request(name: str, text: str, status: int) -> Fault:
    """What JSON-2 says of a request that it cannot run."""
    return Fault(f"werkzeug.exceptions.{name}", text, 1, status)


def traceback(fault: Fault) -> str:
    """A fault of code 1 as XML-RPC gives it."""
    if fault.code != 1:
        return fault.text
    short = fault.name.removeprefix("builtins.")
    place = '  File "/opt/odoo/odoo/http.py", line 1, in dispatch\n    result = endpoint()\n'
    return f"Traceback (most recent call last):\n{place}\n{short}: {fault.text}\n"
