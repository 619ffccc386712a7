"""What the gateway tells of itself on this machine: its readiness and its counters."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2
from prometheus_client.parser import text_string_to_metric_families

# The pages wait for it; a gateway that is slower is shown as one that does not answer.
PATIENCE_SECONDS = 3.0
# A gateway with 32 tools, a dozen clients and every code has about 300 KiB.
MAX_BYTES = 8 * 1024 * 1024

CALLS = "mcp_gateway_calls"
ONE_VALUE = {
    "mcp_gateway_start_time_seconds": "started",
    "mcp_gateway_vault_unpushed_commits": "unpushed_commits",
    "mcp_gateway_vault_unpushed_seconds": "unpushed_seconds",
}
# The counters are of some hundred series; the process's own and the histograms are not read at all.
_WANTED = re.compile(
    r"^(?:# (?:HELP|TYPE) )?mcp_gateway_(?:calls|build_info|sessions|start_time|vault_unpushed)\w*[ {].*$", re.MULTILINE
)


class NotAGateway(Exception):
    """What answers gives no counters of a gateway."""


class GatewayAway(Exception):
    """The gateway gave no usable answer; the text is a key of the words that say why."""


@dataclass(slots=True)
class Measures:
    """The counters that the pages show."""

    # By tool and outcome (ok, refused, fault), since the gateway started.
    calls: dict[tuple[str, str], float] = field(default_factory=dict)
    # Open sessions by channel.
    sessions: dict[str, float] = field(default_factory=dict)
    version: str = ""
    started: float = 0.0
    unpushed_commits: float | None = None
    unpushed_seconds: float | None = None


class Gateway:
    """Reads a gateway's `/readyz` and `/metrics`."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    async def measures(self) -> Measures:
        """Its counters now. Raise GatewayAway."""
        _, body = await self._get("/metrics")
        try:
            return parse_measures(body.decode())
        except (NotAGateway, UnicodeDecodeError) as fault:
            raise GatewayAway("gateway.strange") from fault

    async def readiness(self) -> Mapping[str, object]:
        """Its own report, which a gateway that is not ready gives as well. Raise GatewayAway."""
        status, body = await self._get("/readyz")
        try:
            report = json.loads(body)
        except (ValueError, RecursionError) as fault:
            raise GatewayAway("gateway.strange") from fault
        if status not in (200, 503) or not isinstance(report, dict):
            raise GatewayAway("gateway.strange")
        return report

    async def _get(self, path: str) -> tuple[int, bytes]:
        body = bytearray()
        try:
            async with (
                httpx2.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as client,
                client.stream("GET", self.url + path) as response,
            ):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        raise GatewayAway("gateway.strange")
        except (httpx2.TransportError, OSError) as fault:
            raise GatewayAway("gateway.away") from fault
        except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
            raise GatewayAway("gateway.strange") from fault
        return response.status_code, bytes(body)


def parse_measures(text: str) -> Measures:
    """The counters in Prometheus's text format. Raise NotAGateway."""
    measures = Measures()
    try:
        for family in text_string_to_metric_families("\n".join(_WANTED.findall(text)) + "\n"):
            for sample in family.samples:
                _take(measures, sample.name, sample.labels, sample.value)
    except ValueError as fault:
        raise NotAGateway from fault
    if not measures.version:
        raise NotAGateway
    return measures


def _take(measures: Measures, name: str, labels: Mapping[str, str], value: float) -> None:
    if not math.isfinite(value):
        return
    if name == f"{CALLS}_total":
        key = (labels.get("tool", ""), labels.get("outcome", ""))
        measures.calls[key] = measures.calls.get(key, 0.0) + value
    elif name == "mcp_gateway_sessions":
        measures.sessions[labels.get("channel", "")] = value
    elif name == "mcp_gateway_build_info":
        measures.version = labels.get("version", "")
    elif name in ONE_VALUE:
        setattr(measures, ONE_VALUE[name], value)
