"""What the host asks: is the process alive, can it do its work, how much waits. For this machine alone."""

import ipaddress
import sqlite3

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from approvals.metrics import Metrics
from approvals.requests import Requests
from approvals.routes.bodies import refusal


def operation_routes(requests: Requests, metrics: Metrics) -> list[Route]:
    """`/healthz`, `/readyz` and `/metrics`."""

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok\n") if is_local(request) else refusal(404, "not_found")

    async def ready(request: Request) -> Response:
        if not is_local(request):
            return refusal(404, "not_found")
        try:
            counts, _ = await requests.counts()
        except (sqlite3.Error, OSError) as fault:
            return JSONResponse({"state": "down", "reason": f"the database takes nothing: {fault}"}, 503)
        return JSONResponse({"state": "ok", "pending": counts.get("pending", 0)})

    async def measured(request: Request) -> Response:
        if not is_local(request):
            return refusal(404, "not_found")
        try:
            text = await metrics.render()
        except (sqlite3.Error, OSError):
            return refusal(503, "unavailable")
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return [Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", measured)]


def is_local(request: Request) -> bool:
    """Whether the other end is a process of this machine that speaks for itself: no proxy forwards for somebody."""
    if any(name in request.headers for name in ("x-forwarded-for", "forwarded", "via")):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
