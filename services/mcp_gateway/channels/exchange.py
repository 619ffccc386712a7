"""What the gateway knows about one HTTP request, handed through the SDK to the handlers."""

from dataclasses import dataclass
from typing import Any

from mcp_gateway.calls import Caller
from mcp_gateway.channels.gate import Admitted
from mcp_gateway.channels.sessions import Session
from mcp_gateway.channels.views import View

KEY = "talaria"


@dataclass(slots=True)
class Exchange:
    """One request that came through the gate."""

    admitted: Admitted
    view: View
    session: Session | None
    fault: str = ""
    calling: Caller | None = None
    gone: bool = False

    def caller(self) -> Caller:
        """The caller of the one call that this request may hold."""
        client = self.admitted.client
        self.calling = Caller(
            client=client.name,
            channel=self.admitted.channel,
            tools=self.view.tools,
            decide=self.view.decide,
            rate_per_minute=client.rate_per_minute,
            odoo_employee_id=client.odoo_employee_id,
            fault=self.fault,
            gone=self.gone,
        )
        return self.calling

    def leave(self) -> None:
        """The peer has hung up."""
        self.gone = True
        if self.calling is not None:
            self.calling.leave()


def exchange_of(request: Any) -> Exchange:
    """The exchange of a request that an SDK handler is serving."""
    exchange: Exchange = request.scope[KEY]
    return exchange
