"""The style sheet, the script and the icon: the only files that are served as they are."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from approvals.routes.pages.render import HEADERS

KINDS = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
# Their addresses change with their content.
LASTING = "public, max-age=31536000, immutable"


def asset_routes() -> list[Route]:
    """One route a file: no path of a visitor ever reaches the disk."""
    return [Route(f"/static/{name}", _serving(name, kind), methods=["GET"]) for name, kind in KINDS.items()]


def _serving(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (files("approvals") / "pages" / "static" / name).read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind, headers={**HEADERS, "Cache-Control": LASTING})

    return serve
