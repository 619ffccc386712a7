"""Who may see a page and who may post: a session for the first; for the second also our own page and its token."""

import hmac
import logging
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from approvals import states
from approvals.routes.pages import cookies
from approvals.routes.pages.console import Console
from approvals.routes.pages.forms import BadForm, read_form
from approvals.routes.pages.language import Language, language_of
from approvals.routes.pages.origin import is_foreign
from approvals.routes.pages.render import page

# More than this many waiting are shown as "100+".
MAX_SHOWN = 100
PLACES = re.compile(r"/|/(?:login|history|calls|system)|/requests/apr_[a-z2-7]{26}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody who is logged in."""

    console: Console
    request: Request
    words: Language
    approver: str
    csrf: str

    async def page(self, template: str, status: int = 200, /, **context: object) -> Response:
        """A page with the frame that all have."""
        counts, _ = await self.console.requests.counts()
        frame = {
            "approver": self.approver,
            "csrf": self.csrf,
            "waiting": counts.get(states.PENDING, 0),
            "here": self.request.url.path,
        }
        return page(template, self.words, {**context, **frame, "most": MAX_SHOWN}, status)


Reading = Callable[[Visit], Awaitable[Response]]
Posting = Callable[[Visit, Mapping[str, str]], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def reading(console: Console, show: Reading) -> Endpoint:
    """A page for those who are logged in; others are sent to log in first."""

    async def endpoint(request: Request) -> Response:
        visit = visit_of(console, request)
        if visit is None:
            return RedirectResponse(f"/login?next={quote(place(request.url.path))}", 303)
        return await show(visit)

    return answered(endpoint)


def posting(console: Console, act: Posting) -> Endpoint:
    """What only a form of our own page may do, for those who are logged in."""

    async def endpoint(request: Request) -> Response:
        if is_foreign(request, console.settings):
            return problem(request, 403, "problem.foreign")
        visit = visit_of(console, request)
        if visit is None:
            return problem(request, 403, "problem.session")
        try:
            form = await read_form(request)
        except BadForm:
            return problem(request, 400, "problem.form")
        if not hmac.compare_digest(form.get("csrf", "").encode(), visit.csrf.encode()):
            return problem(request, 403, "problem.csrf")
        return await act(visit, form)

    return answered(endpoint)


def visit_of(console: Console, request: Request) -> Visit | None:
    """The visit, when its session holds."""
    cookie = cookies.session_of(request, console.settings)
    approver = console.sessions.check(cookie) if cookie else None
    if approver is None:
        return None
    return Visit(console, request, language_of(request), approver.name, console.sessions.csrf(cookie))


def place(path: str) -> str:
    """A page of ours to go to next; nothing else is ever a target."""
    return path if PLACES.fullmatch(path) else "/"


def problem(request: Request, status: int, key: str) -> Response:
    """A page that says what is wrong and what helps."""
    return page("problem.html", language_of(request), {"key": key, "here": "/"}, status)


def answered(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with a page of ours for a disk that takes or gives nothing."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (sqlite3.Error, OSError) as fault:
            logger.error("The database cannot be used: %s", fault)
            return problem(request, 503, "problem.database")

    return guarded
