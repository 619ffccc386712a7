"""What a native tool is: a name, words for the model, typed arguments and a function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict


class Arguments(BaseModel):
    """Base of every tool's arguments: nothing unknown, nothing coerced, nothing changed afterwards.

    An optional argument is declared `name: T | None = None`. The served schema shows the plain type `T`, and an
    explicit `null` is refused like any other mistyped value, so that leaving out is the only way to say "nothing".
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Call:
    """Who is calling, under which receipt, and until when; a tool learns nothing else about its caller."""

    client: str
    channel: str
    tool: str
    receipt: str
    # `sequence:head` of the audit row written before a writing tool runs; empty for a read.
    audit: str
    # Value of `anyio.current_time()` after which no answer is awaited any more.
    deadline: float
    odoo_employee_id: int | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person sees before deciding: a title of one line, and the record's present values as labelled facts."""

    title: str
    facts: tuple[tuple[str, str], ...]
    # Hexadecimal SHA-256 of what must not have changed between the decision and the execution.
    fingerprint: str


ToolFunction = Callable[[Call, Any], Awaitable[Mapping[str, object]]]
PreviewFunction = Callable[[Call, Any], Awaitable[Preview]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of the catalogue. `run` returns the members of a success, or raises Refusal."""

    name: str
    toolset: str
    description: str
    arguments: type[Arguments]
    run: ToolFunction
    writes: bool = False
    sensitive: bool = False
    # May raise Refusal, such as `__NOT_FOUND__`: then nobody is asked, and the agent gets that.
    preview: PreviewFunction | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """How a backend is: `ok`, `degraded` or `down`, with the reason and the remedy in plain words."""

    state: str
    reason: str = ""


class Backend(Protocol):
    """What stands behind a toolset; opened with the app, asked by /readyz, closed with the app."""

    async def open(self) -> None:
        """Get ready to answer; must not fail because the other side is away (say so in `condition`)."""

    async def close(self) -> None:
        """Let go of every connection and thread."""

    async def condition(self) -> Condition:
        """The present state, within two seconds, never raising."""
