"""What Odoo makes of a value before it stores it, and what it says when it cannot."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from . import faults
from .markup import sanitized
from .models import MODELS, Field

STAMP = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")


def stored(model: str, name: str, field: Field, value: Any, release: int) -> Any:
    """The stored form of a written value."""
    if isinstance(value, str) and "\x00" in value:
        raise faults.inside("ValueError", "A string literal cannot contain NUL (0x00) characters.")
    if value is None:
        value = 0.0 if field.kind == "float" else False
    if field.kind == "selection" and value not in (False, *field.choices):
        raise faults.inside("ValueError", f"Wrong value for {model}.{name}: {value!r}")
    return _FORMS.get(field.kind, _as_it_is)(value, field, release)


def require(model: str, name: str, field: Field, value: Any, release: int) -> None:
    """Raise Fault when a required field would be empty. A blank text is not empty for Odoo."""
    if not field.required or value not in (False, None):
        return
    label = MODELS[model].named(release)
    if release >= 19:
        words = f"Missing required value for the field '{field.label}' ({name}).\nModel: '{label}' ({model})"
        raise faults.invalid(
            f"The operation cannot be completed: {words}\n- create/update: a mandatory field is not set"
        )
    raise faults.invalid(
        "The operation cannot be completed:\n- Create/update: a mandatory field is not set.\n- Delete: another model "
        "requires the record being deleted. If possible, archive it instead.\n\n"
        f"Model: {label} ({model})\nField: {field.label} ({name})\n"
    )


def _as_it_is(value: Any, field: Field, release: int) -> Any:
    return value


def _text(value: Any, field: Field, release: int) -> Any:
    return value if value is False else "".join(c for c in str(value) if c >= " " or c in "\t\n\r")


def _number(value: Any, field: Field, release: int) -> float:
    try:
        return float(value or 0.0)
    except (TypeError, ValueError):
        raise faults.inside("ValueError", f"could not convert string to float: {value!r}") from None


def _link(value: Any, field: Field, release: int) -> Any:
    if isinstance(value, str) and value:
        if len(value) > 1:
            letters = ", ".join(repr(letter) for letter in value)
            raise faults.inside("ValueError", f"Expected singleton: {field.to}({letters})")
        raise faults.missing(field.to, repr(value), 0)
    return value or False


def _links(value: Any, field: Field, release: int) -> tuple[int, ...]:
    found: list[int] = []
    for part in value or ():
        if isinstance(part, list | tuple):
            found = list(part[2]) if part[0] == 6 else [] if part[0] == 5 else [*found, part[1]]
        else:
            found.append(part)
    return tuple(dict.fromkeys(found))


def _moment(value: Any, field: Field, release: int) -> Any:
    if value is False or (value == "" and release >= 19):
        return False
    if value == "":
        words = 'invalid input syntax for type timestamp: ""\nLINE 1: ...\n           ^\n'
        raise faults.inside("psycopg2.errors.InvalidDatetimeFormat", words)
    if not isinstance(value, str):
        raise faults.inside("TypeError", f"object of type '{type(value).__name__}' has no len()")
    if field.kind == "date":
        return _checked(value[:10], "%Y-%m-%d")
    if not STAMP.fullmatch(value):
        raise faults.inside("ValueError", f"time data '{value}' does not match format '%Y-%m-%d %H:%M:%S'")
    padded = value + " 00:00:00"[len(value) - 10 :] if len(value) < 19 else value
    return _checked(padded, "%Y-%m-%d %H:%M:%S")


def _checked(value: str, form: str) -> str:
    try:
        datetime.strptime(value, form)
    except ValueError as fault:
        raise faults.inside("ValueError", str(fault)) from None
    return value


_FORMS: dict[str, Callable[[Any, Field, int], Any]] = {
    "float": _number,
    "many2one": _link,
    "many2many": _links,
    "datetime": _moment,
    "date": _moment,
    "html": lambda value, field, release: sanitized(value),
    "boolean": lambda value, field, release: bool(value),
    "char": _text,
}
