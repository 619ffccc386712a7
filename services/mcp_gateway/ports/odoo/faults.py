"""What Odoo can answer instead of a result, sorted by kind from what both transports say of it."""

import re
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """Who can mend it decides what becomes of a fault."""

    MISSING = "missing"
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    CONFLICT = "conflict"
    LOGIN = "login"
    DATABASE = "database"
    NO_MODEL = "no model"
    INSIDE = "inside"
    # The change was committed and then the answer failed, or nobody can tell.
    UNKNOWN = "unknown"


@dataclass(eq=False)
class OdooFault(Exception):
    """Odoo's refusal: what kind, its own first sentence, and the groups that would be allowed."""

    kind: Kind
    text: str = ""
    groups: tuple[str, ...] = field(default_factory=tuple)
    # Model and id that Odoo itself named as missing.
    record: tuple[str, int] | None = None


# What Odoo says about a record is at most a few lines; more is a traceback or a page.
MAX_TEXT = 300

# `project.task(12,)` stays as it is in every language; the words around it are translated.
_RECORD = re.compile(r"\b([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)\((\d+),\)")
_MISSING = re.compile(r"\(.*" + _RECORD.pattern + r".*\d+\)\s*$", re.DOTALL)
_GROUP = re.compile(r"^\s*\t-\s*(.+?)\s*$", re.MULTILINE)
_REDIRECT = re.compile(r"^\((['\"])(.*?)\1, \d+, ", re.DOTALL)
_NO_MODEL = re.compile(r"^Object (\S+) doesn't exist")
_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
_INSIDE_TEXT = re.compile(r'Traceback|File "|\.py\b|/(?:usr|opt|home|var|srv|mnt|odoo)/|psycopg2')
_CONFLICTS = ("SerializationFailure", "LockNotAvailable", "DeadlockDetected", "LockError", "ConcurrencyError")
_CLASS = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Violation|Overflow|Failure|Available|Format|Detected))\b")


def from_fault(code: object, text: str) -> OdooFault:
    """Sort a fault of XML-RPC: 1 Python, 2 user or missing, 3 login, 4 access."""
    if code == 3:
        return OdooFault(Kind.LOGIN)
    if code == 4:
        return _forbidden(text)
    if code == 2:
        return _said(text)
    return _inside(text)


def from_error(status: int, name: str, message: str) -> OdooFault:
    """Sort an error of JSON-2 by its class first, its status second."""
    short = name.rpartition(".")[2]
    if short in ("Unauthorized", "AccessDenied") or status == 401:
        return OdooFault(Kind.LOGIN)
    if short == "AccessError":
        return _forbidden(message)
    if short == "MissingError":
        return OdooFault(Kind.MISSING, record=_record(message))
    if short in ("UserError", "ValidationError", "RedirectWarning"):
        return _said(message)
    if short == "NotFound" and "model" in message:
        return OdooFault(Kind.NO_MODEL)
    if short in _CONFLICTS or status == 409:
        return OdooFault(Kind.CONFLICT)
    return OdooFault(Kind.INSIDE, short[:60])


def _said(text: str) -> OdooFault:
    if _MISSING.search(text):
        return OdooFault(Kind.MISSING, record=_record(text))
    if _NO_MODEL.match(text):
        return OdooFault(Kind.NO_MODEL)
    if redirect := _REDIRECT.match(text):
        text = redirect[2]
    return OdooFault(Kind.INVALID, _sentence(text))


def _forbidden(text: str) -> OdooFault:
    return OdooFault(Kind.FORBIDDEN, groups=tuple(dict.fromkeys(_GROUP.findall(text)))[:5])


def _inside(text: str) -> OdooFault:
    """A Python error: its class is on the last line, except for the database's, which end in a drawing."""
    if _NO_DATABASE.search(text):
        return OdooFault(Kind.DATABASE)
    if "cannot marshal None" in text:
        return OdooFault(Kind.UNKNOWN)
    if any(name in text for name in _CONFLICTS):
        return OdooFault(Kind.CONFLICT)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    database = [line for line in lines if line.startswith("psycopg2.")]
    named = _CLASS.match((database or lines or [""])[-1])
    return OdooFault(Kind.INSIDE, named[1].rpartition(".")[2] if named else "")


def _record(text: str) -> tuple[str, int] | None:
    found = _RECORD.search(text)
    return (found[1], int(found[2])) if found else None


def _sentence(text: str) -> str:
    """The first sentence that says something, without what is the server's own business."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines[0] = f"{lines[0]} {lines[1].lstrip('- ')}"
    first = lines[0] if lines else ""
    return "" if _INSIDE_TEXT.search(first) else first[:MAX_TEXT]
