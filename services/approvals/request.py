"""One request: what somebody's agent wants to do, what a person said, and what became of it."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import rfc8785

# Nothing that may hold this many bytes needs to be guessed by anybody: 128 bits.
ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Request:
    """A request as every surface shows it; times are seconds since 1970, None until it happened."""

    id: str
    service: str
    client: str
    channel: str
    tool: str
    arguments: Mapping[str, Any]
    digest: str
    # {"title": str, "facts": [[label, value], …], "fingerprint": hex}
    preview: Mapping[str, Any]
    receipt: str
    state: str
    created: float
    expires: float
    decided: float | None = None
    decided_by: str | None = None
    reason: str | None = None
    dispatched: float | None = None
    ended: float | None = None
    answer: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of the service API."""
        return asdict(self)


def new_id() -> str:
    """A name that cannot be guessed: `apr_` and 26 letters and digits."""
    return "apr_" + base64.b32encode(secrets.token_bytes(ID_BYTES)).decode().rstrip("=").lower()


def digest(client: str, channel: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """What an approval is bound to: SHA-256 over RFC 8785 of the call. Raise ValueError for what has no such form.

    The order of keys and blank space do not matter and 1 is 1.0; every other difference is another call.
    """
    whole: Any = {"arguments": dict(arguments), "channel": channel, "client": client, "tool": tool}
    try:
        return hashlib.sha256(rfc8785.dumps(whole)).hexdigest()
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as fault:
        raise ValueError("the arguments have no canonical form") from fault
