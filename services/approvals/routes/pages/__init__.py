"""The console: pages for the person who decides, made on the server."""

from starlette.routing import Route

from approvals.routes.pages.assets import asset_routes
from approvals.routes.pages.calls import calls_routes
from approvals.routes.pages.console import Console
from approvals.routes.pages.entry import entry_routes
from approvals.routes.pages.gateway import Gateway
from approvals.routes.pages.history import history_routes
from approvals.routes.pages.pending import pending_routes
from approvals.routes.pages.system import system_routes

__all__ = ["Console", "Gateway", "page_routes"]


def page_routes(console: Console) -> list[Route]:
    """All pages."""
    return [
        *entry_routes(console),
        *pending_routes(console),
        *history_routes(console),
        *calls_routes(console),
        *system_routes(console),
        *asset_routes(),
    ]
