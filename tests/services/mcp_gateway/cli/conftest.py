"""The command as an operator runs it: in a process of its own, on the real catalogue."""

import contextlib
import io
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from mcp_gateway.cli import edge
from mcp_gateway.clients import token_line

TOKEN = "token-of-hermes-0123456789"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class Command:
    """A configuration with a local vault, and the command that reads it."""

    directory: Path
    document: dict[str, Any]
    children: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.directory / "mcp_gateway.yml"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.document['listen'][0]['port']}"

    def write(self, **changes: Any) -> None:
        self.document.update(changes)
        self.path.write_text(yaml.safe_dump(self.document, sort_keys=False))

    def run(self, *arguments: str) -> "Said":
        """The command inside this process, which is many times faster than one of its own."""
        root, stdout, stderr = logging.getLogger(), io.StringIO(), io.StringIO()
        handlers, level = root.handlers[:], root.level
        try:
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                try:
                    status = edge.run(arguments)
                except SystemExit as exit_:  # argparse
                    status = int(str(exit_.code or 0))
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
        return Said(status, stdout.getvalue(), stderr.getvalue())

    def process(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mcp_gateway", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self.environment(),
        )

    def about(self, command: str, *arguments: str) -> "Said":
        return self.run(command, "--config", str(self.path), *arguments)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            key: value for key, value in os.environ.items() if key not in ("CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET")
        }
        return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}

    def start(self, **environment: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "mcp_gateway", "serve", "--config", str(self.path)],
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**environment),
        )
        self.children.append(child)
        return child

    def until_ready(self, child: subprocess.Popen[str], seconds: float = 20) -> float:
        """How long it took until readiness was reported; a child that ends instead is a failure."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            assert child.poll() is None, child.communicate()[1]
            try:
                if "not asked yet" not in httpx2.get(f"{self.url}/readyz", timeout=2).text:
                    return time.monotonic() - began
            except httpx2.TransportError:
                time.sleep(0.02)
        raise AssertionError("the gateway did not become ready")

    def stop(self, child: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str, float]:
        """Exit status, what it said, and how long the end took."""
        began = time.monotonic()
        child.send_signal(number)
        said = child.communicate(timeout=20)[1]
        return child.returncode, said, time.monotonic() - began


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    repository = tmp_path / "vault"
    git = ["git", "-C", str(repository), "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    (repository / "inbox").mkdir(parents=True)
    (repository / "inbox" / "note.md").write_text("A first note.\n")
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(repository)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "First"], check=True)
    (tmp_path / "tokens.d").mkdir()
    (tmp_path / "tokens.d" / "hermes").write_text(token_line(TOKEN) + "\n")
    command = Command(
        tmp_path,
        {
            "listen": [{"host": "127.0.0.1", "port": free_port()}],
            "state_dir": str(tmp_path / "state"),
            "clients": [{"name": "hermes", "tokens_file": "tokens.d/hermes", "channels": ["notes"]}],
            "channels": {"notes": {"toolsets": ["vault"]}},
            "vault": {"transport": "local", "repository": str(repository), "writable_prefixes": ["inbox/"]},
        },
    )
    command.write()
    yield command
    for child in command.children:
        if child.poll() is None:
            child.kill()
            child.communicate()
        if child.stderr is not None:
            child.stderr.close()
