"""How long `playbooks/site.yml` takes on a bare Debian 13 host, and how long when everything is there already."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from bench.table import Ratio, table

CHECKOUT = Path(__file__).resolve().parents[1]
# How the test hosts are made and how a playbook is judged are the business of molecule/.
sys.path.insert(0, str(CHECKOUT / "molecule"))
import hosts  # noqa: E402
import play  # noqa: E402

HOST, SUITE = "talaria-bench", "trixie"
# A second run that is not clearly quicker than the first does its work again instead of looking.
SECOND_TO_FIRST = 0.8
ANY_HASH = "sha256:" + "5e" * 32
SETTINGS = {
    "mcp_gateway_clients": [{"name": "bench", "token_sha256": [ANY_HASH], "channels": ["hermes-tools"]}],
    "mcp_gateway_channels": {"hermes-tools": {"toolsets": ["vault", "monitoring"]}},
    "caddy_sites": [],
}


def measure() -> list[Ratio]:
    """The second run beside the first, in seconds, on a host that is removed afterwards."""
    for command in (
        [str(CHECKOUT / "molecule/image/build.sh"), SUITE],
        [sys.executable, str(CHECKOUT / "services/wheelhouse.py")],
    ):
        subprocess.run(command, check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as place, _host(Path(place)) as inventory:
        first, _ = _timed(inventory, "site")
        second, changed = _timed(inventory, "site-again")
        play.require_unchanged(changed)
    return [Ratio("site.yml, second run to first", second, first, "s", SECOND_TO_FIRST)]


@contextmanager
def _host(place: Path) -> Iterator[Path]:
    key = place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    try:
        (host,) = hosts.up(HOST, Path(f"{key}.pub").read_text(), {HOST: SUITE})
        yield _inventory(place, host)
    finally:
        hosts.down(HOST)


def _inventory(place: Path, host: hosts.Host) -> Path:
    (place / "known_hosts").write_text(f"{HOST} {host.host_key}\n")
    options = f"-o HostKeyAlias={HOST} -o UserKnownHostsFile={place}/known_hosts -o IdentitiesOnly=yes"
    reached = {
        "ansible_host": "127.0.0.1",
        "ansible_port": host.ports["22/tcp"],
        "ansible_user": "admin",
        "ansible_ssh_private_key_file": str(place / "key"),
        "ansible_ssh_common_args": options,
    }
    groups = {"gateway_hosts": {"hosts": {HOST: reached}}, "vault_hosts": {"hosts": {HOST: None}}}
    inventory = place / "inventory"
    variables = inventory / "group_vars" / "all"
    variables.mkdir(parents=True)
    (inventory / "hosts.yml").write_text(yaml.safe_dump({"talaria": {"children": groups}}))
    (variables / "wiring.yml").write_text((CHECKOUT / "inventory/wiring.yml").read_text())
    (variables / "main.yml").write_text(yaml.safe_dump(SETTINGS))
    return inventory


def _timed(inventory: Path, name: str) -> tuple[float, dict[str, list[str]]]:
    log = CHECKOUT / ".cache" / "bench" / f"{name}.log"
    began = time.perf_counter()
    changed = play.play(["--inventory", str(inventory), str(CHECKOUT / "playbooks/site.yml")], log)
    return time.perf_counter() - began, changed


if __name__ == "__main__":
    print(table(measure()))
