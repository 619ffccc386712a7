"""What an agent writes is shown, never run; and nothing in it can hide, forge or reorder what stands on the page."""

import json
import re
from typing import Any

import pytest
from tests.services.approvals.console.conftest import PHONE
from tests.services.approvals.console.posting import log_in

from approvals.routes.pages.visible import marked, plain

RIGHT_TO_LEFT = "\u202e"
SCRIPTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "</title><script>alert(4)</script>",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(5)",
)


def test_markup_in_every_field_is_inert(visitors: Any, service: Any) -> None:
    hostile = " ".join(SCRIPTS)
    request = service.ask(
        f"Restart {hostile}",
        {hostile[:60]: hostile, "nested": {"<b>": [hostile, None, True, 1.5]}},
        client=f"hermes{SCRIPTS[0]}",
        channel=SCRIPTS[1],
        tool=SCRIPTS[2],
        receipt=SCRIPTS[3],
        facts=[[hostile, hostile]],
    )
    visitor = visitors(viewport=PHONE)
    page = visitor.inside()
    for path in ("/", f"/requests/{request['id']}"):
        page.goto(visitor.url + path)
        for summary in page.locator("main details:not([name]) > summary").all():
            summary.click()
        text = page.locator("main").inner_text()
        assert all(script in text for script in SCRIPTS)
        assert page.locator("main script, main svg, main img:not(.empty img), main b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with log_in(service.url) as client:
        assert "49" not in re.findall(r"<title>(.*)</title>", client.get(f"/requests/{request['id']}").text)[0]


def test_what_is_not_seen_is_shown_by_its_number(visitors: Any, service: Any) -> None:
    hidden = f"report{RIGHT_TO_LEFT}gpj.exe\u200b\x07 👩‍👩‍👧 ❤️ é שלום"
    request = service.ask(
        f"Open {RIGHT_TO_LEFT}cod.txt", {"path": hidden, f"na{RIGHT_TO_LEFT}me": "x"}, client=f"her{RIGHT_TO_LEFT}mes"
    )
    visitor = visitors()
    page = visitor.inside(f"/requests/{request['id']}")
    source = page.content()
    assert not re.search("[\u202e\u200b\x07]", source)
    for part in ("reportU+202Egpj.exeU+200BU+0007 👩‍👩‍👧 ❤️ é שלום", "naU+202Eme", "her⟦U+202E⟧mes"):
        assert part in page.locator("main").inner_text()
    assert page.title() == "Open ⟦U+202E⟧cod.txt · Talaria"


def test_a_long_value_is_folded_and_opens_whole(visitors: Any, service: Any) -> None:
    text = "".join(f"{number:05d} line of a long note\n" for number in range(1200))[:30_000]
    request = service.ask("Write a note", {"content": text, "sign": "👍" * 300})
    visitor = visitors(java_script_enabled=False, viewport=PHONE)
    page = visitor.inside()
    article = page.get_by_role("article", name="Write a note")
    assert article.bounding_box()["height"] < 1200
    folded = article.locator("details.long").first
    folded.locator("summary").click()
    assert folded.locator("pre").inner_text().strip() == text.strip()
    assert "Show all 30,000 characters" in folded.inner_text()
    with log_in(service.url) as client:
        file = client.get(f"/requests/{request['id']}/arguments")
    assert json.loads(file.content) == request["arguments"]
    assert file.content.isascii()
    assert file.headers["content-disposition"].startswith("attachment")


def test_a_call_of_a_megabyte_does_not_break_the_page(service: Any) -> None:
    request = service.ask("Write much", {"content": "\u202e\u200b" * 80_000})
    with log_in(service.url) as client:
        answer = client.get(f"/requests/{request['id']}")
        assert (answer.status_code, len(answer.content) < 4_000_000) == (200, True)
        assert "100,000 characters more are in the file of exact arguments" in answer.text
    service.told(service.http("POST", f"/api/requests/{request['id']}/cancel"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("\x00" * 3, "⟦U+0000 ×3⟧"),
        ("\ud800", "⟦U+D800⟧"),
        ("tag\U000e0041", "tag⟦U+E0041⟧"),
        ("a\ufe0f", "a⟦U+FE0F⟧"),
        ("a\u200db", "a⟦U+200D⟧b"),
        ("\u3164", "⟦U+3164⟧"),
        ("\u2003", "⟦U+2003⟧"),
        ("\ue000", "⟦U+E000⟧"),
        ("z" + "\u0301" * 6, "z" + "\u0301" * 4 + "⟦U+0301 ×2⟧"),
        ("line\nbreak\ttab", "line\nbreak\ttab"),
        ("\r", "⟦U+000D⟧"),
        ("❤️ 👩‍👩‍👧 👍🏽 1️⃣", "❤️ 👩‍👩‍👧 👍🏽 1️⃣"),
        ("\u00a0: \u202f;", "\u00a0: \u202f;"),
    ],
    ids=ascii,
)
def test_each_kind_of_unseen_character(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert re.sub(r'<mark class="unseen">(.*?)</mark>', r"⟦\1⟧", str(marked(text))) == shown
