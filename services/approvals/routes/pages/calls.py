"""The gateway's calls by tool and outcome, with plots of the last hours."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from approvals.routes.pages.console import Console
from approvals.routes.pages.gateway import GatewayAway, Measures
from approvals.routes.pages.language import Language
from approvals.routes.pages.plots import OUTCOMES, bars
from approvals.routes.pages.samples import Sample
from approvals.routes.pages.visits import Visit, reading

HOURS = (1, 6)
BARS, SMALL_BARS = 60, 24

Bins = Sequence[Counter[tuple[str, str]]]


def calls_routes(console: Console) -> list[Route]:
    """`/calls`."""
    return [Route("/calls", reading(console, show_calls), methods=["GET"])]


@dataclass(frozen=True, slots=True)
class Row:
    """One tool: its calls since the gateway started, those of the last hours, and their plot."""

    tool: str
    totals: Counter[str]
    recent: Counter[str]
    plot: Markup

    @property
    def calls(self) -> int:
        """All calls since the gateway started."""
        return self.totals.total()


async def show_calls(visit: Visit) -> Response:
    """The page, which also says why there is nothing to show."""
    hours = HOURS[0] if visit.request.query_params.get("hours") == str(HOURS[0]) else HOURS[-1]
    gateway, samples = visit.console.gateway, visit.console.samples
    if gateway is None:
        return await visit.page("calls.html", fault="gateway.none", url="", hours=hours, choices=HOURS)
    try:
        measures = await gateway.measures()
    except GatewayAway as away:
        return await visit.page("calls.html", fault=str(away), url=gateway.url, hours=hours, choices=HOURS)
    now = time.time()
    samples.add(measures.calls, now)
    latest = Sample(now, measures.calls)
    wide = samples.bins(now - hours * 3600, latest, BARS)
    narrow = samples.bins(now - hours * 3600, latest, SMALL_BARS)
    whole = [_by_outcome(part) for part in wide]
    return await visit.page(
        "calls.html",
        fault="",
        hours=hours,
        choices=HOURS,
        measures=measures,
        since=samples.since,
        rows=_rows(measures, narrow, visit.words),
        recent=sum(whole, Counter()),
        highest=max(part.total() for part in whole) * BARS / (hours * 60),
        plot=bars(whole, _spoken(visit.words, sum(whole, Counter()))),
    )


def _rows(measures: Measures, parts: Bins, words: Language) -> list[Row]:
    """The tools that were ever called, those called most first."""
    rows = []
    for tool in sorted({tool for tool, _ in measures.calls}):
        own = [_by_outcome(part, tool) for part in parts]
        totals = Counter({outcome: int(measures.calls.get((tool, outcome), 0)) for outcome in OUTCOMES})
        recent = sum(own, Counter[str]())
        rows.append(Row(tool, totals, recent, bars(own, _spoken(words, recent))))
    return sorted(rows, key=lambda row: (-row.recent.total(), -row.calls, row.tool))


def _by_outcome(part: Counter[tuple[str, str]], tool: str | None = None) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (name, outcome), number in part.items():
        if tool in (None, name):
            counted[outcome] += number
    return counted


def _spoken(words: Language, counted: Counter[str]) -> str:
    return words("calls.spoken", **{outcome: counted[outcome] for outcome in OUTCOMES})
