"""Runs what was approved: looked at again, claimed, executed once, and its result handed in."""

import logging
import random
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_gateway.approvals import outcomes
from mcp_gateway.approvals.history import Unreadable, trace
from mcp_gateway.approvals.kept import Kept, Result
from mcp_gateway.approvals.outcomes import Counters
from mcp_gateway.calls import Caller, Calls
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.approvals import LONGEST_WAIT, ApprovalsPort, Request
from mcp_gateway.previews import difference

# How many approved calls run at a time: people decide one by one, and agents' own calls go on beside them.
AT_ONCE = 4
# How long the service may hold the question whether something was approved.
POLL_SECONDS = LONGEST_WAIT - 5
# While what is approved waits for its turn here, the question is answered at once; asked again after this.
BUSY_SECONDS = 0.5
# How soon a call is looked at again whose backend cannot be asked now; it stays approved meanwhile.
AGAIN_SECONDS = 3.0
# How long handing in a result may take where its call ended; it is kept on disk and handed in later otherwise. A
# process that ends has less.
HAND_IN_SECONDS, LAST_SECONDS = 10.0, 1.0
# A job that goes on behind a tool is asked about as often, and by the same receipt, as long as its request lives.
JOB_SECONDS, JOB_LIVES_SECONDS = 2.0, 840.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0
# Troubles that pass: they are no reason to refuse what a person approved.
PASSING = frozenset({Code.UPSTREAM_DOWN, Code.TIMEOUT, Code.RATE_LIMITED, Code.NOT_CONFIGURED, Code.UPSTREAM_ERROR})

Resolve = Callable[[str, str], Caller]
# What became of a request whose tool leaves a job behind; None for every other.
Job = Callable[[Request], Awaitable[Result | None]]

logger = logging.getLogger(__name__)


async def nothing_known(request: Request) -> Result | None:
    """No tool leaves a job behind that could be asked about."""
    return None


