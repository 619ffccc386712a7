"""From a file to settings that passed every check, or to the whole list of what is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings import later
from mcp_gateway.settings.checks import Draft, check
from mcp_gateway.settings.document import read_document
from mcp_gateway.settings.model import Channel, Client, Core, Settings
from mcp_gateway.settings.problems import checked, kind, meant
from mcp_gateway.settings.sections import Catalogue

NOT_YET = "is not available in this release; take it out"


def load(path: Path, catalogue: Catalogue) -> Settings:
    """The settings in a file. Raise ConfigurationError naming every fault at once, each with its key."""
    document = read_document(path)
    problems: list[str] = []
    _check_keys(document, catalogue, problems)
    core = checked(Core, {key: document[key] for key in Core.model_fields if key in document}, "", problems)
    clients = _clients(document.get("clients", []), problems)
    channels = _channels(document.get("channels", {}), problems)
    backends = _backends(document, catalogue, problems)
    written = frozenset(str(key) for key in document)
    granted = document.get("channels") if isinstance(document.get("channels"), Mapping) else {}
    check(Draft(core, clients, channels, written, frozenset(map(str, granted or {})), catalogue), problems)
    if problems or core is None:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    return Settings(
        path=path.resolve(), core=core, clients=tuple(clients.values()), channels=channels, backends=backends
    )


def _check_keys(document: Mapping[Any, Any], catalogue: Catalogue, problems: list[str]) -> None:
    known = [*Core.model_fields, "clients", "channels", *(section.name for section in catalogue)]
    for key in document:
        if key in later.SECTIONS and key not in known:
            problems.append(f"{key}: {NOT_YET}")
        elif key not in known:
            problems.append(f"{key}: unknown key{meant(str(key), known) or '; known are ' + ', '.join(known)}")


def _clients(value: object, problems: list[str]) -> dict[int, Client]:
    """Those that can be read, by their place in the list."""
    if not isinstance(value, list):
        problems.append(f"clients: must be a list ([] for none), not {kind(value)}")
        return {}
    read = {place: checked(Client, one, f"clients.{place}", problems) for place, one in enumerate(value)}
    return {place: client for place, client in read.items() if client is not None}


def _channels(value: object, problems: list[str]) -> dict[str, Channel]:
    if not isinstance(value, Mapping):
        problems.append(f"channels: must be a mapping of names ({{}} for none), not {kind(value)}")
        return {}
    read = {str(name): _channel(str(name), one, problems) for name, one in value.items()}
    return {name: channel for name, channel in read.items() if channel is not None}


def _channel(name: str, value: object, problems: list[str]) -> Channel | None:
    where = f"channels.{name}"
    if not isinstance(value, Mapping):
        return checked(Channel, value, where, problems)
    unready = [f"{where}.{key}" for key in value if key in later.CHANNEL_KEYS]
    filters = value.get("tools")
    if isinstance(filters, Mapping):
        unready += [f"{where}.tools.{key}" for key in filters if key in later.FILTER_KEYS]
        value = {**value, "tools": {key: part for key, part in filters.items() if key not in later.FILTER_KEYS}}
    problems.extend(f"{key}: {NOT_YET}" for key in unready)
    rest = {key: part for key, part in value.items() if key not in later.CHANNEL_KEYS}
    # A channel on an upstream has no toolsets: asking for them would only hide the real reason.
    return checked(Channel, {"toolsets": [], **rest} if "upstream" in value else rest, where, problems)


def _backends(document: Mapping[Any, Any], catalogue: Catalogue, problems: list[str]) -> dict[str, BaseModel]:
    read = {
        section.name: checked(section.model, document[section.name], section.name, problems)
        for section in catalogue
        if section.name in document
    }
    return {name: model for name, model in read.items() if model is not None}
