"""A vault with a remote and a person beside it: real repositories, made once and copied for every test."""

# Notes in other scripts are the point.

import hashlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from vault_helper import shell

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}
NOTES = {
    "README.md": "# The vault\n",
    "inbox/first.md": "first\n",
    "research/solar.md": "Énergie solaire\nзаметки о солнце\n太陽光のノート\nطاقة شمسية\n",
    "private/diary.md": "secret solar diary\n",
    "research2/other.md": "solar elsewhere\n",
    ".obsidian/app.json": '{"solar": true}\n',
}


def digest(content: str | bytes) -> str:
    """The contract's hash of a note."""
    return shell.short_hash(content.encode() if isinstance(content, str) else content)


def git(*args: str, cwd: Path, check: bool = True, env: Mapping[str, str] | None = None) -> str:
    """What a person sees who runs git there."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, env={**ENVIRONMENT, **(env or {})}, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, f"git {args}: {done.stderr}"
    return done.stdout


class Place:
    """One vault, its bare remote, and what an agent and a person can do with them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.remote = root / "remote.git"
        self.path = root / "vault"
        self.settings: dict[str, object] = {
            "repository": str(self.path),
            "writable_prefixes": ["inbox/", "research/"],
            "unreadable_prefixes": ["private/"],
            "branch": "main",
        }
        self._receipts = itertools.count(1)
        self._vault: shell.Vault | None = None

    @property
    def vault(self) -> shell.Vault:
        """The forced command's inner half, in this process."""
        if self._vault is None:
            self._vault = shell.Vault(shell.Settings.from_mapping(self.settings))
        return self._vault

    def fresh(self) -> shell.Vault:
        """As after a restart of the forced command."""
        self._vault = None
        return self.vault

    def ask(self, op: str, **arguments: object) -> dict[str, Any]:
        """The answer's header."""
        return self.vault.answer({"op": op, "seconds": 20, **arguments}, b"")[0]

    def read(self, path: str, offset: int = 0) -> tuple[dict[str, Any], str]:
        """Header and page."""
        answer, body = self.vault.answer({"op": "read", "path": path, "offset": offset, "seconds": 20}, b"")
        return answer, body.decode()

    def order(self, path: str, content: str | bytes, **arguments: object) -> tuple[dict[str, object], bytes]:
        """A write request as the client makes it."""
        raw = content.encode() if isinstance(content, str) else content
        facts = {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        who = {"client": "hermes", "receipt": f"r-{next(self._receipts)}", "audit": "1:abcd"}
        return {"op": "write", "path": path, "seconds": 20, **facts, **who, **arguments}, raw

    def write(
        self, path: str, content: str | bytes, base_hash: str | None = None, **arguments: object
    ) -> dict[str, Any]:
        """Write as an agent does."""
        header, body = self.order(path, content, base_hash=base_hash, **arguments)
        return self.vault.answer(header, body)[0]

    def text(self, path: str) -> str:
        """What is on the disk, line ends as they are."""
        return (self.path / path).read_bytes().decode()

    def git(self, *args: str, cwd: Path | None = None, check: bool = True) -> str:
        """A person's git, in the vault unless told otherwise."""
        return git(*args, cwd=cwd or self.path, check=check)

    def subjects(self, where: Path | None = None) -> list[str]:
        """The first lines of the commits, newest first."""
        return self.git("log", "--format=%s", "main", cwd=where).splitlines()

    def person(self) -> Path:
        """A second clone, a person's."""
        clone = self.root / "person"
        if not clone.exists():
            git("clone", "-q", "--template=", str(self.remote), str(clone), cwd=self.root)
        return clone

    def person_pushes(self, path: str, content: str) -> None:
        """A person writes a note elsewhere and pushes it."""
        clone = self.person()
        self.git("pull", "-q", "--rebase", cwd=clone)
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(content)
        self.git("add", "-A", cwd=clone)
        self.git("commit", "-q", "-m", f"person: {path}", cwd=clone)
        self.git("push", "-q", cwd=clone)

    def assert_sound(self, dirty: str = "") -> None:
        """The repository works, nothing of ours lies about, and a person sees only their own changes."""
        self.git("fsck", "--strict", "--no-dangling")
        assert self.git("status", "--porcelain") == dirty
        assert not (self.path / ".git/index.lock").exists()
        own = self.path / ".git/talaria"
        leftovers = [p.name for p in own.iterdir() if p.name.startswith("tmp-") or p.name == "journal.json"]
        assert leftovers == []


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Remote and vault in step, with a few notes."""
    root = tmp_path_factory.mktemp("template")
    git("init", "-q", "--template=", "--bare", "-b", "main", "remote.git", cwd=root)
    git("init", "-q", "--template=", "-b", "main", "vault", cwd=root)
    vault = root / "vault"
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text)
    git("add", "-A", cwd=vault)
    git("commit", "-q", "-m", "Begin", cwd=vault)
    git("remote", "add", "origin", "../remote.git", cwd=vault)
    git("push", "-q", "-u", "origin", "main", cwd=vault)
    return root


@pytest.fixture
def place(template: Path, tmp_path: Path) -> Place:
    """A vault of one's own."""
    root = tmp_path / "place"
    shutil.copytree(template, root, symlinks=True)
    return Place(root)


@pytest.fixture
def make_place(template: Path, tmp_path: Path) -> Callable[[str], Place]:
    """As many vaults as wanted."""

    def make(name: str) -> Place:
        root = tmp_path / name
        shutil.copytree(template, root, symlinks=True)
        return Place(root)

    return make


@pytest.fixture
def empty_place(tmp_path: Path) -> Place:
    """A vault and a remote without any commit."""
    root = tmp_path / "empty"
    root.mkdir()
    git("init", "-q", "--template=", "--bare", "-b", "main", "remote.git", cwd=root)
    git("init", "-q", "--template=", "-b", "main", "vault", cwd=root)
    git("remote", "add", "origin", "../remote.git", cwd=root / "vault")
    return Place(root)
