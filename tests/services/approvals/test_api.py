"""The service API: who may ask, what is one request, and what is refused."""

import itertools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from tests.services.approvals.conftest import OTHER_TOKEN, TOKEN, Asking, Process


def test_a_request_shows_what_was_asked_and_waits(gateway: Asking) -> None:
    answer = gateway.ask(lead_id=7)
    request = answer.json()
    assert answer.status_code == 201
    assert (request["state"], request["arguments"], request["service"]) == ("pending", {"lead_id": 7}, "mcp_gateway")
    assert request["expires"] - request["created"] == pytest.approx(86_400)
    assert request["answer"] is None
    assert request["decided"] is None


def test_without_a_known_token_everything_under_api_is_forbidden(process: Process) -> None:
    paths = ["/api/requests", "/api/requests/apr_x", "/api/requests/apr_x/claim", "/api/else"]
    headers = [None, "Bearer", "Bearer wrong", "Basic Z2F0ZXdheQ==", "Bearer wrong wrong", "bearer é"]
    for path, header, method in itertools.product(paths, headers, ("GET", "POST")):
        given = {b"Authorization": header.encode()} if header else {}
        answer = httpx2.request(method, process.url + path, headers=given, content=b"{not json")
        assert (answer.status_code, answer.json()) == (403, {"error": "forbidden"}), (method, path, header)


def test_the_same_call_is_the_same_request(gateway: Asking) -> None:
    first = gateway.ask(a=1, b="x")
    again = gateway.ask(b="x", a=1.0)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]


def test_any_other_argument_is_another_request(gateway: Asking) -> None:
    others: list[dict[str, Any]] = [{"a": 2}, {"a": "1"}, {"a": True}, {"a": 1, "b": None}, {"A": 1}, {"a": [1]}]
    ids = {gateway.ask(**arguments).json()["id"] for arguments in [{"a": 1}, *others]}
    assert len(ids) == 7


def test_two_normal_forms_of_a_text_are_two_calls(gateway: Asking) -> None:
    assert gateway.request(name="caf\u00e9")["id"] != gateway.request(name="cafe\u0301")["id"]


def test_another_client_never_meets_the_first_ones_request(gateway: Asking) -> None:
    assert gateway.ask("hermes").json()["id"] != gateway.ask("claude").json()["id"]


def test_another_service_does_not_see_it(process: Process, gateway: Asking) -> None:
    request, relay = gateway.request(), Asking(process.url, OTHER_TOKEN)
    assert relay.get(f"/api/requests/{request['id']}").status_code == 404
    assert relay.get("/api/requests", state="pending").json() == {"requests": []}
    for what in ("claim", "cancel"):
        assert relay.post(request["id"], what).status_code == 404
    assert relay.post(request["id"], "result", {"outcome": "done", "answer": {}}).status_code == 404
    assert gateway.state(request["id"]) == "pending"


def test_a_body_that_is_no_request_is_refused_with_a_reason(gateway: Asking) -> None:
    refused = {
        b"": 400,
        b"[]": 400,
        b'{"client": NaN}': 400,
        b'{"client": "a", "client": "b"}': 400,
        b"\xff\xfe": 400,
        b"[" * 100_000: 400,
        b'{"client": "a"}': 422,
        b'"' + b"a" * 1_100_000 + b'"': 413,
    }
    for content, status in refused.items():
        answer = gateway.send(content)
        assert answer.status_code == status, content[:40]
        assert answer.json()["error"] == "bad_body"
        assert answer.json()["hint"]


def test_arguments_without_canonical_form_are_refused(gateway: Asking) -> None:
    body = {"client": "c", "channel": "h", "tool": "t", "receipt": "r"}
    preview = {"title": "t", "facts": [], "fingerprint": ""}
    for value in (2**53 + 1, 1e400, "\ud800", [[[["\udfff"]]]]):
        text = json.dumps({**body, "arguments": {"x": value}, "preview": preview}).replace("Infinity", "1e400")
        answer = gateway.send(text.encode())
        assert answer.status_code == 422, answer.text


def test_a_looping_agent_is_bounded_and_others_are_served(gateway: Asking) -> None:
    statuses = [gateway.ask("looping", n=number).status_code for number in range(300)]
    assert statuses == [201] * 20 + [429] * 280
    refused = gateway.ask("looping", n=1000).json()
    assert (refused["error"], refused["limit"]) == ("too_many_pending", 20)
    assert gateway.ask("another", n=1).status_code == 201
    assert gateway.ask("looping", n=3).status_code == 200


