"""Channels to a forced command: one request at a time, every wait bounded."""

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vault_helper import shell
from vault_helper.errors import AnswerLate, ChannelBroken, ShellRefused
from vault_helper.shell import Deadline

# An answer's body is a page of a note: 30,000 characters of four bytes.
MAX_ANSWER_BODY_BYTES = 1024 * 1024
# How long a new forced command may take to greet: a Python start on a busy host.
HELLO_SECONDS = 8.0

Answer = tuple[dict[str, Any], bytes]


class Wire(Protocol):
    """A stream of bytes in both directions whose waits end at a deadline."""

    def send(self, data: memoryview, deadline: Deadline) -> int:
        """Send some of `data`; returns how much. Raise TimeoutError or OSError."""

    def receive(self, size: int, deadline: Deadline) -> bytes:
        """Some bytes, none at the end of the stream. Raise TimeoutError or OSError."""

    def alive(self) -> bool:
        """Whether the other side is still there, as far as can be told without asking."""

    def last_words(self) -> str:
        """What the other side complained about before it went away."""

    def close(self) -> None:
        """End it and free everything it held; never raises."""


class Opener(Protocol):
    """Makes channels; owns whatever they share."""

    def open(self, deadline: Deadline) -> "Channel":
        """A greeted channel. Raise VaultUnreachable (or a leaf of it) or AnswerLate."""

    def close(self) -> None:
        """Let go of everything; channels opened before are dead afterwards."""


class Channel:
    """Requests and answers over one wire. Any failure spoils it: close it then."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.broken = False
        self._numbers = itertools.count(1)

    def usable(self) -> bool:
        """Whether another request may be tried on it."""
        return not self.broken and self.wire.alive()

    def close(self) -> None:
        """End the forced command behind it."""
        self.broken = True
        self.wire.close()

    def greet(self, deadline: Deadline) -> None:
        """Raise ShellRefused unless a forced command of our protocol is at the other end."""
        try:
            answer, _ = self.request({"op": "hello"}, b"", Deadline(min(HELLO_SECONDS, deadline.left())))
        except AnswerLate as error:
            raise AnswerLate(str(error), sent=False) from None
        except ChannelBroken as error:
            words = self.wire.last_words() or str(error)
            raise ShellRefused(f"the vault host's forced command did not start: {words}") from None
        if answer.get("ok") is not True:
            raise ShellRefused(f"the vault cannot be used: {answer.get('hint', 'no reason given')}")
        if answer.get("protocol") != shell.PROTOCOL:
            raise ShellRefused(
                f"the vault host's forced command speaks protocol {answer.get('protocol')}, the gateway "
                f"{shell.PROTOCOL}; deploy both from one release"
            )

    def request(self, header: Mapping[str, object], body: bytes, deadline: Deadline) -> Answer:
        """The answer to one request. Raise ChannelBroken or AnswerLate; the channel is spoilt then."""
        number = next(self._numbers)
        sent = False
        try:
            self._send({**header, "id": number, "seconds": round(deadline.left(), 3)}, body, deadline)
            sent = True
            answer, content = self._receive(deadline)
        except TimeoutError:
            self.close()
            raise AnswerLate("the vault host did not answer in time", sent) from None
        except (OSError, EOFError, shell.BrokenFrame) as error:
            self.broken = True
            raise ChannelBroken(f"the connection to the vault host broke ({type(error).__name__})", sent) from None
        if answer.pop("id", None) != number:
            self.close()
            raise ChannelBroken("the vault host answered something else", sent=True)
        return answer, content

    def _send(self, header: Mapping[str, object], body: bytes, deadline: Deadline) -> None:
        rest = memoryview(shell.encoded_frame(header, body))
        while rest:
            rest = rest[self.wire.send(rest, deadline) :]

    def _receive(self, deadline: Deadline) -> Answer:
        def read_exactly(size: int) -> bytes:
            parts = bytearray()
            while len(parts) < size and (part := self.wire.receive(size - len(parts), deadline)):
                parts += part
            return bytes(parts)

        frame = shell.read_frame(read_exactly, shell.MAX_ANSWER_HEADER_BYTES, MAX_ANSWER_BODY_BYTES)
        if frame is None:
            raise EOFError
        return frame


@dataclass(frozen=True)
class LocalTarget:
    """A vault on this machine, opened as this user: for development and for tests."""

    settings: Mapping[str, object]


class LocalOpener:
    """Starts the forced command as a child process with the settings given."""

    def __init__(self, target: LocalTarget) -> None:
        self.target = target

    def open(self, deadline: Deadline) -> Channel:
        """A greeted channel to a new child process."""
        channel = Channel(ChildWire(self.target.settings))
        try:
            channel.greet(deadline)
        except BaseException:
            channel.close()
            raise
        return channel

    def close(self) -> None:
        """Nothing is shared between children."""


class ChildWire:
    """The pipes of a forced command that runs as our child."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        config = os.memfd_create("vault_settings")
        try:
            os.write(config, json.dumps(dict(settings)).encode())
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(Path(shell.__file__)), "--config", f"/proc/self/fd/{config}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(config,),
                env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.close(config)
        assert self._process.stdin
        assert self._process.stdout
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        os.set_blocking(self._input, False)

    def send(self, data: memoryview, deadline: Deadline) -> int:
        """Send what the pipe takes."""
        if not select.select([], [self._input], [], deadline.left())[1]:
            raise TimeoutError
        return os.write(self._input, data[:65536])

    def receive(self, size: int, deadline: Deadline) -> bytes:
        """Read what the pipe holds."""
        if not select.select([self._output], [], [], deadline.left())[0]:
            raise TimeoutError
        return os.read(self._output, size)

    def alive(self) -> bool:
        """Whether the child runs."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """The child's first line of complaint."""
        assert self._process.stderr
        if not select.select([self._process.stderr], [], [], 1.0)[0]:
            return ""
        return first_line(self._process.stderr.read(4096) or b"")

    def close(self) -> None:
        """Stop the child and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def first_line(raw: bytes) -> str:
    """The first line of somebody's complaint, printable and short."""
    lines = raw.decode("utf-8", "replace").strip().splitlines()
    return "".join(c for c in lines[0] if c.isprintable())[:300] if lines else ""
