"""The users of the test double and what each may do, as recorded."""

from dataclasses import dataclass
from typing import Any

from . import faults
from .models import MODELS

Row = dict[str, Any]

PROJECT_ADMIN, PROJECT_USER = "Project/Administrator", "Project/User"
SALES_ADMIN, SALES_OWN = "Sales/Administrator", "Sales/User: Own Documents Only"
HOURS_OWN = "Timesheets/User: own timesheets only"
CONTACTS, CONTACTS_OLD = "Contact/Creation", "Extra Rights/Contact Creation"
LEADS = "Extra Rights/Show Lead Menu"


@dataclass(frozen=True)
class User:
    """Someone who can log in with a key."""

    uid: int
    login: str
    name: str
    groups: frozenset[str]
    zone: str = "Europe/Brussels"
    archived: bool = False

    @property
    def key(self) -> str:
        """A key of the test double; it opens nothing else."""
        return f"test-double-key-of-{self.login}"


MANAGER = frozenset({PROJECT_ADMIN, PROJECT_USER, SALES_ADMIN, SALES_OWN, HOURS_OWN, CONTACTS})
WORKER = frozenset({PROJECT_USER, SALES_OWN, HOURS_OWN, CONTACTS})
USERS = (
    User(2, "admin", "Administrator", MANAGER),
    User(6, "agent", "Agent Example", MANAGER, zone="America/New_York"),
    User(7, "worker", "Worker Example", WORKER),
    User(8, "noemp", "Noemp Example", WORKER),
    User(9, "limited", "Limited Example", frozenset()),
    User(10, "leaduser", "Leaduser Example", WORKER | {LEADS}),
    User(11, "gone", "Gone Example", WORKER, archived=True),
)

VERBS = {"create": "create", "read": "access", "write": "modify", "unlink": "delete"}
READABLE = frozenset({"res.partner", "res.users", "res.country", "crm.stage", "crm.team", "project.task.type"})
# Who may do what beyond reading; the first entry that fits an operation decides.
RIGHTS: dict[str, dict[str, list[str]]] = {
    "project.project": {"create": [PROJECT_ADMIN], "write": [PROJECT_ADMIN], "unlink": [PROJECT_ADMIN]},
    "project.task.type": {"create": [PROJECT_ADMIN], "write": [PROJECT_ADMIN], "unlink": [PROJECT_ADMIN]},
    "res.partner": {"create": [CONTACTS, SALES_OWN], "write": [CONTACTS, SALES_OWN], "unlink": [CONTACTS]},
    "crm.lead": {"read": [SALES_OWN], "create": [SALES_OWN], "write": [SALES_OWN], "unlink": [SALES_ADMIN]},
    "crm.stage": {"create": [SALES_ADMIN], "write": [SALES_ADMIN], "unlink": [SALES_ADMIN]},
    "crm.team": {"create": [SALES_ADMIN], "write": [SALES_ADMIN], "unlink": [SALES_ADMIN]},
}
ADMIN_ONLY = {"res.users", "res.country", "hr.employee"}


def check_model(user: User, model: str, operation: str, release: int) -> None:
    """Raise Fault unless the user's groups may do this with records of the model at all."""
    if operation != "read" and model in ADMIN_ONLY and user.login != "admin":
        raise faults.not_allowed(VERBS[operation], MODELS[model].named(release), model, ["Administration/Settings"])
    groups = RIGHTS.get(model, {}).get(operation)
    if groups is None or user.groups & set(groups):
        return
    label, named = MODELS[model].named(release), model
    if model == "project.project" and operation == "create":
        label, named = "Analytic Account", "account.analytic.account"
        groups = [*groups, "Analytic Accounting" if release >= 19 else "Technical/Analytic Accounting"]
    if model == "res.partner" and release < 19:
        groups = [CONTACTS_OLD if group == CONTACTS else group for group in groups]
    raise faults.not_allowed(VERBS[operation], label, named, groups)


def may_see(user: User, model: str, row: Row, operation: str, project: Row | None) -> bool:
    """The record rules: what is private stays private, own documents stay own."""
    if model == "project.project":
        return bool(
            row["privacy_visibility"] != "followers" or PROJECT_ADMIN in user.groups or row["user_id"] == user.uid
        )
    if model == "project.task":
        return _task(user, row, operation, project)
    if model == "crm.lead":
        return bool(SALES_ADMIN in user.groups or row["user_id"] in (user.uid, False))
    if model == "account.analytic.line":
        return _line(user, row)
    return True


def _task(user: User, row: Row, operation: str, project: Row | None) -> bool:
    if user.uid in row["user_ids"] or (PROJECT_ADMIN in user.groups and project is not None):
        return True
    if project is None:
        return bool(row["create_uid"] == user.uid)
    if project["privacy_visibility"] == "followers":
        return False
    return operation == "read" or PROJECT_USER in user.groups


def _line(user: User, row: Row) -> bool:
    if not row["project_id"]:
        return False
    return bool(row["user_id"] == user.uid or PROJECT_ADMIN in user.groups)
