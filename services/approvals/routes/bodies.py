"""JSON as it comes in: bounded, and read so that it means one thing only."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

MAX_BYTES = 1024 * 1024


class BadBody(Exception):
    """The body is refused; `status` and `hint` say why."""

    def __init__(self, status: int, hint: str) -> None:
        super().__init__(hint)
        self.status = status
        self.hint = hint


async def read_json(request: Request) -> dict[str, Any]:
    """The object that a body holds. Raise BadBody."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise BadBody(413, f"a request has at most {MAX_BYTES} bytes")
    try:
        value = json.loads(body, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as fault:
        raise BadBody(400, "the body must be one JSON object, each key once and no NaN") from fault
    if not isinstance(value, dict):
        raise BadBody(400, "the body must be a JSON object")
    return value


def refusal(status: int, error: str, hint: str = "", **more: object) -> JSONResponse:
    """An answer that says what to do."""
    return JSONResponse({"error": error, **({"hint": hint} if hint else {}), **more}, status)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")
