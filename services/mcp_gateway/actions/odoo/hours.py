"""Whose hours these are: the caller's employee, and nobody else's."""

from mcp_gateway.actions.odoo.desk import Desk, Find, Target, Written
from mcp_gateway.actions.odoo.rows import linked
from mcp_gateway.actions.odoo.snapshots import LINE_FIELDS
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Call

LINE, EMPLOYEE = "account.analytic.line", "hr.employee"


async def refuse_others(desk: Desk, call: Call, one: Target, row: Row) -> None:
    """Raise Refusal for a line that is not of the caller's employee, also when Odoo would let the login change it."""
    if call.odoo_employee_id is not None:
        own = linked(row["employee_id"]) == call.odoo_employee_id
    else:
        own = linked(row["user_id"]) == (await desk.port.session(call)).login.uid
    if not own:
        raise Refusal(
            Code.FORBIDDEN,
            f"{one.about} is another employee's; only lines of your own employee can be changed here.",
        )


async def log_for(desk: Desk, call: Call, values: dict[str, object], find: Find) -> tuple[int, Written]:
    """Make the line. Raise Refusal in the words of the one who can mend it when there is no employee for it."""
    try:
        return await desk.create(call, LINE, "a timesheet line", values, LINE_FIELDS, find)
    except Refusal as fault:
        if fault.code is Code.OUTCOME_UNKNOWN:
            raise
        if call.odoo_employee_id is not None and fault.code in (Code.NOT_FOUND, Code.FORBIDDEN):
            raise Refusal(
                Code.FORBIDDEN,
                f"Odoo does not let its user log hours for employee {call.odoo_employee_id}. The operator names the "
                "user's own employee in odoo_employee_id, or gives the user the right to log for all "
                "(Timesheets: User: all timesheets).",
            ) from fault
        if fault.code is Code.BAD_ARGUMENT and call.odoo_employee_id is None and not await _has_employee(desk, call):
            raise Refusal(
                Code.NOT_CONFIGURED,
                "The Odoo user has no employee, so no hours can be logged. The operator makes an employee for it in "
                "Odoo, or names one in odoo_employee_id.",
            ) from fault
        raise


async def _has_employee(desk: Desk, call: Call) -> bool:
    login = (await desk.port.session(call)).login
    try:
        return await desk.port.count(call, EMPLOYEE, [("user_id", "=", login.uid)]) > 0
    except Refusal:  # who may not even read employees cannot be told more than Odoo said
        return True
