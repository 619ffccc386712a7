"""Frames, channels and the pool, without a network."""

import contextlib
import io
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_helper import pool, shell
from vault_helper.channels import Channel, LocalOpener, LocalTarget
from vault_helper.cli import main, remote_words
from vault_helper.client import Rules, VaultClient
from vault_helper.errors import AnswerLate, ChannelBroken, OutcomeUnknown, ShellRefused, VaultRefused, VaultUnreachable
from vault_helper.shell import Deadline

from .conftest import Place

RULES = Rules(("inbox/",), ("private/",))


def test_a_frame_comes_back_as_it_was_sent() -> None:
    raw = shell.encoded_frame({"op": "x", "text": "é"}, b"body\0")
    assert shell.read_frame(io.BytesIO(raw).read, 1024, 1024) == ({"op": "x", "text": "é"}, b"body\0")
    assert shell.read_frame(io.BytesIO(b"").read, 1024, 1024) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"TLV1",
        struct.pack(">4sII", b"TLV1", 2000, 0),
        struct.pack(">4sII", b"TLV1", 2, 2000) + b"{}",
        struct.pack(">4sII", b"TLV1", 2, 10) + b"{}short",
        struct.pack(">4sII", b"TLV1", 2, 0) + b"xx",
        struct.pack(">4sII", b"TLV1", 2, 0) + b"[]",
        struct.pack(">4sII", b"TLV1", 1, 0) + b"\xff",
    ],
)
def test_anything_but_a_frame_within_the_limits_ends_the_channel(raw: bytes) -> None:
    with pytest.raises(shell.BrokenFrame):
        shell.read_frame(io.BytesIO(raw).read, 1024, 1024)


def resident(place: Place) -> shell.Resident:
    """As the forced command makes it from its settings file."""
    file = place.root / "shell.json"
    file.write_text(json.dumps(place.settings))
    return shell.Resident(str(file))


def test_changed_settings_hold_from_the_next_request_on(place: Place) -> None:
    served = resident(place)
    header, body = place.order("inbox/a.md", "x")
    place.settings["writable_prefixes"] = []
    (place.root / "shell.json").write_text(json.dumps(place.settings))
    assert served.answer(header, body)[0]["code"] == "__BAD_PATH__"
    (place.root / "shell.json").write_text("{")
    with pytest.raises(shell.Misconfigured):
        served.answer(header, body)


def test_a_channel_ends_after_its_answer_when_a_new_release_was_installed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = resident(place)
    monkeypatch.setattr(served, "program", ())
    sink = io.BytesIO()
    shell.serve(served, io.BytesIO(shell.encoded_frame({"op": "hello"}) * 2), sink)
    assert sink.getvalue().count(shell.MAGIC) == 1


