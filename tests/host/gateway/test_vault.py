"""What the account of the vault can do over SSH: one thing."""

import shlex
from typing import Any

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://vault_hosts"]
KEY = "/etc/talaria/credentials/mcp_gateway/vault.key"
UNKNOWN = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
QUIET = f"-o BatchMode=yes {UNKNOWN} -o LogLevel=ERROR -o ConnectTimeout=10"
# testinfra takes ssh's own 255 for a failure of its connection to the host.
REFUSED = 9


@pytest.fixture(scope="module")
def port(root: Host) -> str:
    return str(root.check_output("/usr/sbin/sshd -T | sed -n 's/^port //p' | head -n 1"))


def as_gateway(root: Host, port: str, options: str, words: str = "") -> Any:
    """ssh with the gateway's own key, on the host that keeps it."""
    return root.run(
        f"timeout 20 ssh {QUIET} -i {KEY} -p {port} {options} vault@127.0.0.1 {words} </dev/null || exit {REFUSED}"
    )


@pytest.mark.parametrize(
    "words", ["id", "sh", "cat /etc/passwd", "git-upload-pack x", "talaria-vault; id", "talaria-vault\nid"]
)
def test_the_key_runs_no_command(root: Host, port: str, words: str) -> None:
    """The key lies on the host of the agent's gateway: it must open notes, not a shell."""
    ran = as_gateway(root, port, "", shlex.quote(words))
    assert ran.rc != 0
    assert "uid=" not in ran.stdout
    assert "root:" not in ran.stdout


def test_the_key_opens_the_request_channel(root: Host, port: str) -> None:
    """The refusals above mean something only if the same key works for what it is for."""
    assert as_gateway(root, port, "", "talaria-vault").rc == 0


def test_the_key_gets_no_terminal(root: Host, port: str) -> None:
    """A terminal would let an intruder talk to whatever asks questions."""
    ran = as_gateway(root, port, "-tt -o LogLevel=INFO", "talaria-vault")
    assert "PTY allocation request failed" in ran.stderr + ran.stdout


def test_the_key_copies_no_files(root: Host, port: str) -> None:
    """scp and sftp would read and write every file of the account, past all rules."""
    sftp = f"timeout 20 sftp {QUIET} -i {KEY} -P {port} -b - vault@127.0.0.1"
    assert root.run(f"echo 'get /etc/passwd /tmp/stolen' | {sftp} || exit {REFUSED}").rc == REFUSED
    assert not root.file("/tmp/stolen").exists


@pytest.mark.parametrize("forward", ["-L 18222:127.0.0.1:22", "-L 18222:127.0.0.1:8710", "-R 18222:127.0.0.1:22"])
def test_the_key_forwards_no_port(root: Host, port: str, forward: str) -> None:
    """A forwarded port would reach every loopback service, past every gate."""
    talk = r"exec 3<>/dev/tcp/127.0.0.1/18222 && printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3 && head -c 4 <&3"
    script = f"""
        timeout 20 ssh {QUIET} -o ExitOnForwardFailure=yes -i {KEY} -p {port} -N {forward} vault@127.0.0.1 </dev/null &
        sleep 3
        timeout 3 bash -c {shlex.quote(talk)}
        kill %1
        exit 0
    """
    assert root.check_output(f"bash -c {shlex.quote(script)}") == ""


def test_no_password_opens_the_account(root: Host, port: str) -> None:
    """A password can be guessed; a key cannot."""
    assert root.check_output("getent shadow vault").split(":")[1] in {"*", "!", "!*"}
    methods = "-o PreferredAuthentications=password,keyboard-interactive -o PubkeyAuthentication=no"
    refused = root.run(f"timeout 20 ssh {QUIET} {methods} -p {port} vault@127.0.0.1 </dev/null || exit {REFUSED}")
    assert refused.rc == REFUSED
    assert "(publickey)" in refused.stderr


