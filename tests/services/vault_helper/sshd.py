"""A real sshd on a loopback port whose only key may run the forced command."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from vault_helper import shell
from vault_helper.ssh import SshTarget


def make_key(path: Path) -> str:
    """A new key pair; returns the public line."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_name(path.name + ".pub").read_text().strip()


class Sshd:
    """Started and stopped at will, with the host key and the forced command one likes."""

    def __init__(self, root: Path, settings: dict[str, object]) -> None:
        self.root = root
        root.mkdir()
        self.host_public = make_key(root / "host")
        self.client_public = make_key(root / "client")
        (root / "shell.json").write_text(json.dumps(settings))
        self.force(f"{sys.executable} -I {shell.__file__} --config {root}/shell.json")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.know(self.host_public)
        self.process: subprocess.Popen[bytes] | None = None

    def target(self) -> SshTarget:
        """As in the gateway's settings."""
        user = os.environ.get("USER") or "root"
        return SshTarget("127.0.0.1", self.port, user, self.root / "client", self.root / "known")

    def force(self, command: str) -> None:
        """What the key may run."""
        (self.root / "keys").write_text(f'restrict,command="{command}" {self.client_public}\n')

    def know(self, public: str, host: str = "127.0.0.1") -> None:
        """Which host key the client takes for the right one."""
        (self.root / "known").write_text(f"[{host}]:{self.port} {' '.join(public.split()[:2])}\n")

    def start(self) -> None:
        """Listen; returns once it does."""
        Path("/run/sshd").mkdir(exist_ok=True)
        config = self.root / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.root}/host\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {self.root}/keys\nPermitRootLogin forced-commands-only\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserRC no\nLogLevel ERROR\n"
        )
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin") or "/usr/sbin/sshd"
        self.process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", config], stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        raise AssertionError("sshd does not listen")

    def sessions(self) -> list[int]:
        """The processes that serve connections."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid, rest = status.read_text().split(" (", 1)
                if self.process and rest.rpartition(") ")[2].split(" ")[1] == str(self.process.pid):
                    found.append(int(pid))
        return found

    def cut(self) -> None:
        """End every connection without a word, as a dying host does."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the server and every connection."""
        if self.process:
            self.cut()
            self.process.kill()
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def running(root: Path, settings: dict[str, object]) -> Iterator[Sshd]:
    """An sshd for the time of a test."""
    sshd = Sshd(root, settings)
    sshd.start()
    try:
        yield sshd
    finally:
        sshd.stop()