def test_a_silent_client_does_not_keep_a_process_forever(place: Place) -> None:
    file = place.root / "shell.json"
    file.write_text(json.dumps(place.settings))
    program = place.root / "shell.py"
    program.write_text(Path(shell.__file__).read_text().replace("IDLE_SECONDS = 900", "IDLE_SECONDS = 1"))
    command = [sys.executable, "-I", str(program), "--config", str(file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.wait(10) == -signal.SIGALRM
    process.communicate()


def test_many_requests_are_served_one_after_another_and_odd_ones_answered_in_words(place: Place) -> None:
    requests: list[dict[str, object]] = [
        {"op": "hello", "id": 1},
        {"op": "dance", "id": 2},
        {"id": 3},
        {"op": "read", "path": 7, "id": 4},
    ]
    requests += [
        {"op": "list", "prefix": "", "seconds": "soon", "id": 5},
        {"op": "read", "path": "a.md", "offset": "x"},
    ]
    source = io.BytesIO(b"".join(shell.encoded_frame(request) for request in requests))
    sink = io.BytesIO()
    shell.serve(resident(place), source, sink)
    sink.seek(0)
    answers = []
    while frame := shell.read_frame(sink.read, 10_000, 10_000):
        answers.append(frame[0])
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5, None]
    assert answers[0]["protocol"] == shell.PROTOCOL
    assert [answer.get("ok") for answer in answers] == [True, False, False, False, False, False]


@pytest.fixture
def client(place: Place) -> Iterator[VaultClient]:
    vault = VaultClient(LocalTarget(place.settings), RULES)
    yield vault
    vault.close()


def children_of_ours() -> list[int]:
    """The forced commands this process started."""
    found = []
    for pid in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (pid / "stat").read_text().rpartition(") ")[2].split(" ")[1]
            if parent == str(os.getpid()) and b"shell.py" in (pid / "cmdline").read_bytes():
                found.append(int(pid.name))
    return found


def test_one_child_serves_many_requests_and_a_dead_one_is_replaced(client: VaultClient) -> None:
    for _ in range(3):
        assert client.read("inbox/first.md", 0, 10).text == "first\n"
    (child,) = children_of_ours()
    os.kill(child, signal.SIGKILL)
    assert client.read("inbox/first.md", 0, 10).text == "first\n"
    assert child not in children_of_ours()
    client.close()
    assert children_of_ours() == []


def test_both_sides_check_the_rules(client: VaultClient) -> None:
    """The client refuses without asking; test_traversal shows that the forced command does as well."""
    client.close()
    who = {"client": "h", "receipt": "r-1", "audit": "", "seconds": 1.0}
    for path, code in (("private/x.md", "__NOT_FOUND__"), ("../x.md", "__BAD_PATH__")):
        with pytest.raises(VaultRefused) as refusal:
            client.read(path, 0, 1)
        assert refusal.value.code == code
    for path, content, code in (
        ("research/x.md", b"", "__BAD_PATH__"),
        ("inbox/x.md", b"x" * 150_001, "__TOO_LARGE__"),
        ("inbox/x.md", b"\0", "__BAD_ARGUMENT__"),
    ):
        with pytest.raises(VaultRefused) as refusal:
            client.write(path, content, None, **who)  # type: ignore[arg-type]
        assert refusal.value.code == code


def test_an_unusable_vault_is_named(tmp_path: Path) -> None:
    client = VaultClient(LocalTarget({"repository": str(tmp_path), "writable_prefixes": []}), RULES)
    with pytest.raises(ShellRefused, match="not an ordinary clone"):
        client.status(10)
    client.close()


class Puppet:
    """A wire that does what a test tells it."""

    def __init__(self, answers: bytes = b"", send_at_most: int | None = None, hang: bool = False) -> None:
        self.answers, self.send_at_most, self.hang = answers, send_at_most, hang
        self.closed = False

    def send(self, data: memoryview, deadline: Deadline) -> int:
        if self.send_at_most is not None:
            if not self.send_at_most:
                raise BrokenPipeError
            part = min(self.send_at_most, len(data))
            self.send_at_most -= part
            return part
        return len(data)

    def receive(self, size: int, deadline: Deadline) -> bytes:
        if self.hang:
            time.sleep(deadline.left())
            raise TimeoutError
        part, self.answers = self.answers[:size], self.answers[size:]
        return part

    def alive(self) -> bool:
        return not self.closed

    def last_words(self) -> str:
        return ""

    def close(self) -> None:
        self.closed = True


class Puppets:
    """Opens channels over prepared wires, in order."""

    def __init__(self, *wires: Puppet) -> None:
        self.wires = list(wires)
        self.opened = 0

    def open(self, deadline: Deadline) -> Channel:
        self.opened += 1
        if not self.wires:
            raise VaultUnreachable("no more")
        return Channel(self.wires.pop(0))

    def close(self) -> None:
        self.wires = []


def scripted(*wires: Puppet) -> tuple[VaultClient, Puppets]:
    """A client over puppets."""
    opener = Puppets(*wires)
    client = VaultClient(LocalTarget({}), RULES)
    client._pool = pool.ChannelPool(opener)
    return client, opener


def answer(**members: object) -> bytes:
    """The first answer of a channel."""
    return shell.encoded_frame({"ok": True, "id": 1, **members})


WHO: dict[str, object] = {"client": "h", "receipt": "r-1", "audit": "", "seconds": 1.0}
COMMIT = {"commit": "c1", "pushed": True}


def write(client: VaultClient) -> object:
    return client.write("inbox/a.md", b"x" * 1000, None, **WHO)  # type: ignore[arg-type]


def test_a_read_that_broke_is_asked_once_more_and_not_thrice() -> None:
    client, opener = scripted(Puppet(), Puppet(answer(paths=[], total=0)))
    assert client.list("", 1).total == 0
    client, opener = scripted(Puppet(), Puppet(), Puppet(answer(paths=[], total=0)))
    with pytest.raises(ChannelBroken):
        client.list("", 1)
    assert opener.opened == 2


def test_a_write_that_was_cut_off_while_it_was_sent_is_sent_again() -> None:
    client, _ = scripted(Puppet(send_at_most=500), Puppet(answer(**COMMIT)))
    assert write(client).commit == "c1"  # type: ignore[attr-defined]


def test_a_write_cut_off_twice_changed_nothing_and_says_so() -> None:
    client, _ = scripted(Puppet(send_at_most=500), Puppet(send_at_most=500))
    with pytest.raises(VaultUnreachable, match="nothing was changed"):
        write(client)


def test_a_write_that_certainly_never_begins_is_sent_once_more() -> None:
    client, _ = scripted(Puppet(), Puppet(answer(found=False)), Puppet(answer(**COMMIT)))
    assert write(client).commit == "c1"  # type: ignore[attr-defined]
    client, _ = scripted(Puppet(), Puppet(answer(found=False)), Puppet(), Puppet(answer(found=False)))
    with pytest.raises(VaultUnreachable, match="nothing was changed"):
        write(client)


def test_a_write_whose_answer_was_lost_is_never_sent_blindly_again() -> None:
    settled = answer(found=True, conflict_path="", **COMMIT)
    client, opener = scripted(Puppet(), Puppet(settled))
    assert write(client).commit == "c1"  # type: ignore[attr-defined]
    assert opener.opened == 2
    client, _ = scripted(Puppet(), Puppet(answer(found=True, conflict_path="inbox/b.md", **COMMIT)))
    with pytest.raises(VaultRefused) as refusal:
        write(client)
    assert refusal.value.facts["conflict_path"] == "inbox/b.md"
    client, _ = scripted(Puppet())
    with pytest.raises(OutcomeUnknown):
        write(client)


def test_a_hanging_channel_ends_at_the_deadline_and_is_thrown_away() -> None:
    hanging = Puppet(hang=True)
    client, _ = scripted(hanging)
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        write(client)
    assert time.monotonic() - started < 1.5
    assert hanging.closed
    client, _ = scripted(Puppet(hang=True))
    with pytest.raises(AnswerLate):
        client.list("", 0.2)


def test_an_answer_to_another_request_spoils_the_channel() -> None:
    wire = Puppet(shell.encoded_frame({"ok": True, "id": 9}))
    with pytest.raises(ChannelBroken):
        Channel(wire).request({"op": "x"}, b"", Deadline(1))
    assert wire.closed


@pytest.mark.parametrize("raw", [b"Welcome to Debian\n" * 9, answer()[:-3], struct.pack(">4sII", b"TLV1", 2**31, 0)])
def test_noise_on_the_channel_is_a_broken_channel(raw: bytes) -> None:
    with pytest.raises(ChannelBroken):
        Channel(Puppet(raw)).request({"op": "x"}, b"", Deadline(1))


def test_the_pool_lends_no_more_than_it_may() -> None:
    wires = [Puppet() for _ in range(3)]
    channels = pool.ChannelPool(Puppets(*wires), size=2)
    first, second = channels.channel(Deadline(1)), channels.channel(Deadline(1))
    with first, second, pytest.raises(AnswerLate), channels.channel(Deadline(0.05)):
        pass
    with channels.channel(Deadline(1)):
        pass
    channels.close()
    assert [wire.closed for wire in wires] == [True, True, False]


def test_idle_channels_are_closed_and_failed_ones_not_lent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = [Puppet() for _ in range(4)]
    channels = pool.ChannelPool(Puppets(*wires))
    with channels.channel(Deadline(1)), channels.channel(Deadline(1)), channels.channel(Deadline(1)):
        pass
    monkeypatch.setattr(pool, "IDLE_SECONDS", -1.0)
    with channels.channel(Deadline(1)):
        pass
    assert sum(wire.closed for wire in wires) == 2
    with pytest.raises(RuntimeError), channels.channel(Deadline(1)):
        raise RuntimeError
    assert sum(wire.closed for wire in wires) == 3


def test_callers_waiting_for_a_channel_get_it_as_soon_as_it_is_free() -> None:
    channels = pool.ChannelPool(Puppets(Puppet()), size=1)
    got = threading.Event()

    def wait() -> None:
        with channels.channel(Deadline(5)):
            got.set()

    with channels.channel(Deadline(1)):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not got.wait(0.05)
    assert got.wait(2)
    thread.join()


def configuration(place: Place, **section: object) -> Path:
    """A gateway configuration with this vault."""
    file = place.root / "mcp_gateway.yml"
    vault = {"transport": "local", "repository": str(place.path), "writable_prefixes": ["inbox/"], **section}
    file.write_text(json.dumps({"vault": vault}))
    return file


def test_check_says_what_it_saw(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", str(configuration(place))]) == 0
    seen = capsys.readouterr().out
    assert "vault: 5 readable files" in seen
    assert "writing: possible" in seen
    assert "remote: in step" in seen
    place.git("checkout", "-q", "--detach")
    assert main(["check", "--config", str(configuration(place))]) == 1
    assert "no branch" in capsys.readouterr().out


def test_check_names_what_is_wrong(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", str(configuration(place, repository="/nonexistent"))]) == 1
    assert "is not a folder" in capsys.readouterr().err
    assert main(["check", "--config", str(configuration(place, transport="ssh", host="h"))]) == 2
    assert "identity_file: missing" in capsys.readouterr().err
    (place.root / "empty.yml").write_text("{}")
    assert main(["check", "--config", str(place.root / "empty.yml")]) == 2
    assert "no section" in capsys.readouterr().err


def test_push_and_shell_are_the_forced_command(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    file = place.root / "shell.json"
    file.write_text(json.dumps(place.settings))
    assert main(["push", "--config", str(file)]) == 0
    assert capsys.readouterr().out == "vault: in step with the remote\n"
    command = [sys.executable, "-m", "vault_helper.cli", "shell", "--config", str(file)]
    paths = [str(Path(shell.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        command, input=shell.encoded_frame({"op": "hello", "id": 1}), env=env, capture_output=True, check=True
    )
    assert b'"protocol":1' in done.stdout


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ((False, 0, 0.0, ""), "none"),
        ((True, 0, 0.0, ""), "in step"),
        ((True, 2, 61.0, "away"), "2 commits not pushed, the oldest for 61 s: away"),
    ],
)
def test_the_remote_in_one_line(state: tuple[bool, int, float, str], words: str) -> None:
    assert remote_words(*state) == words


def test_a_child_that_does_not_greet_in_time_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time; time.sleep(60)\n")
    monkeypatch.setattr("vault_helper.channels.shell.__file__", str(sleeper))
    monkeypatch.setattr("vault_helper.channels.HELLO_SECONDS", 0.3)
    with pytest.raises(AnswerLate):
        LocalOpener(LocalTarget({})).open(Deadline(5))
