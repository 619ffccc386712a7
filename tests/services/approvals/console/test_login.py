"""Who gets in: the passphrase, uniform refusals, slowed guessing, and the cookie that is given."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.services.approvals.console.conftest import PASSPHRASE, TOKEN, make_service, stop
from tests.services.approvals.console.posting import log_in

PROXIED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


def test_the_wrong_passphrase_opens_nothing_and_the_right_one_leads_where_the_visitor_wanted(visitors: Any) -> None:
    visitor = visitors()
    page = visitor.page()
    page.goto(visitor.url + "/history")
    assert page.url == visitor.url + "/login?next=/history"
    page.get_by_label("Passphrase").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    assert page.get_by_role("alert").inner_text() == "This passphrase is not right."
    assert visitor.context.cookies() == []
    page.get_by_label("Passphrase").fill(PASSPHRASE)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(visitor.url + "/history")
    [cookie] = visitor.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("approvals_session", True, "Strict")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(visitor.url + "/login")
    page.goto(visitor.url + "/")
    assert page.url == visitor.url + "/login?next=/"


@pytest.mark.parametrize("path", ["/", "/history", "/calls", "/system", "/requests/apr_" + "a" * 26])
def test_nothing_is_shown_without_a_session(service: Any, path: str) -> None:
    for cookies in ({}, {"approvals_session": "invented"}, {"__Host-approvals_session": "invented"}):
        answer = httpx2.get(service.url + path, cookies=cookies)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")


def test_every_wrong_passphrase_gets_the_same_answer(service: Any) -> None:
    answers = []
    for wrong in ("", "x" * 5000):
        answer = httpx2.post(service.url + "/login", data={"passphrase": wrong})
        answers.append((answer.status_code, answer.text))
        with log_in(service.url):
            pass
    assert answers[0] == answers[1]
    assert answers[0][0] == 401


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "/logout", "/history?x"]
)
def test_a_login_leads_to_pages_of_ours_only(service: Any, target: str) -> None:
    answer = httpx2.post(service.url + "/login", data={"passphrase": PASSPHRASE, "next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_guessing_is_told_when_to_try_again_and_the_owner_gets_in_then(tmp_path: Path) -> None:
    service = make_service(tmp_path)
    service.run()
    try:
        for _ in range(3):
            assert httpx2.post(service.url + "/login", data={"passphrase": "guess"}).status_code == 401
        answer = httpx2.post(service.url + "/login", data={"passphrase": PASSPHRASE})
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "Too many attempts. Try again in" in answer.text
        assert "set-cookie" not in answer.headers
    finally:
        assert service.child
        stop(service.child)


def test_behind_https_the_cookie_is_bound_to_it_and_no_other_is_taken(tmp_path: Path) -> None:
    service = make_service(
        tmp_path, public_url="https://approvals.example", allowed_hosts=["127.0.0.1:*", "approvals.example"]
    )
    service.run()
    try:
        headers = {**PROXIED, "Host": "approvals.example", "Origin": "https://approvals.example"}
        answer = httpx2.post(service.url + "/login", data={"passphrase": PASSPHRASE}, headers=headers)
        kept = answer.headers["set-cookie"]
        assert kept.startswith("__Host-approvals_session=")
        assert {part.strip().lower() for part in kept.split(";")[1:]} == {
            "httponly",
            "path=/",
            "samesite=strict",
            "secure",
        }
        session = kept.split(";")[0].partition("=")[2]
        for name, status in (("__Host-approvals_session", 200), ("approvals_session", 303)):
            answer = httpx2.get(service.url + "/", headers={**headers, "Cookie": f"{name}={session}"})
            assert answer.status_code == status
        foreign = {**headers, "Origin": "http://approvals.example:8080"}
        assert httpx2.post(service.url + "/login", data={"passphrase": PASSPHRASE}, headers=foreign).status_code == 403
    finally:
        assert service.child
        stop(service.child)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Authorization": f"Bearer {TOKEN}"},
    ],
    ids=str,
)
def test_nobody_but_our_own_page_can_log_somebody_in(service: Any, headers: dict[str, str]) -> None:
    for path in ("/login", "/language"):
        data = {"passphrase": PASSPHRASE, "language": "fr"}
        answer = httpx2.post(service.url + path, data=data, headers=headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@pytest.mark.parametrize(
    "body", [b"passphrase=%ff", b"passphrase=a&passphrase=b", b"a" * 40_000, b"\xff", b"&".join([b"a=b"] * 20)]
)
def test_what_no_form_sends_is_refused(service: Any, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert httpx2.post(service.url + "/login", content=body, headers=headers).status_code == 400
    assert httpx2.post(service.url + "/login", content=b"{}").status_code == 400


def test_a_link_from_a_chat_finds_the_session_that_is_there(visitors: Any, service: Any) -> None:
    """The strict cookie does not come along from elsewhere; our own page asks once more, and then it does."""
    request = service.ask()
    visitor = visitors()
    visitor.inside().close()
    page = visitor.page()
    page.route(
        "http://chat.example/",
        lambda route: route.fulfill(
            body=f'<a href="{visitor.url}/requests/{request["id"]}">x</a>', content_type="text/html"
        ),
    )
    page.goto("http://chat.example/")
    page.get_by_role("link").click()
    page.wait_for_url(f"{visitor.url}/requests/{request['id']}")
    assert page.get_by_role("heading", level=1).inner_text() == request["preview"]["title"]
