"""A log line is one line, and holds no secret."""

import logging

from mcp_gateway.answers import REDACTED
from mcp_gateway.logs import OneLine


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("mcp_gateway.x", logging.ERROR, "x.py", 1, message, None, None)


def test_what_spans_lines_is_joined() -> None:
    assert OneLine(tuple).format(record("a\nb\r\n\nc\u2028d")) == "ERROR mcp_gateway.x: a ⏎ b ⏎ c ⏎ d"


def test_a_secret_is_removed() -> None:
    assert (
        OneLine(lambda: ("s3cret-value",)).format(record("key s3cret-value")) == f"ERROR mcp_gateway.x: key {REDACTED}"
    )
