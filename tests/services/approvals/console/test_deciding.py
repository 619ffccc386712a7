"""A decision on the page: by touch without scripts, by keyboard alone, once, and by nobody else's hand."""

import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.services.approvals.console.conftest import PHONE, TOKEN, make_service, stop
from tests.services.approvals.console.posting import decide, log_in, token_of

PHONE_WITHOUT_SCRIPTS = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "java_script_enabled": False}


def card(page: Any, request: dict[str, Any]) -> Any:
    return page.get_by_role("article", name=request["preview"]["title"], exact=True)


def test_approving_on_a_phone_without_scripts_takes_two_touches(visitors: Any, service: Any) -> None:
    request = service.ask()
    page = visitors(**PHONE_WITHOUT_SCRIPTS).inside()
    mine = card(page, request)
    assert "web-stack" in mine.inner_text()
    assert not mine.get_by_role("button", name="Yes, approve").is_visible()
    mine.get_by_text("Approve…").tap()
    assert service.present(request)["state"] == "pending"
    mine.get_by_role("button", name="Yes, approve").tap()
    page.wait_for_url("**/requests/*")
    assert page.get_by_role("status").inner_text().startswith("You approved this. Approved by owner (console) on")
    present = service.present(request)
    assert (present["state"], present["decided_by"], present["reason"]) == ("approved", "console:owner", None)


def test_a_denial_carries_its_reason_to_the_agent(visitors: Any, service: Any) -> None:
    request = service.ask()
    page = visitors().inside(f"/requests/{request['id']}")
    page.get_by_text("Deny…").click()
    page.get_by_label("Reason (optional)").fill("Not during the day.\nÀ ce soir <b>")
    page.get_by_role("button", name="Yes, deny").click()
    page.wait_for_url("**?done=deny")
    assert "You denied this." in page.get_by_role("status").inner_text()
    assert "À ce soir <b>" in page.locator(".course").first.inner_text()
    present = service.present(request)
    assert (present["state"], present["reason"]) == ("denied", "Not during the day.\nÀ ce soir <b>")


def test_the_keyboard_alone_decides(visitors: Any, service: Any) -> None:
    request = service.ask()
    page = visitors().inside(f"/requests/{request['id']}")
    for _ in range(30):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.textContent.trim()")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", f"the focus is not seen on {focused!r}"
        if focused == "Approve…":
            break
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**?done=approve")
    assert service.present(request)["reason"] == "by keyboard"


def test_the_page_follows_an_approved_request_to_its_result(visitors: Any, service: Any) -> None:
    request = service.ask()
    page = visitors(java_script_enabled=False).inside(f"/requests/{request['id']}")
    page.get_by_text("Approve…").click()
    page.get_by_role("button", name="Yes, approve").click()
    page.wait_for_url("**?done=approve")
    service.run_through(request, {"success": True, "message": "3 containers restarted"})
    page.get_by_text("3 containers restarted").wait_for()
    assert "it was done on" in page.get_by_role("status").inner_text()


def test_the_second_of_two_decisions_is_shown_what_really_happened(visitors: Any, service: Any) -> None:
    request = service.ask()
    visitor = visitors()
    first, second = visitor.inside(f"/requests/{request['id']}"), visitor.inside(f"/requests/{request['id']}")
    for page, name in ((first, "Deny"), (second, "Approve")):
        page.get_by_text(f"{name}…").click()
        page.get_by_role("button", name=f"Yes, {name.lower()}").click()
        page.wait_for_url("**?*")
    words = second.get_by_role("status").inner_text()
    assert words.startswith("Your approval changed nothing. Denied by owner (console) on")
    assert service.present(request)["state"] == "denied"


def test_the_same_decision_posted_twice_is_one_decision(service: Any) -> None:
    request = service.ask()
    with log_in(service.url) as client:
        answers = [decide(client, request["id"], reason=reason) for reason in ("first", "second")]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[1].headers["location"].endswith("?late=approve")
    assert service.present(request)["reason"] == "first"


