"""What the gateway counts, for Prometheus. Nothing a caller chooses freely becomes a label."""

import time
from collections.abc import Iterable

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from mcp_gateway import __version__
from mcp_gateway.errors import FAULTS, Code
from mcp_gateway.tools import Condition

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
NAMESPACE = "mcp_gateway"
UNKNOWN = "unknown"
OTHER = "other"

# A label that takes its values from a configuration file has a handful. One that ever sees more than this is fed by
# something else, and every further value would cost Prometheus memory for ever.
MAX_VALUES = 200

# From a no-op (2 ms) to the deadline of a tool (20 s) and a little beyond.
BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0)

STATES = ("ok", "degraded", "down")
CODES = frozenset(Code)


class Metrics:
    """Counters of one process in a registry of their own.

    `outcome` is `ok`, `refused` (an everyday answer such as __NOT_FOUND__, which must never wake anybody) or `fault`.
    """

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations
        self._registry = registry = CollectorRegistry()
        self._tools: frozenset[str] = frozenset()
        self._seen: dict[str, set[str]] = {}
        ProcessCollector(registry=registry)

        def counter(name: str, words: str, *labels: str) -> Counter:
            return Counter(name, words, labels, NAMESPACE, registry=registry)

        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return Gauge(name, words, labels, NAMESPACE, registry=registry)

        self._calls = counter("calls", "Tool calls.", "channel", "client", "tool", "outcome", "code")
        self._seconds = Histogram(
            "call_seconds", "Duration of tool calls.", ["tool"], NAMESPACE, registry=registry, buckets=BUCKETS
        )
        self._refusals = counter("gate_refusals", "Requests that the gate turned away.", "reason")
        self._backends = gauge("backend_state", "1 for the present state of a backend.", "backend", "state")
        self._unpushed_commits = gauge("vault_unpushed_commits", "Vault commits the remote does not have.")
        self._unpushed_seconds = gauge("vault_unpushed_seconds", "Age of the oldest of them.")
        self._reloads = counter("config_reloads", "Reloads of the configuration.", "result")
        self._audit = gauge("audit_healthy", "1 while the audit log takes rows.")
        self._sessions = gauge("sessions", "Open MCP sessions.", "channel")
        self._approvals_asked = counter("approvals_asked", "Requests for a person's decision.", "tool")
        self._approvals_ended = counter("approvals_ended", "Approved calls, by how they ended.", "tool", "outcome")
        self._gauge = gauge
        self._dispatcher: tuple[Gauge, Gauge] | None = None
        gauge("build_info", "The running release.", "version").labels(__version__).set(1)
        gauge("start_time_seconds", "When this process began to count, in seconds since 1970.").set(time.time())

    def know_tools(self, names: Iterable[str]) -> None:
        """Name every tool there is, again after each reload; calls of any other name are counted as `unknown`."""
        self._tools = frozenset(names)

    def calls(self, tool: str, channel: str, client: str, outcome: str, seconds: float) -> None:
        """Count one call. `outcome` is what the audit says: `ok`, an error code, or anything else for a fault."""
        tool = self._tool(tool)
        result, code = _result(outcome)
        labels = (self._bounded("channel", channel), self._bounded("client", client), tool, result, code)
        self._calls.labels(*labels).inc()
        self._seconds.labels(tool).observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a request that did not get past the gate."""
        self._refusals.labels(self._bounded("reason", reason)).inc()

    def backend(self, name: str, condition: Condition) -> None:
        """Show a backend's present state."""
        for state in STATES:
            self._backends.labels(self._bounded("backend", name), state).set(state == condition.state)

    def vault_unpushed(self, commits: int, seconds: float) -> None:
        """Show how far the vault's remote is behind."""
        self._unpushed_commits.set(commits)
        self._unpushed_seconds.set(seconds)

    def approval_asked(self, tool: str) -> None:
        """Count a request that is new to the approvals service."""
        self._approvals_asked.labels(self._tool(tool)).inc()

    def approval_ended(self, tool: str, outcome: str) -> None:
        """Count an approved call: `done`, `failed`, `outcome_unknown` or `refused`."""
        self._approvals_ended.labels(self._tool(tool), self._bounded("approval_outcome", outcome)).inc()

    def dispatcher(self, up: bool, results: int | None = None) -> None:
        """Show whether approved calls are being run, and how many results wait to be handed in.

        Shown only where there are approvals, so that nobody is told of a dispatcher that is not wanted.
        """
        if self._dispatcher is None:
            self._dispatcher = (
                self._gauge("approvals_dispatcher_up", "1 while approved calls are being run."),
                self._gauge("approvals_results_waiting", "Results that the approvals service did not take yet."),
            )
        self._dispatcher[0].set(up)
        if results is not None:
            self._dispatcher[1].set(results)

    def reloaded(self, result: str) -> None:
        """Count a reload of the configuration: `ok` or `refused`."""
        self._reloads.labels(self._bounded("result", result)).inc()

    def audit(self, healthy: bool) -> None:
        """Show whether the audit log takes rows."""
        self._audit.set(healthy)

    def sessions(self, channel: str, count: int) -> None:
        """Show how many sessions a channel has open."""
        self._sessions.labels(self._bounded("channel", channel)).set(count)

    def render(self) -> bytes:
        """Everything in Prometheus's text format, to be served as `CONTENT_TYPE`."""
        return generate_latest(self._registry)

    def _tool(self, name: str) -> str:
        return self._bounded("tool", name) if name in self._tools else UNKNOWN

    def _bounded(self, label: str, value: str) -> str:
        seen = self._seen.setdefault(label, set())
        if value in seen:
            return value
        if len(seen) >= MAX_VALUES:
            return OTHER
        seen.add(value)
        return value


def _result(outcome: str) -> tuple[str, str]:
    if outcome == "ok":
        return "ok", ""
    if outcome == "cancelled":  # the client went away; nothing of ours is broken
        return "refused", outcome
    if outcome in CODES:
        return ("fault" if outcome in FAULTS else "refused"), outcome
    return "fault", "internal"
