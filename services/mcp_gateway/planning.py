"""From a configuration file to everything that follows from it, before any of it is in force."""

from dataclasses import dataclass
from pathlib import Path

from mcp_gateway.backends import Backends, build, tools_of
from mcp_gateway.channels.views import Views
from mcp_gateway.clients import Clients, load_clients
from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.checks import unusual
from mcp_gateway.settings.loader import load
from mcp_gateway.settings.model import Settings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.sections import Catalogue


@dataclass(frozen=True, slots=True)
class Plan:
    """A configuration that was read and checked whole, with everything that follows from it."""

    settings: Settings
    clients: Clients
    backends: Backends
    views: Views
    notes: tuple[str, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Everything worth a warning where the configuration is served all the same."""
        return (*self.notes, *self.clients.shut_out)


def plan(path: Path, catalogue: Catalogue, secrets: Secrets, present: Backends | None = None) -> Plan:
    """Read a configuration with its token files; nothing is opened. Raise ConfigurationError naming every fault.

    Backends of `present` are taken over where their section is the same.
    """
    settings = load(path, catalogue)
    problems: list[str] = []
    try:
        clients = load_clients(settings)
    except ConfigurationError as fault:
        problems, clients = fault.problems, Clients(())
    try:
        backends = build(settings, catalogue, secrets, present)
    except ConfigurationError as fault:
        problems = [*problems, *fault.problems]
    if problems:
        raise ConfigurationError(problems)
    notes = (*unusual(settings.core), *clients.notes)
    return Plan(settings, clients, backends, Views(settings, tools_of(backends)), notes)
