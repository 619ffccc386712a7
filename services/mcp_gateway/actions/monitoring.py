"""The monitoring tools: which alerts are active, and what a PromQL expression gives now."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeVar

from pydantic import Field

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.prometheus import PrometheusPort, Remarks
from mcp_gateway.ports.prometheus_answers import Alert, Instant, Matrix, Point, Range, Single, Vector
from mcp_gateway.tools import Arguments, Call, Tool

# An answer holds 30,000 characters; this leaves room for Prometheus's remarks, the totals and the names of members.
MAX_LIST_CHARACTERS = 25_000
# No person writes a longer expression, and Prometheus would have to parse it.
MAX_QUERY_CHARACTERS = 10_000
# One alert is one line for the reader; its runbook is elsewhere.
MAX_SUMMARY_CHARACTERS = 300
MAX_REMARKS = 5

T = TypeVar("T")


class AlertsArguments(Arguments):
    """Arguments of monitoring_alerts."""

    state: Literal["firing", "pending"] | None = Field(
        None,
        description="Only alerts in this state: `firing` (active) or `pending` (not long enough yet). Default: both.",
    )


class QueryArguments(Arguments):
    """Arguments of monitoring_query."""

    promql: str = Field(
        description="PromQL expression, evaluated now, e.g. `up == 0` or `rate(node_cpu_seconds_total[5m])`. "
        "A range such as `up[10m]` gives the raw points. At most 10,000 characters."
    )


def monitoring_tools(port: PrometheusPort) -> list[Tool]:
    """The two tools over one Prometheus."""

    async def alerts(call: Call, arguments: AlertsArguments) -> Mapping[str, object]:
        found, remarks = await port.alerts(call.deadline)
        return _alerts(found, arguments.state) | _remarks(remarks)

    async def query(call: Call, arguments: QueryArguments) -> Mapping[str, object]:
        found, remarks = await port.query(_expression(arguments.promql), call.deadline)
        return _result(found) | _remarks(remarks)

    return [
        Tool(
            "monitoring_alerts",
            "monitoring",
            "List the active Prometheus alerts: firing first, newest first, with severity, start (UTC), summary and "
            "labels, and the totals. An empty list means that no alert is active.",
            AlertsArguments,
            alerts,
        ),
        Tool(
            "monitoring_query",
            "monitoring",
            "Evaluate a PromQL expression now. Gives result_type (vector, matrix, scalar or string) and samples with "
            "labels, value and time (UTC); NaN, +Inf and -Inf are strings. Metric names carry their units, such as "
            "_seconds and _bytes. Long results are cut and `total` says how many there are.",
            QueryArguments,
            query,
        ),
    ]


def _expression(promql: str) -> str:
    if not promql.strip():
        raise Refusal(Code.EMPTY_QUERY, "promql is empty; send an expression such as `up`.")
    if len(promql) > MAX_QUERY_CHARACTERS:
        words = f"promql has {len(promql)} characters; at most {MAX_QUERY_CHARACTERS} are taken."
        raise Refusal(Code.TOO_LARGE, words)
    return promql


def _alerts(found: list[Alert], state: str | None) -> dict[str, object]:
    wanted = [alert for alert in found if state in (None, alert.state)]
    wanted.sort(key=lambda alert: alert.since, reverse=True)
    wanted.sort(key=lambda alert: alert.state != "firing")
    shown = _fitting(wanted, _alert)
    members: dict[str, object] = {
        "alerts": shown,
        "total": len(wanted),
        "firing": sum(alert.state == "firing" for alert in found),
        "pending": sum(alert.state == "pending" for alert in found),
    }
    if len(shown) < len(wanted):
        members["cut"] = (
            f"Only {len(shown)} of {len(wanted)} alerts are shown. Count the rest by name with monitoring_query: "
            "`count by (alertname, alertstate) (ALERTS)`."
        )
    return members


def _alert(alert: Alert) -> dict[str, object]:
    texts = (alert.annotations.get(name) for name in ("summary", "message", "description"))
    summary = next((text for text in texts if text), "")
    return {
        "name": alert.labels.get("alertname", ""),
        "state": alert.state,
        "severity": alert.labels.get("severity", ""),
        "since": alert.since,
        "summary": summary if len(summary) <= MAX_SUMMARY_CHARACTERS else summary[:MAX_SUMMARY_CHARACTERS] + "…",
        "labels": {name: value for name, value in alert.labels.items() if name not in ("alertname", "severity")},
    }


def _result(found: Vector | Matrix | Single) -> dict[str, object]:
    if isinstance(found, Single):
        value = found.result[1] if found.kind == "string" else _number(found.result[1])
        return {"result_type": found.kind, "samples": [{"value": value, "time": _iso(found.result[0])}], "total": 1}
    shown = _fitting(found.result, _instant) if isinstance(found, Vector) else _ranges(found.result)
    members: dict[str, object] = {"result_type": found.kind, "samples": shown, "total": len(found.result)}
    whole = len(shown) == len(found.result) and not any("cut" in sample for sample in shown)
    if not whole:
        members["cut"] = (
            f"Only {len(shown)} of {len(found.result)} series are shown, in the order Prometheus gave. Ask for less: "
            "add label matchers, aggregate (`sum by (job) (…)`), take `topk(20, …)`, or shorten the range."
        )
    return members


def _instant(sample: Instant) -> dict[str, object]:
    if sample.value is not None:
        return {"labels": sample.metric, "value": _number(sample.value[1]), "time": _iso(sample.value[0])}
    if sample.histogram is not None:
        time, histogram = sample.histogram
        return {"labels": sample.metric, "histogram": histogram.model_dump(), "time": _iso(time)}
    return {"labels": sample.metric, "value": None}


def _ranges(series: Sequence[Range]) -> list[dict[str, object]]:
    """As many series as fit; where only a part of one fits, its newest points."""
    shown: list[dict[str, object]] = []
    left = MAX_LIST_CHARACTERS
    for one in series:
        points = [*map(_point, one.values), *([_iso(time), shape.model_dump()] for time, shape in one.histograms)]
        sample: dict[str, object] = {"labels": one.metric, "points": len(points), "values": []}
        left -= _length(sample)
        kept = _newest(points, left)
        if left <= 0 or (points and not kept):
            break
        sample["values"] = kept
        left -= sum(map(_length, kept))
        if len(kept) < len(points):
            sample["cut"] = f"the newest {len(kept)} of {len(points)} points"
            return [*shown, sample]
        shown.append(sample)
    return shown


def _newest(points: list[list[object]], left: int) -> list[list[object]]:
    """The end of the list that fits into so many characters."""
    start = len(points)
    while start and (left := left - _length(points[start - 1])) >= 0:
        start -= 1
    return points[start:]


def _fitting(items: Sequence[T], shape: Callable[[T], dict[str, object]]) -> list[dict[str, object]]:
    """The beginning of the list that fits into an answer."""
    shown = []
    left = MAX_LIST_CHARACTERS
    for item in items:
        shaped = shape(item)
        left -= _length(shaped)
        if left < 0:
            break
        shown.append(shaped)
    return shown


def _length(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + 1


def _point(point: Point) -> list[object]:
    return [_iso(point[0]), _number(point[1])]


def _number(text: str) -> object:
    """A number where JSON has it with the very same value, otherwise Prometheus's own text (NaN, +Inf, -Inf)."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _iso(seconds: float) -> object:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return seconds  # a year that no calendar has; Prometheus can be asked for `@ 1e15`
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _remarks(remarks: Remarks) -> dict[str, object]:
    sides = {"warnings": remarks.warnings, "infos": remarks.infos}
    return {
        name: [text[:MAX_SUMMARY_CHARACTERS] for text in texts[:MAX_REMARKS]] for name, texts in sides.items() if texts
    }
