"""The Fabric client against a real sshd and the real forced command."""

import concurrent.futures
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_helper import shell, ssh
from vault_helper.client import Rules, VaultClient
from vault_helper.errors import (
    AnswerLate,
    HostKeyRefused,
    LoginRefused,
    OutcomeUnknown,
    ShellRefused,
    VaultRefused,
    VaultUnreachable,
)
from vault_helper.ssh import SshTarget

from .conftest import Place, digest
from .sshd import Sshd, make_key, running

RULES = Rules(("inbox/", "research/"), ("private/",))
WHO = {"client": "hermes", "audit": "1:abcd"}


@pytest.fixture
def sshd(place: Place, tmp_path: Path) -> Iterator[Sshd]:
    with running(tmp_path / "sshd", place.settings) as server:
        yield server


@pytest.fixture
def client(sshd: Sshd) -> Iterator[VaultClient]:
    vault = VaultClient(sshd.target(), RULES)
    yield vault
    vault.close()


def test_every_operation_crosses_the_connection(place: Place, client: VaultClient) -> None:
    assert client.search("énergie", 10).matches[0].path == "research/solar.md"
    assert client.list("inbox/", 10).paths == ("inbox/first.md",)
    assert client.read("inbox/first.md", 0, 10).text == "first\n"
    written = client.write("inbox/first.md", b"second\n", digest("first\n"), receipt="r-1", seconds=20, **WHO)
    assert written.pushed is True
    assert client.status(10).unpushed == 0
    assert place.text("inbox/first.md") == "second\n"
    with pytest.raises(VaultRefused) as refusal:
        client.write("inbox/first.md", b"third\n", None, receipt="r-2", seconds=20, **WHO)
    assert refusal.value.code == "__EXISTS__"


def test_the_largest_note_of_four_byte_characters_goes_through(place: Place, client: VaultClient) -> None:
    content = ("😀" * 37_500).encode()
    assert len(content) == 150_000
    written = client.write("inbox/large.md", content, None, receipt="r-1", seconds=30, **WHO)
    assert (place.path / "inbox/large.md").read_bytes() == content
    pages = [client.read("inbox/large.md", offset, 10) for offset in (0, 30_000)]
    assert [page.next_offset for page in pages] == [30_000, None]
    assert "".join(page.text for page in pages).encode() == content
    assert {page.sha256 for page in pages} == {written.sha256}


def test_eight_callers_share_one_connection(sshd: Sshd, client: VaultClient) -> None:
    start = threading.Barrier(8)

    def read(_: int) -> str:
        start.wait()
        return client.read("inbox/first.md", 0, 20).text

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(8))) == ["first\n"] * 8
        assert len(sshd.sessions()) == 1


def test_a_dead_connection_is_replaced_and_a_read_asked_again(sshd: Sshd, client: VaultClient) -> None:
    assert client.read("inbox/first.md", 0, 10).text == "first\n"
    sshd.cut()
    assert client.read("inbox/first.md", 0, 10).text == "first\n"
    sshd.stop()
    with pytest.raises(VaultUnreachable):
        client.read("inbox/first.md", 0, 5)
    sshd.start()
    time.sleep(ssh.AWAY_FOR_SECONDS)
    assert client.read("inbox/first.md", 0, 10).text == "first\n"


def test_a_write_after_the_connection_died_is_done_once(place: Place, sshd: Sshd, client: VaultClient) -> None:
    assert client.status(10).fault == ""
    sshd.cut()
    assert client.write("inbox/a.md", b"x", None, receipt="r-1", seconds=20, **WHO).pushed is True
    assert place.subjects() == ["Add inbox/a.md", "Begin"]


def test_a_changed_host_key_is_refused_and_not_asked_again_at_once(sshd: Sshd, client: VaultClient) -> None:
    sshd.know(make_key(sshd.root / "other"))
    with pytest.raises(HostKeyRefused, match="another host key"):
        client.read("inbox/first.md", 0, 10)
    sshd.know(sshd.host_public)
    with pytest.raises(HostKeyRefused):
        client.read("inbox/first.md", 0, 10)


def test_a_host_without_a_known_key_is_refused(sshd: Sshd, client: VaultClient) -> None:
    sshd.know(sshd.host_public, host="elsewhere")
    with pytest.raises(HostKeyRefused, match="no key"):
        client.read("inbox/first.md", 0, 10)


def test_another_key_does_not_get_in(sshd: Sshd) -> None:
    make_key(sshd.root / "stranger")
    target = sshd.target()
    stranger = VaultClient(
        SshTarget(target.host, target.port, target.user, sshd.root / "stranger", target.known_hosts_file), RULES
    )
    try:
        with pytest.raises(LoginRefused, match="does not accept"):
            stranger.read("inbox/first.md", 0, 10)
    finally:
        stranger.close()


