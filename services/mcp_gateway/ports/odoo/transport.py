"""What the port needs of a transport, and what a call is before it is put into one of Odoo's languages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Unreachable(Exception):
    """Nothing was sent: nobody took the connection."""


class Broken(Exception):
    """Something was sent, and no whole answer came back: what became of it is not known."""


class Unfit(Exception):
    """What answers is not the Odoo that the settings describe; its text says why and what to set."""


class Busy(Exception):
    """A proxy, or Odoo itself, turned the request away unread."""


class AnswerTooLarge(Exception):
    """More came back than anybody can use; what was asked has been done."""


class RequestTooLarge(Exception):
    """A proxy takes no request of this size; nothing was done."""


@dataclass(frozen=True, slots=True)
class Request:
    """One method of one model. `ids` is None for methods of the model itself."""

    model: str
    method: str
    arguments: Mapping[str, object]
    ids: list[int] | None = None
    context: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are for Odoo."""

    uid: int
    language: str = ""
    time_zone: str = ""

    @property
    def context(self) -> dict[str, object]:
        """What every request carries: the user's own language, for that is where colleagues read names and words."""
        return {"lang": self.language} if self.language else {}


class Transport(Protocol):
    """One of Odoo's languages. Both methods raise OdooFault or one of the exceptions above."""

    async def uid(self, key: str) -> int:
        """Log in with this key and give the user's id."""

    async def run(self, request: Request) -> object:
        """The result of one request, as plain Python values."""
