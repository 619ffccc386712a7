"""The configuration as it is written in mcp_gateway.yml, except for the backend sections."""

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mcp_gateway.settings.approvals import ApprovalsSettings

# A client's name stands in the audit log, in commits and in metrics.
CLIENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
Decision = Literal["auto", "approve", "never"]
Policy = dict[str, Decision]


class Strict(BaseModel):
    """Nothing unknown, nothing coerced, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class ToolFilter(Strict):
    """Three states: no `include` means all, a list means exactly those, `[]` means none; `exclude` takes away."""

    include: list[str] | None = None
    exclude: list[str] = []

    @field_validator("include", mode="before")
    @classmethod
    def _no_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("null says nothing; leave the key out for all tools, or write [] for none")
        return value


class Listen(Strict):
    """One address to listen on."""

    host: str = Field(min_length=1, max_length=255)
    port: int = Field(ge=1, le=65535)


class Client(Strict):
    """Someone who holds a token."""

    name: str
    tokens_file: str = Field(min_length=1)
    channels: list[str] = []
    tools: ToolFilter = ToolFilter()
    odoo_employee_id: int | None = Field(default=None, ge=1)
    rate_per_minute: int = Field(default=600, ge=1, le=1_000_000)

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if not CLIENT_NAME.fullmatch(value):
            raise ValueError("may hold letters, digits, _ . and - only, at most 63, the first a letter or digit")
        return value


class Channel(Strict):
    """One set of tools under one address."""

    toolsets: list[str]
    tools: ToolFilter = ToolFilter()
    policy: Policy = {}


class Core(Strict):
    """Everything that is neither a client, a channel nor a backend."""

    listen: list[Listen] = Field(default=[Listen(host="127.0.0.1", port=8710)], min_length=1)
    allowed_hosts: list[str] = ["127.0.0.1:*", "localhost:*"]
    state_dir: str = Field(min_length=1)
    # Above five minutes every known client has given up; below a tenth of a second nothing answers.
    tool_deadline_seconds: float = Field(default=20, ge=0.1, le=300)
    policy: Policy = {}
    # None: nobody can be asked, so no tool may need it.
    approvals: ApprovalsSettings | None = None

    @field_validator("approvals", mode="before")
    @classmethod
    def _no_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("null says nothing; leave the section out when nobody is to be asked")
        return value


class Settings(Strict):
    """A whole configuration that passed every check."""

    path: Path
    core: Core
    clients: tuple[Client, ...]
    channels: dict[str, Channel]
    backends: dict[str, BaseModel]

    @property
    def state_dir(self) -> Path:
        """Where the audit log lives; relative to the configuration file."""
        return self.path.parent / self.core.state_dir
