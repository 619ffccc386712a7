"""An agent's side of a call that a person decides about: asked, waited for a little, told how it stands."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

import anyio

from mcp_gateway.approvals import standing
from mcp_gateway.approvals.kept import Kept
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.approvals import OPEN, REQUEST_ID, ApprovalsPort, Question, Request, digest
from mcp_gateway.previews import harmless, plain_arguments, preview_of
from mcp_gateway.tools import Arguments, Call, Tool

# How many calls of one client may wait at once; the others hear at once that they wait for a person.
MAX_WAITING = 16
# What is kept back of a call's own deadline.
MARGIN_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Counters(Protocol):
    """What asking needs of the metrics."""

    def approval_asked(self, tool: str) -> None: ...


class Asking:
    """Answers calls whose tool is under `approve`. `port` gives the present way to the approvals service."""

    def __init__(
        self,
        port: Callable[[], ApprovalsPort | None],
        kept: Kept,
        metrics: Counters,
        secrets: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._port = port
        self._kept = kept
        self._metrics = metrics
        self._secrets = secrets
        self._waiting: dict[str, int] = {}

    @property
    def able(self) -> bool:
        """Whether there is anybody to ask."""
        return self._port() is not None

    async def answer(
        self, tool: Tool, note: Callable[[str], None], call: Call, typed: Arguments
    ) -> Mapping[str, object]:
        """The recorded members of a call that was approved and run. Raise Refusal for every other state.

        Nothing is ever executed here. `note` is told the request's id.
        """
        port = self._port()
        if port is None:
            raise Refusal(
                Code.NOT_CONFIGURED, f"{tool.name} needs a person's approval, and nobody is set up to give it."
            )
        arguments = plain_arguments(typed)
        try:
            name = digest(call.client, call.channel, call.tool, arguments)
        except ValueError as fault:
            words = "The arguments hold a number that has no exact form (above 2^53), or are nested too deeply."
            raise Refusal(Code.BAD_ARGUMENT, words) from fault
        request = await self._known(port, name) or await self._asked(port, tool, call, typed, name)
        note(request.id)
        if request.state in OPEN:
            request = await self._waited(port, request, call)
        return standing.members(tool.name, request, port.settings.console_url or port.settings.url)

    async def _known(self, port: ApprovalsPort, name: str) -> Request | None:
        """The request that these words became, while it still answers for them.

        Looked up first: once a call has run, its record may be gone, and no preview could be made of it any more.
        """
        identity = await self._remembered(name)
        if identity is None or not REQUEST_ID.fullmatch(identity):
            return None
        try:
            request = await port.look(identity)
        except Refusal as fault:
            words = "How your request stands cannot be seen now: the approvals service does not answer. Call later."
            raise Refusal(fault.code, words, {"approval": identity}) from fault
        if request is None or request.digest != name or not standing.answers(request, time.time()):
            return None
        return request

    async def _asked(self, port: ApprovalsPort, tool: Tool, call: Call, typed: Arguments, name: str) -> Request:
        preview = harmless(await preview_of(tool, call, typed), self._secrets())
        question = Question(call.client, call.channel, call.tool, plain_arguments(typed), preview, call.receipt)
        request, new = await port.ask(question)
        if request.digest != name:
            raise Refusal(Code.UPSTREAM_ERROR, "The approvals service answers about another call. Tell the operator.")
        if new:
            self._metrics.approval_asked(tool.name)
        await self._remember(name, request.id)
        return request

    async def _waited(self, port: ApprovalsPort, request: Request, call: Call) -> Request:
        """The request after its state settled, or as it was last seen when the time for waiting is over."""
        seconds = min(
            port.settings.wait(call.deadline - anyio.current_time()),
            call.deadline - anyio.current_time() - MARGIN_SECONDS,
        )
        if seconds <= 0 or self._waiting.get(call.client, 0) >= MAX_WAITING:
            return request
        self._waiting[call.client] = self._waiting.get(call.client, 0) + 1
        try:
            with anyio.move_on_after(seconds) as scope, suppress(Refusal):
                while request.state in OPEN:
                    left = scope.deadline - anyio.current_time()
                    request = await port.look(request.id, request.state, left) or request
        finally:
            self._waiting[call.client] -= 1
        return request

    async def _remembered(self, name: str) -> str | None:
        try:
            return await self._kept.asked(name)
        except (OSError, sqlite3.Error) as fault:
            logger.warning("What was asked for before cannot be read: %s", fault)
            return None

    async def _remember(self, name: str, identity: str) -> None:
        try:
            await self._kept.ask(name, identity)
        except (OSError, sqlite3.Error) as fault:  # the service itself knows it; only its preview is made again
            logger.warning("What was asked for cannot be kept: %s", fault)
