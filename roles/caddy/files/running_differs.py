"""Say whether the running Caddy serves what its Caddyfile says: `same`, `different`, or `unreachable` when it does not tell.

Asks the process itself over its admin socket, so that it does not matter how earlier deployments ended.
"""

import http.client
import json
import socket
import subprocess
import sys


class AdminConnection(http.client.HTTPConnection):
    """HTTP over the admin socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def running(admin: str) -> object:
    """Return the configuration that the process serves, None when it cannot say."""
    connection = AdminConnection(admin)
    try:
        connection.putrequest("GET", "/config/", skip_host=True)
        connection.putheader("Host", "")  # the only one that Caddy allows on a socket
        connection.endheaders()
        answer = connection.getresponse()
        return json.load(answer) if answer.status == 200 else None
    except (OSError, ValueError):
        return None
    finally:
        connection.close()


def written(caddyfile: str) -> object:
    """Return the configuration in the file."""
    command = ["/usr/bin/caddy", "adapt", "--adapter", "caddyfile", "--config", caddyfile]
    # Caddy would leave a directory in the home of whoever calls it.
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env={"HOME": "/nonexistent"}).stdout)


def settled(value: object) -> object:
    """Return the value with its lists of words sorted: Caddy writes some of them (files to hide) in a random order."""
    if isinstance(value, dict):
        return {key: settled(member) for key, member in value.items()}
    if isinstance(value, list):
        members = [settled(member) for member in value]
        return sorted(members, key=str) if all(isinstance(member, str) for member in value) else members
    return value


if __name__ == "__main__":
    serves = running(sys.argv[1])
    if serves is None:
        print("unreachable")
    else:
        print("same" if settled(serves) == settled(written(sys.argv[2])) else "different")
