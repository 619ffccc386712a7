"""Logging in and out, and choosing a language."""

from collections.abc import Mapping
from math import ceil

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from approvals.routes.pages import cookies
from approvals.routes.pages.console import Console
from approvals.routes.pages.forms import BadForm, read_form
from approvals.routes.pages.language import LANGUAGES, language_of
from approvals.routes.pages.origin import is_foreign, visitor_address
from approvals.routes.pages.render import page
from approvals.routes.pages.visits import Visit, answered, place, posting, problem, visit_of
from approvals.sessions import Throttled


def entry_routes(console: Console) -> list[Route]:
    """`/login`, `/logout` and `/language`."""
    entry = Entry(console)
    return [
        Route("/login", answered(entry.show), methods=["GET"]),
        Route("/login", answered(entry.login), methods=["POST"]),
        Route("/logout", posting(console, entry.logout), methods=["POST"]),
        Route("/language", entry.choose_language, methods=["POST"]),
    ]


class Entry:
    """What can be done before there is a session, and what ends one."""

    def __init__(self, console: Console) -> None:
        self._console = console

    async def show(self, request: Request) -> Response:
        """The login form, or onward for who has a session."""
        following = place(request.query_params.get("next", "/"))
        if visit_of(self._console, request) is not None:
            return RedirectResponse(following, 303)
        # A strict cookie stays at home when a link in a mail or chat leads here. Asked once more by our own page,
        # the browser sends it.
        arriving = request.headers.get("sec-fetch-site") == "cross-site"
        headers = {"Refresh": f"0; url=/login?next={following}"} if arriving else {}
        return _form(request, 200, following, headers=headers)

    async def login(self, request: Request) -> Response:
        """Open a session for the right passphrase; every wrong one gets the same words."""
        if is_foreign(request, self._console.settings):
            return problem(request, 403, "problem.foreign")
        try:
            form = await read_form(request)
        except BadForm:
            return problem(request, 400, "problem.form")
        following = place(form.get("next", "/"))
        peer = visitor_address(request, self._console.settings)
        outcome = await self._console.sessions.login(form.get("passphrase", ""), peer)
        if isinstance(outcome, Throttled):
            seconds = max(1, ceil(outcome.seconds))
            return _form(request, 429, following, "login.throttled", seconds, {"Retry-After": str(seconds)})
        if outcome is None:
            return _form(request, 401, following, "login.wrong")
        response = RedirectResponse("/" if following == "/login" else following, 303)
        cookies.keep_session(request, response, self._console.settings, outcome)
        return response

    async def logout(self, visit: Visit, form: Mapping[str, str]) -> Response:
        """End the session."""
        settings = self._console.settings
        self._console.sessions.logout(cookies.session_of(visit.request, settings))
        response = RedirectResponse("/login", 303)
        cookies.drop_session(visit.request, response, settings)
        return response

    async def choose_language(self, request: Request) -> Response:
        """Remember a language and go back to the page."""
        if is_foreign(request, self._console.settings):
            return problem(request, 403, "problem.foreign")
        try:
            form = await read_form(request)
        except BadForm:
            return problem(request, 400, "problem.form")
        if (code := form.get("language", "")) not in LANGUAGES:
            return problem(request, 400, "problem.form")
        response = RedirectResponse(place(form.get("next", "/")), 303)
        cookies.keep_language(request, response, self._console.settings, code)
        return response


def _form(
    request: Request,
    status: int,
    following: str,
    error: str = "",
    seconds: int = 0,
    headers: Mapping[str, str] | None = None,
) -> Response:
    context = {"following": following, "error": error, "seconds": seconds, "here": "/login"}
    return page("login.html", language_of(request), context, status, headers)
