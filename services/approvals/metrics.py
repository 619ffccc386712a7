"""What Prometheus is told."""

import time

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from approvals import states
from approvals.requests import Requests
from approvals.sessions import Sessions


class Metrics:
    """Gauges that are read when they are asked for."""

    def __init__(self, requests: Requests, sessions: Sessions) -> None:
        self._requests = requests
        self._sessions = sessions
        self._registry = CollectorRegistry()
        self._counts = Gauge(
            "approvals_requests", "Requests in the database by state.", ["state"], registry=self._registry
        )
        self._oldest = Gauge(
            "approvals_oldest_pending_seconds", "How long the oldest pending request waits.", registry=self._registry
        )
        self._refused = Gauge("approvals_logins_refused", "Wrong passphrases since the start.", registry=self._registry)

    async def render(self) -> bytes:
        """The text that a scrape gets. Raise sqlite3.Error or OSError."""
        counts, oldest = await self._requests.counts()
        for state in states.STATES:
            self._counts.labels(state).set(counts.get(state, 0))
        self._oldest.set(max(0.0, time.time() - oldest) if oldest else 0)
        self._refused.set(self._sessions.refused)
        return generate_latest(self._registry)
