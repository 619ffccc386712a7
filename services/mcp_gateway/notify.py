"""Words to systemd: ready, reloading, stopping, still alive. Nothing happens where there is no systemd."""

import os
import socket
import time

import anyio


def notify(*words: str) -> None:
    """Send one message to the socket that systemd named; a missing or dead one is no reason to stop."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    address = "\0" + name[1:] if name.startswith("@") else name
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.sendto("\n".join(words).encode(), address)
        except OSError:
            return


def ready() -> None:
    """The tools answer."""
    notify("READY=1")


def reloading() -> None:
    """A reload has begun; `ready` ends it."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")


def stopping() -> None:
    """The process is about to end."""
    notify("STOPPING=1")


async def keep_watchdog() -> None:
    """Tell systemd twice per interval that the event loop still turns; returns at once where nobody asks."""
    interval = os.environ.get("WATCHDOG_USEC", "")
    if not interval.isdigit() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while True:
        notify("WATCHDOG=1")
        await anyio.sleep(int(interval) / 2_000_000)
