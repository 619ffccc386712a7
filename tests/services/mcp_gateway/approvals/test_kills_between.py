"""kill -9 of gateway and approvals at each step: nothing runs undecided, nothing runs twice, no decision is lost."""

from collections.abc import Callable

import pytest
from tests.services.mcp_gateway.approvals.conftest import Bundle
from tests.services.mcp_gateway.approvals.proxy import AFTER, BEFORE

ASK, CLAIM, RESULT = "POST /api/requests", "POST /api/requests/.*/claim", "POST /api/requests/.*/result"
DELETE = "POST /xmlrpc/2/object"
KILLED = ("gateway", "approvals")


def killing(bundle: Bundle, what: str) -> Callable[[], None]:
    return bundle.kill_gateway if what == "gateway" else bundle.approvals.kill


def restart(bundle: Bundle, what: str) -> None:
    if what == "gateway":
        bundle.start()
    else:
        bundle.approvals.start()


def once_and_for_all(bundle: Bundle, request_id: str, states: set[str], deletions: set[int]) -> None:
    """It ends in one of these states, and asking again or starting again changes nothing any more."""
    assert bundle.end(request_id) in states
    happened = bundle.deletions
    assert happened in deletions
    bundle.call()
    bundle.kill_gateway()
    bundle.start()
    bundle.call()
    assert bundle.deletions == happened


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
@pytest.mark.parametrize("what", KILLED)
def test_killed_around_storing_the_request(bundle: Bundle, what: str, moment: str) -> None:
    rule = bundle.asking.at(ASK, moment, killing(bundle, what))
    answer = bundle.call()
    assert rule.hit.wait(10)
    assert answer.get("error") in (None, "__UPSTREAM_DOWN__")
    restart(bundle, what)
    request_id = bundle.asked()
    assert bundle.deletions == 0
    assert bundle.asking.count(ASK) <= 2
    bundle.decide(request_id)
    once_and_for_all(bundle, request_id, {"done"}, {1})


@pytest.mark.parametrize("what", KILLED)
def test_killed_after_the_decision(bundle: Bundle, what: str) -> None:
    request_id = bundle.asked()
    killing(bundle, what)()
    bundle.decide(request_id)
    assert bundle.deletions == 0
    restart(bundle, what)
    once_and_for_all(bundle, request_id, {"done"}, {1})


@pytest.mark.parametrize("what", KILLED)
def test_killed_before_dispatch(bundle: Bundle, what: str) -> None:
    request_id = bundle.asked()
    rule = bundle.asking.at(CLAIM, BEFORE, killing(bundle, what))
    bundle.decide(request_id)
    assert rule.hit.wait(15)
    assert bundle.deletions == 0
    restart(bundle, what)
    once_and_for_all(bundle, request_id, {"done"}, {1})


def test_a_gateway_killed_after_dispatch_does_not_run_it_and_says_that_nobody_knows(bundle: Bundle) -> None:
    request_id = bundle.asked()
    rule = bundle.asking.at(CLAIM, AFTER, bundle.kill_gateway)
    bundle.decide(request_id)
    assert rule.hit.wait(15)
    bundle.start()
    once_and_for_all(bundle, request_id, {"outcome_unknown", "failed"}, {0})


def test_approvals_killed_after_dispatch_is_asked_again_and_it_runs_once(bundle: Bundle) -> None:
    request_id = bundle.asked()
    rule = bundle.asking.at(CLAIM, AFTER, bundle.approvals.kill)
    bundle.decide(request_id)
    assert rule.hit.wait(15)
    bundle.approvals.start()
    once_and_for_all(bundle, request_id, {"done"}, {1})


@pytest.mark.parametrize(("moment", "deletions"), [(BEFORE, 0), (AFTER, 1)])
def test_a_gateway_killed_while_it_runs_is_never_run_again(bundle: Bundle, moment: str, deletions: int) -> None:
    request_id = bundle.asked()
    rule = bundle.selling.at(DELETE, moment, bundle.kill_gateway, holding=b"unlink")
    bundle.decide(request_id)
    assert rule.hit.wait(15)
    bundle.start()
    once_and_for_all(bundle, request_id, {"outcome_unknown"}, {deletions})


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
@pytest.mark.parametrize("what", KILLED)
def test_killed_around_storing_the_result(bundle: Bundle, what: str, moment: str) -> None:
    request_id = bundle.asked()
    rule = bundle.asking.at(RESULT, moment, killing(bundle, what))
    bundle.decide(request_id)
    assert rule.hit.wait(15)
    restart(bundle, what)
    once_and_for_all(bundle, request_id, {"done"}, {1})
