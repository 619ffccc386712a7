"""What waits for a decision, one request whole, and the decision."""

import json
import time
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from approvals import states
from approvals.errors import NotFound
from approvals.requests import AlreadyDecided
from approvals.routes.pages.console import Console
from approvals.routes.pages.render import HEADERS
from approvals.routes.pages.visits import MAX_SHOWN, Posting, Visit, posting, reading

# Some sentences; browsers keep to it, anything longer is no browser's.
MAX_REASON = 1000
WORDS = APPROVE, DENY = ("approve", "deny")


def pending_routes(console: Console) -> list[Route]:
    """`/` and everything below `/requests`."""
    return [
        Route("/", reading(console, show_pending), methods=["GET"]),
        Route("/requests/{id}", reading(console, show_request), methods=["GET"]),
        Route("/requests/{id}/arguments", reading(console, show_arguments), methods=["GET"]),
        Route("/requests/{id}/approve", posting(console, deciding(approve=True)), methods=["POST"]),
        Route("/requests/{id}/deny", posting(console, deciding(approve=False)), methods=["POST"]),
    ]


async def show_pending(visit: Visit) -> Response:
    """All that waits, the latest first: somebody's agent waits for it now."""
    waiting = await visit.console.requests.list(states.PENDING, MAX_SHOWN)
    return await visit.page("pending.html", requests=waiting[::-1], now=time.time(), longest=MAX_REASON)


async def show_request(visit: Visit) -> Response:
    """One request with all that is known, and what a decision that came too late met."""
    request = await visit.console.requests.get(_id(visit.request))
    if request is None:
        return await visit.page("problem.html", 404, key="problem.request")
    done, late = (visit.request.query_params.get(name, "") for name in ("done", "late"))
    moving = request.state in (states.APPROVED, states.DISPATCHED)
    return await visit.page(
        "request.html",
        request=request,
        now=time.time(),
        longest=MAX_REASON,
        moving=moving,
        done=done if done in WORDS else "",
        late=late if late in WORDS else "",
    )


async def show_arguments(visit: Visit) -> Response:
    """The exact arguments as a file, in characters that cannot deceive."""
    request = await visit.console.requests.get(_id(visit.request))
    if request is None:
        return await visit.page("problem.html", 404, key="problem.request")
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{request.id}.json"'}
    return Response(json.dumps(request.arguments, indent=2) + "\n", media_type="application/json", headers=headers)


def deciding(approve: bool) -> Posting:
    """Decide a request once; whoever comes second is shown what really happened."""
    word = APPROVE if approve else DENY

    async def decide(visit: Visit, form: Mapping[str, str]) -> Response:
        id_, reason = _id(visit.request), form.get("reason", "").replace("\r\n", "\n").strip()
        if len(reason) > MAX_REASON:
            return await visit.page("problem.html", 400, key="problem.form")
        try:
            await visit.console.requests.decide(id_, approve, visit.approver, reason, via="console")
        except NotFound:
            return await visit.page("problem.html", 404, key="problem.request")
        except AlreadyDecided:
            return RedirectResponse(f"/requests/{id_}?late={word}", 303)
        return RedirectResponse(f"/requests/{id_}?done={word}", 303)

    return decide


def _id(request: Request) -> str:
    return str(request.path_params["id"])
