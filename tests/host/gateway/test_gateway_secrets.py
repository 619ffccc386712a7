"""Where the secrets of the gateway are, and above all where they are not."""

import re
import shlex
from typing import Any

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://gateway_hosts"]
CREDENTIALS = "/etc/talaria/credentials/mcp_gateway"
# Everywhere that something could have been written, except what the kernel makes up.
PLACES = "/dev/shm /etc /home /opt /root /run /srv /tmp /usr/local /var"


def pattern(secret: str) -> str:
    """A regular expression for the secret that is not the secret: it will stand in process lists and in sudo's log."""
    return f"{re.escape(secret[:-1])}[{secret[-1]}]"


def holders(root: Host, expression: str) -> list[str]:
    """The files with a match in them."""
    found = root.run(f"grep -rlsE --devices=skip -e {shlex.quote(expression)} {PLACES}")
    return [line for line in found.stdout.splitlines() if line]


def test_no_agent_token_is_anywhere_on_the_host(gateway: Any, root: Host) -> None:
    """The host needs to recognise a token, not to know it: whoever reads its disk must not become the agent."""
    for client, token in gateway.tokens.items():
        gateway.request("POST", f"/mcp/{gateway.channel}", f"Bearer {token}", content=b"{}")
        assert holders(root, pattern(token)) == [], client


def test_no_agent_token_is_in_the_journal_or_the_process_list(gateway: Any, root: Host) -> None:
    """Logs are shipped, shown and kept; so are process lists."""
    for client, token in gateway.tokens.items():
        journal = root.run(f"journalctl --no-pager --output export | grep -acE -e {shlex.quote(pattern(token))}")
        assert journal.stdout.strip() == "0", client
        processes = root.run(
            f"cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | grep -acE -e {shlex.quote(pattern(token))}"
        )
        assert processes.stdout.strip() == "0", client


def test_the_vault_key_is_in_two_places_that_only_root_and_the_service_read(root: Host) -> None:
    """The file that root keeps, and the copy that systemd gives to the running service."""
    key = root.check_output(f"sed -n 3p {CREDENTIALS}/vault.key")[:48]
    assert sorted(holders(root, pattern(key))) == [
        f"{CREDENTIALS}/vault.key",
        "/run/credentials/mcp_gateway.service/vault.key",
    ]
    shown = root.run(f"journalctl --no-pager --output export | grep -acE -e {shlex.quote(pattern(key))}")
    assert shown.stdout.strip() == "0"


@pytest.mark.parametrize(
    ("path", "owner", "group", "mode"),
    [
        ("/etc/talaria", "root", "root", 0o755),
        ("/etc/talaria/mcp_gateway.yml", "root", "mcp_gateway", 0o640),
        ("/etc/talaria/tokens.d", "root", "mcp_gateway", 0o750),
        ("/etc/talaria/credentials", "root", "root", 0o700),
        (CREDENTIALS, "root", "root", 0o700),
        (f"{CREDENTIALS}/vault.key", "root", "root", 0o600),
        (f"{CREDENTIALS}/vault.known_hosts", "root", "root", 0o600),
        ("/var/lib/talaria/mcp_gateway", "mcp_gateway", "mcp_gateway", 0o700),
        ("/opt/talaria/releases", "root", "root", 0o755),
    ],
)
def test_files_belong_to_whom_they_should(root: Host, path: str, owner: str, group: str, mode: int) -> None:
    """A file with the wrong owner is a door: what the service can change, an attacker in it can change."""
    file = root.file(path)
    assert (file.user, file.group, file.mode) == (owner, group, mode)


def test_the_service_can_change_nothing_but_its_state(root: Host) -> None:
    """A service that can rewrite its program or its configuration keeps an intruder for good."""
    found = root.check_output(
        "find / -xdev -user mcp_gateway -not -path '/proc/*' -not -path '/var/lib/talaria/mcp_gateway*'"
    )
    assert found == ""
    writable = root.run("runuser -u mcp_gateway -- find /etc/talaria /opt/talaria /usr/local -writable -not -type l")
    assert writable.stdout == ""


def test_the_hashes_of_tokens_are_for_the_service_alone(root: Host) -> None:
    """Even a hash tells who is there, and can be compared."""
    files = root.check_output("find /etc/talaria/tokens.d -type f -printf '%u %g %m\\n'").splitlines()
    assert files
    assert set(files) == {"root mcp_gateway 640"}


@pytest.mark.parametrize("path", [f"{CREDENTIALS}/vault.key", "/etc/talaria/tokens.d", "/var/lib/talaria/mcp_gateway"])
def test_an_ordinary_account_reads_no_secret(root: Host, path: str) -> None:
    """A shell as anybody, for instance through a broken web site, must not open the vault."""
    assert root.run(f"runuser -u nobody -- ls {path}/").rc != 0
    assert root.run(f"runuser -u nobody -- cat {path}").rc != 0
