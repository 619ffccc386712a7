"""What time ends, also with a clock that jumps: it may only expire, never revive and never double."""

import sqlite3
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from approvals import states
from approvals.errors import TooManyPending
from approvals.request import Request
from approvals.requests import AlreadyDecided, Asked, Requests
from approvals.store import Store

ASKED = Asked("gateway", "hermes", "tools", "crm_delete_lead", {"lead_id": 7}, {"title": "t", "facts": []}, "r")
DAY = 86_400.0

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that goes where it is told."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def requests(tmp_path: Path, clock: Clock) -> Iterator[Requests]:
    store = Store(tmp_path / "approvals.db")
    yield Requests(store, DAY, 2, clock)
    store.close()


async def brought(requests: Requests, state: str) -> Request:
    """A request in this state."""
    request, _ = await requests.ask(ASKED)
    if state == states.DENIED:
        return await requests.decide(request.id, False, "owner")
    if state == states.CANCELLED:
        return await requests.cancel(request.id, "gateway")
    if state != states.PENDING:
        request = await requests.decide(request.id, True, "owner")
    if state == states.REFUSED:
        return await requests.result(request.id, "gateway", state, {})
    if state not in (states.PENDING, states.APPROVED):
        request = await requests.claim(request.id, "gateway")
    if state in (states.DONE, states.FAILED, states.OUTCOME_UNKNOWN):
        request = await requests.result(request.id, "gateway", state, {"success": True})
    return request


async def test_a_pending_request_expires_and_is_not_approved_in_the_same_moment(
    requests: Requests, clock: Clock
) -> None:
    request = await brought(requests, states.PENDING)
    clock.now += DAY
    with pytest.raises(AlreadyDecided) as fault:
        await requests.decide(request.id, True, "owner")
    assert fault.value.request.state == states.EXPIRED


async def test_it_can_be_approved_until_the_last_moment(requests: Requests, clock: Clock) -> None:
    request = await brought(requests, states.PENDING)
    clock.now += DAY - 0.001
    assert (await requests.decide(request.id, True, "owner")).state == states.APPROVED


async def test_an_approval_that_nobody_claims_in_five_minutes_is_void(requests: Requests, clock: Clock) -> None:
    request = await brought(requests, states.APPROVED)
    clock.now += states.CLAIM_SECONDS
    with pytest.raises(AlreadyDecided):
        await requests.claim(request.id, "gateway")
    found = await requests.get(request.id)
    assert found
    assert found.state == states.EXPIRED


async def test_a_call_that_is_never_reported_has_an_unknown_outcome(requests: Requests, clock: Clock) -> None:
    request = await brought(requests, states.DISPATCHED)
    clock.now += states.RESULT_SECONDS
    found = await requests.get(request.id)
    assert found
    assert found.state == states.OUTCOME_UNKNOWN
    with pytest.raises(AlreadyDecided):
        await requests.claim(request.id, "gateway")


ENDS = [states.DONE, states.FAILED, states.OUTCOME_UNKNOWN, states.REFUSED, states.CANCELLED, states.DENIED]


@pytest.mark.parametrize("state", ENDS)
async def test_an_end_answers_the_same_call_for_a_while_and_then_no_more(
    requests: Requests, clock: Clock, state: str
) -> None:
    first = await brought(requests, state)
    clock.now += states.repeat_seconds(state) - 1
    assert await requests.ask(ASKED) == (first, False)
    clock.now += 1
    second, new = await requests.ask(ASKED)
    assert new
    assert second.id != first.id
    assert second.state == states.PENDING


async def test_a_denial_holds_for_an_hour(requests: Requests, clock: Clock) -> None:
    assert states.repeat_seconds(states.DENIED) == 3600
    assert {states.repeat_seconds(state) for state in ENDS if state != states.DENIED} == {600}


@pytest.mark.parametrize("state", states.STATES)
async def test_a_clock_set_back_revives_nothing(requests: Requests, clock: Clock, state: str) -> None:
    request = await brought(requests, states.PENDING if state == states.EXPIRED else state)
    if state == states.EXPIRED:
        clock.now += DAY
        await requests.sweep()
    clock.now -= 10 * DAY
    found = await requests.get(request.id)
    assert found
    assert found.state == state
    again, new = await requests.ask(ASKED)
    assert (again.id, new) == (request.id, False)


async def test_a_clock_set_forward_can_only_end_things(requests: Requests, clock: Clock) -> None:
    request = await brought(requests, states.APPROVED)
    clock.now += 3650 * DAY
    with pytest.raises(AlreadyDecided):
        await requests.claim(request.id, "gateway")


def step_to(requests: Requests, state: str, request_id: str) -> Coroutine[Any, Any, Request]:
    """What somebody does to bring a request into a state."""
    if state in (states.APPROVED, states.DENIED):
        return requests.decide(request_id, state == states.APPROVED, "owner")
    if state == states.CANCELLED:
        return requests.cancel(request_id, "gateway")
    if state == states.DISPATCHED:
        return requests.claim(request_id, "gateway")
    return requests.result(request_id, "gateway", state, {"x": 1})


# Time alone leads to `expired`, and nothing leads back to `pending`.
BEGUN = [state for state in states.STATES if state != states.EXPIRED]
STEPS = [state for state in BEGUN if state != states.PENDING]


@pytest.mark.parametrize("first", BEGUN)
@pytest.mark.parametrize("second", STEPS)
async def test_only_the_table_leads_from_one_state_to_another(requests: Requests, first: str, second: str) -> None:
    request = await brought(requests, first)
    if states.leads(first, second):
        assert (await step_to(requests, second, request.id)).state == second
        return
    with pytest.raises(AlreadyDecided):
        await step_to(requests, second, request.id)
    found = await requests.get(request.id)
    assert found
    assert found.state == first


async def test_a_client_has_so_many_pending_and_no_more(requests: Requests) -> None:
    for number in range(2):
        await requests.ask(replace(ASKED, arguments={"n": number}))
    with pytest.raises(TooManyPending):
        await requests.ask(replace(ASKED, arguments={"n": 2}))
    assert (await requests.ask(replace(ASKED, client="claude", arguments={"n": 2})))[1]


async def test_a_disk_that_takes_nothing_changes_nothing(requests: Requests, tmp_path: Path) -> None:
    request = await brought(requests, states.PENDING)
    with sqlite3.connect(tmp_path / "approvals.db") as other:
        other.execute("CREATE TRIGGER full BEFORE UPDATE ON requests BEGIN SELECT raise(ABORT, 'disk full'); END")
    with pytest.raises(sqlite3.Error):
        await requests.decide(request.id, True, "owner")
    found = await requests.get(request.id)
    assert found
    assert found.state == states.PENDING
