"""One task as an agent reads it."""

import re
from collections.abc import Mapping

from mcp_gateway.actions.odoo import people
from mcp_gateway.actions.odoo.days import day_of, local
from mcp_gateway.actions.odoo.rows import label, linked
from mcp_gateway.actions.odoo.texts import to_text
from mcp_gateway.ports.odoo.port import Row

DETAILS = (
    "id",
    "name",
    "active",
    "project_id",
    "stage_id",
    "state",
    "priority",
    "user_ids",
    "parent_id",
    "partner_id",
    "date_deadline",
    "allocated_hours",
    "create_date",
    "write_date",
    "description",
)
# What we write fits; a longer one comes from a person, and its end can be read in Odoo only.
MAX_DESCRIPTION = 27_000

_NUMBER = re.compile(r"^\d+_")


def detail(row: Row, users: Mapping[int, str], zone: str) -> dict[str, object]:
    """The task as one flat object."""
    due = local(row["date_deadline"], zone)
    words = to_text(row["description"])
    shown: dict[str, object] = {
        "id": row["id"],
        "name": row["name"],
        "archived": not row["active"],
        "project_id": linked(row["project_id"]),
        "project": label(row["project_id"]),
        "stage_id": linked(row["stage_id"]),
        "stage": label(row["stage_id"]),
        # Odoo keeps it apart from the stage: a task in the stage Done is still in progress until it is closed.
        "state": _NUMBER.sub("", str(row["state"] or "")) or None,
        "priority": int(row["priority"] or 0),
        "assignees": [users.get(user, f"user {user}") for user in people.ids(row, "user_ids")],
        "parent": label(row["parent_id"]),
        "customer": label(row["partner_id"]),
        "deadline": day_of(row["date_deadline"], zone),
        "deadline_time": due.strftime("%H:%M") if due else None,
        "allocated_hours": row["allocated_hours"],
        "created": day_of(row["create_date"], zone),
        "changed": day_of(row["write_date"], zone),
        "description": words[:MAX_DESCRIPTION],
    }
    if len(words) > MAX_DESCRIPTION:
        shown["cut"] = f"The description has {len(words)} characters; the rest can be read in Odoo only."
    return shown
