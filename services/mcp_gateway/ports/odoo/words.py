"""Faults in the words that an agent reads: what happened to which record, and who can do what about it."""

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.faults import Kind, OdooFault
from mcp_gateway.ports.odoo.transport import AnswerTooLarge, Broken, Busy, RequestTooLarge, Unfit, Unreachable

FAULTS = (OdooFault, Unreachable, Broken, Unfit, Busy, AnswerTooLarge, RequestTooLarge)
Fault = OdooFault | Unreachable | Broken | Unfit | Busy | AnswerTooLarge | RequestTooLarge

# Which app brings a model; without it Odoo knows the model not at all.
APPS = {
    "project": "Project",
    "crm": "CRM",
    "account": "Timesheets (Task Logs)",
    "hr": "Employees",
}
UNKNOWN = "It may or may not have happened: look in Odoo before you repeat it."


def refusal(fault: Fault, model: str, doing: str, about: str) -> Refusal:
    """The answer to an agent that wanted to do something, such as `change`, about something, such as `task 5`."""
    writes = doing != "read"
    if isinstance(fault, OdooFault):
        return _refused(fault, model, doing, about)
    if isinstance(fault, Unfit):
        return Refusal(Code.NOT_CONFIGURED, f"{fault}. Only the operator can mend it.")
    if isinstance(fault, RequestTooLarge):
        return Refusal(Code.TOO_LARGE, "A proxy before Odoo takes no request of this size; nothing was changed.")
    if isinstance(fault, Unreachable):
        words = "Odoo cannot be reached. Nothing was changed. Try again later, or tell the operator."
        return Refusal(Code.UPSTREAM_DOWN, words)
    if isinstance(fault, Busy):
        return Refusal(Code.UPSTREAM_DOWN, "Odoo is overloaded or being restarted and took nothing. Try again later.")
    if writes:
        return Refusal(Code.OUTCOME_UNKNOWN, f"Odoo's answer broke off. {UNKNOWN}")
    if isinstance(fault, AnswerTooLarge):
        return Refusal(Code.TOO_LARGE, "Odoo's answer is too large. Narrow the search or lower the limit.")
    return Refusal(Code.UPSTREAM_DOWN, "Odoo's answer breaks off or is no answer of Odoo. Try again later.")


def too_late(doing: str) -> Refusal:
    """Odoo did not answer in time."""
    if doing == "read":
        return Refusal(Code.TIMEOUT, "Odoo did not answer in time; nothing was changed. Ask for less, or try later.")
    return Refusal(Code.OUTCOME_UNKNOWN, f"Odoo did not answer in time. {UNKNOWN}")


def _refused(fault: OdooFault, model: str, doing: str, about: str) -> Refusal:
    match fault.kind:
        case Kind.MISSING:
            return Refusal(Code.NOT_FOUND, _missing(fault, model, about))
        case Kind.FORBIDDEN:
            return Refusal(Code.FORBIDDEN, _forbidden(fault, doing, about))
        case Kind.INVALID:
            said = f"Odoo refuses to {doing} {about}"
            return Refusal(Code.BAD_ARGUMENT, f"{said}: {fault.text}" if fault.text else f"{said} with these values.")
        case Kind.CONFLICT:
            words = f"Somebody else changed {about} at the same moment, and Odoo did nothing. Read it, then repeat."
            return Refusal(Code.CONFLICT, words)
        case Kind.LOGIN:
            return Refusal(Code.NOT_CONFIGURED, LOGIN)
        case Kind.DATABASE:
            return Refusal(Code.NOT_CONFIGURED, "Odoo has no database of the name in odoo.database: correct it.")
        case Kind.NO_MODEL:
            app = APPS.get(model.partition(".")[0], model)
            return Refusal(Code.NOT_CONFIGURED, f"This Odoo lacks the app {app}: the operator must install it.")
        case Kind.UNKNOWN:
            return Refusal(Code.OUTCOME_UNKNOWN, f"Odoo failed after it had done the work. {UNKNOWN}")
        case Kind.INSIDE:
            what = f" ({fault.text})" if fault.text else ""
            end = "" if doing == "read" else " and changed nothing"
            return Refusal(Code.UPSTREAM_ERROR, f"Odoo failed inside{what}{end}. Not your mistake: tell the operator.")


LOGIN = (
    "Odoo does not accept the login: the key is wrong, expired or revoked, or the user is archived. The operator must "
    "make a new API key for the user in odoo.login and put it into odoo.api_key_file."
)


def _missing(fault: OdooFault, model: str, about: str) -> str:
    if fault.record is not None and fault.record[0] != model:
        return f"Odoo could not do it to {about}: the {fault.record[0]} {fault.record[1]} that it needs is gone."
    return f"Odoo has no {about}."


def _forbidden(fault: OdooFault, doing: str, about: str) -> str:
    if fault.groups:
        rights = " or ".join(fault.groups)
        return f"The Odoo user may not {doing} {about}: it needs the right {rights}. Ask the operator for it."
    return (
        f"Odoo does not let this user {doing} {about}: a record rule keeps it for others, such as its followers or "
        "its owner. Ask the operator."
    )
