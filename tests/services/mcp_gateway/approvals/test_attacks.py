"""What an agent, a second client or a changed world may try around an approval: nothing runs that nobody approved."""

from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from tests.services.mcp_gateway.approvals.conftest import LEAD, TOKENS, Bundle


def test_a_sensitive_call_waits_for_a_person_runs_once_and_its_result_is_kept(bundle: Bundle) -> None:
    request_id = bundle.asked()
    assert bundle.deletions == 0
    assert bundle.asked() == request_id
    bundle.decide(request_id)
    assert bundle.end(request_id) == "done"
    first, second = bundle.call(), bundle.call()
    assert first["success"] is True
    assert first["id"] == LEAD
    assert second["receipt"] == first["receipt"]
    assert bundle.deletions == 1


def test_a_denied_call_stays_denied_and_its_reason_is_told(bundle: Bundle) -> None:
    request_id = bundle.asked()
    bundle.decide(request_id, "deny")
    for _ in range(3):
        assert bundle.call()["error"] == "__APPROVAL_DENIED__"
    assert bundle.deletions == 0


def test_an_approval_is_good_for_its_own_arguments_alone(bundle: Bundle) -> None:
    other = bundle.call("crm_create_lead", name="Another lyre")["id"]
    request_id = bundle.asked(lead_id=LEAD)
    bundle.decide(request_id)
    bundle.end(request_id)
    assert bundle.call(lead_id=other)["error"] == "__APPROVAL_PENDING__"
    assert bundle.deletions == 1


@pytest.mark.parametrize("lead_id", [1.0, True, "1", [1]])
def test_arguments_in_other_clothes_are_refused_before_anybody_is_asked(bundle: Bundle, lead_id: object) -> None:
    assert bundle.call(lead_id=lead_id)["error"] == "__BAD_ARGUMENT__"
    assert bundle.asking.count("POST /api/requests") == 0


def test_a_second_client_gets_a_request_of_its_own_and_never_the_firsts_result(bundle: Bundle) -> None:
    first = bundle.asked()
    bundle.decide(first)
    bundle.end(first)
    other = bundle.call(client="claude")
    assert other["success"] is False
    assert other.get("approval") != first
    assert bundle.deletions == 1


def test_a_record_that_changed_since_it_was_shown_is_not_deleted(bundle: Bundle) -> None:
    request_id = bundle.asked()
    assert bundle.call("crm_update_lead", lead_id=LEAD, name="Somebody else's words")["success"] is True
    bundle.decide(request_id)
    assert bundle.end(request_id) == "refused"
    answer = bundle.call()
    assert answer["success"] is False
    assert bundle.deletions == 0


def test_the_agents_token_decides_nothing(bundle: Bundle) -> None:
    request_id = bundle.asked()
    headers = {"Authorization": f"Bearer {TOKENS['hermes']}"}
    for path in (
        f"/requests/{request_id}/approve",
        f"/requests/{request_id}/deny",
        f"/api/requests/{request_id}/claim",
        f"/api/requests/{request_id}/result",
        "/api/requests",
        "/login",
    ):
        answer = httpx2.post(bundle.approvals.url + path, headers=headers, verify=False)
        assert answer.status_code == 403, path
    assert bundle.state(request_id) == "pending"


def test_two_decisions_at_once_count_once(bundle: Bundle) -> None:
    request_id = bundle.asked()
    with ThreadPoolExecutor(4) as pool:
        words = ["approve", "deny", "approve", "deny"]
        codes = list(pool.map(lambda word: bundle.approvals.command(word, request_id).returncode, words))
    assert sorted(codes) == [0, 1, 1, 1]
    approved = bundle.end(request_id) == "done"
    assert bundle.deletions == int(approved)
    assert approved == (words[codes.index(0)] == "approve")


def test_many_calls_of_a_looping_agent_are_bounded_and_another_client_is_served(bundle: Bundle) -> None:
    errors = [bundle.call("crm_delete_lead", lead_id=LEAD)["error"] for _ in range(8)]
    assert set(errors) == {"__APPROVAL_PENDING__"}
    assert bundle.asking.count("POST /api/requests") == 1
    assert bundle.call(client="claude")["error"] == "__APPROVAL_PENDING__"


def test_without_the_approvals_service_nothing_runs(bundle: Bundle) -> None:
    bundle.approvals.kill()
    assert bundle.call()["error"] == "__UPSTREAM_DOWN__"
    assert bundle.deletions == 0
    assert bundle.call("crm_list_leads", limit=1)["success"] is True
    bundle.approvals.start()
    assert bundle.call()["error"] == "__APPROVAL_PENDING__"
