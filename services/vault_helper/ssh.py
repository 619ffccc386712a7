"""One SSH connection to the vault host, kept open by Fabric; the forced command runs on channels of it."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko
from fabric import Config, Connection

from vault_helper import shell
from vault_helper.channels import Channel, first_line
from vault_helper.errors import AnswerLate, HostKeyRefused, LoginRefused, VaultUnreachable
from vault_helper.shell import Deadline

CONNECT_SECONDS = 5.0
# A silent connection is asked for a sign of life this often, so that firewalls keep it and its death is noticed.
KEEPALIVE_SECONDS = 30
# Data the host's kernel has not confirmed for this long means that the connection is dead.
UNCONFIRMED_MILLISECONDS = 15_000
# What a person must mend is not tried again with every call; what mends itself is, but not by eight calls at once.
REFUSED_FOR_SECONDS = 30.0
AWAY_FOR_SECONDS = 1.0
# Larger pieces gain nothing: an SSH packet holds 32 KiB.
PIECE_BYTES = 32 * 1024

# Paramiko reports every failed connection with a traceback of its own; ours are told in words.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class SshTarget:
    """Where the vault host is, who we are there, and which host key is the right one."""

    host: str
    port: int
    user: str
    identity_file: Path
    known_hosts_file: Path


class KnownOnly(paramiko.RejectPolicy):  # type: ignore[misc]  # Paramiko has no types
    """Refuses a host whose key is not in our file, in our words."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Always raises HostKeyRefused."""
        raise HostKeyRefused(f"the known-hosts file has no key of {hostname}; add the vault host's key to it")


class SshOpener:
    """Keeps the connection, replaces a dead one, and opens channels on it. Used from many threads."""

    def __init__(self, target: SshTarget) -> None:
        self.target = target
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._refusal: tuple[float, VaultUnreachable] | None = None

    def open(self, deadline: Deadline) -> Channel:
        """A greeted channel on the shared connection, which is made first if need be."""
        was_open = self._connection
        try:
            session = self._session(deadline)
        except VaultUnreachable:
            # A connection that died unnoticed says so only now; a new one deserves a try.
            if was_open is None or not deadline.left():
                raise
            session = self._session(deadline)
        channel = Channel(SshWire(session))
        try:
            channel.greet(deadline)
        except BaseException:
            channel.close()
            raise
        return channel

    def _session(self, deadline: Deadline) -> paramiko.Channel:
        connection = self._connected(deadline)
        with self._ended_at(connection, deadline):
            try:
                session = connection.transport.open_session(timeout=max(0.1, deadline.left()))
                session.exec_command(shell.COMMAND_WORD)
            except (paramiko.SSHException, EOFError, OSError) as error:
                self._drop(connection)
                if not deadline.left():
                    raise AnswerLate("the vault host did not answer in time") from None
                raise VaultUnreachable(f"the vault host opens no channel ({type(error).__name__})") from None
        return session

    def close(self) -> None:
        """End the connection and with it every channel."""
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def _connected(self, deadline: Deadline) -> Connection:
        if not self._lock.acquire(timeout=deadline.left()):
            raise AnswerLate("the vault host could not be reached in time")
        try:
            if self._connection and self._connection.is_connected:
                return self._connection
            if self._refusal and time.monotonic() < self._refusal[0]:
                raise type(self._refusal[1])(str(self._refusal[1]))
            try:
                self._connection = self._connect(min(CONNECT_SECONDS, max(0.1, deadline.left())))
            except VaultUnreachable as error:
                lasting = isinstance(error, HostKeyRefused | LoginRefused)
                pause = REFUSED_FOR_SECONDS if lasting else AWAY_FOR_SECONDS
                self._refusal = (time.monotonic() + pause, error)
                raise
            self._refusal = None
            return self._connection
        finally:
            self._lock.release()

    def _connect(self, seconds: float) -> Connection:
        target = self.target
        connection = Connection(
            target.host,
            user=target.user,
            port=target.port,
            # Neither Fabric's nor ssh's configuration files have a say.
            config=Config(lazy=True, ssh_config=paramiko.SSHConfig(), overrides={"load_ssh_configs": False}),
            connect_timeout=seconds,
            connect_kwargs={
                "key_filename": str(target.identity_file),
                "look_for_keys": False,
                "allow_agent": False,
                "auth_timeout": seconds,
                "banner_timeout": seconds,
            },
        )
        connection.client.set_missing_host_key_policy(KnownOnly())
        try:
            connection.client.load_host_keys(str(target.known_hosts_file))
            connection.open()
        except BaseException as error:
            connection.client.close()
            raise self._in_words(error) from None
        connection.transport.set_keepalive(KEEPALIVE_SECONDS)
        connection.transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNCONFIRMED_MILLISECONDS)
        return connection

    def _in_words(self, error: BaseException) -> BaseException:
        """What a failed connection means and who can mend it; what is no such failure stays as it is."""
        where = f"{self.target.host}:{self.target.port}"
        if isinstance(error, VaultUnreachable) or not isinstance(error, Exception):
            return error
        if isinstance(error, paramiko.BadHostKeyException):
            return HostKeyRefused(
                f"{where} shows another host key than the one in the known-hosts file; nothing is sent until an "
                "operator has looked and put the right key there"
            )
        if isinstance(error, paramiko.AuthenticationException):
            return LoginRefused(f"{where} does not accept the gateway's key for user {self.target.user}")
        if isinstance(error, FileNotFoundError | PermissionError):
            return LoginRefused(f"{error.filename} cannot be read: {error.strerror}")
        return VaultUnreachable(f"{where} does not answer ({type(error).__name__})")

    def _drop(self, connection: Connection) -> None:
        """Have the next call make a new connection."""
        with self._lock:
            if self._connection is connection:
                self._connection = None
        connection.close()

    @contextlib.contextmanager
    def _ended_at(self, connection: Connection, deadline: Deadline) -> Iterator[None]:
        """Close the connection at the deadline: Paramiko waits for a command's start without any limit."""
        watch = threading.Timer(deadline.left(), connection.close)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()


class SshWire:
    """The streams of a forced command that runs on a channel of the connection."""

    def __init__(self, session: paramiko.Channel) -> None:
        self._session = session

    def send(self, data: memoryview, deadline: Deadline) -> int:
        """Send what the channel's window takes."""
        self._session.settimeout(max(0.001, deadline.left()))
        return int(self._session.send(bytes(data[:PIECE_BYTES])))

    def receive(self, size: int, deadline: Deadline) -> bytes:
        """Read what has arrived."""
        self._session.settimeout(max(0.001, deadline.left()))
        return bytes(self._session.recv(size))

    def alive(self) -> bool:
        """Whether channel and connection are open."""
        transport = self._session.get_transport()
        return not self._session.closed and not self._session.eof_received and bool(transport.is_active())

    def last_words(self) -> str:
        """The forced command's first line of complaint."""
        with contextlib.suppress(OSError):
            self._session.settimeout(1.0)
            return first_line(self._session.recv_stderr(4096))
        return ""

    def close(self) -> None:
        """Close the channel; sshd ends the forced command by the end of its input."""
        with contextlib.suppress(Exception):
            self._session.close()
