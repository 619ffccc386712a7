"""The two cookies of the console: the session and the chosen language."""

from starlette.requests import Request
from starlette.responses import Response

from approvals.routes.pages import language
from approvals.routes.pages.origin import encrypted
from approvals.settings import Settings

SESSION = "approvals_session"
# Browsers take this name only over HTTPS, for this host alone: no neighbouring site can plant it.
ENCRYPTED_SESSION = f"__Host-{SESSION}"
YEAR_SECONDS = 365 * 86400


def session_of(request: Request, settings: Settings) -> str:
    """The session that the browser shows; empty without one."""
    return request.cookies.get(_name(request, settings), "")


def keep_session(request: Request, response: Response, settings: Settings, session: str) -> None:
    """Give the browser its session, until it is closed."""
    secure = encrypted(request, settings)
    response.set_cookie(_name(request, settings), session, path="/", secure=secure, httponly=True, samesite="strict")


def drop_session(request: Request, response: Response, settings: Settings) -> None:
    """Take it back."""
    secure = encrypted(request, settings)
    response.delete_cookie(_name(request, settings), path="/", secure=secure, httponly=True, samesite="strict")


def keep_language(request: Request, response: Response, settings: Settings, code: str) -> None:
    """Remember the language that was chosen."""
    secure = encrypted(request, settings)
    response.set_cookie(language.COOKIE, code, YEAR_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")


def _name(request: Request, settings: Settings) -> str:
    return ENCRYPTED_SESSION if encrypted(request, settings) else SESSION
