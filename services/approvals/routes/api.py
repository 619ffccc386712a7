"""The service API: services ask, learn, claim and report, each seeing only its own requests."""

import math
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from approvals import states
from approvals.errors import NotFound, TooManyPending
from approvals.request import Request
from approvals.requests import AlreadyDecided, Asked, Requests
from approvals.routes.bodies import BadBody, read_json, refusal
from approvals.tokens import Tokens

# The longest that a question is held back.
MAX_WAIT_SECONDS = 30.0
# A few times what the gateway's tools take; a name is a label on every page.
MAX_NAME, MAX_TITLE, MAX_FACTS = 200, 500, 60

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Fact = Annotated[list[str], Field(min_length=2, max_length=2)]
Work = Callable[[HttpRequest, str], Awaitable[Response]]


class Preview(BaseModel):
    """What a person is shown."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str = Field(min_length=1, max_length=MAX_TITLE)
    facts: list[Fact] = Field(max_length=MAX_FACTS)
    fingerprint: str = Field(max_length=MAX_NAME)


class Question(BaseModel):
    """The body of a new request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    client: Name
    channel: Name
    tool: Name
    arguments: dict[str, Any]
    preview: Preview
    receipt: Name


class Result(BaseModel):
    """The body of a report."""

    model_config = ConfigDict(extra="forbid", strict=True)

    outcome: str
    answer: dict[str, Any]


class Api:
    """The endpoints under `/api`."""

    def __init__(self, requests: Requests, tokens: Tokens) -> None:
        self._requests = requests
        self._tokens = tokens

    def routes(self) -> list[Route]:
        """All of them; whatever else stands under `/api` is nobody's."""
        one = "/api/requests/{id}"
        return [
            Route("/api/requests", self._known(self.ask), methods=["POST"]),
            Route("/api/requests", self._known(self.listed), methods=["GET"]),
            Route(one, self._known(self.show), methods=["GET"]),
            Route(f"{one}/claim", self._known(self.claim), methods=["POST"]),
            Route(f"{one}/cancel", self._known(self.cancel), methods=["POST"]),
            Route(f"{one}/result", self._known(self.result), methods=["POST"]),
            Route("/api/{rest:path}", self._known(_nothing), methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]

    async def ask(self, http: HttpRequest, service: str) -> Response:
        """201 with a new request, 200 with the one that speaks for the same call."""
        question = Question.model_validate(await read_json(http))
        asked = Asked(
            service,
            question.client,
            question.channel,
            question.tool,
            question.arguments,
            question.preview.model_dump(mode="json"),
            question.receipt,
        )
        try:
            request, new = await self._requests.ask(asked)
        except TooManyPending as fault:
            hint = "decide some of them, or let them expire"
            return refusal(429, "too_many_pending", hint, limit=fault.limit)
        except ValueError:
            return refusal(422, "no_canonical_form", "numbers must be finite and within 53 bits, text must be Unicode")
        return _shown(request, 201 if new else 200)

    async def show(self, http: HttpRequest, service: str) -> Response:
        """The request, after a change or after `wait` seconds."""
        state = http.query_params.get("state")
        found = await self._requests.waited(http.path_params["id"], service, _wait(http), state)
        return _shown(found) if found else refusal(404, "not_found")

    async def listed(self, http: HttpRequest, service: str) -> Response:
        """The service's requests in a state, as soon as there is one."""
        state = http.query_params.get("state", "")
        if state not in states.STATES:
            return refusal(400, "bad_state", "state is one of " + ", ".join(states.STATES))
        found = await self._requests.waiting(state, service, _wait(http))
        return JSONResponse({"requests": [request.as_json() for request in found]})

    async def claim(self, http: HttpRequest, service: str) -> Response:
        """200 for the first who asks, 409 for everybody else."""
        return _shown(await self._requests.claim(http.path_params["id"], service))

    async def cancel(self, http: HttpRequest, service: str) -> Response:
        """Withdraw what nobody has decided."""
        return _shown(await self._requests.cancel(http.path_params["id"], service))

    async def result(self, http: HttpRequest, service: str) -> Response:
        """Keep how it ended."""
        report = Result.model_validate(await read_json(http))
        if report.outcome not in states.OUTCOMES:
            return refusal(422, "bad_outcome", "outcome is one of " + ", ".join(sorted(states.OUTCOMES)))
        return _shown(await self._requests.result(http.path_params["id"], service, report.outcome, report.answer))

    def _known(self, work: Work) -> Callable[[HttpRequest], Awaitable[Response]]:
        """Nothing is read before the token is known, and no trouble is answered by an exception."""

        async def endpoint(http: HttpRequest) -> Response:
            service = self._tokens.service(http.headers.get("authorization", ""))
            if service is None:
                return refusal(403, "forbidden")
            try:
                return await work(http, service)
            except BadBody as fault:
                return refusal(fault.status, "bad_body", fault.hint)
            except ValidationError as fault:
                places = ", ".join(".".join(map(str, error["loc"])) for error in fault.errors(include_input=False))
                return refusal(422, "bad_body", f"look at {places[:MAX_TITLE]}")
            except NotFound:
                return refusal(404, "not_found")
            except AlreadyDecided as fault:
                return refusal(409, "conflict", state=fault.request.state)
            except (sqlite3.Error, OSError):
                return refusal(503, "unavailable", "the database takes nothing; tell the operator")

        return endpoint


async def _nothing(http: HttpRequest, service: str) -> Response:
    return refusal(404, "not_found")


def _shown(request: Request, status: int = 200) -> JSONResponse:
    return JSONResponse(request.as_json(), status)


def _wait(http: HttpRequest) -> float:
    text = http.query_params.get("wait", "0")
    try:
        seconds = float(text)
    except ValueError as fault:
        raise BadBody(400, "wait is a number of seconds") from fault
    if not math.isfinite(seconds) or seconds < 0:
        raise BadBody(400, "wait is a number of seconds")
    return min(seconds, MAX_WAIT_SECONDS)
