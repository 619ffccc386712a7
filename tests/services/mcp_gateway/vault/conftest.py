"""The vault's tools over a real repository on this machine, called as the gateway calls them."""

import itertools
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import anyio
import pytest

from mcp_gateway.actions.vault import vault_tools
from mcp_gateway.arguments import validate
from mcp_gateway.errors import Refusal
from mcp_gateway.ports.vault import VaultPort
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.vault import VaultSettings
from mcp_gateway.tools import Call, Tool

WHO = ("-c", "user.name=Person", "-c", "user.email=person@example.org")


class Vault:
    """A repository with its four tools."""

    def __init__(self, path: Path, **section: object) -> None:
        self.path = path
        settings: dict[str, object] = {"transport": "local", "repository": str(path), "writable_prefixes": ["inbox/"]}
        self.port = VaultPort(VaultSettings.model_validate({**settings, **section}), Secrets(path))
        self.tools: dict[str, Tool] = {tool.name: tool for tool in vault_tools(self.port)}
        self._receipts = itertools.count(1)

    async def call(
        self, tool: str, client: str = "hermes", seconds: float = 20, **arguments: object
    ) -> Mapping[str, object]:
        """The members of a success; raises Refusal."""
        found = self.tools[tool]
        deadline = anyio.current_time() + seconds
        call = Call(client, "hermes-tools", tool, f"r-{next(self._receipts)}", "1:ab" if found.writes else "", deadline)
        return await found.run(call, validate(found, arguments))

    async def refused(self, tool: str, **arguments: object) -> Refusal:
        """The refusal, which must come."""
        with pytest.raises(Refusal) as caught:
            await self.call(tool, **arguments)  # type: ignore[arg-type]
        return caught.value

    def git(self, *args: str) -> str:
        """A person's git in the vault."""
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *WHO, *args], cwd=self.path, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    def add(self, path: str, content: str) -> None:
        """A note that a person wrote and committed."""
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        (self.path / path).write_bytes(content.encode())
        self.git("add", "-A")
        self.git("commit", "-qm", path)


def small_vault(path: Path) -> Vault:
    """A new repository with one note."""
    subprocess.run(["git", "init", "-q", "--template=", "-b", "main", path], check=True)
    vault = Vault(path, unreadable_prefixes=["private/"])
    vault.add("inbox/first.md", "first\n")
    return vault


@pytest.fixture
async def vault(tmp_path: Path) -> AsyncIterator[Vault]:
    """A vault with one note."""
    vault = small_vault(tmp_path / "vault")
    await vault.port.open()
    yield vault
    await vault.port.close()
