"""A vault host on this machine for the time of a measurement: an sshd of its own on a free loopback port.

It knows two keys of one account: one bound to the forced command, as in a deployment, and one with a shell, for the
plain commands that ours are compared with.
"""

import getpass
import json
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SHELL = Path(__file__).parent.parent / "services" / "vault_helper" / "shell.py"
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
# The shape of a real vault: notes of some kilobytes in some dozens of folders.
WORDS_A_NOTE = 600
FOLDERS = 40
VOCABULARY = 20_000
# The word that is looked for stands in so many notes: fewer than an answer holds, so that both sides read everything.
NEEDLE, NEEDLES = "Zwischenablage", 40


@dataclass(frozen=True, slots=True)
class VaultHost:
    """Where it is and what is on it."""

    place: Path
    port: int
    user: str

    @property
    def repository(self) -> Path:
        """The vault's working tree."""
        return self.place / "vault"


@contextmanager
def vault_host(place: Path, notes: int) -> Iterator[VaultHost]:
    """A running vault host with so many notes and a bare remote beside them."""
    assert SSHD, "install openssh-server: the vault is measured over a real sshd"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = VaultHost(place, int(probe.getsockname()[1]), getpass.getuser())
    _make_repository(host, notes)
    _make_keys(host)
    _make_settings(host)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd's unprivileged part lives
    with (place / "sshd.log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(place / "sshd_config")], stderr=log)
    try:
        _wait_for(host, process)
        yield host
    finally:
        process.terminate()
        process.wait()


def git(repository: Path, *arguments: str) -> str:
    """The output of one git command."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _make_repository(host: VaultHost, notes: int) -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvéüñ", k=chance.randint(3, 11))) for _ in range(VOCABULARY)]
    for number in range(notes):
        note = host.repository / f"research/{number % FOLDERS:02}/note-{number:05}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        chosen = chance.choices(words, k=WORDS_A_NOTE)
        if number % (notes // NEEDLES) == 0:
            chosen[100] = NEEDLE
        lines = (" ".join(chosen[start : start + 12]) for start in range(0, WORDS_A_NOTE, 12))
        note.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main", str(host.repository)], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", "--bare", str(host.place / "remote.git")], check=True)
    git(host.repository, "add", ".")
    git(host.repository, "commit", "-q", "-m", "All notes")
    git(host.repository, "gc", "-q")
    git(host.repository, "remote", "add", "origin", str(host.place / "remote.git"))
    git(host.repository, "push", "-q", "-u", "origin", "main")


def _make_keys(host: VaultHost) -> None:
    for name in ("host.key", "gateway.key", "shell.key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(host.place / name)]
        subprocess.run(command, check=True)
    public = {name: (host.place / f"{name}.key.pub").read_text() for name in ("host", "gateway", "shell")}
    forced = f"/usr/bin/env python3 -I {SHELL} --config {host.place / 'vault_shell.json'}"
    keys = f'restrict,command="{forced}" {public["gateway"]}{public["shell"]}'
    (host.place / "authorized_keys").write_text(keys)
    (host.place / "known_hosts").write_text(f"[127.0.0.1]:{host.port} {public['host']}")


def _make_settings(host: VaultHost) -> None:
    settings = {"repository": str(host.repository), "writable_prefixes": ["research/"], "remote": "origin"}
    (host.place / "vault_shell.json").write_text(json.dumps({**settings, "branch": "main"}))
    lines = [
        f"ListenAddress 127.0.0.1:{host.port}",
        f"HostKey {host.place / 'host.key'}",
        f"AuthorizedKeysFile {host.place / 'authorized_keys'}",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "UsePAM no",
        "StrictModes no",
        "PidFile none",
        "LogLevel ERROR",
        # Otherwise bash would read the account's own start-up files before every plain command.
        "SetEnv SHLVL=2",
    ]
    (host.place / "sshd_config").write_text("\n".join(lines) + "\n")


def _wait_for(host: VaultHost, process: "subprocess.Popen[bytes]") -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", host.port), 1).close()
        except OSError:
            if process.poll() is not None:
                raise RuntimeError((host.place / "sshd.log").read_text()) from None
            time.sleep(0.05)
        else:
            return
