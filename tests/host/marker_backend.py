"""A backend that takes whatever a proxy lets through, says so in every answer and keeps what it was asked.

Runs on the test host: `marker_backend.py PORT RECORD`. It is laxer than any real server: any method, any request
target and any `Upgrade` is granted, after which the client speaks plain HTTP to it through the tunnel.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MARKER = "talaria-test-backend"


class Backend(BaseHTTPRequestHandler):
    """Answers 200 with the marker in a header and in the body."""

    protocol_version = "HTTP/1.1"
    record = Path("/dev/null")

    def answer(self) -> None:
        asked = {"method": self.command, "target": self.path, "headers": self.headers.items()}
        with self.record.open("a", encoding="utf-8") as record:
            record.write(json.dumps(asked) + "\n")
        if self.headers.get("Upgrade"):
            self.send_response(101)
            self.send_header("Connection", "Upgrade")
            self.send_header("Upgrade", self.headers["Upgrade"])
            self.send_header("X-Backend", MARKER)
            self.end_headers()
            self.close_connection = False
            return
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = json.dumps({"marker": MARKER, **asked}).encode()
        self.send_response(200)
        self.send_header("X-Backend", MARKER)
        self.send_header("Server", "marker/1.0")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def __getattr__(self, name: str) -> object:
        """Give every method, known or made up, the same answer."""
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Stay silent: the record says it all."""


if __name__ == "__main__":
    Backend.record = Path(sys.argv[2])
    Backend.record.touch()
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Backend).serve_forever()
