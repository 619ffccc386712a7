"""The vault, asked from worker threads so that no slow channel holds up the event loop."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_gateway.errors import Code, ConfigurationError, Refusal
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.vault import VaultSettings
from mcp_gateway.tools import Condition
from vault_helper.client import (
    MAX_CHANNELS,
    AnswerLate,
    Found,
    Listing,
    LocalTarget,
    OutcomeUnknown,
    Page,
    Rules,
    SshTarget,
    Status,
    VaultClient,
    VaultError,
    VaultRefused,
    VaultUnreachable,
    Written,
)

# Time kept back from the call's deadline, so that our own words about a timeout still reach the agent.
MARGIN_SECONDS = 0.3
# /readyz asks all backends and must itself answer soon.
CONDITION_SECONDS = 1.8
# The timer pushes every minute: what lies this long was missed twice, whatever the reason.
UNPUSHED_SECONDS = 150.0

__all__ = ["Found", "Listing", "Page", "VaultPort", "Written"]

T = TypeVar("T")


class VaultPort:
    """Asks one vault over at most eight channels; every method that asks raises Refusal when it learns nothing."""

    def __init__(self, settings: VaultSettings, secrets: Secrets) -> None:
        rules = Rules(settings.writable_prefixes, settings.unreadable_prefixes)
        self._client = VaultClient(_target(settings, secrets), rules)
        self._limiter: anyio.CapacityLimiter | None = None
        self.unpushed: tuple[int, float] = (0, 0.0)

    async def open(self) -> None:
        """Get ready; the connection is made by whoever asks first."""
        self._limiter = anyio.CapacityLimiter(MAX_CHANNELS)

    async def close(self) -> None:
        """End every channel and the connection."""
        await anyio.to_thread.run_sync(self._client.close)

    async def condition(self) -> Condition:
        """Whether the vault can be read and written, and whether its remote has everything.

        Leaves commits and age of what is not pushed in `unpushed`, for the metrics.
        """
        try:
            status = await self._run(partial(self._client.status, CONDITION_SECONDS))
        except Refusal as fault:
            return Condition("down", fault.hint)
        self.unpushed = (status.unpushed, status.unpushed_seconds)
        return _condition(status)

    async def search(self, query: str, deadline: float) -> Found:
        """Lines that hold `query` as plain text."""
        return await self._run(partial(self._client.search, query, _left(deadline)))

    async def list(self, prefix: str, deadline: float) -> Listing:
        """The tracked files below a folder."""
        return await self._run(partial(self._client.list, prefix, _left(deadline)))

    async def read(self, path: str, offset: int, deadline: float) -> Page:
        """One page of a note."""
        return await self._run(partial(self._client.read, path, offset, _left(deadline)))

    async def write(
        self,
        path: str,
        content: bytes,
        base_hash: str | None,
        *,
        client: str,
        receipt: str,
        audit: str,
        deadline: float,
    ) -> Written:
        """Write, commit and push one note."""
        write = partial(self._client.write, path, content, base_hash, client=client, receipt=receipt, audit=audit)
        return await self._run(partial(write, seconds=_left(deadline)))

    async def _run(self, ask: Callable[[], T]) -> T:
        # A call that is cancelled leaves its thread behind; that one ends by the deadline it was given.
        try:
            return await anyio.to_thread.run_sync(ask, limiter=self._limiter, abandon_on_cancel=True)
        except VaultError as error:
            raise _refusal(error) from error


def _target(settings: VaultSettings, secrets: Secrets) -> SshTarget | LocalTarget:
    if settings.transport == "local":
        return LocalTarget(
            {
                "repository": settings.repository,
                "writable_prefixes": settings.writable_prefixes,
                "unreadable_prefixes": settings.unreadable_prefixes,
            }
        )
    problems: list[str] = []
    files: dict[str, Path] = {}
    for key, name in (("identity_file", settings.identity_file), ("known_hosts_file", settings.known_hosts_file)):
        try:
            files[key] = secrets.path(name, f"vault.{key}")
        except ConfigurationError as fault:
            problems.extend(fault.problems)
    if problems:
        raise ConfigurationError(problems)
    return SshTarget(host=settings.host, port=settings.port, user=settings.user, **files)


def _left(deadline: float) -> float:
    return max(0.0, deadline - anyio.current_time() - MARGIN_SECONDS)


def _refusal(error: VaultError) -> Refusal:
    """The answer an agent gets for what went wrong."""
    if isinstance(error, VaultRefused):
        known = error.code in set(Code)
        return Refusal(Code(error.code) if known else Code.UPSTREAM_ERROR, _sentence(error.hint), error.facts)
    if isinstance(error, VaultUnreachable):
        return Refusal(Code.UPSTREAM_DOWN, f"{_sentence(str(error))} Tell the operator if it stays so.")
    if isinstance(error, OutcomeUnknown):
        return Refusal(Code.OUTCOME_UNKNOWN, f"{_sentence(str(error))} Read the note before you write it again.")
    if isinstance(error, AnswerLate):
        return Refusal(Code.TIMEOUT, f"{_sentence(str(error))} Nothing was changed; try again, or ask for less.")
    return Refusal(Code.UPSTREAM_ERROR, _sentence(str(error)))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "…")) else ".")


def _condition(status: Status) -> Condition:
    """What an operator should know, most pressing first."""
    if status.fault:
        return Condition("degraded", f"notes can be read but not written: {status.fault}")
    if status.unpushed and (status.reason or status.unpushed_seconds > UNPUSHED_SECONDS):
        waiting = f"{status.unpushed} commits are not pushed, the oldest for {status.unpushed_seconds:.0f} s"
        return Condition("degraded", f"{waiting}: {status.reason or 'see the push timer on the vault host'}")
    return Condition("ok", status.reason)