def test_no_agent_no_other_key_and_no_configuration_file_is_used(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_bytes((sshd.root / "client").read_bytes())
    (home / ".ssh/config").write_text("Host *\n  IdentityFile ~/.ssh/id_ed25519\n  StrictHostKeyChecking no\n")
    (home / ".fabric.yaml").write_text("connect_kwargs: {look_for_keys: true}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    make_key(sshd.root / "stranger")
    target = sshd.target()
    stranger = VaultClient(
        SshTarget(target.host, target.port, target.user, sshd.root / "stranger", target.known_hosts_file), RULES
    )
    try:
        with pytest.raises(LoginRefused):
            stranger.read("inbox/first.md", 0, 10)
    finally:
        stranger.close()


def test_a_forced_command_that_does_not_start_is_named(sshd: Sshd, client: VaultClient) -> None:
    sshd.force(f"/usr/bin/python3 -I {shell.__file__} --config /nonexistent.json")
    with pytest.raises(ShellRefused, match="cannot be read"):
        client.read("inbox/first.md", 0, 10)


def test_a_forced_command_of_another_release_is_named(sshd: Sshd, client: VaultClient) -> None:
    old = sshd.root / "old.py"
    text = Path(str(shell.__file__)).read_text().replace("\nPROTOCOL = 1\n", "\nPROTOCOL = 0\n")
    old.write_text(text)
    sshd.force(f"/usr/bin/python3 -I {old} --config {sshd.root}/shell.json")
    with pytest.raises(ShellRefused, match="protocol 0, the gateway 1"):
        client.read("inbox/first.md", 0, 10)


def test_a_forced_command_that_hangs_costs_the_deadline_and_no_more(sshd: Sshd, client: VaultClient) -> None:
    sshd.force("sleep 60")
    started = time.monotonic()
    with pytest.raises((AnswerLate, ShellRefused)):
        client.read("inbox/first.md", 0, 2)
    assert time.monotonic() - started < 4


def test_a_server_that_never_greets_costs_the_deadline_and_no_more(sshd: Sshd) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(4)
        target = sshd.target()
        client = VaultClient(
            SshTarget(target.host, silent.getsockname()[1], target.user, target.identity_file, target.known_hosts_file),
            RULES,
        )
        started = time.monotonic()
        with pytest.raises((VaultUnreachable, AnswerLate)):
            client.read("inbox/first.md", 0, 1.5)
        assert time.monotonic() - started < 3
        client.close()


def test_an_answer_lost_after_the_write_is_settled_by_its_receipt(
    place: Place, sshd: Sshd, client: VaultClient
) -> None:
    """A gate in front of the forced command swallows the answer to the first write."""
    gate = sshd.root / "gate.py"
    gate.write_text(
        "import subprocess, sys, os, threading\n"
        f"command = [sys.executable, '-I', {shell.__file__!r}, '--config', '{sshd.root}/shell.json']\n"
        "child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)\n"
        "def up():\n"
        "    while data := os.read(0, 65536): child.stdin.write(data)\n"
        "    child.stdin.close()\n"
        "threading.Thread(target=up, daemon=True).start()\n"
        f"mark = '{sshd.root}/swallowed'\n"
        "while data := os.read(child.stdout.fileno(), 65536):\n"
        "    if b'commit' in data and b'protocol' not in data and not os.path.exists(mark):\n"
        "        open(mark, 'w').close(); os._exit(1)\n"
        "    os.write(1, data)\n"
    )
    sshd.force(f"/usr/bin/python3 -I {gate}")
    written = client.write("inbox/a.md", b"x", None, receipt="r-lost", seconds=20, **WHO)
    assert (sshd.root / "swallowed").exists()
    assert written.commit == place.git("rev-parse", "HEAD").strip()
    assert place.subjects() == ["Add inbox/a.md", "Begin"]


def test_a_connection_lost_for_good_in_the_middle_of_a_write_is_an_unknown_outcome(
    place: Place, sshd: Sshd, client: VaultClient
) -> None:
    assert client.status(10).fault == ""
    with place.vault.repository.flock("lock", shell.Deadline(5)):  # the write waits for the lock

        def disaster() -> None:
            time.sleep(0.5)
            sshd.stop()

        thread = threading.Thread(target=disaster)
        thread.start()
        with pytest.raises(OutcomeUnknown):
            client.write("inbox/a.md", b"x", None, receipt="r-1", seconds=5, **WHO)
        thread.join()


def test_the_key_runs_nothing_else(sshd: Sshd) -> None:
    target = sshd.target()
    base = ["ssh", "-F", "/dev/null", "-i", str(target.identity_file), "-o", "BatchMode=yes"]
    base += ["-o", f"UserKnownHostsFile={target.known_hosts_file}", "-p", str(target.port), f"{target.user}@127.0.0.1"]
    for command in (["id"], ["git-upload-pack", "vault"], ["talaria-vault; id"], ["scp -t /tmp"]):
        done = subprocess.run([*base, *command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 1
        assert "runs no commands" in done.stderr
        assert done.stdout == ""
    sftp = subprocess.run([*base[:-1], "-s", base[-1], "sftp"], capture_output=True, text=True, check=False, input="")
    assert sftp.returncode != 0
    typed = subprocess.run(base, capture_output=True, text=True, check=False, input="id\nls /etc\n")
    assert "speaks frames" in typed.stderr
    assert "uid=" not in typed.stdout
