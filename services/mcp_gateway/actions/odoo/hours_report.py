"""Logged hours in a span of days, with a sum that is exact whatever floats do."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from mcp_gateway.actions.odoo import checks
from mcp_gateway.actions.odoo.desk import Desk
from mcp_gateway.actions.odoo.hours import LINE
from mcp_gateway.actions.odoo.projects import project
from mcp_gateway.actions.odoo.rows import label, listed
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Call

FIELDS = ("date", "project_id", "task_id", "name", "unit_amount", "employee_id")
# More lines than an answer can show; the rest is only added up, so only its numbers are read.
MAX_LINES = 200
PAGE = 5_000
# 100 employees log as much in a year; more is a question for Odoo's own reports.
MAX_SUMMED = 100_000
HUNDREDTH = Decimal("0.01")


async def report(desk: Desk, call: Call, since: str, until: str | None, project_id: int | None) -> Mapping[str, object]:
    """The newest lines and the sum of all."""
    domain: list[object] = [("project_id", "!=", False), ("date", ">=", checks.day(since, "since"))]
    if until is not None:
        if checks.day(until, "until") < since:
            raise checks.bad(f"until ({until}) lies before since ({since}).")
        domain.append(("date", "<=", until))
    if project_id is not None:
        domain.append(("project_id", "=", project(project_id).id))
    order = "date desc, id desc"
    rows = await desk.port.search_read(call, LINE, domain, FIELDS, limit=MAX_LINES, order=order)
    hours = [row["unit_amount"] for row in rows]
    if len(rows) == MAX_LINES:
        hours += await _rest(desk, call, domain, order)
    if not rows and project_id is not None:
        await desk.one(call, project(project_id), ["name"])
    total = sum((Decimal(str(one)) for one in hours), Decimal())
    members = listed("lines", rows, _line, len(hours))
    if "note" in members:
        members["note"] = f"The newest {len(_shown(members))} of {len(hours)} lines are shown; total_hours has all."
    return {**members, "total_hours": float(total.quantize(HUNDREDTH, ROUND_HALF_UP))}


async def _rest(desk: Desk, call: Call, domain: list[object], order: str) -> list[float]:
    found: list[float] = []
    while True:
        rows = await desk.port.search_read(
            call, LINE, domain, ["unit_amount"], limit=PAGE, order=order, offset=MAX_LINES + len(found)
        )
        found += [row["unit_amount"] for row in rows]
        if len(rows) < PAGE:
            return found
        if len(found) >= MAX_SUMMED:
            raise Refusal(Code.TOO_LARGE, f"More than {MAX_SUMMED} lines: ask for fewer days, or one project.")


def _shown(members: Mapping[str, object]) -> list[object]:
    lines = members["lines"]
    return lines if isinstance(lines, list) else []


def _line(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "date": row["date"],
        "project": label(row["project_id"]),
        "task": label(row["task_id"]),
        "description": row["name"] or "",
        "hours": row["unit_amount"],
        "employee": label(row["employee_id"]),
    }
