"""The `vault:` section of the configuration."""

import unicodedata
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

# What the ssh transport cannot do without. The local one needs none of it.
SSH_KEYS = ("host", "identity_file", "known_hosts_file")


def _folder(prefix: str) -> str:
    """A folder of the vault: `research/` and not `research`, so that it never means `research2/` too."""
    if not prefix.endswith("/"):
        raise ValueError(f"{prefix!r} must end with /, so that it names one folder")
    parts = prefix[:-1].split("/")
    if any(not part or part.startswith(".") or part.endswith((".", " ")) for part in parts):
        raise ValueError(f"{prefix!r} must be relative, without empty, hidden or dotted parts")
    if not prefix.isprintable() or any(character in prefix for character in '\\<>:"|?*'):
        raise ValueError(f"{prefix!r} holds a character that no folder of the vault may have")
    return unicodedata.normalize("NFC", prefix)


def _absolute(path: str) -> str:
    if not PurePosixPath(path).is_absolute() or "\0" in path:
        raise ValueError("must be an absolute path")
    return path


Folder = Annotated[str, AfterValidator(_folder)]


class VaultSettings(BaseModel):
    """Where the vault is and which of its folders are open; no writable folder means that nothing can be written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    transport: Literal["ssh", "local"] = "ssh"
    host: str = ""
    port: int = Field(22, ge=1, le=65535)
    user: str = "vault"
    identity_file: str = ""
    known_hosts_file: str = ""
    # The vault host knows its own repository; here it is needed by the local transport only.
    repository: Annotated[str, AfterValidator(_absolute)] | None = None
    writable_prefixes: tuple[Folder, ...] = ()
    unreadable_prefixes: tuple[Folder, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = SSH_KEYS if self.transport == "ssh" else ("repository",)
        if missing := [key for key in needed if not getattr(self, key)]:
            raise ValueError(f"transport {self.transport} also needs {', '.join(missing)}")
        return self
