"""The way of one call: found, validated, allowed, written down, run under its deadline, answered."""

import logging
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import anyio

from mcp_gateway import answers
from mcp_gateway.arguments import clipped, validate
from mcp_gateway.audit import AuditUnavailable, Entry, new_receipt
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.policies.decisions import allow
from mcp_gateway.policies.rates import Rates
from mcp_gateway.previews import preview_of
from mcp_gateway.tools import Arguments, Call, Preview, Tool

# What an audit row says of a call whose client went away before it was answered, and of one that broke.
CANCELLED, FAULT = "cancelled", "fault"
# How a tool that nobody has is counted: its name is the caller's invention and must not become a label.
UNKNOWN = "unknown"

logger = logging.getLogger(__name__)


class Audit(Protocol):
    """What the pipeline needs of the audit log."""

    def digest(self, arguments: Mapping[str, object]) -> str: ...

    async def started(self, entry: Entry) -> str: ...

    def record(self, entry: Entry) -> None: ...

    async def finished(self, entry: Entry) -> None: ...


class Counters(Protocol):
    """What the pipeline needs of the metrics."""

    def calls(self, tool: str, channel: str, client: str, outcome: str, seconds: float) -> None: ...


class Approver(Protocol):
    """What the pipeline needs of approvals. `answer` never executes anything: it asks, and tells how it stands."""

    @property
    def able(self) -> bool: ...

    async def answer(
        self, tool: Tool, note: Callable[[str], None], call: Call, typed: Arguments
    ) -> Mapping[str, object]: ...


@dataclass(slots=True)
class Caller:
    """Who calls, through which channel, and what this caller may see."""

    client: str
    channel: str
    tools: Mapping[str, Tool]
    decide: Callable[[str], str]
    rate_per_minute: int
    odoo_employee_id: int | None = None
    # What is wrong with the arguments as they came over the wire; then they are not looked at any further.
    fault: str = ""
    # Set while a read runs, so that it ends when nobody waits for its answer any more.
    reading: anyio.CancelScope | None = None
    gone: bool = False

    def leave(self) -> None:
        """The caller has hung up: end the read that runs for it. What has begun to write is finished."""
        self.gone = True
        if self.reading is not None:
            self.reading.cancel()


@dataclass(slots=True)
class _Running:
    """One call on its way."""

    caller: Caller
    name: str
    tool: Tool | None
    arguments: Mapping[str, object]
    receipt: str = field(default_factory=new_receipt)
    began: float = field(default_factory=time.perf_counter)
    digest: str | None = None
    # The request that this call asks about, or by which it is run.
    approval: str = ""
    asks: bool = False
    outcome: str = ""

    @property
    def effects(self) -> bool:
        """Whether it must be written down before it runs, and finished once it does."""
        if self.asks or self.tool is None:
            return False
        # What a person approved is written down whatever it is: the first row is how nothing runs twice.
        return bool(self.approval) or self.tool.writes or self.tool.sensitive

    def note(self, approval: str) -> None:
        """Remember which request it is about."""
        self.approval = approval


