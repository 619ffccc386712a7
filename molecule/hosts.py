"""Test hosts: containers that boot Debian's own systemd and are reached by SSH on a port of this machine's loopback.

hosts.py up --network NETWORK --key PUBLIC_KEY NAME=SUITE…    starts what is not running, prints all of it as JSON
hosts.py reboot --network NETWORK                             reboots the running hosts from inside
hosts.py down --network NETWORK                               removes every host of that network, and the network
hosts.py clean                                                removes the images that no host uses
"""

import argparse
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ENGINE = Path(__file__).with_name("engine.sh")
CHECKOUT = Path(__file__).resolve().parents[1]
LABEL = "talaria.network"
OWNER_LABEL = "talaria.checkout"

# A private control group namespace keeps each systemd in its own tree and lets a Docker Engine run inside; the volume
# gives that engine overlay2.
ARGUMENTS = (
    *("--detach", "--privileged", "--cgroupns=private", "--stop-timeout=5", "--volume=/var/lib/docker"),
    *("--tmpfs=/run", "--tmpfs=/run/lock", "--tmpfs=/tmp"),
)
# SSH for the operator; the others are what a host shows to the outside. Always on this machine's loopback.
PUBLISHED = ("22", "80", "443", "443/udp")
# podman's own systemd mode would bind this machine's systemd hierarchy into the container on control groups v1.
PODMAN_ARGUMENTS = ("--systemd=false",)

# A loaded machine of two cores takes up to 20 s; a host that is not up after this will not come up.
BOOT_SECONDS = 120

AWAIT_BOOT = f"""
for _ in $(seq {BOOT_SECONDS}); do
    state=$(systemctl is-system-running --wait 2>/dev/null)
    case $state in running | degraded) break ;; esac
    sleep 1
done
echo "$state"
"""
PUT_KEY = """
install -d -o admin -g admin -m 700 ~admin/.ssh
install -o admin -g admin -m 600 /dev/stdin ~admin/.ssh/authorized_keys
"""


class HostError(Exception):
    """A test host could not be started; the text says why and what to look at."""


@dataclass(frozen=True)
class Host:
    """Where a running host is reached: `ports` are this machine's, on 127.0.0.1; `host_key` is its SSH server's."""

    name: str
    container: str
    ports: dict[str, int]
    host_key: str


def engine(*arguments: str, text: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the container engine. Raise HostError with its words when it fails and `check` is set."""
    result = subprocess.run([ENGINE, *arguments], input=text, capture_output=True, text=True, check=False)
    if check and result.returncode != 0:
        raise HostError(f"{shlex.join(arguments[:2])} failed: {result.stderr.strip() or result.stdout.strip()}")
    return result


def image_of(suite: str) -> str:
    """The name that image/build.sh gives the image of a suite on this machine."""
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return f"localhost/talaria-test:{suite}-{architecture.stdout.strip()}"


def free_port() -> int:
    """A port that nobody uses; chosen here, because an engine would choose another one after a reboot of the host."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def containers(network: str) -> list[str]:
    """The names of all containers of the network, running or not."""
    listed = engine("ps", "--all", "--filter", f"label={LABEL}={network}", "--format", "{{.Names}}")
    return listed.stdout.split()


def is_foreign(network: str) -> bool:
    """Whether a container named like this network belongs to another checkout."""
    owner = engine("inspect", "--format", f'{{{{index .Config.Labels "{OWNER_LABEL}"}}}}', network, check=False)
    return owner.returncode == 0 and owner.stdout.strip() != str(CHECKOUT)


def up(network: str, public_key: str, suites: dict[str, str]) -> list[Host]:
    """Start the hosts {name: suite} that do not run yet and wait until all have booted. Raise HostError otherwise."""
    if engine("network", "inspect", network, check=False).returncode != 0:
        engine("network", "create", network)
    existing = containers(network)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda item: _start(network, public_key, item[0], item[1], existing), suites.items()))


