"""Reading a form that a browser posted."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

# A passphrase and a reason, each percent-encoded, with room.
MAX_BYTES = 32 * 1024
MAX_FIELDS = 10


class BadForm(Exception):
    """This is no form of ours."""


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form. Raise BadForm."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadForm
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise BadForm
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as fault:
        raise BadForm from fault
    if len({name for name, _ in fields}) != len(fields):
        raise BadForm
    return dict(fields)
