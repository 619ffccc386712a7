"""How a request stands, in the words that an agent gets."""

from collections.abc import Mapping

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.approvals import OPEN, Request

# The contract: so long after its end a request still answers for the same words; afterwards they ask anew.
ENDED_SECONDS = 600
DENIED_SECONDS = 3600


def answers(request: Request, now: float) -> bool:
    """Whether the same call is still about this request. A clock that went backwards only makes it longer."""
    if request.state in OPEN:
        return True
    moment = request.ended or request.decided or request.created
    return now - moment < (DENIED_SECONDS if request.state == "denied" else ENDED_SECONDS)


def members(tool: str, request: Request, where: str) -> Mapping[str, object]:
    """The recorded success. Raise Refusal in every other state."""
    facts: dict[str, object] = {"approval": request.id}
    if request.state in ("pending", "approved", "dispatched"):
        raise _pending(tool, request, where)
    if request.state == "denied":
        said = f": {request.reason}" if request.reason else " and gave no reason"
        words = f"A person said no{said}. Nothing was changed. Do not ask for the same again; tell the user."
        raise Refusal(Code.APPROVAL_DENIED, words, {**facts, "reason": request.reason or ""})
    if request.state in ("expired", "cancelled"):
        why = "was withdrawn" if request.state == "cancelled" else "was not decided, or not run, in time"
        words = (
            f"The request {why}. Nothing was changed. Ask the user whether it is still wanted; from "
            f"{ENDED_SECONDS // 60} minutes after its end on, the same call asks again."
        )
        raise Refusal(Code.APPROVAL_EXPIRED, words, facts)
    if request.answer is None:
        words = f"{tool} was approved, and how it ended is not known: it may or may not have happened. Look first."
        raise Refusal(Code.OUTCOME_UNKNOWN, words, facts)
    return _recorded(request.answer, facts)


def _pending(tool: str, request: Request, where: str) -> Refusal:
    facts = {"approval": request.id, "state": request.state, "decide": f"{where}/"}
    if request.state == "pending":
        words = (
            f"{tool} waits for a person's decision; nothing was changed yet. It is decided at {where}/, or on the host "
            f"with `approvals approve {request.id}`. Tell the user, then call again with the same arguments to get the "
            "result; other arguments would be another request."
        )
    else:
        words = f"{tool} is approved and being run. Call again with the same arguments to get the result."
    return Refusal(Code.APPROVAL_PENDING, words, facts)


def _recorded(answer: Mapping[str, object], facts: Mapping[str, object]) -> Mapping[str, object]:
    """The answer of the execution, as if it had just been given. Raise Refusal when it was none of success."""
    rest = {key: value for key, value in answer.items() if key not in ("success", "error", "hint")}
    if answer.get("success") is True:
        return {**rest, **facts}
    code = str(answer.get("error", ""))
    known = Code(code) if code in set(Code) else Code.UPSTREAM_ERROR
    raise Refusal(known, str(answer.get("hint", "It was not done.")), {**rest, **facts})
