"""Whether the tools would answer now, and if not, why and what helps."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import anyio

from mcp_gateway.backends import Backends
from mcp_gateway.settings.sections import Catalogue, sections_by_toolset
from mcp_gateway.tools import Backend, Condition, Tool

# A backend answers within two seconds; this is for one that breaks its word.
PATIENCE_SECONDS = 2.5
# Several askers within this time share one round of questions.
FRESH_SECONDS = 1.0

OK, DEGRADED, DOWN = "ok", "degraded", "down"
NOT_ASKED = Condition(DOWN, "not asked yet")


@dataclass(frozen=True, slots=True)
class Standings:
    """What is to be judged."""

    backends: Backends
    # What every channel shows, whatever its clients narrow further.
    shown: Mapping[str, Collection[Tool]]


class Readiness:
    """Asks the backends and sums up. `standings` gives what is configured now, `audit` how the audit log is."""

    def __init__(
        self,
        standings: Callable[[], Standings],
        audit: Callable[[], Condition],
        told: Callable[[str, Condition], None],
        catalogue: Catalogue,
    ) -> None:
        self._standings = standings
        self._audit = audit
        self._told = told
        self._sections = sections_by_toolset(catalogue)
        self._conditions: dict[str, Condition] = {}
        self._asked = -FRESH_SECONDS
        self._asking = anyio.Lock()

    async def ask(self) -> None:
        """Ask every backend now, all at once, unless that was done a moment ago."""
        async with self._asking:
            if time.monotonic() - self._asked < FRESH_SECONDS:
                return
            backends = self._standings().backends
            conditions: dict[str, Condition] = {}

            async def one(name: str, backend: Backend) -> None:
                conditions[name] = await _condition(backend)

            async with anyio.create_task_group() as group:
                for name, standing in backends.items():
                    group.start_soon(one, name, standing.backend)
            self._conditions, self._asked = conditions, time.monotonic()
        for name, condition in conditions.items():
            self._told(name, condition)

    def stale(self) -> None:
        """The configuration has changed: the next asker wants a new round."""
        self._asked = -FRESH_SECONDS

    def report(self) -> dict[str, object]:
        """The last answers: overall status, channels and backends, each with the reason."""
        standings = self._standings()
        backends = {name: self._conditions.get(name, NOT_ASKED) for name in standings.backends}
        channels = {
            name: {"tools": len(tools), **_words(self._channel(tools, backends))}
            for name, tools in standings.shown.items()
        }
        every = {"audit": self._audit(), **backends}
        return {
            "status": _worst(every.values()).state,
            "channels": channels,
            "backends": {name: _words(condition) for name, condition in every.items()},
        }

    def _channel(self, tools: Iterable[Tool], backends: Mapping[str, Condition]) -> Condition:
        """A channel is as well as the backends behind the tools that it shows."""
        names = {self._sections[tool.toolset].name for tool in tools}
        faults = [backends[name] for name in sorted(names) if backends[name].state != OK]
        reasons = "; ".join(f"{name}: {backends[name].reason}" for name in sorted(names) if backends[name].state != OK)
        return Condition(_worst(faults).state, reasons)


async def _condition(backend: Backend) -> Condition:
    with anyio.move_on_after(PATIENCE_SECONDS):
        try:
            return await backend.condition()
        except Exception as fault:  # it promised not to; whoever asks for readiness still gets an answer
            return Condition(DOWN, f"it could not say how it is ({type(fault).__name__})")
    return Condition(DOWN, f"it did not say within {PATIENCE_SECONDS:g} s how it is")


def _worst(conditions: Iterable[Condition]) -> Condition:
    order = (OK, DEGRADED, DOWN)
    return max(conditions, key=lambda one: order.index(one.state), default=Condition(OK))


def _words(condition: Condition) -> dict[str, str]:
    return {"status": condition.state, "reason": condition.reason}
