"""Words to systemd; nothing happens where there is no systemd."""

import os
import socket


def tell(word: str) -> None:
    """Send one message, such as `READY=1`, to the socket that systemd named."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    address = "\0" + name[1:] if name.startswith("@") else name
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.sendto(word.encode(), address)
        except OSError:
            return