class Calls:
    """Runs calls. One for all channels, so that rates and the order of writes are one thing."""

    def __init__(
        self,
        audit: Audit,
        metrics: Counters,
        deadline_seconds: float,
        secrets: Callable[[], Iterable[str]] = tuple,
        approver: Approver | None = None,
    ) -> None:
        self.deadline_seconds = deadline_seconds
        self._approver = approver
        self._audit = audit
        self._metrics = metrics
        self._secrets = secrets
        self._rates = Rates()
        self._writing: set[anyio.CancelScope] = set()

    async def answer(self, caller: Caller, name: str, arguments: Mapping[str, object]) -> str:
        """The text an agent reads. Raises nothing but the cancellation of the call itself."""
        running = _Running(caller, name, caller.tools.get(name), arguments)
        try:
            tool, typed = self._admit(running)
        except Refusal as fault:
            self._record(running, str(fault.code))
            return self._refused(running, fault)
        if running.effects:
            # What has begun to have an effect is finished and written down, whoever hangs up meanwhile.
            with anyio.CancelScope(shield=True):
                return await self._effect(running, tool, typed)
        return await self._uneventful(running, tool, typed)

    async def preview(self, caller: Caller, name: str, arguments: Mapping[str, object]) -> Preview:
        """What this call would show a person now. Raise Refusal when it could not be done now."""
        running = _Running(caller, name, caller.tools.get(name), arguments)
        tool, typed = self._validated(running)
        with anyio.move_on_after(self.deadline_seconds) as scope:
            return await preview_of(tool, self._call(running, "", scope.deadline), typed)
        raise Refusal(Code.TIMEOUT, f"{tool.name} could not be looked at in time.")

    async def execute(
        self, caller: Caller, name: str, arguments: Mapping[str, object], receipt: str, approval: str
    ) -> tuple[str, str]:
        """Run a call that a person approved, between the same two rows as any other; outcome and answer.

        The caller has seen to it that this request was claimed and never begun before. Raise Refusal when it cannot be
        run at all.
        """
        running = _Running(caller, name, caller.tools.get(name), arguments, receipt, approval=approval)
        tool, typed = self._validated(running)
        with anyio.CancelScope(shield=True):
            text = await self._effect(running, tool, typed)
        return running.outcome, text

    async def _uneventful(self, running: _Running, tool: Tool, typed: Arguments) -> str:
        """Run what changes nothing: it ends when nobody waits for it any more."""
        outcome = CANCELLED
        try:
            outcome, text = await self._timed(running, tool, typed)
        finally:
            self._record(running, outcome)
        return text

    def hurry(self, seconds: float) -> None:
        """The process is about to end: what still writes has this long to finish."""
        latest = anyio.current_time() + seconds
        for scope in self._writing:
            scope.deadline = min(scope.deadline, latest)

    def _admit(self, running: _Running) -> tuple[Tool, Arguments]:
        """The tool and the typed arguments of a call that may run. Raise Refusal otherwise."""
        caller = running.caller
        tool, typed = self._validated(running)
        decision, approver = caller.decide(tool.name), self._approver
        allow(tool.name, decision, approver is not None and approver.able)
        if wait := self._rates.wait(caller.client, caller.rate_per_minute):
            words = f"More than {caller.rate_per_minute} calls a minute. Wait {wait} s before the next call."
            raise Refusal(Code.RATE_LIMITED, words, {"retry_after_seconds": wait})
        if decision == "approve":
            assert approver is not None
            running.asks = True
            tool = replace(tool, run=partial(approver.answer, tool, running.note))
        return tool, typed

    def _validated(self, running: _Running) -> tuple[Tool, Arguments]:
        tool = running.tool
        if tool is None:
            name = clipped(running.name)
            raise Refusal(Code.NOT_FOUND, f"There is no tool {name!r} here; tools/list names those that are.")
        if running.caller.fault:
            raise Refusal(Code.BAD_ARGUMENT, running.caller.fault)
        return tool, validate(tool, running.arguments)

    async def _effect(self, running: _Running, tool: Tool, typed: Arguments) -> str:
        """Run a tool between the two rows that tell of it."""
        try:
            place = await self._audit.started(self._entry(running, "started"))
        except AuditUnavailable as fault:
            running.outcome = str(Code.WRITE_FAILED)
            self._record(running, running.outcome)
            words = f"The audit log cannot be written ({fault}), so nothing was changed. Tell the operator."
            return self._refused(running, Refusal(Code.WRITE_FAILED, words))
        running.outcome, text = await self._timed(running, tool, typed, place)
        await self._audit.finished(self._entry(running, running.outcome))
        self._count(running, running.outcome)
        return text

    async def _timed(self, running: _Running, tool: Tool, typed: Arguments, place: str = "") -> tuple[str, str]:
        """Outcome and answer of a call under its deadline; a read also ends when its caller has gone."""
        caller = running.caller
        with anyio.move_on_after(self.deadline_seconds) as scope:
            try:
                self._enter(running, scope)
                return await self._attempt(running, tool, typed, self._call(running, place, scope.deadline))
            finally:
                caller.reading = None
                self._writing.discard(scope)
        if running.effects:
            words = f"{tool.name} did not end in time. It may or may not have happened: look before you repeat it."
            fault = Refusal(Code.OUTCOME_UNKNOWN, words)
        else:
            words = f"{tool.name} did not answer within {self.deadline_seconds:g} s; nothing was changed. Ask for less."
            fault = Refusal(Code.TIMEOUT, words)
        gone = caller.gone and not running.effects
        return CANCELLED if gone else str(fault.code), self._refused(running, fault)

    def _enter(self, running: _Running, scope: anyio.CancelScope) -> None:
        if running.effects:
            self._writing.add(scope)
            return
        running.caller.reading = scope
        if running.caller.gone:
            scope.cancel()

    async def _attempt(self, running: _Running, tool: Tool, typed: Arguments, call: Call) -> tuple[str, str]:
        try:
            members = await tool.run(call, typed)
            receipt = {"receipt": running.receipt} if running.effects else {}
            return "ok", self._redacted(answers.success({**members, **receipt}))
        except Refusal as fault:
            return str(fault.code), self._refused(running, fault)
        except Exception as fault:
            return FAULT, self._broken(running, fault)

    def _broken(self, running: _Running, fault: Exception) -> str:
        """Answer a bug of ours. The journal gets where it happened, never the message: it may quote an argument."""
        where = "".join(traceback.format_tb(fault.__traceback__)).rstrip()
        logger.error("%s failed with %s, receipt %s\n%s", running.name, type(fault).__name__, running.receipt, where)
        words = f"Internal fault, receipt {running.receipt}. Not your mistake: tell the operator the receipt."
        if running.effects:
            words += " It may or may not have happened: look before you repeat it."
        return self._refused(running, Refusal(Code.UPSTREAM_ERROR, words))

    def _refused(self, running: _Running, fault: Refusal) -> str:
        if running.effects:
            fault = Refusal(fault.code, fault.hint, {**fault.facts, "receipt": running.receipt})
        elif running.asks:  # an answer that was recorded carries the receipt of what was done
            fault = Refusal(fault.code, fault.hint, {"receipt": running.receipt, **fault.facts})
        return self._redacted(answers.refusal(fault))

    def _redacted(self, text: str) -> str:
        return answers.redact(text, self._secrets())

    def _call(self, running: _Running, place: str, deadline: float) -> Call:
        caller = running.caller
        return Call(
            client=caller.client,
            channel=caller.channel,
            tool=running.name,
            receipt=running.receipt,
            audit=place,
            deadline=deadline,
            odoo_employee_id=caller.odoo_employee_id,
        )

    def _entry(self, running: _Running, outcome: str) -> Entry:
        if running.digest is None:
            running.digest = self._audit.digest(running.arguments)
        return Entry(
            receipt=running.receipt,
            client=running.caller.client,
            channel=running.caller.channel,
            tool=running.name,
            args=tuple(running.arguments),
            digest=running.digest,
            outcome=outcome,
            approval=running.approval,
            ms=(time.perf_counter() - running.began) * 1000,
        )

    def _record(self, running: _Running, outcome: str) -> None:
        self._audit.record(self._entry(running, outcome))
        self._count(running, outcome)

    def _count(self, running: _Running, outcome: str) -> None:
        if outcome == CANCELLED:  # neither an answer nor a fault of ours
            return
        caller, name = running.caller, running.name if running.tool else UNKNOWN
        self._metrics.calls(name, caller.channel, caller.client, outcome, time.perf_counter() - running.began)
