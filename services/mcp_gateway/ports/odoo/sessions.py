"""The login: made by the first who needs it, kept until Odoo says otherwise, whichever transport it is over."""

import logging
from dataclasses import dataclass, replace

import anyio

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.ports.odoo import probe
from mcp_gateway.ports.odoo.faults import Kind, OdooFault
from mcp_gateway.ports.odoo.json2 import Json2
from mcp_gateway.ports.odoo.transport import Broken, Login, Request, Transport, Unfit, Unreachable
from mcp_gateway.ports.odoo.wire import Wire
from mcp_gateway.ports.odoo.words import FAULTS, refusal
from mcp_gateway.ports.odoo.xmlrpc import XmlRpc
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets

NAMES = {"json2": "JSON-2", "xmlrpc": "XML-RPC"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """A login that holds until Odoo says otherwise; it outlives every agent's session."""

    transport: Transport
    release: int
    name: str
    login: Login


class Sessions:
    """Knows the present session. Methods that ask Odoo raise Refusal when there is no getting in."""

    def __init__(self, settings: OdooSettings, secrets: Secrets) -> None:
        """Raise ConfigurationError when the key cannot be read."""
        self._settings = settings
        self._secrets = secrets
        secrets.read(settings.api_key_file, "odoo.api_key_file")
        self.wire: Wire | None = None
        self.present: Session | None = None
        self._entering = anyio.Lock()

    def drop(self, session: Session) -> None:
        """Odoo no longer knows this one."""
        if self.present is session:
            self.present = None

    async def entered(self, model: str, doing: str, about: str) -> Session:
        """The present login, made by the first who needs it while the others wait."""
        if self.present is not None:
            return self.present
        async with self._entering:
            if self.present is None:
                try:
                    self.present = await self._enter()
                except FAULTS as fault:
                    # Nothing of the call itself was sent yet: it is as if Odoo had not been there at all.
                    raise refusal(Unreachable() if isinstance(fault, Broken) else fault, model, doing, about) from fault
            return self.present

    async def _enter(self) -> Session:
        if self.wire is None:
            raise Unreachable
        release = await probe.release(self.wire)
        name = self._chosen(release)
        transport = (Json2 if name == "json2" else XmlRpc)(self.wire, self._settings.database, self._settings.login)
        login = Login(await transport.uid(self._key()))
        logger.info("Odoo %d is used over %s", release, NAMES[name])
        return await self._told(Session(transport, release, name, login))

    async def refreshed(self) -> Session:
        """The login, asked anew what the user's language and time zone are."""
        session = self.present
        if session is None:
            return await self.entered("res.users", "read", "the login")
        try:
            told = await self._told(session)
        except FAULTS as fault:
            if self.present is session and isinstance(fault, OdooFault) and fault.kind is Kind.LOGIN:
                self.drop(session)
                return await self.entered("res.users", "read", "the login")
            raise refusal(fault, "res.users", "read", "the login") from fault
        if self.present is session:
            self.present = told
        return told

    async def _told(self, session: Session) -> Session:
        context = await session.transport.run(Request("res.users", "context_get", {}))
        if not isinstance(context, dict):
            raise Broken
        language, zone = context.get("lang") or "", context.get("tz") or ""
        return replace(session, login=Login(session.login.uid, str(language), str(zone)))

    def _chosen(self, release: int) -> str:
        wanted = self._settings.transport
        if wanted == "auto":
            return "json2" if release >= probe.FIRST_JSON2 else "xmlrpc"
        if wanted == "json2" and release < probe.FIRST_JSON2:
            raise Unfit(f"odoo.transport is json2, which Odoo {release} does not have; set it to auto")
        return wanted

    def _key(self) -> str:
        """The key as it stands in its file now, so that a new one is used without a restart."""
        try:
            return self._secrets.read(self._settings.api_key_file, "odoo.api_key_file")
        except ConfigurationError:
            raise Unfit("the file in odoo.api_key_file cannot be read any more; put the key there") from None
