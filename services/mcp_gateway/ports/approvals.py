"""The approvals service's HTTP API: asked within a deadline, and every trouble said in words that help."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import anyio
import httpx2
from pydantic import BaseModel, ValidationError

from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.approvals_answers import OPEN, REQUEST_ID, Listed, Request, digest
from mcp_gateway.settings.approvals import ApprovalsSettings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.tools import Condition, Preview

# Loopback: a connection that takes longer will not come.
CONNECT_SECONDS = 2.0
CONDITION_SECONDS = 2.0
# For what is only written down or looked up.
ANSWER_SECONDS = 5.0
# The longest that the service holds a question back.
LONGEST_WAIT = 30
# How much later than it promised an answer may come.
LATE_SECONDS = 3.0
# The service takes a megabyte; a list holds many requests.
MAX_BYTES = 64 * 1024 * 1024
MAX_CONNECTIONS = 200
KEEP_SECONDS = 30.0
MAX_WORDS = 500

NOTHING_RAN = "Nothing was executed. Tell the operator."

__all__ = ["OPEN", "REQUEST_ID", "ApprovalsPort", "Question", "Request", "digest"]

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked."""

    client: str
    channel: str
    tool: str
    arguments: Mapping[str, object]
    preview: Preview
    receipt: str


class ApprovalsPort:
    """Asks one approvals service; every method raises Refusal when it learns nothing."""

    def __init__(self, settings: ApprovalsSettings, secrets: Secrets) -> None:
        """Raise ConfigurationError when the token cannot be read."""
        self.settings = settings
        self._token = secrets.read(settings.token_file, "approvals.token_file")
        self._client: httpx2.AsyncClient | None = None
        # Why calls that were approved are not being run now; whoever runs them says it here.
        self.trouble = ""

    async def open(self) -> None:
        """Get ready; nothing is asked yet. No proxy and no redirect: the token goes where the operator said."""
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            verify=self.settings.url.startswith("https:"),
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_SECONDS),
            trust_env=False,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def condition(self) -> Condition:
        """Whether the service knows us and answers, and whether what it approves is being run."""
        try:
            await self._asked("GET", "/api/requests?state=dispatched&wait=0", None, CONDITION_SECONDS)
        except Refusal as fault:
            return Condition("down", fault.hint.removesuffix(NOTHING_RAN).strip())
        return Condition("degraded", self.trouble) if self.trouble else Condition("ok")

    async def ask(self, question: Question) -> tuple[Request, bool]:
        """The request for this question, and whether it is a new one. Asking the same again changes nothing."""
        preview = question.preview
        shown = {"title": preview.title, "facts": [list(fact) for fact in preview.facts]}
        body = {
            "client": question.client,
            "channel": question.channel,
            "tool": question.tool,
            "arguments": dict(question.arguments),
            "preview": {**shown, "fingerprint": preview.fingerprint},
            "receipt": question.receipt,
        }
        status, answer = await self._asked("POST", "/api/requests", body, ANSWER_SECONDS, known=(200, 201))
        return _read(Request, answer), status == 201

    async def look(self, identity: str, seen: str = "", wait: float = 0) -> Request | None:
        """The request as it is once it is not in the state `seen` any more, or when the wait is over. None: unknown."""
        query = f"?wait={_whole(wait)}" + (f"&state={seen}" if seen else "")
        path = f"/api/requests/{identity}{query}"
        status, answer = await self._asked("GET", path, None, wait + ANSWER_SECONDS, known=(200, 404))
        return _read(Request, answer) if status == 200 else None

    async def listed(self, state: str, wait: float = 0) -> list[Request]:
        """Our requests in a state, once there is one or when the wait is over."""
        path = f"/api/requests?state={state}&wait={_whole(wait)}"
        _, answer = await self._asked("GET", path, None, wait + ANSWER_SECONDS)
        return _read(Listed, answer).requests

    async def claim(self, identity: str) -> bool:
        """Take an approved request to run it. False when it is not there to be taken.

        Asked once: a second time could not tell our own first taking from somebody else's.
        """
        path = f"/api/requests/{identity}/claim"
        status, _ = await self._asked("POST", path, {}, ANSWER_SECONDS, known=(200, 404, 409), tries=1)
        return status == 200

    async def ended(self, identity: str, outcome: str, answer: Mapping[str, object]) -> bool:
        """Hand in how a request ended. False when the service does not take it any more."""
        path, body = f"/api/requests/{identity}/result", {"outcome": outcome, "answer": dict(answer)}
        known = (200, 400, 404, 409, 413, 422)
        status, _ = await self._asked("POST", path, body, ANSWER_SECONDS, known=known)
        return status == 200

    async def _asked(
        self, method: str, path: str, body: object, seconds: float, known: tuple[int, ...] = (200,), tries: int = 2
    ) -> tuple[int, object]:
        """Status and JSON of one answer that is among those expected. Raise Refusal for any other."""
        status, raw = await self._exchanged(method, path, body, seconds, tries)
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError) as fault:
            raise _strange(f"it answers {status} without JSON") from fault
        if status in known:
            return status, answer
        raise _said_no(status, answer if isinstance(answer, dict) else {})

    async def _exchanged(self, method: str, path: str, body: object, seconds: float, tries: int) -> tuple[int, bytes]:
        """One whole answer. A kept connection that the other side closed meanwhile is tried again."""
        content = None if body is None else _encoded(body)
        with anyio.move_on_after(seconds + LATE_SECONDS):
            try:
                for _ in range(tries - 1):
                    with suppress(httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                        return await self._sent(method, path, content)
                return await self._sent(method, path, content)
            except httpx2.HTTPError as fault:
                words = f"The approvals service cannot be reached ({type(fault).__name__}). {NOTHING_RAN}"
                raise Refusal(Code.UPSTREAM_DOWN, words) from fault
        raise Refusal(Code.UPSTREAM_DOWN, f"The approvals service does not answer in time. {NOTHING_RAN}")

    async def _sent(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        if self._client is None:
            raise Refusal(Code.UPSTREAM_DOWN, f"The connection to the approvals service is not open. {NOTHING_RAN}")
        headers = {"Authorization": f"Bearer {self._token}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        received = bytearray()
        url = self.settings.url + path
        async with self._client.stream(method, url, content=content, headers=headers) as response:
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > MAX_BYTES:
                    raise _strange("its answer is too large")
        return response.status_code, bytes(received)


def _encoded(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as fault:
        words = "The arguments hold a number or a depth that no JSON can carry; send plain values."
        raise Refusal(Code.BAD_ARGUMENT, words) from fault


def _read(model: type[Model], answer: object) -> Model:
    try:
        return model.model_validate(answer)
    except ValidationError as fault:
        raise _strange("its answer has an unknown form") from fault


def _whole(seconds: float) -> int:
    return min(LONGEST_WAIT, max(0, math.ceil(seconds)))


def _strange(what: str) -> Refusal:
    return Refusal(Code.UPSTREAM_ERROR, f"What answers at approvals.url is odd: {what}. {NOTHING_RAN}")


def _said_no(status: int, answer: Mapping[str, object]) -> Refusal:
    """The answer for everything that was not expected, by who can mend it."""
    hint = str(answer.get("hint", ""))[:MAX_WORDS]
    if status in (401, 403):
        words = "The approvals service does not know the gateway's token: its tokens file needs that token's line."
        return Refusal(Code.NOT_CONFIGURED, f"{words} {NOTHING_RAN}")
    if status == 429:
        limit = answer.get("limit")
        many = f"{limit} requests" if isinstance(limit, int) else "As many requests as allowed"
        words = f"{many} of yours wait for a person already. Do not ask for more until some are decided."
        return Refusal(Code.RATE_LIMITED, words, {"retry_after_seconds": 60})
    if status in (400, 413, 422):
        code = Code.TOO_LARGE if status == 413 else Code.BAD_ARGUMENT
        return Refusal(code, f"The approvals service does not take this call: {hint or status}. {NOTHING_RAN}")
    if status >= 500:
        return Refusal(Code.UPSTREAM_DOWN, f"The approvals service fails ({status}). {NOTHING_RAN}")
    return _strange(f"it answers {status}")