def _start(network: str, public_key: str, name: str, suite: str, existing: Sequence[str]) -> Host:
    container = network if network.startswith(name) else f"{network}-{name}"
    # One that was left half made, or by a restart of this machine, may not start again: it is made anew then.
    if container not in existing or engine("start", container, check=False).returncode != 0:
        _create(network, container, name, suite)
    _wait_for_boot(container)
    engine("exec", "-i", container, "sh", "-c", PUT_KEY, text=public_key)
    return _describe(name, container)


def _create(network: str, container: str, name: str, suite: str) -> None:
    engine("rm", "--force", "--volumes", container, check=False)
    kind = subprocess.run([ENGINE, "--name"], capture_output=True, text=True, check=True).stdout.strip()
    engine(
        *("run", *ARGUMENTS, *(PODMAN_ARGUMENTS if kind == "podman" else ())),
        *(f"--publish=127.0.0.1:{free_port()}:{port}" for port in PUBLISHED),
        *("--name", container, "--hostname", name, "--network", network, "--network-alias", name),
        *("--label", f"{LABEL}={network}", "--label", f"{OWNER_LABEL}={CHECKOUT}", image_of(suite)),
    )


def _wait_for_boot(container: str) -> None:
    state = engine("exec", container, "sh", "-c", AWAIT_BOOT, check=False).stdout.strip()
    if state != "running":
        failed = engine("exec", container, "systemctl", "list-units", "--failed", "--plain", "--no-legend", check=False)
        raise HostError(
            f"{container} did not boot: {state or 'no answer'}. Failed units: {failed.stdout.strip() or 'none'}. "
            f"Look with: {ENGINE} logs {container}"
        )


def _describe(name: str, container: str) -> Host:
    (found,) = json.loads(engine("inspect", container).stdout)
    ports = {key: int(value[0]["HostPort"]) for key, value in found["NetworkSettings"]["Ports"].items() if value}
    key = engine("exec", container, "cut", "-d ", "-f1,2", "/etc/ssh/ssh_host_ed25519_key.pub").stdout.strip()
    return Host(name, container, ports, key)


def reboot(network: str) -> None:
    """Reboot the network's hosts, each from inside, and wait until they have booted. Raise HostError otherwise."""
    names = containers(network)
    for container in names:
        engine("exec", container, "systemctl", "reboot", check=False)
    engine("wait", *names)
    for container in names:
        engine("start", container)
        _wait_for_boot(container)


def down(network: str) -> bool:
    """Remove the network's hosts and the network; True when there was anything."""
    found = containers(network)
    if found:
        engine("rm", "--force", "--volumes", *found)
    if engine("network", "inspect", network, check=False).returncode == 0:
        engine("network", "rm", network)
        return True
    return bool(found)


def clean() -> None:
    """Remove the test images that no host uses."""
    for image in engine("images", "--filter", f"reference={image_of('*')}", "--format", "{{.ID}}").stdout.split():
        engine("image", "rm", image, check=False)


def main() -> int:
    """Entry point of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    starter = commands.add_parser("up")
    starter.add_argument("--network", required=True)
    starter.add_argument("--key", type=Path, required=True)
    starter.add_argument("hosts", nargs="+", metavar="NAME=SUITE")
    for name in ("reboot", "down"):
        commands.add_parser(name).add_argument("--network", required=True)
    commands.add_parser("clean")
    arguments = parser.parse_args()
    try:
        if arguments.command == "down":
            print("removed" if down(arguments.network) else "")
        elif arguments.command == "clean":
            clean()
        elif arguments.command == "reboot":
            reboot(arguments.network)
        else:
            suites = dict(item.split("=", 1) for item in arguments.hosts)
            json.dump([asdict(host) for host in up(arguments.network, arguments.key.read_text(), suites)], sys.stdout)
    except HostError as error:
        print(error, file=sys.stderr)
        return 1
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