def test_a_decision_after_the_expiry_changes_nothing_and_says_so(tmp_path: Path) -> None:
    service = make_service(tmp_path, expiry_seconds=1.5)
    service.run()
    try:
        with log_in(service.url) as client:
            csrf = token_of(client)
            request = service.ask()
            time.sleep(1.6)
            answer = decide(client, request["id"], csrf=csrf)
            shown = client.get(answer.headers["location"])
        assert (shown.status_code, service.present(request)["state"]) == (200, "expired")
        assert "Your approval changed nothing. It expired on" in shown.text
    finally:
        assert service.child
        stop(service.child)


@pytest.mark.parametrize("word", ["approve", "deny"])
@pytest.mark.parametrize(
    ("csrf", "headers"),
    [
        ("wrong", {}),
        ("é", {}),
        (None, {"Origin": "https://evil.example"}),
        (None, {"Origin": "null"}),
        (None, {"Sec-Fetch-Site": "cross-site"}),
        (None, {"Authorization": f"Bearer {TOKEN}"}),
    ],
    ids=str,
)
def test_a_decision_that_our_page_did_not_send_is_refused(
    service: Any, csrf: str | None, headers: dict[str, str], word: str
) -> None:
    request = service.ask()
    with log_in(service.url) as client:
        answer = decide(client, request["id"], word, csrf=csrf, headers=headers)
        assert (answer.status_code, "so nothing was done" in answer.text) == (403, True)
        data = {"reason": "no token"}
        assert client.post(f"/requests/{request['id']}/{word}", data=data).status_code == 403
    assert service.present(request)["state"] == "pending"
    service.told(service.http("POST", f"/api/requests/{request['id']}/cancel"))


def test_the_token_of_another_session_and_of_an_ended_one_do_not_count(service: Any) -> None:
    request = service.ask()
    with log_in(service.url) as one, log_in(service.url) as other:
        foreign = token_of(other)
        assert decide(one, request["id"], csrf=foreign).status_code == 403
        assert other.post("/logout", data={"csrf": foreign}).status_code == 303
        assert decide(other, request["id"], csrf=foreign).status_code == 403
    assert service.present(request)["state"] == "pending"


def test_the_agents_own_credential_decides_nothing(service: Any) -> None:
    request = service.ask()
    for path in (f"/requests/{request['id']}/approve", f"/requests/{request['id']}/deny", "/login", "/logout"):
        answer = service.http("POST", path, data={"csrf": "", "passphrase": TOKEN, "reason": ""})
        assert answer.status_code == 403
    assert service.present(request)["state"] == "pending"


def test_a_foreign_page_cannot_make_the_owners_browser_decide(visitors: Any, service: Any) -> None:
    request = service.ask()
    visitor = visitors()
    visitor.inside().close()
    page = visitor.page()
    form = f'<form method="post" action="{visitor.url}/requests/{request["id"]}/approve"><button>Win</button></form>'
    page.route("http://evil.example/", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto("http://evil.example/")
    with page.expect_response("**/approve") as met:
        page.get_by_role("button", name="Win").click()
    assert met.value.status == 403
    assert service.present(request)["state"] == "pending"


def test_what_is_not_there_is_a_page_that_says_so(service: Any) -> None:
    with log_in(service.url) as client:
        for answer in (
            client.get("/requests/apr_nothing"),
            client.get("/requests/apr_nothing/arguments"),
            decide(client, "apr_nothing"),
        ):
            assert (answer.status_code, "There is no such request." in answer.text) == (404, True)
        request = service.ask()
        assert decide(client, request["id"], reason="x" * 1001).status_code == 400
    assert httpx2.post(f"{service.url}/requests/{request['id']}/approve", data={"csrf": ""}).status_code == 403
    assert service.present(request)["state"] == "pending"
