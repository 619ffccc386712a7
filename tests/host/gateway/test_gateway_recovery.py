"""What dies comes back by itself, and what is changed takes effect without anybody losing a session."""

import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://gateway_hosts"]
pytestmark = [pytest.mark.anyio, pytest.mark.laboratory]

# The whole absence on a host with nothing else to do: systemd's pause before the restart, and the work of the start.
BACK_SECONDS = 5.0
PAUSE_SECONDS = 1.0
# On a test machine that is busy with other hosts the same work takes longer.
PATIENCE_SECONDS = 30.0

Eventually = Callable[[Callable[[], bool], float], None]


def main_pid(root: Host, unit: str) -> int:
    return int(root.check_output(f"systemctl show -P MainPID {unit}"))


def vault_processes(root: Host) -> list[str]:
    """The forced commands that serve the gateway's channels."""
    return str(root.run("pgrep --uid vault --full vault_shell.py").stdout).split()


def test_the_gateway_killed_comes_back_ready(gateway: Any, root: Host, eventually: Eventually) -> None:
    """An agent at work must not wait for a person."""
    before = main_pid(root, "mcp_gateway")
    killed = time.monotonic()
    root.check_output(f"kill -9 {before}")

    def ready() -> bool:
        return main_pid(root, "mcp_gateway") not in (0, before) and bool(gateway.is_ready())

    eventually(ready, PATIENCE_SECONDS)
    assert "RestartUSec=1s" in root.check_output("systemctl show -p RestartUSec mcp_gateway")
    print(f"ready again after {time.monotonic() - killed:.1f} s")
    ticks = root.check_output(f"cut -d' ' -f14,15 /proc/{main_pid(root, 'mcp_gateway')}/stat").split()
    working = sum(map(int, ticks)) / int(root.check_output("getconf CLK_TCK"))
    assert PAUSE_SECONDS + working < BACK_SECONDS


async def test_a_killed_forced_command_is_replaced_by_the_next_call(gateway: Any, answer: Any, root: Host) -> None:
    """The kernel's memory killer, or an operator, may end any process on the vault's host."""
    async with gateway.agent() as agent:
        assert answer(await agent.call_tool("vault_list", {}))["success"]
        served = vault_processes(root)
        assert served
        root.check_output(f"kill -9 {' '.join(served)}")
        assert answer(await agent.call_tool("vault_list", {}))["success"]
    assert not set(served) & set(vault_processes(root))


async def test_a_killed_ssh_session_is_replaced_and_its_source_is_not_punished(
    gateway: Any, answer: Any, root: Host, eventually: Eventually
) -> None:
    """Newer SSH servers lock out an address whose sessions crash; the gateway's must stay welcome."""
    async with gateway.agent() as agent:
        for _ in range(3):
            assert answer(await agent.call_tool("vault_list", {}))["success"]
            root.check_output("pkill -9 --uid vault --full 'sshd.*vault'")
            word = secrets.token_hex(6)
            assert answer(await agent.call_tool("vault_search", {"query": word}))["success"]


async def test_a_reload_keeps_the_session_and_tells_no_client_to_go(gateway: Any, answer: Any, root: Host) -> None:
    """A changed list of clients must not interrupt those who are at work."""
    before = main_pid(root, "mcp_gateway")
    async with gateway.agent() as agent:
        assert answer(await agent.call_tool("vault_list", {}))["success"]
        root.check_output("systemctl reload mcp_gateway")
        assert answer(await agent.call_tool("vault_list", {}))["success"]
    assert main_pid(root, "mcp_gateway") == before


def test_a_configuration_with_a_fault_is_refused_and_the_old_one_stays(gateway: Any, root: Host) -> None:
    """A typing error must not take the gate down, nor open it."""
    path = "/etc/talaria/mcp_gateway.yml"
    root.check_output(f"cp --preserve=all {path} {path}.kept")
    try:
        root.check_output(f"printf 'no_such_key: 1\\n' >>{path}")
        assert root.run("/opt/talaria/current/bin/mcp-gateway check --config /etc/talaria/mcp_gateway.yml").rc != 0
        root.run("systemctl reload mcp_gateway")
        assert gateway.request("POST", "/mcp/no-such-channel", gateway.bearer()).status_code == 404
        assert gateway.request("POST", "/mcp/hermes-tools").status_code == 403
    finally:
        root.check_output(f"mv {path}.kept {path}")
        root.check_output("systemctl reload mcp_gateway")
