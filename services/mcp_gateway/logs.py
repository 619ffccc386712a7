"""Log lines on stderr: one line an event, and no secret in any of them."""

import logging
import sys
from collections.abc import Callable, Iterable

from mcp_gateway.answers import redact

# The SDK and the HTTP server tell of every session and request; the audit log does that better.
QUIET = {"mcp": logging.WARNING, "uvicorn": logging.WARNING, "httpx2": logging.WARNING, "paramiko": logging.WARNING}


class OneLine(logging.Formatter):
    """A record as one line: what spans several lines, such as a traceback, is joined with a visible mark."""

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        text = redact(super().format(record), self._secrets())
        return " ⏎ ".join(line for line in text.splitlines() if line.strip())


def set_up(secrets: Callable[[], Iterable[str]] = tuple) -> None:
    """Send everything of interest to stderr. To be called before the SDK is imported, which would set up its own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(secrets))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