class Dispatcher:
    """The one place from which an approved call is run. `resolve` gives the caller as the configuration now has it."""

    def __init__(
        self,
        port: Callable[[], ApprovalsPort | None],
        kept: Kept,
        calls: Calls,
        resolve: Resolve,
        state_dir: Path,
        metrics: Counters,
        job: Job = nothing_known,
    ) -> None:
        self._port = port
        self._kept = kept
        self._calls = calls
        self._resolve = resolve
        self._state_dir = state_dir
        self._metrics = metrics
        self._job = job
        self._limit = anyio.CapacityLimiter(AT_ONCE)
        # Requests on their way here: no second task ever takes one of them.
        self._busy: set[str] = set()
        # Those that this process has begun to run: for ever, whatever the service says of them later.
        self._begun: set[str] = set()
        self._settled = False
        self._stopped = anyio.Event()
        self._change = anyio.Event()
        self._polling: anyio.CancelScope | None = None

    def changed(self) -> None:
        """There is another configuration: perhaps another service to ask."""
        self._settled = False
        self._wake()

    def stop(self) -> None:
        """The process is about to end: nothing new is claimed."""
        self._stopped.set()
        self._wake()

    @property
    def _stopping(self) -> bool:
        return self._stopped.is_set()

    async def run(self) -> None:
        """Serve until cancelled. No trouble of the service ends it."""
        pause = FIRST_PAUSE
        async with anyio.create_task_group() as tasks:
            while not self._stopping:
                port = self._port()
                if port is None:
                    await self._change.wait()
                    continue
                try:
                    await self._round(port, tasks)
                    pause = FIRST_PAUSE
                except Refusal as fault:
                    await self._down(port, fault.hint)
                except (Unreadable, OSError, sqlite3.Error) as fault:
                    await self._down(port, f"what must be kept about approved calls cannot be: {fault}")
                except Exception:
                    logger.exception("Looking for approved calls failed")
                    await self._down(port, "looking for approved calls fails; see the journal")
                else:
                    continue
                await anyio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  # only spreads the load
                pause = min(LONGEST_PAUSE, pause * 2)

    async def _round(self, port: ApprovalsPort, tasks: TaskGroup) -> None:
        """Hand in what is ready, settle what an ended process left, and take up what was approved."""
        await self._hand_in(port)
        if not self._settled:
            await self._settle(port)
        await self._up(port)
        found = await self._approved(port)
        await self._up(port)
        fresh = [request for request in found if request.id not in self._busy]
        for request in fresh:
            self._busy.add(request.id)
            tasks.start_soon(self._take_up, port, request)
        if found and not fresh:
            await anyio.sleep(BUSY_SECONDS)

    async def _approved(self, port: ApprovalsPort) -> list[Request]:
        self._change = anyio.Event()
        with anyio.CancelScope() as self._polling:
            return await port.listed("approved", POLL_SECONDS)
        return []

    async def _take_up(self, port: ApprovalsPort, request: Request) -> None:
        """One approved request, from the second look to its result."""
        try:
            async with self._limit:
                if not self._stopping:
                    await self._one(port, request)
        except Exception as fault:
            self._later(request, fault)
            await anyio.sleep(AGAIN_SECONDS)
            self._settled = False
            self._wake()
        finally:
            self._busy.discard(request.id)

    def _later(self, request: Request, fault: Exception) -> None:
        """Say why a request waits; in whatever state it is, it is found again."""
        if isinstance(fault, Refusal):
            logger.warning("The approved call %s waits: %s", request.id, fault.hint)
        elif isinstance(fault, Unreadable | OSError | sqlite3.Error):
            logger.error("The approved call %s waits: %s", request.id, fault)
        else:
            logger.error("The approved call %s failed here", request.id, exc_info=fault)

    async def _one(self, port: ApprovalsPort, request: Request) -> None:
        if request.id in self._begun:  # the list was older than our own claim
            return
        try:
            caller = await self._look_again(request)
        except Refusal as fault:
            if fault.code in PASSING:
                raise
            logger.warning("The approved call %s is not run: %s", request.id, fault.hint)
            if await port.ended(request.id, "refused", outcomes.refused(fault, request.receipt)):
                self._metrics.approval_ended(request.tool, "refused")
            return
        if await self._claimed(port, request):
            await self._execute(port, request, caller)

    async def _look_again(self, request: Request) -> Caller:
        """The caller, when everything is still as it was when a person decided. Raise Refusal with the difference."""
        if await trace(self._state_dir, request.receipt) is not None:
            raise Refusal(Code.CONFLICT, "This request was run before; nothing is run twice. Its receipt tells of it.")
        if not request.bound:
            raise Refusal(Code.CONFLICT, "The request does not hold what its digest says. Nothing was executed.")
        caller = self._resolve(request.client, request.channel)
        if request.tool in caller.tools and caller.decide(request.tool) not in ("approve", "auto"):
            raise Refusal(Code.FORBIDDEN, f"{request.tool} must not be run any more. Nothing was executed.")
        now = await self._calls.preview(caller, request.tool, request.arguments)
        if now.fingerprint != request.preview.fingerprint:
            told = difference(request.preview.facts, now.facts)
            words = f"It changed after it was asked for, so the approval does not count: {told}. Nothing was executed."
            raise Refusal(Code.CONFLICT, words)
        return caller

    async def _claimed(self, port: ApprovalsPort, request: Request) -> bool:
        """Whether it is ours to run. Only this process claims, so a lost answer is found out by looking."""
        if self._stopping:
            return False
        try:
            return await port.claim(request.id)
        except Refusal:
            found = await self._found_out(port, request)
            return found is not None and found.state == "dispatched"

    async def _found_out(self, port: ApprovalsPort, request: Request) -> Request | None:
        """How a request stands after an answer was lost, asked until the service is back."""
        while not self._stopping:
            try:
                return await port.look(request.id)
            except Refusal:
                await anyio.sleep(BUSY_SECONDS)
        return None

    async def _execute(self, port: ApprovalsPort, request: Request, caller: Caller) -> None:
        """Run it, keep the result on disk, and hand it in. Nothing that began is left half written down."""
        self._begun.add(request.id)
        with anyio.CancelScope(shield=True):
            result = await self._ran(request, caller)
            if result is not None:
                self._metrics.approval_ended(request.tool, result.outcome)
                await self._keep(result)
        if result is None:
            return
        with anyio.move_on_after(LAST_SECONDS if self._stopping else HAND_IN_SECONDS, shield=True) as scope:
            await self._hand_in_one(port, result)
        if scope.cancelled_caught:
            self._wake()

    async def _ran(self, request: Request, caller: Caller) -> Result | None:
        """The result. A job that goes on is asked about by the same receipt; None when this process ends before it."""
        call = (caller, request.tool, request.arguments, request.receipt, request.id)
        end = anyio.current_time() + JOB_LIVES_SECONDS
        try:
            outcome, text = await self._calls.execute(*call)
            while outcome == Code.IN_PROGRESS and anyio.current_time() < end:
                if self._stopping:
                    return None
                with anyio.move_on_after(JOB_SECONDS):
                    await self._stopped.wait()
                outcome, text = await self._calls.execute(*call)
        except Refusal as fault:
            return Result(request.id, outcomes.FAILED, outcomes.refused(fault, request.receipt))
        return outcomes.executed(request.id, outcome, text)

    async def _keep(self, result: Result) -> None:
        try:
            await self._kept.end(result)
        except (OSError, sqlite3.Error) as fault:  # the audit log still tells how it ended
            logger.error("The result of %s cannot be kept: %s", result.request, fault)

    async def _hand_in(self, port: ApprovalsPort) -> None:
        for result in await self._kept.results():
            if result.request not in self._busy:
                await self._hand_in_one(port, result)

    async def _hand_in_one(self, port: ApprovalsPort, result: Result) -> None:
        """Hand in a result, at the latest when the service is back. Raise Refusal when it is not there now."""
        taken = await port.ended(result.request, result.outcome, result.answer)
        if not taken:
            taken = await port.ended(result.request, result.outcome, outcomes.short(result))
        if not taken:
            logger.error("The approvals service takes no result of %s any more: %s", result.request, result.outcome)
        await self._kept.handed_in(result.request)

    async def _settle(self, port: ApprovalsPort) -> None:
        """Say how those ended that a process before us, or a lost answer, left dispatched. None is run again."""
        open_jobs = False
        for request in await port.listed("dispatched"):
            if request.id not in self._busy:
                open_jobs |= not await self._settle_one(port, request)
        self._settled = not open_jobs

    async def _settle_one(self, port: ApprovalsPort, request: Request) -> bool:
        """Whether it is settled; a job that still goes on is not."""
        result = await self._job(request)
        if result is None:
            result = outcomes.settled(request, await trace(self._state_dir, request.receipt))
        elif result.answer.get("error") == Code.IN_PROGRESS:
            return False
        if await port.ended(request.id, result.outcome, result.answer):
            logger.warning("%s was left dispatched; it is settled as %s", request.id, result.outcome)
            self._metrics.approval_ended(request.tool, result.outcome)
        return True

    async def _up(self, port: ApprovalsPort) -> None:
        port.trouble = ""
        self._metrics.dispatcher(True, len(await self._kept.results()))

    async def _down(self, port: ApprovalsPort, why: str) -> None:
        if port.trouble != why:
            logger.warning("Approved calls are not run now: %s", why)
        port.trouble = why
        self._settled = False
        self._metrics.dispatcher(False)

    def _wake(self) -> None:
        self._change.set()
        if self._polling is not None:
            self._polling.cancel()
