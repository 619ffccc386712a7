"""`vault-helper`: look at the vault the way the gateway does, or be its forced command on this machine."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from vault_helper import shell
from vault_helper.channels import LocalTarget
from vault_helper.client import Rules, Target, VaultClient
from vault_helper.errors import VaultError
from vault_helper.ssh import SshTarget

CHECK_SECONDS = 15.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 only when what was asked holds."""
    parser = argparse.ArgumentParser(prog="vault-helper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    words = {
        "check": "reach the vault of a gateway configuration (mcp_gateway.yml) and say how it is",
        "shell": "serve a vault on standard input and output (settings: vault_shell.json)",
        "push": "bring a vault and its remote in step once (settings: vault_shell.json)",
    }
    for name, word in words.items():
        commands.add_parser(name, help=word).add_argument("--config", required=True)
    options = parser.parse_args(arguments)
    if options.command == "check":
        return check(Path(options.config))
    return shell.main(["--config", options.config, *(["--push"] if options.command == "push" else [])])


def check(config: Path) -> int:
    """Open, greet, ask how the vault is and how many notes it has; print what was seen."""
    try:
        client = VaultClient(target_of(config), Rules((), ()))
    except (OSError, ValueError, yaml.YAMLError) as error:
        print(f"{config}: {error}", file=sys.stderr)
        return 2
    try:
        status = client.status(CHECK_SECONDS)
        total = client.list("", CHECK_SECONDS).total
    except VaultError as error:
        print(f"vault: {error}", file=sys.stderr)
        return 1
    finally:
        client.close()
    print(f"vault: {total} readable files")
    print(f"writing: {status.fault or 'possible'}")
    print(f"remote: {remote_words(status.has_remote, status.unpushed, status.unpushed_seconds, status.reason)}")
    return 1 if status.fault else 0


def remote_words(has_remote: bool, unpushed: int, seconds: float, reason: str) -> str:
    """How far the remote is behind, in one line."""
    if not has_remote:
        return "none"
    if not unpushed:
        return reason or "in step"
    return f"{unpushed} commits not pushed, the oldest for {seconds:.0f} s{': ' if reason else ''}{reason}"


def target_of(config: Path) -> Target:
    """The vault a gateway configuration names. Raise ValueError saying what is missing."""
    document = yaml.safe_load(config.read_text(encoding="utf-8"))
    section = document.get("vault") if isinstance(document, Mapping) else None
    if not isinstance(section, Mapping):
        raise ValueError("has no section `vault`")
    try:
        if section.get("transport", "ssh") == "local":
            keys = ("repository", "writable_prefixes", "unreadable_prefixes")
            return LocalTarget({key: section[key] for key in keys if key in section})
        secrets = Path(os.environ.get("CREDENTIALS_DIRECTORY") or config.parent)
        return SshTarget(
            host=str(section["host"]),
            port=int(section.get("port", 22)),
            user=str(section.get("user", "vault")),
            identity_file=secrets / str(section["identity_file"]),
            known_hosts_file=secrets / str(section["known_hosts_file"]),
        )
    except KeyError as error:
        raise ValueError(f"vault.{error.args[0]}: missing") from None


if __name__ == "__main__":
    sys.exit(main())
