"""What Odoo's apps do with a record beyond storing it, as recorded."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from . import faults
from .models import fields
from .people import LEADS, PROJECT_USER, User

if TYPE_CHECKING:
    from .office import Office

Row = dict[str, Any]
LINE, LEAD, TASK = "account.analytic.line", "crm.lead", "project.task"


def before_create(office: "Office", user: User, model: str, values: Row) -> Row:
    """The values with Odoo's own defaults. Raise Fault for what an app refuses."""
    match model:
        case "account.analytic.line":
            return _line(office, user, values)
        case "project.task":
            if PROJECT_USER not in user.groups:
                raise faults.secret(user.name, user.uid, "create", "Task", TASK)
            return {"user_ids": (user.uid,), "stage_id": _first_stage(office, values.get("project_id")), **values}
        case "crm.lead":
            kind = "lead" if LEADS in user.groups else "opportunity"
            teams = [row["id"] for row in office.tables["crm.team"].values()]
            stages = sorted(office.tables["crm.stage"].values(), key=lambda row: (row["sequence"], row["id"]))
            defaults = {"type": kind, "user_id": user.uid, "team_id": teams[0], "stage_id": stages[0]["id"]}
            return {**defaults, **values}
        case "res.partner" if values.get("name", False) is False:
            raise faults.invalid("The operation cannot be completed: Contacts require a name")
        case "project.task.type" if not values.get("project_ids"):
            return {"user_id": user.uid, **values}
    return values


def _first_stage(office: "Office", project: Any) -> Any:
    stages = [row for row in office.tables["project.task.type"].values() if project in row["project_ids"]]
    stages.sort(key=lambda row: (row["sequence"], row["id"]))
    return stages[0]["id"] if stages else False


def _line(office: "Office", user: User, values: Row) -> Row:
    """Hours: of the user's own employee, on a project that once had an account."""
    if not values.get("project_id") and not values.get("task_id"):
        return {"date": _today(user), "name": "/", **values}
    employees = office.tables["hr.employee"]
    own = next((row["id"] for row in employees.values() if row["user_id"] == user.uid and row["active"]), False)
    employee = employees.get(values.get("employee_id") or own or 0)
    if employee is None or not employee["active"]:
        raise faults.invalid("Timesheets must be created with an active employee in the selected companies.")
    task = office.row(user, TASK, values["task_id"], "read") if values.get("task_id") else None
    if task is not None and not task["project_id"]:
        raise faults.invalid("Timesheets cannot be created on a private task.")
    project = office.row(user, "project.project", values.get("project_id") or (task or {})["project_id"], "read")
    account = "account_id" if office.release >= 18 else "analytic_account_id"
    if not project["allow_timesheets"] and not project[account]:
        older = "Timesheets must be created on a project or a task with an active analytic account."
        raise faults.invalid("At least one analytic account must be set" if office.release >= 18 else older)
    values = {"date": _today(user), **values, "project_id": project["id"], "employee_id": employee["id"]}
    return {**values, "name": values.get("name") or "/", "user_id": employee["user_id"]}


def _today(user: User) -> str:
    return datetime.now(ZoneInfo(user.zone)).date().isoformat()


def check_links(office: "Office", user: User, model: str, values: Row) -> None:
    """Raise Fault for a link to nothing. Whether the record behind it fits is nobody's business in Odoo."""
    for name, value in values.items():
        field = fields(model, office.release)[name]
        if field.kind == "many2one" and value and value not in office.tables.get(field.to, {}):
            raise faults.missing(field.to, value, user.uid)
    if "parent_id" in values and model == "res.partner" and values["parent_id"] == values.get("id"):
        raise faults.invalid("You cannot create recursive Partner hierarchies.")
    if model == LEAD and not 0 <= values.get("probability", 0) <= 100:
        words = "The probability of closing the deal should be between 0% and 100%!"
        raise faults.invalid(f"The operation cannot be completed: {words}")


def after_create(office: "Office", user: User, model: str, row: Row) -> None:
    if model == "project.project" and row["allow_timesheets"]:
        account = office.insert("account.analytic.account", user, name=row["name"])
        row["account_id" if office.release >= 18 else "analytic_account_id"] = account
    if model == LEAD:
        _follow_contact(office, row)


def _follow_contact(office: "Office", row: Row) -> None:
    partner = office.tables["res.partner"].get(row["partner_id"] or 0)
    for mine, its in (("email_from", "email"), ("phone", "phone")):
        if partner is not None and row[mine]:
            partner[its] = row[mine]
        elif partner is not None:
            row[mine] = partner[its]


def after_write(office: "Office", user: User, model: str, row: Row, old: Row, values: Row) -> None:
    if model == "project.project" and "active" in values:
        for task in office.tables[TASK].values():
            if task["project_id"] == row["id"]:
                task["active"] = values["active"]
    elif model == TASK and "stage_id" in values and row["stage_id"] != old["stage_id"]:
        stage = office.tables["project.task.type"].get(row["stage_id"] or 0, {})
        row["date_end"] = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S") if stage.get("fold") else False
    elif model == LEAD:
        _lead(office, row, old, values)
    elif model == "res.partner":
        for lead in office.tables[LEAD].values():
            if lead["partner_id"] == row["id"]:
                lead.update({m: row[i] for m, i in (("email_from", "email"), ("phone", "phone")) if i in values})
    elif model == LINE and not row["name"]:
        row["name"] = "/"


def _lead(office: "Office", row: Row, old: Row, values: Row) -> None:
    """A won stage closes, leaving it opens again; e-mail and phone go through to the contact."""
    partner = office.tables["res.partner"].get(row["partner_id"] or 0)
    for mine, its in (("email_from", "email"), ("phone", "phone")):
        if partner is not None and mine in values and (values[mine] or office.release < 18):
            partner[its] = values[mine]
    if "stage_id" not in values or row["stage_id"] == old["stage_id"]:
        return
    won = office.tables["crm.stage"].get(row["stage_id"] or 0, {}).get("is_won")
    was = office.tables["crm.stage"].get(old["stage_id"] or 0, {}).get("is_won")
    if won:
        row.update(probability=100.0, date_closed=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"))
        if office.release >= 19:
            row["active"] = True
    elif was:
        row.update(probability=0.0, date_closed=False)


def before_unlink(office: "Office", model: str, rows: list[Row]) -> None:
    field = {TASK: "task_id", "project.project": "project_id"}.get(model)
    ids = {row["id"] for row in rows}
    if field and any(line[field] in ids for line in office.tables[LINE].values()):
        words = "This task has some timesheet entries referencing it. Before removing this task, you have to remove"
        text = f"('{words} these timesheet entries.', 317, 'See timesheet entries', {{'active_ids': {sorted(ids)}}})"
        raise faults.Fault("odoo.exceptions.RedirectWarning", text, 2, 500)
