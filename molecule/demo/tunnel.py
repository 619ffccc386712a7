"""The operator's way to the gateway, which listens on the host's loopback only: a port forwarded by SSH."""

import socket
import subprocess

from demo import place
from demo.words import DemoError

# The gateway's own port, so that addresses look alike on both sides; any other if it is taken here.
GATEWAY_PORT = 8710
# Seen from the checkout: the path of a socket may have about 100 characters only.
CONTROL = ".demo/tunnel"


def open_tunnel() -> int:
    """The port of this machine's loopback that leads to the gateway; it stays open until `close_tunnel`.

    Raise DemoError when SSH cannot open it.
    """
    close_tunnel()
    port = _free_port()
    forward = f"127.0.0.1:{port}:127.0.0.1:{GATEWAY_PORT}"
    if not _ssh("-f", "-N", "-M", "-S", CONTROL, "-o", "ExitOnForwardFailure=yes", "-L", forward, place.HOST):
        raise DemoError(
            f"SSH opened no tunnel. Try by hand what it says: ssh -F .demo/ssh_config -L {forward} {place.HOST}"
        )
    return port


def close_tunnel() -> None:
    """End the tunnel, if there is one."""
    if (place.CHECKOUT / CONTROL).exists():
        _ssh("-S", CONTROL, "-O", "exit", place.HOST)


def _ssh(*arguments: str) -> bool:
    command = ["ssh", "-F", str(place.SSH_CONFIG), "-o", "BatchMode=yes", *arguments]
    quiet = subprocess.DEVNULL
    return (
        subprocess.run(command, cwd=place.CHECKOUT, stdin=quiet, stdout=quiet, stderr=quiet, check=False).returncode
        == 0
    )


def _free_port() -> int:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", GATEWAY_PORT))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
