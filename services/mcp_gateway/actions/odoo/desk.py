"""Where every write passes: one at a time per record, kept for undo, looked up when its outcome is not known."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import anyio

from mcp_gateway.actions.odoo.texts import to_text
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo import port as timing
from mcp_gateway.ports.odoo.port import OdooPort, Row
from mcp_gateway.tools import Call
from mcp_gateway.undo.store import Change, Memory

# An Odoo that is being restarted is back in seconds; asking more often than this only fills its log.
LOOK_AGAIN_SECONDS = 0.5
# What a read of undo compares never changes by Odoo's own doing beyond this, such as a sum in a currency.
CLOSE = 1e-6

T = TypeVar("T")
# Asked for its id alone, Odoo gives any id back without looking whether there is such a record.
PROOF = ("create_date",)

Find = Callable[[], Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class Target:
    """The record that a write is about, in Odoo's words and in an agent's."""

    model: str
    id: int
    about: str


@dataclass(frozen=True, slots=True)
class Written:
    """What stands in the record after a write. `row` is empty when nobody could look."""

    row: Row
    # The answer was lost, and reading Odoo back showed that it happened.
    found_out: bool = False

    @property
    def remarks(self) -> dict[str, object]:
        """Members that an answer needs beyond the ordinary."""
        return {"note": "Odoo's answer was lost; reading back shows that it happened."} if self.found_out else {}


class Turns:
    """Lets one at a time at the same thing, in the order of arrival."""

    def __init__(self) -> None:
        self._locks: dict[object, tuple[anyio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, thing: object) -> AsyncIterator[None]:
        lock, users = self._locks.get(thing, (anyio.Lock(), 0))
        self._locks[thing] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(thing)
            if users > 1:
                self._locks[thing] = (lock, users - 1)


class Desk:
    """The port with a memory."""

    def __init__(self, port: OdooPort, memory: Memory) -> None:
        self.port = port
        self.memory = memory
        self.turns = Turns()

    async def one(self, call: Call, target: Target, fields: Sequence[str]) -> Row:
        """The record. Raise Refusal when it is not there or closed to the user."""
        rows = await self.port.read(call, target.model, [target.id], fields, target.about)
        if not rows or rows[0].get("id") != target.id:
            raise Refusal(Code.NOT_FOUND, f"Odoo has no {target.about}.")
        return rows[0]

    async def write(
        self,
        call: Call,
        target: Target,
        row: Row,
        values: Mapping[str, object],
        *,
        also: Sequence[str] = (),
        extra: Mapping[str, object] | None = None,
    ) -> Written:
        """Change a record of which `row` shows the present values, and read it back.

        `also` names fields that Odoo changes along; they are kept and restored too. `extra` is kept beside them.
        """
        fields = [*values, *(field for field in also if field not in values)]
        before = {**{field: plain(row.get(field)) for field in fields}, **(extra or {})}
        await self.memory.begin(_change(call, "write", target.model, target.id, before, values))
        lost = False
        try:
            await self.port.write(call, target.model, [target.id], values, target.about)
        except Refusal as fault:
            if fault.code is not Code.OUTCOME_UNKNOWN:
                await self.memory.forget(call.receipt)
                raise
            if not await self._until(call, lambda: self._holds(call, target, values)):
                raise
            lost = True
        after = await self._after(call, target, fields)
        await self.memory.finish(call.receipt, target.id, {f: plain(after.get(f)) for f in fields} if after else None)
        return Written(after, lost)

    async def create(
        self, call: Call, model: str, about: str, values: Mapping[str, object], fields: Sequence[str], find: Find
    ) -> tuple[int, Written]:
        """Make a record and read it back. `find` looks for it when Odoo's answer was lost."""
        await self.memory.begin(_change(call, "create", model, None, {}, values))
        lost = False
        try:
            made: int | None = await self.port.create(call, model, values, about)
        except Refusal as fault:
            if fault.code is not Code.OUTCOME_UNKNOWN:
                await self.memory.forget(call.receipt)
                raise
            made = await self._until(call, find)
            if made is None:
                raise
            lost = True
        assert made is not None
        after = await self._after(call, Target(model, made, about), fields)
        await self.memory.finish(call.receipt, made, {f: plain(after.get(f)) for f in fields} if after else None)
        return made, Written(after, lost)

    async def delete(self, call: Call, target: Target, snapshot: Mapping[str, object]) -> Written:
        """Delete a record of which a snapshot is kept."""
        await self.memory.begin(_change(call, "delete", target.model, target.id, snapshot, {}))
        lost = False
        try:
            await self.port.delete(call, target.model, [target.id], target.about)
        except Refusal as fault:
            if fault.code is not Code.OUTCOME_UNKNOWN:
                await self.memory.forget(call.receipt)
                raise
            if not await self._until(call, lambda: self._gone(call, target)):
                raise
            lost = True
        await self.memory.finish(call.receipt, target.id, {})
        return Written({}, lost)

    async def _after(self, call: Call, target: Target, fields: Sequence[str]) -> Row:
        """What stands there now. The write has happened, so failing to look is no failure of the call."""
        with suppress(Refusal):
            return await self.one(call, target, fields)
        return {}

    async def _holds(self, call: Call, target: Target, values: Mapping[str, object]) -> bool:
        row = await self.one(call, target, list(values))
        return all(_stands(row.get(field), value) for field, value in values.items())

    async def _gone(self, call: Call, target: Target) -> bool:
        return not await self.port.read(call, target.model, [target.id], PROOF, target.about)

    async def _until(self, call: Call, look: Callable[[], Awaitable[T]]) -> T | None:
        """What reading Odoo back shows, asked again until it shows something or the time is over."""
        end = call.deadline - timing.MARGIN_SECONDS
        while anyio.current_time() < end:
            with suppress(Refusal):
                if found := await look():
                    return found
            await anyio.sleep(min(LOOK_AGAIN_SECONDS, max(0.0, end - anyio.current_time())))
        return None


def plain(value: object) -> object:
    """A value as it can be written: the id of a many2one instead of its id and name."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str) else value


def same(stored: object, value: object) -> bool:
    """Whether a stored value is the written one, in whichever shape either stands."""
    stored, value = plain(stored), plain(value)
    if not stored and not value:  # false, "", [] and None are all "nothing", and 0 stands only where numbers stand
        return True
    if isinstance(stored, int | float) and isinstance(value, int | float):
        return abs(stored - value) <= CLOSE
    return stored == value


def _stands(stored: object, value: object) -> bool:
    """Whether a written value has arrived; Odoo may put other markup around the words of a description."""
    if isinstance(stored, str) and isinstance(value, str) and "<" in value:
        return to_text(stored) == to_text(value)
    return same(stored, value)


def changed(row: Row, values: Mapping[str, object]) -> dict[str, object]:
    """Those of the values that the record does not have yet."""
    return {field: value for field, value in values.items() if not same(row.get(field), value)}


def _change(
    call: Call, kind: str, model: str, record: int | None, before: Mapping[str, object], wanted: Mapping[str, object]
) -> Change:
    return Change(call.receipt, call.client, call.tool, kind, model, record, before, wanted)


def target(model: str, record: int, what: str) -> Target:
    """The record with this id, called so, such as `task 5`."""
    return Target(model, record, f"{what} {record}")
