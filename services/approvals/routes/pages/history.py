"""What was decided and what became of it, latest first, a page at a time."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from approvals import states
from approvals.request import Request
from approvals.requests import Requests
from approvals.routes.pages.console import Console
from approvals.routes.pages.visits import Visit, reading

PAGE = 30
# A rare thing among many is looked for in this many requests at a time; "older" goes on from there.
BATCH, MAX_BATCHES = 100, 10


def history_routes(console: Console) -> list[Route]:
    """`/history`."""
    return [Route("/history", reading(console, show_history), methods=["GET"])]


@dataclass(frozen=True, slots=True)
class Filter:
    """What of the history to show; an empty field takes everything."""

    state: str = ""
    tool: str = ""
    client: str = ""

    def takes(self, request: Request) -> bool:
        """Whether this request is to be shown."""
        return (
            self.state in ("", request.state)
            and self.tool.lower() in request.tool.lower()
            and self.client.lower() in request.client.lower()
        )

    def query(self, before: float) -> str:
        """The address of the next page of the same."""
        fields = {"state": self.state, "tool": self.tool, "client": self.client, "before": repr(before)}
        return "/history?" + urlencode({name: value for name, value in fields.items() if value})


async def show_history(visit: Visit) -> Response:
    """One page of the history."""
    given = visit.request.query_params
    state = given.get("state", "")
    chosen = Filter(
        state if state in states.STATES else "",
        given.get("tool", "")[:100].strip(),
        given.get("client", "")[:100].strip(),
    )
    before = _moment(given.get("before", ""))
    found, older = await _page(visit.console.requests, chosen, before)
    return await visit.page(
        "history.html",
        requests=found,
        filter=chosen,
        states=[one for one in states.STATES if one != states.PENDING],
        older=chosen.query(older) if older is not None else "",
        first=before is None,
    )


async def _page(requests: Requests, chosen: Filter, before: float | None) -> tuple[list[Request], float | None]:
    """The matching requests, and from where on there may be more."""
    found: list[Request] = []
    for _ in range(MAX_BATCHES):
        batch = await requests.history(BATCH, before)
        for request in batch:
            if len(found) == PAGE:
                return found, before
            if chosen.takes(request):
                found.append(request)
            before = request.created
        if len(batch) < BATCH:
            return found, None
    return found, before


def _moment(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
