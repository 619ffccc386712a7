"""The last hours of the gateway's call counters, kept in memory: from them come the plots."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from approvals.routes.pages.gateway import Gateway, GatewayAway

# One sample a minute for six hours: about 4 MB with every tool in use, and a plot that a phone can show.
EVERY_SECONDS = 60.0
KEPT_SECONDS = 6 * 3600.0

Calls = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """All call counters at one moment."""

    at: float
    calls: Calls


class Samples:
    """A ring of samples, oldest first."""

    def __init__(self) -> None:
        self._ring: deque[Sample] = deque(maxlen=int(KEPT_SECONDS / EVERY_SECONDS) + 1)

    def add(self, calls: Calls, at: float) -> None:
        """Take a sample, unless the last one is still fresh. What the clock has not reached yet is forgotten."""
        while self._ring and self._ring[-1].at > at:
            self._ring.pop()
        if not self._ring or at - self._ring[-1].at >= EVERY_SECONDS * 0.9:
            self._ring.append(Sample(at, calls))

    async def take(self, gateway: Gateway) -> None:
        """Take a sample from a gateway; one that is away leaves a gap."""
        try:
            self.add((await gateway.measures()).calls, time.time())
        except GatewayAway:
            return

    @property
    def since(self) -> float | None:
        """When the oldest sample was taken."""
        return self._ring[0].at if self._ring else None

    def bins(self, start: float, latest: Sample, number: int) -> list[Counter[tuple[str, str]]]:
        """How many calls there were by tool and outcome in each of so many equal parts of the time until now."""
        end = latest.at
        parts: list[Counter[tuple[str, str]]] = [Counter() for _ in range(number)]
        for at, increases in _increases([*self._ring, latest]):
            if start < at <= end:
                parts[min(number - 1, int((at - start) / (end - start) * number))].update(increases)
        return parts


def _increases(samples: Iterable[Sample]) -> Iterator[tuple[float, dict[tuple[str, str], int]]]:
    for before, after in pairwise(samples):
        increases = {key: _increase(before.calls.get(key, 0.0), value) for key, value in after.calls.items()}
        yield after.at, {key: increase for key, increase in increases.items() if increase}


def _increase(before: float, after: float) -> int:
    """A counter that became smaller began anew when the gateway restarted."""
    return int(after - before if after >= before else after)
