"""Prometheus's HTTP API: whole answers inside a deadline, or a Refusal that says what is wrong."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import httpx2
from pydantic import ValidationError

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.prometheus_answers import Alert, Alerts, Envelope, Matrix, Single, Vector, result
from mcp_gateway.settings.prometheus import PrometheusSettings
from mcp_gateway.tools import Condition

# A model can use 30,000 characters of it; 5 MB still lets a broad query be counted and cut with true totals.
MAX_BYTES = 5 * 1000 * 1000
# Loopback or a private network: a connection that takes longer will not come.
CONNECT_SECONDS = 2.0
# /readyz asks all backends and must itself answer soon.
CONDITION_SECONDS = 2.0
# Prometheus itself evaluates at most 20 queries at once (its `--query.max-concurrency`).
MAX_CONNECTIONS = 20
# Agents ask in bursts; Prometheus closes an idle connection after five minutes.
KEEP_SECONDS = 120.0
# Time kept back from the call's deadline, so that our own words about a timeout still reach the agent.
MARGIN_SECONDS = 0.3
# Prometheus is told to stop after this part of the time, so that its words arrive and no work goes on without us;
# it looks at its clock between steps only, hence the room.
SERVER_SHARE = 0.8
# A parse error quotes the query, which may be 10,000 characters long.
MAX_MESSAGE = 1_000

TOO_LARGE = (
    f"The answer is larger than {MAX_BYTES // 1_000_000} MB. Ask monitoring_query for less: add labels, aggregate."
)
REMEDY = "Nothing is known about metrics or alerts now: do not take this for a quiet system, and tell the operator."


@dataclass(frozen=True, slots=True)
class Remarks:
    """What Prometheus remarked beside its data."""

    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer over HTTP, read whole."""

    status: int
    body: bytes


class PrometheusPort:
    """Asks one Prometheus over kept-open connections; every method that asks raises Refusal when it learns nothing."""

    def __init__(self, settings: PrometheusSettings) -> None:
        self._url = settings.url
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        """Get ready; nothing is asked yet. No proxy and no redirect: what answers is what the operator named."""
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            verify=self._url.startswith("https:"),
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_SECONDS),
            trust_env=False,
            # The body is counted as it arrives; compressed it could grow behind the count.
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def condition(self) -> Condition:
        """Whether Prometheus says that it is ready to answer queries."""
        try:
            reply = await self._ask("GET", "/-/ready", None, CONDITION_SECONDS)
        except Refusal as fault:
            return Condition("down", fault.hint.removesuffix(REMEDY).strip())
        if reply.status == 200:
            return Condition("ok")
        if reply.status == 503:
            return Condition("down", "Prometheus is starting or stopping (503); wait, or look at its own log.")
        return Condition("down", f"prometheus.url answers {reply.status} to /-/ready, so it is no Prometheus.")

    async def alerts(self, deadline: float) -> tuple[list[Alert], Remarks]:
        """All pending and firing alerts."""
        envelope = await self._api("GET", "/api/v1/alerts", None, _left(deadline))
        try:
            return Alerts.model_validate(envelope.data).alerts, _remarks(envelope)
        except ValidationError as fault:
            raise _no_prometheus("its list of alerts has an unknown form") from fault

    async def query(self, promql: str, deadline: float) -> tuple[Vector | Matrix | Single, Remarks]:
        """The present value of an expression. It travels as form data, so no character of it can change the request."""
        seconds = _left(deadline)
        try:
            form = {"query": promql.encode().decode(), "timeout": f"{max(0.001, seconds * SERVER_SHARE):.3f}"}
        except UnicodeEncodeError as fault:
            raise Refusal(
                Code.BAD_QUERY, "The query has half of a character pair in it; send whole characters."
            ) from fault
        envelope = await self._api("POST", "/api/v1/query", form, seconds)
        try:
            return result.validate_python(envelope.data), _remarks(envelope)
        except ValidationError as fault:
            raise _no_prometheus("its result has an unknown form") from fault

    async def _api(self, method: str, path: str, form: Mapping[str, str] | None, seconds: float) -> Envelope:
        reply = await self._ask(method, path, form, seconds)
        if 300 <= reply.status < 400:
            raise _no_prometheus(f"it redirects ({reply.status}), which is not followed")
        try:
            envelope = Envelope.model_validate(json.loads(reply.body))
        except (ValueError, RecursionError) as fault:
            raise _no_prometheus(f"it answers {reply.status} without Prometheus's JSON") from fault
        if envelope.status == "error":
            raise _refused(envelope)
        if reply.status != 200:
            raise _no_prometheus(f"it answers {reply.status} to a good request")
        return envelope

    async def _ask(self, method: str, path: str, form: Mapping[str, str] | None, seconds: float) -> Reply:
        """One whole answer. A kept connection that the other side closed meanwhile is tried again once."""
        with anyio.move_on_after(seconds):
            try:
                try:
                    return await self._exchange(method, path, form)
                except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                    return await self._exchange(method, path, form)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as fault:
                raise Refusal(Code.UPSTREAM_DOWN, f"Prometheus cannot be reached. {REMEDY}") from fault
            except httpx2.TransportError as fault:
                raise Refusal(Code.UPSTREAM_DOWN, f"The connection to Prometheus breaks. {REMEDY}") from fault
            except httpx2.HTTPError as fault:
                raise _no_prometheus("its answer is no valid HTTP") from fault
        raise Refusal(Code.TIMEOUT, f"Prometheus did not answer within {seconds:.0f} seconds. {REMEDY}")

    async def _exchange(self, method: str, path: str, form: Mapping[str, str] | None) -> Reply:
        if self._client is None:
            raise Refusal(Code.UPSTREAM_DOWN, f"The connection to Prometheus is not open yet. {REMEDY}")
        body = bytearray()
        async with self._client.stream(method, self._url + path, data=form) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise _no_prometheus("it sends a compressed answer, which was not asked for")
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise Refusal(Code.TOO_LARGE, TOO_LARGE)
        return Reply(response.status_code, bytes(body))


def _left(deadline: float) -> float:
    """Seconds that may be spent before our own answer must go out."""
    seconds = deadline - anyio.current_time() - MARGIN_SECONDS
    if seconds <= 0:
        raise Refusal(Code.TIMEOUT, "No time was left to ask Prometheus; call again.")
    return seconds


def _remarks(envelope: Envelope) -> Remarks:
    return Remarks(tuple(envelope.warnings), tuple(envelope.infos))


def _no_prometheus(what: str) -> Refusal:
    words = f"Something is wrong with what answers at prometheus.url: {what}. {REMEDY}"
    return Refusal(Code.UPSTREAM_ERROR, words)


def _refused(envelope: Envelope) -> Refusal:
    """Prometheus's own errors, by its error type: the agent can mend bad data and impossible expressions."""
    message = envelope.message[:MAX_MESSAGE] or "no reason given"
    if envelope.kind in ("bad_data", "execution"):
        return Refusal(Code.BAD_QUERY, f"Prometheus refuses the query: {message}")
    if envelope.kind in ("timeout", "canceled"):
        words = f"Prometheus stopped the query: {message}. Ask for less: a shorter range, fewer series, a larger step."
        return Refusal(Code.TIMEOUT, words)
    if envelope.kind == "unavailable":
        return Refusal(Code.UPSTREAM_DOWN, f"Prometheus is not available: {message}. {REMEDY}")
    return Refusal(Code.UPSTREAM_ERROR, f"Prometheus failed: {message}. {REMEDY}")
