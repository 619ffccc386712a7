"""What systemd hears, and that nobody misses it where it is not."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_gateway import notify


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listener


def test_ready_and_stopping_are_said_in_systemds_words(systemd: socket.socket) -> None:
    notify.ready()
    notify.stopping()
    assert [systemd.recv(100), systemd.recv(100)] == [b"READY=1", b"STOPPING=1"]


def test_a_reload_carries_the_monotonic_time(systemd: socket.socket) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify.reloading()
    word, _, stamp = systemd.recv(100).decode().partition("\n")
    assert word == "RELOADING=1"
    assert before <= int(stamp.removeprefix("MONOTONIC_USEC=")) < before + 5_000_000


def test_an_abstract_socket_is_reached_too(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"talaria-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name)
        listener.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name)
        notify.ready()
        assert listener.recv(100) == b"READY=1"


def test_without_systemd_or_with_a_dead_socket_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify.ready()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notify.ready()


@pytest.mark.anyio
async def test_the_watchdog_is_fed_twice_an_interval(systemd: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    with anyio.move_on_after(0.1):
        await notify.keep_watchdog()
    assert [systemd.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3


@pytest.mark.anyio
@pytest.mark.parametrize(("usec", "pid"), [("", ""), ("x", str(os.getpid())), ("20000", "1")])
async def test_nobody_asks_for_a_watchdog(usec: str, pid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    with anyio.fail_after(5):
        await notify.keep_watchdog()
