"""Templates to pages. All that stands on a page goes through one gate: escaped, and with nothing unseen in it."""

import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from approvals.routes.pages import times, values, visible
from approvals.routes.pages.language import Language

# Nothing but our own two files; no page of others may hold ours in a frame or be sent a form of ours.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms, which are then refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def page(
    template: str,
    words: Language,
    context: Mapping[str, object],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """A page in the visitor's language."""
    text = _environment().get_template(template).render({**context, "words": words})
    return HTMLResponse(text, status, headers={**HEADERS, "Content-Language": words.code, **(headers or {})})


def _plain(value: object) -> object:
    """Whatever a template prints: our own markup as it is, every other text without anything unseen in it."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return visible.plain(value)


def _who(decided_by: str | None, words: Language) -> str:
    """`console:owner` in words."""
    via, _, name = (decided_by or "").partition(":")
    return words(f"who.{via}", name=name) if words.has(f"who.{via}") else decided_by or ""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("approvals", "pages/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters["marked"] = visible.marked
    environment.filters["span"] = lambda seconds, words: times.span(words, seconds)
    environment.filters["moment"] = lambda at, words: times.moment(words, at)
    environment.filters["machine_time"] = times.machine_time
    environment.filters["value"] = values.shown
    environment.filters["number"] = lambda number, words: f"{number:,.0f}".replace(",", words("number.group"))
    environment.filters["spelt"] = lambda value: json.dumps(value, ensure_ascii=False, indent=2)
    environment.filters["who"] = _who
    environment.globals["asset"] = _asset
    return environment


@cache
def _asset(name: str) -> str:
    """The address of a static file, which changes with its content."""
    content = (files("approvals") / "pages" / "static" / name).read_bytes()
    return f"/static/{name}?{sha256(content).hexdigest()[:12]}"
