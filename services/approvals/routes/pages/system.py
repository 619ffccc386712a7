"""How the gateway and this service stand: channels, what is behind them, the vault's remote, versions."""

import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from starlette.responses import Response
from starlette.routing import Route

from approvals.routes.pages import times
from approvals.routes.pages.console import Console
from approvals.routes.pages.gateway import Gateway, GatewayAway, Measures
from approvals.routes.pages.language import Language
from approvals.routes.pages.visits import Visit, reading
from approvals.settings import Settings

STATUSES = ("ok", "degraded", "down")
CHANNELS = "channels"


def system_routes(console: Console) -> list[Route]:
    """`/system`."""
    return [Route("/system", reading(console, show_system), methods=["GET"])]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of the gateway's report."""

    name: str
    status: str
    reason: str
    tools: int | None
    sessions: int | None


async def show_system(visit: Visit) -> Response:
    """The page; a gateway that is away takes only its own half along."""
    gateway = visit.console.gateway
    fault, report, measures = await _asked(gateway)
    return await visit.page(
        "system.html",
        fault=fault,
        url=gateway.url if gateway else "",
        status=_status(report),
        groups=_groups(report, measures),
        measures=measures,
        versions={"Talaria": version("talaria"), "Python": platform.python_version(), "SQLite": sqlite3.sqlite_version},
        own=_own(visit.console.settings, visit.words),
    )


def _own(settings: Settings, words: Language) -> list[tuple[str, str]]:
    """What of this service's own configuration matters to the person who decides, by keys of the words."""
    return [
        ("system.address", settings.public_url or words("system.no_address")),
        ("system.approvers", ", ".join(approver.name for approver in settings.approvers)),
        ("system.services", ", ".join(service.name for service in settings.services)),
        ("system.expiry", times.span(words, settings.expiry_seconds)),
    ]


async def _asked(gateway: Gateway | None) -> tuple[str, Mapping[str, object], Measures]:
    """Why there is nothing from the gateway (a key of the words), its report, its counters."""
    if gateway is None:
        return "gateway.none", {}, Measures()
    try:
        return "", await gateway.readiness(), await gateway.measures()
    except GatewayAway as away:
        return str(away), {}, Measures()


def _groups(report: Mapping[str, object], measures: Measures) -> dict[str, list[Part]]:
    """Channels first, then whatever else the gateway groups (backends, upstreams), each part with its state."""
    groups: dict[str, list[Part]] = {}
    for group, members in report.items():
        if isinstance(members, Mapping) and members:
            sessions = measures.sessions if group == CHANNELS else {}
            groups[group] = [_part(str(name), member, sessions) for name, member in members.items()]
    return groups


def _part(name: str, member: object, sessions: Mapping[str, float]) -> Part:
    told = member if isinstance(member, Mapping) else {}
    tools = told.get("tools")
    open_ = sessions.get(name)
    return Part(
        name,
        _status(told),
        str(told.get("reason") or ""),
        tools if isinstance(tools, int) else None,
        None if open_ is None else int(open_),
    )


def _status(told: Mapping[str, object]) -> str:
    status = told.get("status")
    return status if isinstance(status, str) and status in STATUSES else "unknown"
