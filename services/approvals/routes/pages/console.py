"""What the console's pages are made of; the application gives it together."""

from dataclasses import dataclass, field

import anyio

from approvals.requests import Requests
from approvals.routes.pages.gateway import Gateway
from approvals.routes.pages.samples import EVERY_SECONDS, Samples
from approvals.sessions import Sessions
from approvals.settings import Settings


@dataclass(frozen=True, slots=True)
class Console:
    """The parts behind the pages. `gateway` is None when no `gateway_url` is configured."""

    requests: Requests
    sessions: Sessions
    gateway: Gateway | None
    settings: Settings
    samples: Samples = field(default_factory=Samples)

    async def watch(self) -> None:
        """Sample the gateway's counters for the plots, until cancelled."""
        while self.gateway is not None:
            await self.samples.take(self.gateway)
            await anyio.sleep(EVERY_SECONDS)
