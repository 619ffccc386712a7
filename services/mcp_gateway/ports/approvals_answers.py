"""What the approvals service says, read strictly: what is not plainly a request is none."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, field_validator

State = Literal[
    "pending",
    "approved",
    "denied",
    "expired",
    "cancelled",
    "refused",
    "dispatched",
    "done",
    "failed",
    "outcome_unknown",
]
# States in which something may still happen to a request.
OPEN = frozenset({"pending", "approved", "dispatched"})

REQUEST_ID = re.compile(r"apr_[a-z2-7]{26}")


class Shown(BaseModel):
    """The preview as a person was shown it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    title: str
    facts: list[tuple[str, str]]
    fingerprint: str


class Request(BaseModel):
    """One request; fields that only its own pages need are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    client: str
    channel: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    preview: Shown
    state: State
    created: float = 0.0
    expires: float | None = None
    decided: float | None = None
    reason: str | None = None
    ended: float | None = None
    answer: dict[str, Any] | None = None

    @field_validator("id")
    @classmethod
    def _known_form(cls, value: str) -> str:
        if not REQUEST_ID.fullmatch(value):
            raise ValueError("is no request's id")
        return value

    @property
    def receipt(self) -> str:
        """The receipt of its execution: always the same one, so that nothing behind us runs it twice."""
        return "r-" + self.id.removeprefix("apr_")

    @property
    def bound(self) -> bool:
        """Whether client, channel, tool and arguments are the ones that were decided on."""
        try:
            return digest(self.client, self.channel, self.tool, self.arguments) == self.digest
        except ValueError:
            return False


class Listed(BaseModel):
    """Several requests."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    requests: list[Request] = Field(default=[])


def digest(client: str, channel: str, tool: str, arguments: Mapping[str, object]) -> str:
    """What a decision is bound to. Raise ValueError for arguments that have no canonical form."""
    whole: Any = {"arguments": dict(arguments), "channel": channel, "client": client, "tool": tool}
    try:
        return hashlib.sha256(rfc8785.dumps(whole)).hexdigest()
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
