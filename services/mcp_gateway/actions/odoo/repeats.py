"""A create that a client re-sends gives the first result: one record, however often it was asked for."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

from mcp_gateway.actions.odoo.days import STORED
from mcp_gateway.actions.odoo.desk import Desk
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.tools import Arguments, Call
from mcp_gateway.undo.store import REPEAT_SECONDS, Repeat

# Odoo's clock and ours may differ; a record of ours with the same values that is older than this is another one.
CLOCKS_SECONDS = 60

Members = dict[str, object]
Work = Callable[[], Awaitable[Members]]
Tell = Callable[[int], Awaitable[Members]]


async def once(
    desk: Desk, call: Call, arguments: Arguments, work: Work, find: Callable[[float], Awaitable[int | None]], tell: Tell
) -> Members:
    """The members that `work` gives, or gave the first time.

    When the outcome of the first time is not known, `find` looks in Odoo for a record made since then and `tell` says
    what it is; nothing is ever made a second time on suspicion. Raise Refusal otherwise.
    """
    key = _key(call, arguments)
    async with desk.turns.of(("repeat", key)):
        first = await desk.memory.first(key, call.receipt)
        if first is None:
            return await _first_time(desk, key, work)
        if first.result is not None:
            return _again(first, first.result)
        made = await find(first.time)
        if made is None:
            raise _unknown(first)
        members = await tell(made)
        await desk.memory.finish(first.receipt, made, None)
        await desk.memory.answered(key, members)
        return _again(first, members)


async def _first_time(desk: Desk, key: str, work: Work) -> Members:
    try:
        members = await work()
    except Refusal as fault:
        if fault.code is not Code.OUTCOME_UNKNOWN:
            await desk.memory.unanswered(key)
        raise
    await desk.memory.answered(key, members)
    return members


def since(moment: float) -> str:
    """A little before a moment, as Odoo stores times."""
    return datetime.fromtimestamp(moment - CLOCKS_SECONDS, UTC).strftime(STORED)


def _key(call: Call, arguments: Arguments) -> str:
    given: Mapping[str, object] = arguments.model_dump(exclude_none=True)
    written = json.dumps([call.client, call.odoo_employee_id, call.tool, given], sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def _again(first: Repeat, members: Members) -> Members:
    words = (
        f"The same call was made {max(0, time.time() - first.time):.0f} s ago; this is its result and nothing was made "
        f"again. For a second one change an argument, or wait until {REPEAT_SECONDS} s have passed."
    )
    return {**members, "repeated": True, "first_receipt": first.receipt, "note": words}


def _unknown(first: Repeat) -> Refusal:
    wait = max(1, round(REPEAT_SECONDS - (time.time() - first.time)))
    words = (
        "The same call was made before, how it ended is not known, and Odoo does not show its result. It was not "
        f"repeated. Look in Odoo; if it is not there in {wait} s, call again."
    )
    return Refusal(Code.OUTCOME_UNKNOWN, words, {"retry_after_seconds": wait, "first_receipt": first.receipt})
