"""Odoo's search domains over rows in memory."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from . import faults
from .models import fields

Row = dict[str, Any]


def matcher(domain: Iterable[Any], model: str, release: int) -> Callable[[Row], bool]:
    """Whether a row is in the domain. Raise Fault for fields that the model does not have."""
    stack: list[Callable[[Row], bool]] = []
    for part in reversed(list(domain)):
        if part == "!":
            stack.append(_not(stack.pop()))
        elif part in ("&", "|"):
            one, two = stack.pop(), stack.pop()
            stack.append(_both(part, one, two))
        elif isinstance(part, list | tuple) and len(part) == 3:
            stack.append(_leaf(part, model, release))
        else:
            raise faults.inside("ValueError", f"Invalid leaf {part!r} in domain")
    return lambda row: all(check(row) for check in stack)


def _not(inner: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: not inner(row)


def _both(operator: str, one: Callable[[Row], bool], two: Callable[[Row], bool]) -> Callable[[Row], bool]:
    if operator == "&":
        return lambda row: one(row) and two(row)
    return lambda row: one(row) or two(row)


def _leaf(part: Any, model: str, release: int) -> Callable[[Row], bool]:
    name, operator, value = part
    field = fields(model, release).get(name)
    if field is None:
        raise faults.inside("ValueError", f"Invalid field {model}.{name} in leaf {tuple(part)!r}")
    if field.kind in ("date", "datetime") and isinstance(value, str):
        _date(value, release)
    compare = _compare(operator, value)
    return lambda row: compare(row[name])


def _date(value: str, release: int) -> None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?", value):
        if release >= 19:
            raise faults.inside("ValueError", f"Invalid term {value.split()[0]!r} in expression date: {value!r}")
        words = f'invalid input syntax for type date: "{value}"\nLINE 1: ...\n             ^\n'
        raise faults.inside("psycopg2.errors.InvalidDatetimeFormat", words)


def _compare(operator: str, value: Any) -> Callable[[Any], bool]:
    if operator in ("ilike", "like", "=ilike", "=like"):
        return _like(operator, str(value))
    if operator in ("in", "not in"):
        wanted = set(value)
        return lambda stored: bool(_set(stored) & wanted) is (operator == "in")
    if operator in ("=", "!="):
        return lambda stored: (_plain(stored) == _plain(value)) is (operator == "=")
    order = {">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}
    if operator not in order:
        raise faults.inside("ValueError", f"Invalid operator {operator!r}")
    return lambda stored: stored is not False and stored is not None and bool(order[operator](stored, value))


def _like(operator: str, value: str) -> Callable[[Any], bool]:
    """SQL's LIKE: % and _ are wildcards, a backslash takes their meaning away, accents are letters of their own."""
    pattern, place = "", 0
    while place < len(value):
        letter = value[place]
        if letter == "\\" and place + 1 < len(value):
            place += 1
            pattern += re.escape(value[place])
        else:
            pattern += {"%": ".*", "_": "."}.get(letter) or re.escape(letter)
        place += 1
    if not operator.startswith("="):
        pattern = f".*{pattern}.*"
    compiled = re.compile(pattern, re.DOTALL | (re.IGNORECASE if operator.endswith("ilike") else 0))
    return lambda stored: isinstance(stored, str) and compiled.fullmatch(stored) is not None


def _set(stored: Any) -> set[Any]:
    return set(stored) if isinstance(stored, list | tuple) else {stored}


def _plain(value: Any) -> Any:
    return False if value is None else value
