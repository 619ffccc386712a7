"""The database of the test double: records in memory, read and changed as one user, by Odoo's rules."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from . import faults, rules
from .domains import Row, matcher
from .models import MODELS, fields
from .people import USERS, User, check_model, may_see
from .values import require, stored


class Office:
    """One database of one release. Not thread-safe: whoever serves it lets one request in at a time."""

    def __init__(self, release: int) -> None:
        self.release = release
        self.tables: dict[str, dict[int, Row]] = {model: {} for model in MODELS}
        self._last: dict[str, int] = {}

    def insert(self, model: str, user: User, **values: Any) -> int:
        """A new row without any check."""
        record = values.pop("id", 0) or self._last.get(model, 0) + 1
        self._last[model] = max(self._last.get(model, 0), record)
        row = {name: field.default for name, field in fields(model, self.release).items()}
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        stamps = {"create_date": now, "write_date": now, "create_uid": user.uid, "write_uid": user.uid}
        self.tables[model][record] = {**row, **stamps, **values, "id": record}
        return record

    def row(self, user: User, model: str, record: Any, operation: str) -> Row:
        """One row that the user may do this with. Raise Fault otherwise."""
        row = self.tables[model].get(record) if isinstance(record, int) else None
        if row is None:
            raise faults.missing(model, record, user.uid)
        if not self.visible(user, model, row, operation):
            shown = "read" if self.release < 19 and not self.visible(user, model, row, "read") else operation
            raise faults.secret(user.name, user.uid, shown, MODELS[model].named(self.release), model)
        return row

    def visible(self, user: User, model: str, row: Row, operation: str) -> bool:
        project = self.tables["project.project"].get(row.get("project_id") or 0)
        return may_see(user, model, row, operation, project)

    def search(self, user: User, model: str, domain: Iterable[Any], order: str, context: Row) -> list[Row]:
        check_model(user, model, "read", self.release)
        domain = list(domain)
        fits = matcher(domain, model, self.release)
        active = context.get("active_test", True) and "active" in MODELS[model].fields
        active = active and not any(isinstance(part, list | tuple) and part[0] == "active" for part in domain)
        rows = [row for row in self.tables[model].values() if fits(row) and (row["active"] if active else True)]
        rows = [row for row in rows if self.visible(user, model, row, "read")]
        for key in reversed((order or "id").split(",")):
            name, _, way = key.strip().partition(" ")
            rows = sorted(rows, key=_by(name), reverse=way == "desc")
        return rows

    def read(self, user: User, model: str, ids: Iterable[Any], names: list[str]) -> list[Row]:
        """The rows that exist; 0 is a record to Odoo, though there is none."""
        check_model(user, model, "read", self.release)
        known = fields(model, self.release)
        for name in names:
            if name not in known:
                where = f"on '{model}'" if self.release >= 19 else f"on model '{model}'"
                raise faults.inside("ValueError", f"Invalid field '{name}' {where}")
            if known[name].hidden:
                raise faults.not_allowed("access", MODELS[model].named(self.release), model, ["Project/Use Stages"])
        found = []
        for record in ids:
            if record == 0 or (names == ["id"] and record not in self.tables[model]):
                found.append({**dict.fromkeys(names, False), "id": record})
            elif isinstance(record, int) and record in self.tables[model]:
                found.append(self.shown(model, self.row(user, model, record, "read"), names))
        return found

    def shown(self, model: str, row: Row, names: list[str]) -> Row:
        known = fields(model, self.release)
        result: Row = {"id": row["id"]}
        for name in names or [name for name, field in known.items() if not field.hidden]:
            field, value = known[name], row[name]
            if name == "display_name":
                value = self.label(model, row["id"])
            elif name == "is_closed":
                value = row["state"] in ("1_done", "1_canceled")
            elif field.kind == "many2one" and value:
                value = [value, self.label(field.to, value)]
            elif field.kind == "many2many":
                value = list(value)
            result[name] = value
        return result

    def label(self, model: str, record: int) -> str:
        row = self.tables[model].get(record, {})
        company = row.get("parent_id") if model == "res.partner" else False
        name = row.get("name") or ""
        return f"{self.label(model, company)}, {name}" if company else name

    def create(self, user: User, model: str, values: Row) -> int:
        values = rules.before_create(self, user, model, self._clean(model, values))
        check_model(user, model, "create", self.release)
        for name, field in fields(model, self.release).items():
            require(model, name, field, values.get(name, field.default), self.release)
        rules.check_links(self, user, model, values)
        record = self.insert(model, user, **values)
        row = self.tables[model][record]
        if not self.visible(user, model, row, "create"):
            del self.tables[model][record]
            raise faults.secret(user.name, user.uid, "create", MODELS[model].named(self.release), model)
        rules.after_create(self, user, model, row)
        return record

    def write(self, user: User, model: str, ids: Iterable[Any], values: Row) -> bool:
        check_model(user, model, "write", self.release)
        rows = [self.row(user, model, record, "write") for record in ids]
        values = self._clean(model, values)
        for name, value in values.items():
            require(model, name, fields(model, self.release)[name], value, self.release)
        rules.check_links(self, user, model, values)
        for row in rows:
            old = dict(row)
            row.update(values, write_date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"), write_uid=user.uid)
            rules.after_write(self, user, model, row, old, values)
        return True

    def unlink(self, user: User, model: str, ids: Iterable[Any]) -> bool:
        check_model(user, model, "unlink", self.release)
        rows = [self.row(user, model, record, "unlink") for record in ids if record != 0]
        rules.before_unlink(self, model, rows)
        for row in rows:
            del self.tables[model][row["id"]]
        return True

    def _clean(self, model: str, values: Row) -> Row:
        known = fields(model, self.release)
        for name in values:
            if name not in known:
                where = f"in '{model}'" if self.release >= 19 else f"on model '{model}'"
                raise faults.inside("ValueError", f"Invalid field '{name}' {where}")
        return {name: stored(model, name, known[name], value, self.release) for name, value in values.items()}


def login(name: str, key: str) -> User | None:
    """The user with this login and key, unless archived."""
    return next((user for user in USERS if user.login == name and user.key == key and not user.archived), None)


def _by(name: str) -> Callable[[Row], tuple[bool, Any]]:
    """Sorts by one field, empty ones first."""
    return lambda row: (row[name] not in (False, None), row[name] if row[name] not in (False, None) else 0)
