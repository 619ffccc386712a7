"""What can go wrong, sorted by who can mend it: the agent (Refusal) or the operator (ConfigurationError)."""

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    """The error codes an agent may meet; fixed by the contract, so never renamed."""

    NOT_FOUND = "__NOT_FOUND__"
    BAD_PATH = "__BAD_PATH__"
    BAD_ACTION = "__BAD_ACTION__"
    EMPTY_QUERY = "__EMPTY_QUERY__"
    EXISTS = "__EXISTS__"
    STALE_READ = "__STALE_READ__"
    WRITE_FAILED = "__WRITE_FAILED__"
    TOO_LARGE = "__TOO_LARGE__"
    BAD_ARGUMENT = "__BAD_ARGUMENT__"
    BAD_QUERY = "__BAD_QUERY__"
    FORBIDDEN = "__FORBIDDEN__"
    NOT_CONFIGURED = "__NOT_CONFIGURED__"
    UPSTREAM_DOWN = "__UPSTREAM_DOWN__"
    UPSTREAM_ERROR = "__UPSTREAM_ERROR__"
    TIMEOUT = "__TIMEOUT__"
    OUTCOME_UNKNOWN = "__OUTCOME_UNKNOWN__"
    RATE_LIMITED = "__RATE_LIMITED__"
    APPROVAL_PENDING = "__APPROVAL_PENDING__"
    APPROVAL_DENIED = "__APPROVAL_DENIED__"
    APPROVAL_EXPIRED = "__APPROVAL_EXPIRED__"
    IN_PROGRESS = "__IN_PROGRESS__"
    CONFLICT = "__CONFLICT__"


# Codes that mean something is broken on our side: they are counted as faults and may alert.
# Every other code is an everyday answer to the agent and never wakes anybody.
FAULTS = frozenset({Code.UPSTREAM_DOWN, Code.TIMEOUT, Code.WRITE_FAILED, Code.OUTCOME_UNKNOWN})


class Refusal(Exception):
    """An answer the agent can act on: a code, plain words saying what to do now, and optional facts.

    `facts` become extra members of the answer. They must never hold a secret, nor the present hash of a note.
    """

    def __init__(self, code: Code, hint: str, facts: Mapping[str, object] | None = None) -> None:
        super().__init__(f"{code}: {hint}")
        self.code = code
        self.hint = hint
        self.facts = dict(facts or {})


class ConfigurationError(Exception):
    """Everything that is wrong with a configuration, one plain sentence each, naming the key."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
