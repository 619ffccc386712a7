"""How our units are confined, as systemd itself judges them, and who listens to whom."""

import re
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://gateway_hosts"]
UNITS = ("mcp_gateway.service",)
# systemd's own scale ends at 10; services shipped by Debian score around 9.
MAX_EXPOSURE = 3.0
# SSH, and the web server's HTTP and HTTPS.
PUBLIC_PORTS = {22, 80, 443}


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_exposed_to_little(root: Host, unit: str) -> None:
    """A hole in a service must not become a hole in the host."""
    found = re.search(
        r"Overall exposure level for \S+: ([0-9.]+)", root.check_output(f"systemd-analyze security --no-pager {unit}")
    )
    assert found
    print(f"{unit}: {found[1]}")
    assert float(found[1]) <= MAX_EXPOSURE


@pytest.mark.parametrize("unit", UNITS)
def test_units_run_and_start_with_the_host(host: Host, unit: str) -> None:
    """What does not start by itself is missing after the next power cut."""
    assert host.service(unit).is_running
    assert host.service(unit).is_enabled


def test_the_service_has_no_privileges_left(root: Host) -> None:
    """What the unit file says must be what the kernel enforces on the process."""
    pid = root.check_output("systemctl show -P MainPID mcp_gateway")
    status = dict(
        line.split(":\t", 1) for line in root.check_output(f"cat /proc/{pid}/status").splitlines() if ":\t" in line
    )
    assert status["CapEff"] == status["CapBnd"] == "0000000000000000"
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert "0" not in status["Uid"].split()


def test_the_service_stays_within_its_memory(root: Host) -> None:
    """A small host runs other things too."""
    pid = root.check_output("systemctl show -P MainPID mcp_gateway")
    resident = int(re.search(r"VmRSS:\s+(\d+)", root.check_output(f"cat /proc/{pid}/status"))[1])  # type: ignore[index]
    print(f"resident: {resident // 1024} MiB")
    assert resident < 110 * 1024


def test_only_the_expected_ports_listen_to_the_outside(root: Host) -> None:
    """One forgotten port is the whole attack."""
    outside = set()
    for line in root.check_output("ss -Hltn").splitlines():
        address, _, port = line.split()[3].rpartition(":")
        if not re.match(r"127\.|\[::1\]|\[::ffff:127\.", address.partition("%")[0]):
            outside.add(int(port))
    ssh = {int(port) for port in root.check_output("/usr/sbin/sshd -T | sed -n 's/^port //p'").split()}
    assert outside <= PUBLIC_PORTS | ssh


@pytest.mark.parametrize("port", [8710, 9090])
def test_the_gateway_and_prometheus_listen_on_loopback_only(root: Host, port: int) -> None:
    """Caddy is the only door; a second one would have no TLS and no 404."""
    assert root.socket(f"tcp://127.0.0.1:{port}").is_listening
    assert not root.socket(f"tcp://0.0.0.0:{port}").is_listening


def peers(variables: dict[str, Any]) -> set[str]:
    """The networks that the inventory lets the service talk to, as systemd prints them, besides loopback."""
    named = [*variables.get("mcp_gateway_allowed_networks", [])]
    odoo = urlsplit(variables.get("mcp_gateway_odoo_url", "")).hostname or ""
    named += [odoo] if re.fullmatch(r"[0-9.]+|[0-9a-f.]*:[0-9a-f:.]*", odoo) else []
    found = set()
    for name in named:
        networks = ("0.0.0.0/0", "::/0") if name == "any" else (name,)
        found |= {str(ip_network(network, strict=False)) for network in networks}
    return found


def test_the_service_reaches_loopback_and_what_the_inventory_names(root: Host, variables: dict[str, Any]) -> None:
    """An intruder in the gateway must not be able to send anything out."""
    properties = root.check_output("systemctl show mcp_gateway -p IPAddressDeny -p IPAddressAllow")
    assert "IPAddressDeny=::/0 0.0.0.0/0" in properties or "IPAddressDeny=0.0.0.0/0 ::/0" in properties
    allowed = re.search(r"^IPAddressAllow=(.*)$", properties, re.MULTILINE)
    assert allowed
    ours = {"127.0.0.0/8", "::1/128"}
    assert ours <= set(allowed[1].split())
    assert {name for name in set(allowed[1].split()) - ours if not name.startswith("127.")} == {
        name for name in peers(variables) if not name.startswith("127.")
    }
