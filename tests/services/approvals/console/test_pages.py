"""History, calls and system; and for every page: its headers, its looks at 360 px, its contrast, its targets."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.services.approvals.console.conftest import DESK, PHONE, TOKEN, make_service, stop
from tests.services.approvals.console.posting import decide, log_in
from tests.services.mcp_gateway.conftest import modern

from approvals.routes.pages.plots import bars

MEASURE = (Path(__file__).parent / "measure.js").read_text()


@pytest.fixture(scope="module")
def past(service: Any) -> list[dict[str, Any]]:
    """Requests with every kind of end that a person can bring about."""
    done, denied, withdrawn, waiting = (
        service.ask(f"{word} the olive grove", tool=f"{word}_tool") for word in ("Water", "Burn", "Sell", "Paint")
    )
    with log_in(service.url) as client:
        decide(client, done["id"])
        decide(client, denied["id"], "deny", reason="Never <that>")
    service.run_through(done, {"success": True})
    service.told(service.http("POST", f"/api/requests/{withdrawn['id']}/cancel"))
    return [done, denied, withdrawn, waiting]


@pytest.fixture(scope="module")
def called(gateway_url: str) -> str:
    """The gateway after some calls: two answered, one refused, one fault."""
    for channel, tool, arguments in (
        ("notes", "vault_read", {"path": "inbox/note.md"}),
        ("notes", "vault_read", {"path": "inbox/note.md"}),
        ("notes", "vault_read", {"path": "inbox/nothing.md"}),
        ("watch", "monitoring_alerts", {}),
    ):
        headers, body = modern("tools/call", name=tool, arguments=arguments)
        headers |= {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        assert httpx2.post(f"{gateway_url}/mcp/{channel}", json=body, headers=headers, timeout=30).status_code == 200
    return gateway_url


def test_the_history_filters_by_state_and_tool(visitors: Any, past: list[dict[str, Any]]) -> None:
    page = visitors(java_script_enabled=False).inside("/history")
    page.get_by_label("State").select_option("denied")
    page.get_by_label("Tool").fill("burn_")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**tool=burn_*")
    rows = page.locator("tbody tr")
    assert rows.count() == 1
    assert all(
        word in rows.inner_text() for word in ("Burn the olive grove", "Denied", "owner (console)", "Never <that>")
    )
    rows.get_by_role("link").click()
    assert "Never <that>" in page.locator(".course").first.inner_text()
    page.goto(page.url.split("/requests")[0] + "/history?client=nobody&state=invented&before=x")
    assert page.get_by_text("Nothing to show").is_visible()


def test_a_long_history_has_pages_and_each_request_is_on_one_of_them(tmp_path: Path) -> None:
    service = make_service(tmp_path)
    service.run()
    try:
        asked = []
        for _ in range(35):
            asked.append(service.ask())
            service.told(service.http("POST", f"/api/requests/{asked[-1]['id']}/cancel"))
        found, path = [], "/history"
        with log_in(service.url) as client:
            while path:
                text = client.get(path).text
                found += re.findall(r'<a href="/requests/(apr_\w+)">', text)
                older = re.search(r'rel="next" href="([^"]+)"', text)
                path = older[1].replace("&amp;", "&") if older else ""
        assert found == [request["id"] for request in reversed(asked)]
    finally:
        assert service.child
        stop(service.child)


def test_the_calls_are_shown_by_tool_and_outcome(visitors: Any, called: str) -> None:
    page = visitors(java_script_enabled=False).inside("/calls")
    cells = {
        row.locator("td").first.inner_text(): [cell.inner_text() for cell in row.locator("td.right").all()]
        for row in page.locator("tbody tr").all()
    }
    assert cells == {"vault_read": ["2", "1", "0"], "monitoring_alerts": ["0", "0", "1"]}
    assert page.locator(".figure").all_inner_texts() == ["2", "1", "1"]
    assert page.get_by_role("img", name="2 answered, 1 refused, 1 faults").is_visible()
    page.get_by_role("link", name="1 hour", exact=True).click()
    page.get_by_role("heading", name="Last hour").wait_for()


def test_the_system_page_tells_channels_backends_and_versions(visitors: Any, called: str) -> None:
    page = visitors(java_script_enabled=False).inside("/system")
    text = page.locator("main").inner_text()
    assert all(word in text for word in ("notes", "watch", "vault", "audit", "SQLite", "owner", "mcp_gateway"))
    row = page.locator("tr", has=page.get_by_text("prometheus", exact=True)).last
    assert "Down" in row.inner_text()
    assert "Prometheus" in row.inner_text()


@pytest.mark.parametrize("gateway", [None, "http://127.0.0.1:9", "itself"])
def test_a_gateway_that_is_not_there_is_named_and_takes_nothing_else_along(tmp_path: Path, gateway: str | None) -> None:
    service = make_service(tmp_path)
    if gateway:
        service.document["gateway_url"] = service.url if gateway == "itself" else gateway
    service.run()
    try:
        words = {None: "No gateway is named.", "itself": "does not speak like a gateway"}.get(
            gateway, "does not answer"
        )
        with log_in(service.url) as client:
            for path in ("/calls", "/system"):
                answer = client.get(path)
                assert (answer.status_code, words in answer.text) == (200, True)
    finally:
        assert service.child
        stop(service.child)


@pytest.mark.parametrize(
    "path", ["/", "/history", "/calls", "/system", "/login", "/nothing/here", "/static/console.css"]
)
def test_the_headers_allow_nothing_but_our_own_two_files(service: Any, path: str) -> None:
    with log_in(service.url) as client:
        client.cookies.clear() if path == "/login" else None
        answer = client.get(path)
    if path == "/nothing/here":
        assert answer.status_code == 404
        return
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    if path.startswith("/static"):
        return
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<style|<script(?! src=)|<[^<>]*\s(style|on\w+)=", answer.text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_every_page_fits_can_be_touched_and_can_be_read(
    visitors: Any, past: list[dict[str, Any]], called: str, tmp_path: Path, size: dict[str, int], scheme: str
) -> None:
    """At 360 px nothing sticks out; a finger finds 44 px, a mouse 24; all text has the contrast of WCAG AA."""
    visitor = visitors(viewport=size, color_scheme=scheme, locale="fr-FR" if scheme == "dark" else "en-GB")
    page = visitor.page()
    page.goto(visitor.url + "/login")
    assert faults(page, size) == []
    page.screenshot(path=tmp_path / "login.png")
    page = visitor.inside("/")
    for path in ("/", "/history", "/calls", "/system", *(f"/requests/{past[number]['id']}" for number in (0, 3))):
        page.goto(visitor.url + path)
        for summary in page.locator("main details > summary").all()[:3]:
            summary.click()
        assert faults(page, size) == [], path
        name = path.strip("/").replace("/", "-") or "pending"
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)


def faults(page: Any, size: dict[str, int]) -> list[str]:
    found = page.evaluate(MEASURE, 44 if size == PHONE else 24)
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*found, *([f"{wide} px wide"] if wide > size["width"] else [])]


def test_a_plot_is_whole_for_nothing_and_for_much() -> None:
    assert "<rect" not in str(bars([{}, {}], "none"))
    assert 'class="fault"' in str(bars([{"fault": 10**9}], "much"))
    assert "&lt;" in str(bars([], "<"))
