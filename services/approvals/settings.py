"""The configuration of the service, read whole and strictly; every fault is listed at once, with its key."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from approvals.errors import ConfigurationError
from approvals.hosts import parse_pattern

# Names that the design knows and this release does not have: nobody must believe that they work.
LATER = ("notify", "telegram", "telegram_user_id")
# A configuration is some kilobytes, a credential less.
MAX_BYTES = 256 * 1024
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class Strict(BaseModel):
    """Nothing unknown, nothing coerced, nothing changed afterwards, and no value in an error: it may be a secret."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Listen(Strict):
    """One address to listen on."""

    host: str = Field(min_length=1, max_length=255)
    port: int = Field(ge=1, le=65535)


class Service(Strict):
    """Someone who asks: `tokens_file` has lines `sha256:<hex of the token>`, at most two."""

    name: str = Field(pattern=NAME.pattern, max_length=63)
    tokens_file: str = Field(min_length=1)


class Approver(Strict):
    """Someone who decides with a passphrase."""

    name: str = Field(pattern=NAME.pattern, max_length=63)
    passphrase_hash_file: str | None = None


class Settings(Strict):
    """A whole configuration."""

    listen: list[Listen] = Field(default=[Listen(host="127.0.0.1", port=8730)], min_length=1)
    allowed_hosts: list[str] = ["127.0.0.1:*", "localhost:*"]
    trusted_proxies: list[str] = ["127.0.0.1"]
    public_url: str | None = None
    database: str = Field(min_length=1)
    services: list[Service] = Field(min_length=1)
    approvers: list[Approver] = []
    expiry_seconds: float = Field(default=86_400, ge=1, le=30 * 86_400)
    max_pending_per_client: int = Field(default=20, ge=1, le=1000)
    # Where the console asks for calls, channels and the vault; absent: the console says that it does not know.
    gateway_url: str | None = None

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, value: list[str]) -> list[str]:
        for pattern in value:
            parse_pattern(pattern)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        return [str(ipaddress.ip_address(address)) for address in value]

    @field_validator("public_url", "gateway_url")
    @classmethod
    def _web(cls, value: str | None) -> str | None:
        return None if value is None else http_url(value, plain="loopback")


def http_url(value: str, plain: str) -> str:
    """An address without user, query and fragment; `http://` only to this machine. Raise ValueError."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ValueError("must be an address such as https://approvals.example, without a user name")
    if parts.scheme == "http" and plain == "loopback" and not _is_loopback(parts.hostname):
        raise ValueError("must begin with https://, because it leaves this machine")
    return value.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Configuration:
    """Settings with the folders that their files are relative to."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path.resolve()
        self.settings = settings
        given = os.environ.get("CREDENTIALS_DIRECTORY")
        deployed = self.path.parent / "credentials" / "approvals"
        there = os.path.isdir(deployed)  # noqa: PTH112  # Path's own fails where we may not look
        self.secrets = Path(given) if given else deployed if there else self.path.parent

    @property
    def database(self) -> Path:
        """The database; relative to the configuration."""
        return self.path.parent / self.settings.database

    def secret(self, name: str, key: str) -> str:
        """The content of a credential. Raise ConfigurationError naming key and file, never the content."""
        path = self.secrets / name
        try:
            value = path.read_bytes()[: MAX_BYTES + 1].decode().strip()
        except (OSError, UnicodeDecodeError) as fault:
            words = fault.strerror if isinstance(fault, OSError) else "is not text"
            raise ConfigurationError([f"{key}: {path}: cannot be read: {words}; put the secret there"]) from fault
        if not value or len(value) > MAX_BYTES:
            raise ConfigurationError([f"{key}: {path}: is empty or too large for a secret"])
        return value


def load(path: Path) -> Configuration:
    """The configuration in a file. Raise ConfigurationError naming every fault."""
    try:
        document: Any = yaml.safe_load(path.read_bytes()[:MAX_BYTES])
    except OSError as fault:
        raise ConfigurationError([f"{path}: cannot be read: {fault.strerror}"]) from fault
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as fault:
        mark = getattr(fault, "problem_mark", None)
        raise ConfigurationError([f"{path}: is not YAML{f', line {mark.line + 1}' if mark else ''}"]) from fault
    if not isinstance(document, dict):
        raise ConfigurationError([f"{path}: must be a mapping of keys, such as `database: …`"])
    try:
        settings = Settings.model_validate(document)
    except ValidationError as fault:
        raise ConfigurationError([_words(error) for error in fault.errors(include_url=False)]) from fault
    problems = _cross_checks(settings)
    if problems:
        raise ConfigurationError(problems)
    return Configuration(path, settings)


def _words(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = error["loc"][-1] in LATER
        return f"{place}: {'is not available in this release' if known else 'unknown key'}; take it out"
    if error["type"] == "missing":
        return f"{place}: missing; add it"
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def _cross_checks(settings: Settings) -> list[str]:
    problems = []
    for key, names in (
        ("services", [service.name for service in settings.services]),
        ("approvers", [approver.name for approver in settings.approvers]),
    ):
        problems += [f"{key}: {name} stands there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    return problems
