"""What can be done with requests. Every surface (service API, console, Telegram, command line) goes through here."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio

from approvals import states
from approvals.changes import Changes
from approvals.errors import NotFound, TooManyPending
from approvals.request import Request, digest, new_id
from approvals.store import Store, rows

# More than anybody reads at once.
MAX_LISTED = 500

Found = list[Request]
T = TypeVar("T")


class AlreadyDecided(Exception):
    """Somebody else, or time, was quicker; `request` says how it stands now."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"{request.id} is {request.state} already")
        self.request = request


@dataclass(frozen=True, slots=True)
class Asked:
    """What a service asks for."""

    service: str
    client: str
    channel: str
    tool: str
    arguments: Mapping[str, Any]
    preview: Mapping[str, Any]
    receipt: str


class Requests:
    """The requests of one database. All methods raise sqlite3.Error or OSError when the disk takes nothing."""

    def __init__(
        self,
        store: Store,
        expiry_seconds: float,
        max_pending_per_client: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.changes = Changes(store)
        self._store = store
        self._expiry = expiry_seconds
        self._limit = max_pending_per_client
        self._now = now

    async def ask(self, asked: Asked) -> tuple[Request, bool]:
        """The request for this call and whether it is new. Raise TooManyPending, or ValueError (no canonical form)."""
        key = digest(asked.client, asked.channel, asked.tool, asked.arguments)
        return await self._write(lambda connection, now: self._ask(connection, now, asked, key))

    async def get(self, request_id: str, service: str | None = None) -> Request | None:
        """The request, if it is there (and, with `service`, is that service's)."""
        request = await self._write(lambda connection, now: _fresh(connection, now, request_id))
        return request if request is not None and service in (None, request.service) else None

    async def list(self, state: str | None = None, limit: int = MAX_LISTED, service: str | None = None) -> Found:
        """The requests in a state (None: in any), the oldest first."""
        conditions = [f"{name} = ?" for name, value in (("state", state), ("service", service)) if value is not None]
        values = [value for value in (state, service) if value is not None]
        where = f"{' AND '.join(conditions) or 'TRUE'} ORDER BY created, id"

        def work(connection: sqlite3.Connection, now: float) -> Found:
            _settle(connection, now)
            return rows.many(connection, where, values, min(limit, MAX_LISTED))

        return await self._write(work)

    async def history(self, limit: int, before: float | None = None) -> Found:
        """What was decided or has ended, the latest first; `before`: only what was made before that moment."""

        def work(connection: sqlite3.Connection, now: float) -> Found:
            _settle(connection, now)
            where = "state <> ? AND created < ? ORDER BY created DESC, id"
            return rows.many(connection, where, (states.PENDING, before or 1e18), min(limit, MAX_LISTED))

        return await self._write(work)

    async def decide(
        self, request_id: str, approve: bool, approver: str, reason: str = "", via: str = "console"
    ) -> Request:
        """The request as decided. Raise NotFound, or AlreadyDecided when it is not pending any more."""
        state = states.APPROVED if approve else states.DENIED

        def work(connection: sqlite3.Connection, now: float) -> Request:
            values: dict[str, Any] = {"decided": now, "decided_by": f"{via}:{approver}", "reason": reason or None}
            if not approve:
                values["ended"] = now
            return _move(connection, now, request_id, None, state, values)

        return await self._write(work)

    async def claim(self, request_id: str, service: str) -> Request:
        """Approved to dispatched, for the one who asks first. Raise NotFound or AlreadyDecided."""

        def work(connection: sqlite3.Connection, now: float) -> Request:
            return _move(connection, now, request_id, service, states.DISPATCHED, {"dispatched": now})

        return await self._write(work)

    async def cancel(self, request_id: str, service: str) -> Request:
        """Withdraw a pending request. Raise NotFound or AlreadyDecided."""

        def work(connection: sqlite3.Connection, now: float) -> Request:
            return _move(connection, now, request_id, service, states.CANCELLED, {"ended": now})

        return await self._write(work)

    async def result(self, request_id: str, service: str, outcome: str, answer: Mapping[str, Any]) -> Request:
        """Keep what became of it; the same once more is no news. Raise NotFound or AlreadyDecided."""

        def work(connection: sqlite3.Connection, now: float) -> Request:
            present = _own(connection, now, request_id, service)
            if present.state == outcome and present.answer == answer:
                return present
            return _move(connection, now, request_id, service, outcome, {"ended": now, "answer": dict(answer)})

        return await self._write(work)

    async def waited(self, request_id: str, service: str, seconds: float, state: str | None = None) -> Request | None:
        """The request once it is no longer in that state (None: in the present one), or after so many seconds."""
        event = self.changes.next
        request = await self.get(request_id, service)
        state = request.state if request and state is None else state
        with anyio.move_on_after(seconds):
            while request is not None and request.state == state:
                await event.wait()
                event = self.changes.next
                request = await self.get(request_id, service)
        return request

    async def waiting(self, state: str, service: str, seconds: float) -> Found:
        """The service's requests in a state, as soon as there is one."""
        event = self.changes.next
        found = await self.list(state, service=service)
        with anyio.move_on_after(seconds):
            while not found:
                await event.wait()
                event = self.changes.next
                found = await self.list(state, service=service)
        return found

    async def counts(self) -> tuple[dict[str, int], float | None]:
        """How many requests are in each state, and when the oldest pending one was made."""

        def work(connection: sqlite3.Connection, now: float) -> tuple[dict[str, int], float | None]:
            _settle(connection, now)
            counts = dict(connection.execute("SELECT state, count(*) FROM requests GROUP BY state"))
            oldest = connection.execute("SELECT min(created) FROM requests WHERE state = ?", (states.PENDING,))
            return counts, oldest.fetchone()[0]

        return await self._write(work)

    async def sweep(self) -> None:
        """End what time has ended."""
        await self._write(_settle)

    async def _write(self, work: Callable[[sqlite3.Connection, float], T]) -> T:
        changed = False

        def timed(connection: sqlite3.Connection) -> T:
            nonlocal changed
            before = connection.total_changes
            found = work(connection, self._now())
            changed = connection.total_changes != before
            return found

        found = await self._store.run(timed)
        if changed:
            self.changes.tell()
        return found

    def _ask(self, connection: sqlite3.Connection, now: float, asked: Asked, key: str) -> tuple[Request, bool]:
        _settle(connection, now)
        same = rows.many(connection, "service = ? AND digest = ? ORDER BY created DESC", (asked.service, key), 1)
        if same and _answers(same[0], now):
            return same[0], False
        pending = "SELECT count(*) FROM requests WHERE service = ? AND client = ? AND state = ?"
        (count,) = connection.execute(pending, (asked.service, asked.client, states.PENDING)).fetchone()
        if count >= self._limit:
            raise TooManyPending(self._limit)
        request = Request(
            id=new_id(),
            service=asked.service,
            client=asked.client,
            channel=asked.channel,
            tool=asked.tool,
            arguments=asked.arguments,
            digest=key,
            preview=asked.preview,
            receipt=asked.receipt,
            state=states.PENDING,
            created=now,
            expires=now + self._expiry,
        )
        rows.add(connection, request)
        return request, True


def _answers(request: Request, now: float) -> bool:
    """Whether this request still speaks for the same call made again.

    A clock that was set back makes an end lie in the future: that counts as just now, never as long ago.
    """
    if request.state in states.OPEN:
        return True
    return now - (request.ended or request.created) < states.repeat_seconds(request.state)


def _fresh(connection: sqlite3.Connection, now: float, request_id: str) -> Request | None:
    """The request as it is now: what time has ended is ended first."""
    request = rows.one(connection, request_id)
    if request is None or (target := _overdue(request, now)) is None:
        return request
    rows.move(connection, request, target, ended=now)
    return replace(request, state=target, ended=now)


def _overdue(request: Request, now: float) -> str | None:
    """The state that time alone leads to, if it is time."""
    if request.state == states.PENDING and now >= request.expires:
        return states.EXPIRED
    if request.state == states.APPROVED and now >= (request.decided or 0) + states.CLAIM_SECONDS:
        return states.EXPIRED
    if request.state == states.DISPATCHED and now >= (request.dispatched or 0) + states.RESULT_SECONDS:
        return states.OUTCOME_UNKNOWN
    return None


def _settle(connection: sqlite3.Connection, now: float) -> None:
    """End every request whose time is over."""
    due = "(state = ? AND expires <= ?) OR (state = ? AND decided <= ?) OR (state = ? AND dispatched <= ?)"
    values = (
        states.PENDING,
        now,
        states.APPROVED,
        now - states.CLAIM_SECONDS,
        states.DISPATCHED,
        now - states.RESULT_SECONDS,
    )
    for request in rows.many(connection, due, values, -1):
        if target := _overdue(request, now):
            rows.move(connection, request, target, ended=now)


def _own(connection: sqlite3.Connection, now: float, request_id: str, service: str | None) -> Request:
    request = _fresh(connection, now, request_id)
    if request is None or service not in (None, request.service):
        raise NotFound(request_id)
    return request


def _move(
    connection: sqlite3.Connection,
    now: float,
    request_id: str,
    service: str | None,
    state: str,
    values: Mapping[str, Any],
) -> Request:
    """Take a request one step along, or raise AlreadyDecided; expiry is decided in the same transaction."""
    request = _own(connection, now, request_id, service)
    if not states.leads(request.state, state) or not rows.move(connection, request, state, **values):
        raise AlreadyDecided(request)
    return replace(request, state=state, **values)
