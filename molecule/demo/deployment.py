"""Brings the host up and deploys the bundle to it, as an operator would to a real one."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import hosts
import play
from demo import place
from demo.words import DemoError, chapter, tell

# The demo shows the newer of the two Debians.
SUITE = "trixie"


def network() -> str:
    """The name of the host's container and network: talaria-demo, unless another checkout's demo is up under it.

    A host that was made beside another checkout's keeps its name when that one is gone.
    """
    beside = f"{place.HOST}-{hashlib.sha256(str(place.CHECKOUT).encode()).hexdigest()[:6]}"
    return beside if hosts.is_foreign(place.HOST) or hosts.containers(beside) else place.HOST


def run(*command: str | Path) -> None:
    """Run one of the project's own commands, its words on the terminal. Raise DemoError when it fails."""
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise DemoError(f"{command[-1]} failed; it has said why above. Mend that and run `make demo` again.")


def start_host() -> hosts.Host:
    """The running host, started if it was not."""
    chapter("A test host: Debian 13 that boots systemd in a container and is reached by SSH like any server")
    run(place.CHECKOUT / "molecule" / "image" / "build.sh", SUITE)
    place.prepare()
    (host,) = hosts.up(network(), place.public_half(place.KEY), {place.HOST: SUITE})
    place.remember(host)
    tell(f"{host.container} has booted. Look around on it: ssh -F .demo/ssh_config {place.HOST}")
    return host


def deploy() -> None:
    """Deploy twice: the second time shows that nothing is changed that is as it should be."""
    chapter("The wheels that the host installs from (it asks no package index but Debian's)")
    run(sys.executable, place.CHECKOUT / "services" / "wheelhouse.py")
    chapter("What stands in for your own git hosting, Odoo and web site: a few notes, a test double and a page")
    _play("prepare", "molecule/shared/prepare.yml", "--extra-vars", f"talaria_remote_key_file={place.REMOTE_KEY}")
    _play("page", "molecule/demo/page.yml")
    chapter("The deployment: playbooks/site.yml over SSH, the same as `make deploy INVENTORY=inventory/demo`")
    changed = _play("site", "playbooks/site.yml")
    tell(f"{sum(map(len, changed.values()))} tasks changed something.")
    chapter("The same once more, which must change nothing")
    play.require_unchanged(_play("site-again", "playbooks/site.yml"))
    tell("changed=0: the second run found everything as it should be.")


def _play(name: str, playbook: str, *more: str) -> dict[str, list[str]]:
    return play.play(
        ["--inventory", "inventory/demo", playbook, *more], place.PLACE / "log" / f"{name}.log", _show_play
    )


def _show_play(line: str) -> None:
    if found := re.match(r"PLAY \[(.+)\]", line):
        tell(f"{found[1]} …")
