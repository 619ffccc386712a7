"""What is in the test double's database when it starts."""

from datetime import UTC, datetime, timedelta

from .office import Office
from .people import USERS

COUNTRIES = {"BE": "Belgium", "CH": "Switzerland", "DE": "Germany", "FR": "France", "GB": "United Kingdom"}


def filled(release: int, demo: bool) -> Office:
    """A database with users, employees, countries, a team and the four stages of a pipeline."""
    office = Office(release)
    admin = USERS[0]
    for user in USERS:
        partner = office.insert("res.partner", admin, name=user.name, email=f"{user.login}@office.example")
        row = {"id": user.uid, "login": user.login, "name": user.name, "partner_id": partner}
        office.insert("res.users", admin, **row, active=not user.archived)
        if user.login not in ("noemp", "limited"):
            office.insert("hr.employee", admin, name=user.name, user_id=user.uid)
    for code, name in COUNTRIES.items():
        office.insert("res.country", admin, code=code, name=name)
    office.insert("crm.team", admin, name="Sales", member_ids=tuple(user.uid for user in USERS))
    for place, name in enumerate(("New", "Qualified", "Proposition", "Won")):
        office.insert("crm.stage", admin, name=name, sequence=place, is_won=name == "Won")
    if demo:
        _demo(office)
    return office


def _demo(office: Office) -> None:
    user = USERS[1]
    apollo = office.create(user, "project.project", {"name": "Website relaunch", "description": "Due in spring"})
    office.create(user, "project.project", {"name": "Office move"})
    for place, name in enumerate(("New", "In Progress", "Done")):
        values = {"name": name, "sequence": place, "project_ids": [apollo], "fold": name == "Done"}
        office.create(user, "project.task.type", values)
    task = office.create(user, "project.task", {"name": "Write the home page", "project_id": apollo})
    office.create(user, "project.task", {"name": "Choose photographs", "project_id": apollo})
    acme = office.create(user, "res.partner", {"name": "Acme Example", "is_company": True, "city": "Ghent"})
    jose = {"name": "José Ñandú", "parent_id": acme, "email": "jose@acme.example"}
    contact = office.create(user, "res.partner", jose)
    office.create(user, "crm.lead", {"name": "Spring campaign", "partner_id": contact, "expected_revenue": 4800.0})
    for days, hours in ((0, 1.5), (1, 2.25)):
        day = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
        line = {"project_id": apollo, "task_id": task, "unit_amount": hours, "name": "Draft", "date": day}
        office.create(user, "account.analytic.line", line)
