"""How an execution ended, as the approvals service keeps it and the agent reads it."""

import json
from typing import Any, Protocol

from mcp_gateway.approvals.history import Trace
from mcp_gateway.approvals.kept import Result
from mcp_gateway.calls import FAULT
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.approvals import Request

DONE, FAILED, UNKNOWN = "done", "failed", "outcome_unknown"
# Ends after which nobody can say whether it happened.
UNCLEAR = frozenset({FAULT, str(Code.OUTCOME_UNKNOWN)})


class Counters(Protocol):
    """What running approved calls needs of the metrics."""

    def approval_ended(self, tool: str, outcome: str) -> None: ...

    def dispatcher(self, up: bool, results: int | None = None) -> None: ...


def executed(request: str, outcome: str, text: str) -> Result:
    """The result of a call that was run, by what the audit says of it."""
    answer: dict[str, Any] = json.loads(text)
    return Result(request, _word(outcome), answer)


def settled(request: Request, ended: Trace | None) -> Result:
    """The result of a call that was left behind, by what the audit log has of it."""
    if ended is None:
        words = "The gateway ended before it began, as far as its audit log tells. Look whether it happened; ask again."
        return Result(request.id, UNKNOWN, _answer(Code.OUTCOME_UNKNOWN, words, request.receipt))
    if not ended.outcome:
        words = "The gateway ended while it ran: it may or may not have happened. Look before you ask again."
        return Result(request.id, UNKNOWN, _answer(Code.OUTCOME_UNKNOWN, words, request.receipt))
    word = _word(ended.outcome)
    if word == DONE:
        note = "It was done; the gateway ended before its whole answer was kept. Look at the record for the rest."
        return Result(request.id, DONE, {"success": True, "note": note, "receipt": request.receipt})
    code = Code(ended.outcome) if ended.outcome in set(Code) else Code.OUTCOME_UNKNOWN
    words = "It was not done, or not known to be; the gateway ended before the reason was kept."
    return Result(request.id, word, _answer(code, words, request.receipt))


def refused(fault: Refusal, receipt: str) -> dict[str, Any]:
    """The answer of a call that was not run."""
    return {**fault.facts, **_answer(fault.code, fault.hint, receipt)}


def short(result: Result) -> dict[str, Any]:
    """The same result in so few words that any service takes it."""
    kept: dict[str, Any] = {key: result.answer[key] for key in ("success", "error", "receipt") if key in result.answer}
    return {**kept, "hint": "The whole answer could not be kept; look at the record."}


def _word(outcome: str) -> str:
    if outcome == "ok":
        return DONE
    return UNKNOWN if outcome in UNCLEAR else FAILED


def _answer(code: Code, words: str, receipt: str) -> dict[str, Any]:
    return {"success": False, "error": str(code), "hint": words, "receipt": receipt}
