"""Where the demo keeps what it needs between runs: everything lies in .demo, readable by its owner only."""

import secrets
import subprocess
from pathlib import Path

import hosts

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = CHECKOUT / ".demo"
TOKEN = PLACE / "token"
KEY = PLACE / "id_ed25519"
REMOTE_KEY = PLACE / "remote.key"
SSH_CONFIG = PLACE / "ssh_config"
HOST = "talaria-demo"


def prepare() -> None:
    """Make the place, the agent's token and the keys, each only if it is not there yet."""
    PLACE.mkdir(mode=0o700, exist_ok=True)
    PLACE.chmod(0o700)
    if not TOKEN.exists():
        write(TOKEN, secrets.token_urlsafe(32) + "\n")
    for key in (KEY, REMOTE_KEY):
        if not Path(f"{key}.pub").exists():
            key.unlink(missing_ok=True)  # one half of an interrupted run
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", HOST, "-f", key], check=True)


def write(path: Path, text: str) -> None:
    """Put a text at a path in one step, readable by its owner only."""
    draft = path.with_name(path.name + ".new")
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(path)


def remember(host: hosts.Host) -> None:
    """Write down how the host is reached and which key proves that it is the one."""
    write(PLACE / "known_hosts", f"{HOST} {host.host_key}\n")
    write(PLACE / "remote_known_hosts", f"127.0.0.1 {host.host_key}\n")
    write(
        SSH_CONFIG,
        f"Host {HOST}\n  HostName 127.0.0.1\n  Port {host.ports['22/tcp']}\n  User admin\n"
        f'  IdentityFile "{KEY}"\n  IdentitiesOnly yes\n'
        f'  HostKeyAlias {HOST}\n  UserKnownHostsFile "{PLACE / "known_hosts"}"\n  StrictHostKeyChecking yes\n'
        "  ServerAliveInterval 15\n",
    )


def public_half(key: Path) -> str:
    """The public half of one of the demo's keys."""
    return Path(f"{key}.pub").read_text()


def token() -> str:
    """The agent's token."""
    return TOKEN.read_text().strip()


def on_host(*command: str) -> str:
    """What a command prints on the host, run by the operator. Raise CalledProcessError when it fails."""
    ssh = ["ssh", "-F", str(SSH_CONFIG), "-o", "BatchMode=yes", HOST, "--", *command]
    return subprocess.run(ssh, check=True, capture_output=True, text=True).stdout
