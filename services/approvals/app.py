"""The whole service: one configuration's parts, given together."""

import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from approvals.errors import ConfigurationError
from approvals.hosts import AllowedHosts
from approvals.metrics import Metrics
from approvals.requests import Requests
from approvals.routes.api import Api
from approvals.routes.bodies import refusal
from approvals.routes.operations import is_local, operation_routes
from approvals.routes.pages import Console, Gateway, page_routes
from approvals.sessions import Sessions
from approvals.settings import Configuration
from approvals.store import Store
from approvals.tokens import load_tokens

# How late time is noticed to have ended a request nobody asks about.
SWEEP_SECONDS = 1.0

logger = logging.getLogger(__name__)

Task = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Service:
    """The application and what runs beside it."""

    app: ASGIApp
    store: Store
    tasks: tuple[Task, ...]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what runs beside the application; close the database afterwards."""
        try:
            async with anyio.create_task_group() as group:
                for task in self.tasks:
                    group.start_soon(task)
                yield
                group.cancel_scope.cancel()
        finally:
            self.store.close()


def build(configuration: Configuration) -> Service:
    """Everything that a configuration makes. Raise ConfigurationError naming what is missing."""
    settings = configuration.settings
    tokens = load_tokens(configuration)
    hashes = load_hashes(configuration)
    store = Store(configuration.database)
    try:
        store.do(lambda sql: None)
    except (OSError, sqlite3.Error) as fault:
        raise ConfigurationError([f"database: {configuration.database} cannot be used: {fault}"]) from fault
    requests = Requests(store, settings.expiry_seconds, settings.max_pending_per_client)
    sessions = Sessions(store, hashes)
    gateway = Gateway(settings.gateway_url) if settings.gateway_url else None
    console = Console(requests, sessions, gateway, settings)
    routes: list[BaseRoute] = [
        *operation_routes(requests, Metrics(requests, sessions)),
        *Api(requests, tokens).routes(),
        *page_routes(console),
    ]
    app = _Guarded(Starlette(routes=routes), AllowedHosts(settings.allowed_hosts))

    async def sweep() -> None:
        while True:
            try:
                await requests.sweep()
            except (sqlite3.Error, OSError) as fault:
                logger.error("The database takes nothing: %s", fault)
            await anyio.sleep(SWEEP_SECONDS)

    return Service(app, store, (requests.changes.watch, sweep, console.watch))


def load_hashes(configuration: Configuration) -> dict[str, str]:
    """The argon2 hashes by approver. Raise ConfigurationError naming what is no hash."""
    hashes, problems = {}, []
    for place, approver in enumerate(configuration.settings.approvers):
        if not approver.passphrase_hash_file:
            continue
        key = f"approvers.{place}.passphrase_hash_file"
        try:
            hashes[approver.name] = configuration.secret(approver.passphrase_hash_file, key)
            extract_parameters(hashes[approver.name])
        except InvalidHashError:
            problems.append(f"{key}: holds no argon2 hash; `approvals passphrase` makes one")
        except ConfigurationError as fault:
            problems += fault.problems
    if problems:
        raise ConfigurationError(problems)
    return hashes


def new_hash(passphrase: str) -> str:
    """What stands for a passphrase in a file."""
    return PasswordHasher().hash(passphrase)


class _Guarded:
    """Refuses what is addressed to another name, and keeps the service API on this machine."""

    def __init__(self, app: ASGIApp, allowed: AllowedHosts) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        if not self._allowed.host(request.headers.get("host", "")):
            await refusal(403, "forbidden")(scope, receive, send)
        elif scope["path"].startswith("/api") and not is_local(request):
            await refusal(404, "not_found")(scope, receive, send)
        else:
            await self._app(scope, receive, send)