def test_the_server_confines_the_account_whatever_the_key_says(root: Host) -> None:
    """The restriction must hold for every key of the account, also for one that somebody adds by hand."""
    settings = root.check_output("/usr/sbin/sshd -T -C user=vault,host=x,addr=203.0.113.9").splitlines()
    command = "/usr/bin/python3 -I /usr/local/lib/talaria/vault_shell.py --config /etc/talaria/vault_shell.json"
    assert {
        f"forcecommand {command}",
        "authorizedkeysfile /etc/ssh/talaria/vault.keys",
        "authenticationmethods publickey",
        "passwordauthentication no",
        "kbdinteractiveauthentication no",
        "disableforwarding yes",
        "permittty no",
        "permituserrc no",
    } <= set(settings)
    others = root.check_output("/usr/sbin/sshd -T -C user=root,host=x,addr=203.0.113.9")
    assert "vault_shell" not in others


def test_every_key_of_the_account_is_restricted(root: Host) -> None:
    """Two locks: the server's settings, and the key's own line."""
    lines = [
        line
        for line in root.file("/etc/ssh/talaria/vault.keys").content_string.splitlines()
        if not line.startswith("#")
    ]
    assert lines
    assert all(
        line.startswith('restrict,command="/usr/bin/python3 -I /usr/local/lib/talaria/vault_shell.py') for line in lines
    )


@pytest.mark.parametrize(
    ("path", "owner", "group", "mode"),
    [
        ("/etc/ssh/talaria", "root", "root", 0o755),
        ("/etc/ssh/talaria/vault.keys", "root", "vault", 0o640),
        ("/etc/ssh/sshd_config.d/60-talaria-vault.conf", "root", "root", 0o644),
        ("/usr/local/lib/talaria/vault_shell.py", "root", "root", 0o755),
        ("/etc/talaria/vault_shell.json", "root", "vault", 0o640),
        ("/etc/talaria/vault_repository", "root", "vault", 0o750),
        ("/var/lib/vault", "root", "vault", 0o750),
        ("/var/lib/talaria/vault_repository", "vault", "vault", 0o700),
    ],
)
def test_files_belong_to_whom_they_should(root: Host, path: str, owner: str, group: str, mode: int) -> None:
    """What decides over the account must not be the account's to change."""
    file = root.file(path)
    assert (file.user, file.group, file.mode) == (owner, group, mode)


def test_the_account_can_write_its_repository_and_nothing_else_of_ours(root: Host, variables: dict[str, Any]) -> None:
    """A note that breaks out of the forced command must find nothing to plant itself in."""
    repository = variables.get("talaria_vault_path", "/srv/vault/vps-vault")
    places = "/etc /opt /srv /usr/local /var/lib/talaria /var/lib/vault"
    writable = root.run(
        f"runuser -u vault -- find {places} -writable -not -type l -not -path '{repository}*'"
    ).stdout.splitlines()
    assert [path for path in writable if not path.startswith("/var/lib/talaria/vault_repository")] == []
    assert root.file(str(repository)).user == "vault"


@pytest.mark.parametrize(
    "path",
    [
        KEY,
        "/etc/talaria/credentials",
        "/etc/talaria/tokens.d",
        "/etc/talaria/mcp_gateway.yml",
        "/var/lib/talaria/mcp_gateway",
        "/run/credentials/mcp_gateway.service",
    ],
)
def test_the_account_reads_nothing_of_the_gateway(root: Host, path: str) -> None:
    """The vault's side must not learn the tokens, or a note could make it an agent."""
    assert root.file(path).exists
    assert root.run(f"runuser -u vault -- ls {path}/").rc != 0
    assert root.run(f"runuser -u vault -- cat {path}").rc != 0


@pytest.mark.parametrize(
    "path", ["/srv/vault/vps-vault", "/etc/talaria/vault_repository", "/var/lib/talaria/vault_repository"]
)
def test_the_gateway_reads_the_vault_only_through_its_rules(root: Host, path: str) -> None:
    """On the disk there are no unreadable folders, no audit and no limits."""
    assert root.file(path).exists
    assert root.run(f"runuser -u mcp_gateway -- ls {path}/").rc != 0


def test_the_repository_is_whole(root: Host, variables: dict[str, Any]) -> None:
    """After all that the tests did to it."""
    repository = variables.get("talaria_vault_path", "/srv/vault/vps-vault")
    git = f"runuser -u vault -- env HOME=/nonexistent git -C {repository}"
    assert root.run(f"{git} fsck --no-dangling --no-progress").rc == 0
    assert root.check_output(f"{git} status --porcelain") == ""
