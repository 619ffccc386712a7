"""The states of a request and the ways between them: the only table, used by every surface that changes one."""

from collections.abc import Mapping
from typing import Final

PENDING: Final = "pending"
APPROVED: Final = "approved"
DENIED: Final = "denied"
EXPIRED: Final = "expired"
CANCELLED: Final = "cancelled"
DISPATCHED: Final = "dispatched"
DONE: Final = "done"
FAILED: Final = "failed"
OUTCOME_UNKNOWN: Final = "outcome_unknown"
REFUSED: Final = "refused"

# From each state to those that may follow it; a state without any is the end.
WAYS: Final[Mapping[str, frozenset[str]]] = {
    PENDING: frozenset({APPROVED, DENIED, EXPIRED, CANCELLED}),
    APPROVED: frozenset({DISPATCHED, REFUSED, EXPIRED}),
    DISPATCHED: frozenset({DONE, FAILED, OUTCOME_UNKNOWN}),
    DENIED: frozenset(),
    EXPIRED: frozenset(),
    CANCELLED: frozenset(),
    DONE: frozenset(),
    FAILED: frozenset(),
    OUTCOME_UNKNOWN: frozenset(),
    REFUSED: frozenset(),
}
STATES: Final = tuple(WAYS)
OPEN: Final = frozenset(state for state, ways in WAYS.items() if ways)
# What the service that asked may report about a call that it ran, or would not run any more.
OUTCOMES: Final = frozenset({DONE, FAILED, OUTCOME_UNKNOWN, REFUSED})

# An approval is for now: a service that was away this long must ask again.
CLAIM_SECONDS: Final = 300.0
# No tool runs this long (the deadline is 300 s at most, an update of a stack some minutes): nobody will report.
RESULT_SECONDS: Final = 900.0
# The same call again: how long the end of the first one answers it.
REPEAT_SECONDS: Final = 600.0
DENIED_SECONDS: Final = 3600.0


def repeat_seconds(state: str) -> float:
    """How long after its end a request answers for the same call made again."""
    return DENIED_SECONDS if state == DENIED else REPEAT_SECONDS


def leads(state: str, target: str) -> bool:
    """Whether a request in one state may go to another."""
    return target in WAYS[state]
