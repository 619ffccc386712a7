"""One Odoo as one user: typed reads and writes, whichever transport carries them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import anyio

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.faults import Kind, OdooFault
from mcp_gateway.ports.odoo.sessions import NAMES, Session, Sessions
from mcp_gateway.ports.odoo.transport import Broken, Login, Request, Unreachable
from mcp_gateway.ports.odoo.wire import Wire
from mcp_gateway.ports.odoo.words import FAULTS, refusal, too_late
from mcp_gateway.ports.odoo.zones import zone
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.tools import Call, Condition

# /readyz asks all backends and must itself answer soon.
CONDITION_SECONDS = 2.0
# Time kept back from the call's deadline, so that our own words about a timeout still reach the agent.
MARGIN_SECONDS = 0.3
# What a write leaves of its time for looking afterwards whether it happened: a quarter, at most this.
LOOK_SECONDS = 4.0

Row = dict[str, Any]
Domain = Sequence[object]

logger = logging.getLogger(__name__)


class OdooPort:
    """Asks one Odoo. Every method raises Refusal naming the record and the remedy when it does not give its result."""

    def __init__(self, settings: OdooSettings, secrets: Secrets) -> None:
        """Raise ConfigurationError when the key cannot be read."""
        self._settings = settings
        self._sessions = Sessions(settings, secrets)

    async def open(self) -> None:
        """Get ready; nothing is asked yet."""
        self._sessions.wire = Wire(self._settings.url)

    async def close(self) -> None:
        """Close every connection and forget the login."""
        wire, self._sessions.wire, self._sessions.present = self._sessions.wire, None, None
        if wire is not None:
            await wire.close()

    async def condition(self) -> Condition:
        """Whether Odoo lets us in now, and which release over which transport."""
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + CONDITION_SECONDS):
                session = await self._sessions.refreshed()
                told = f"Odoo {session.release} over {NAMES[session.name]}"
                return _zoned(Condition("ok", told), session.login.time_zone)
        except Refusal as fault:
            return Condition("down", fault.hint)
        except Exception as fault:  # a bug of ours must show here, not take the page down
            logger.error("Asking Odoo failed with %s", type(fault).__name__)
            return Condition("down", f"asking Odoo failed inside the gateway ({type(fault).__name__})")
        return Condition("down", f"Odoo did not answer within {CONDITION_SECONDS:g} s.")

    async def session(self, call: Call) -> Session:
        """Who we are and which release this is; asks Odoo only when there is no login yet."""
        if self._sessions.present is not None:
            return self._sessions.present
        with anyio.CancelScope(deadline=call.deadline - MARGIN_SECONDS):
            return await self._sessions.entered("res.users", "read", "the login")
        raise too_late("read")

    async def search_read(
        self,
        call: Call,
        model: str,
        domain: Domain,
        fields: Sequence[str],
        *,
        limit: int,
        order: str,
        offset: int = 0,
        archived: bool = False,
    ) -> list[Row]:
        """The records of a domain, archived ones only when asked for."""
        arguments = {"domain": list(domain), "fields": list(fields), "limit": limit, "offset": offset, "order": order}
        context = {"active_test": False} if archived else {}
        return _rows(await self._read(call, Request(model, "search_read", arguments, context=context), "such records"))

    async def count(self, call: Call, model: str, domain: Domain, *, archived: bool = False) -> int:
        """How many records a domain has."""
        context = {"active_test": False} if archived else {}
        request = Request(model, "search_count", {"domain": list(domain)}, context=context)
        found = await self._read(call, request, "such records")
        if not isinstance(found, int) or isinstance(found, bool):
            raise refusal(Broken(), model, "read", "such records")
        return found

    async def read(self, call: Call, model: str, ids: Sequence[int], fields: Sequence[str], about: str) -> list[Row]:
        """Those of these records that exist, archived ones included. Raise Refusal when one is closed to the user."""
        rows = await self._read(call, Request(model, "read", {"fields": list(fields)}, ids=list(ids)), about)
        return _rows(rows)

    async def create(self, call: Call, model: str, values: Mapping[str, object], about: str) -> int:
        """The id of one new record."""
        found = await self._write(call, Request(model, "create", {"vals_list": [dict(values)]}), "create", about)
        if isinstance(found, list) and len(found) == 1 and isinstance(found[0], int):
            return found[0]
        raise refusal(Broken(), model, "create", about)

    async def write(self, call: Call, model: str, ids: Sequence[int], values: Mapping[str, object], about: str) -> None:
        """Change records: all of the values, or a Refusal and none of them."""
        await self._write(call, Request(model, "write", {"vals": dict(values)}, ids=_named(ids)), "change", about)

    async def delete(self, call: Call, model: str, ids: Sequence[int], about: str) -> None:
        """Delete records for good."""
        await self._write(call, Request(model, "unlink", {}, ids=_named(ids)), "delete", about)

    async def _read(self, call: Call, request: Request, about: str) -> object:
        """One read, tried a second time when its connection breaks: Odoo may just have closed it."""
        with anyio.CancelScope(deadline=call.deadline - MARGIN_SECONDS):
            try:
                try:
                    return await self._run(request, "read", about)
                except (Broken, Unreachable):
                    return await self._run(request, "read", about)
            except FAULTS as fault:
                raise refusal(fault, request.model, "read", about) from fault
        raise too_late("read")

    async def _write(self, call: Call, request: Request, doing: str, about: str) -> object:
        """One write, sent once. Time is left afterwards for looking whether it happened."""
        await self.session(call)
        left = call.deadline - anyio.current_time()
        keep = MARGIN_SECONDS + min(LOOK_SECONDS, left / 4)
        with anyio.CancelScope(deadline=call.deadline - keep):
            try:
                found = await self._run(request, doing, about)
            except FAULTS as fault:
                raise refusal(fault, request.model, doing, about) from fault
            if doing != "create" and found is not True:
                raise refusal(Broken(), request.model, doing, about)
            return found
        raise too_late(doing)

    async def _run(self, request: Request, doing: str, about: str) -> object:
        """Ask within the login; when Odoo no longer knows it, log in once more: then nothing had been done."""
        warm = self._sessions.present
        session = await self._sessions.entered(request.model, doing, about)
        try:
            return await session.transport.run(_within(request, session.login))
        except OdooFault as fault:
            if fault.kind is not Kind.LOGIN:
                raise
            self._sessions.drop(session)
            if warm is not session:
                raise
        session = await self._sessions.entered(request.model, doing, about)
        return await session.transport.run(_within(request, session.login))


def _zoned(condition: Condition, time_zone: str) -> Condition:
    """The condition, if days can be told in this zone."""
    try:
        zone(time_zone)
    except Refusal as fault:
        return Condition("degraded", f"{condition.reason}. {fault.hint}")
    return condition


def _within(request: Request, login: Login) -> Request:
    return replace(request, context={**login.context, **request.context})


def _named(ids: Sequence[int]) -> list[int]:
    """Ids of a change; none at all would be answered with success by Odoo, and zero too."""
    if not ids or any(one <= 0 for one in ids):
        raise Refusal(Code.NOT_FOUND, "No record is named.")
    return list(ids)


def _rows(found: object) -> list[Row]:
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise refusal(Broken(), "", "read", "such records")
    return cast(list[Row], found)