def test_a_decision_ends_a_wait_at_once(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: (gateway.get(f"/api/requests/{request['id']}", wait=20).json(), time.monotonic()))
        time.sleep(0.5)
        assert process.command("approve", request["id"]).returncode == 0
        decided = time.monotonic()
        answer, woken = waiting.result(20)
    assert answer["state"] == "approved"
    assert woken - decided < 2


def test_what_was_approved_reaches_the_one_who_listens(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: gateway.get("/api/requests", state="approved", wait=20).json()["requests"])
        time.sleep(0.3)
        process.command("approve", request["id"])
        assert [one["id"] for one in waiting.result(20)] == [request["id"]]


def test_a_wait_that_is_no_time_is_refused(gateway: Asking) -> None:
    for wait in ("-1", "nan", "inf", "x"):
        assert gateway.get("/api/requests", state="approved", wait=wait).status_code == 400, wait


def test_only_one_of_fifty_claims_is_granted(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    process.command("approve", request["id"])
    start = threading.Barrier(50)

    def claim(_: int) -> int:
        one = Asking(process.url)
        start.wait(20)
        return one.post(request["id"], "claim").status_code

    with ThreadPoolExecutor(50) as pool:
        statuses = sorted(pool.map(claim, range(50)))
    assert statuses == [200] + [409] * 49


def test_nothing_is_claimed_that_nobody_approved(process: Process, gateway: Asking) -> None:
    pending, denied = gateway.request(n=1), gateway.request(n=2)
    process.command("deny", denied["id"], "--reason", "no")
    assert gateway.post(pending["id"], "claim").status_code == 409
    assert gateway.post(denied["id"], "claim").json() == {"error": "conflict", "state": "denied"}
    assert gateway.get(f"/api/requests/{denied['id']}").json()["reason"] == "no"


def test_a_result_is_taken_once_and_the_same_again_is_no_news(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    process.command("approve", request["id"])
    done = {"outcome": "done", "answer": {"success": True}}
    assert gateway.post(request["id"], "result", done).status_code == 409  # not claimed
    gateway.post(request["id"], "claim")
    assert gateway.post(request["id"], "result", done).status_code == 200
    assert gateway.post(request["id"], "result", done).status_code == 200
    assert gateway.post(request["id"], "result", {**done, "outcome": "failed"}).status_code == 409
    assert gateway.post(request["id"], "claim").status_code == 409
    assert gateway.ask().json()["answer"] == {"success": True}


def test_a_gateway_that_will_not_run_it_any_more_says_refused(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    refused = {"outcome": "refused", "answer": {"hint": "changed"}}
    assert gateway.post(request["id"], "result", refused).status_code == 409  # nobody has approved it
    process.command("approve", request["id"])
    assert gateway.post(request["id"], "result", refused).status_code == 200
    assert gateway.post(request["id"], "claim").status_code == 409


def test_the_services_token_decides_nothing(process: Process, gateway: Asking) -> None:
    request = gateway.request()
    for word in ("approve", "deny", "decide"):
        assert gateway.post(request["id"], word).status_code == 404
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for path in (f"/requests/{request['id']}/approve", f"/requests/{request['id']}/deny"):
        assert httpx2.post(process.url + path, headers=headers).status_code in (403, 404)
    assert gateway.state(request["id"]) == "pending"


def test_another_host_name_is_refused(process: Process) -> None:
    for host in ("approvals.evil", "127.0.0.1:80,evil", "127.0.0.1:x", "127.0.0.1.evil:8730", ""):
        assert httpx2.get(process.url + "/healthz", headers={"Host": host}).status_code in (400, 403), host


def test_what_is_for_this_machine_is_not_there_through_a_proxy(process: Process) -> None:
    paths = ("/api/requests", "/metrics", "/readyz", "/healthz")
    for path, header in itertools.product(paths, ("X-Forwarded-For", "Forwarded", "Via")):
        answer = httpx2.get(process.url + path, headers={header: "203.0.113.9", "Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 404, (path, header)


def test_the_metrics_count_what_waits(process: Process, gateway: Asking) -> None:
    gateway.request()
    text = httpx2.get(process.url + "/metrics").text
    assert 'approvals_requests{state="pending"} 1.0' in text
    assert "approvals_oldest_pending_seconds" in text
