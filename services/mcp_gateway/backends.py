"""The backends of the present configuration, and the tools they carry."""

import logging
from dataclasses import dataclass

from pydantic import BaseModel

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.ports.approvals import ApprovalsPort
from mcp_gateway.settings.model import Settings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue
from mcp_gateway.tools import Backend, Tool

# Its name among the backends; it has no tools of its own.
APPROVALS = "approvals"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """One backend as it was built from its section."""

    model: BaseModel
    backend: Backend
    tools: tuple[Tool, ...]


Backends = dict[str, Standing]


def build(settings: Settings, catalogue: Catalogue, secrets: Secrets, present: Backends | None = None) -> Backends:
    """Backends for these settings, taking over those of `present` whose section is the same. Nothing is opened yet.

    Raise ConfigurationError with everything that a section lacks, such as its secret file.
    """
    present, problems, built = present or {}, [], {}
    for section in catalogue:
        model = settings.backends.get(section.name)
        if model is None:
            continue
        standing = present.get(section.name)
        if standing is not None and standing.model == model:
            built[section.name] = standing
            continue
        try:
            state = (settings.state_dir,) if section.keeps_state else ()
            backend, tools = section.build(model, secrets, *state)
        except ConfigurationError as fault:
            problems.extend(fault.problems)
        else:
            built[section.name] = Standing(model, backend, tuple(tools))
    _add_approvals(built, settings, secrets, present, problems)
    if problems:
        raise ConfigurationError(problems)
    return built


def _add_approvals(
    built: Backends, settings: Settings, secrets: Secrets, present: Backends, problems: list[str]
) -> None:
    """Whoever asks people is opened, asked how it is and closed like what stands behind a toolset."""
    model = settings.core.approvals
    if model is None:
        return
    standing = present.get(APPROVALS)
    if standing is not None and standing.model == model:
        built[APPROVALS] = standing
        return
    try:
        built[APPROVALS] = Standing(model, ApprovalsPort(model, secrets), ())
    except ConfigurationError as fault:
        problems.extend(fault.problems)


def tools_of(backends: Backends) -> list[Tool]:
    """Every tool that can be called."""
    return [tool for standing in backends.values() for tool in standing.tools]


def approvals_of(backends: Backends) -> ApprovalsPort | None:
    """The way to whoever asks people; None when nobody can be asked."""
    found = backends.get(APPROVALS)
    return found.backend if found is not None and isinstance(found.backend, ApprovalsPort) else None


async def open_new(backends: Backends, present: Backends) -> None:
    """Open those that were not open before."""
    for name, standing in backends.items():
        if present.get(name) is not standing:
            await standing.backend.open()


async def close_old(present: Backends, kept: Backends) -> None:
    """Close those that are not needed any more. What one fails at does not keep the others open."""
    for name, standing in present.items():
        if kept.get(name) is not standing:
            try:
                await standing.backend.close()
            except Exception:
                logger.exception("The backend %s did not close", name)
