"""The models and fields that the test double knows, per release."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """One field. `to` is the model behind a relation; `hidden` fields exist for a group that nobody here has."""

    kind: str
    to: str = ""
    default: Any = False
    required: bool = False
    label: str = ""
    first: int = 17
    last: int = 99
    hidden: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """One model: its words, its fields, and whether it can be archived."""

    label: str
    fields: dict[str, Field]
    newer_label: str = ""

    def named(self, release: int) -> str:
        return self.newer_label if release >= 19 and self.newer_label else self.label


def char(label: str = "", **more: Any) -> Field:
    return Field("char", label=label, **more)


def many(to: str, **more: Any) -> Field:
    return Field("many2many", to, default=(), **more)


def one(to: str, **more: Any) -> Field:
    return Field("many2one", to, **more)


ACTIVE = Field("boolean", default=True)
NUMBER = Field("float", default=0.0)
STATES = ("01_in_progress", "02_changes_requested", "03_approved", "1_done", "1_canceled", "04_waiting_normal")

COMMON = {
    "id": Field("integer"),
    "display_name": char(),
    "create_date": Field("datetime"),
    "write_date": Field("datetime"),
    "create_uid": one("res.users"),
    "write_uid": one("res.users"),
}

MODELS: dict[str, Model] = {
    "project.project": Model(
        "Project",
        {
            "name": char("Name", required=True),
            "active": ACTIVE,
            "description": Field("html"),
            "allow_timesheets": Field("boolean", default=True),
            "privacy_visibility": Field("selection", default="portal", choices=("followers", "employees", "portal")),
            "user_id": one("res.users"),
            "partner_id": one("res.partner"),
            "account_id": one("account.analytic.account", first=18),
            "analytic_account_id": one("account.analytic.account", last=17),
            "stage_id": one("project.project.stage", hidden=True),
        },
    ),
    "project.task": Model(
        "Task",
        {
            "name": char("Title", required=True),
            "active": ACTIVE,
            "description": Field("html"),
            "date_deadline": Field("datetime"),
            "date_end": Field("datetime"),
            "stage_id": one("project.task.type"),
            "project_id": one("project.project"),
            "user_ids": many("res.users"),
            "state": Field("selection", default="01_in_progress", choices=STATES),
            "priority": Field("selection", default="0", choices=("0", "1", "2", "3")),
            "is_closed": Field("boolean", first=18),
            "parent_id": one("project.task"),
            "partner_id": one("res.partner"),
            "allocated_hours": NUMBER,
            "sequence": Field("integer", default=10),
        },
    ),
    "project.task.type": Model(
        "Task Stage",
        {
            "name": char("Name", required=True),
            "sequence": Field("integer", default=1),
            "fold": Field("boolean"),
            "project_ids": many("project.project"),
            "user_id": one("res.users"),
            "active": ACTIVE,
        },
    ),
    "res.partner": Model(
        "Contact",
        {
            **{name: char() for name in ("name", "email", "phone", "street", "zip", "city", "company_name")},
            "mobile": char(last=18),
            "title": char(last=18),
            "country_id": one("res.country"),
            "parent_id": one("res.partner"),
            "is_company": Field("boolean"),
            "active": ACTIVE,
        },
    ),
    "res.country": Model("Country", {"name": char(), "code": char()}),
    "res.users": Model("User", {"name": char(), "login": char(), "active": ACTIVE, "partner_id": one("res.partner")}),
    "hr.employee": Model("Employee", {"name": char(), "user_id": one("res.users"), "active": ACTIVE}),
    "crm.team": Model("Sales Team", {"name": char(), "sequence": Field("integer"), "member_ids": many("res.users")}),
    "crm.stage": Model(
        "CRM Stages",
        {
            "name": char(),
            "sequence": Field("integer", default=1),
            "is_won": Field("boolean"),
            "fold": Field("boolean"),
            "team_id": one("crm.team", last=18),
            "team_ids": many("crm.team", first=19),
        },
    ),
    "crm.lead": Model(
        "Lead/Opportunity",
        {
            "name": char("Opportunity", required=True),
            **{name: char() for name in ("contact_name", "partner_name", "email_from", "phone", "function")},
            **{name: char() for name in ("website", "street", "zip", "city")},
            "type": Field("selection", default="opportunity", choices=("lead", "opportunity")),
            "active": ACTIVE,
            "partner_id": one("res.partner"),
            "country_id": one("res.country"),
            "description": Field("html"),
            "expected_revenue": NUMBER,
            "probability": NUMBER,
            "priority": Field("selection", default="0", choices=("0", "1", "2", "3")),
            "date_deadline": Field("date"),
            "date_closed": Field("datetime"),
            "stage_id": one("crm.stage"),
            "team_id": one("crm.team"),
            "user_id": one("res.users"),
            "tag_ids": many("crm.tag"),
            "mobile": char(last=18),
        },
        newer_label="Lead",
    ),
    "crm.tag": Model("CRM Tag", {"name": char()}),
    "account.analytic.account": Model("Analytic Account", {"name": char("Analytic Account"), "active": ACTIVE}),
    "account.analytic.line": Model(
        "Analytic Line",
        {
            "name": char("Description"),
            "date": Field("date", label="Date", required=True),
            "unit_amount": NUMBER,
            "amount": NUMBER,
            "project_id": one("project.project"),
            "task_id": one("project.task"),
            "employee_id": one("hr.employee"),
            "user_id": one("res.users"),
        },
    ),
}


def fields(model: str, release: int) -> dict[str, Field]:
    """The fields that a model has in a release."""
    known = {**COMMON, **MODELS[model].fields}
    return {name: field for name, field in known.items() if field.first <= release <= field.last}
