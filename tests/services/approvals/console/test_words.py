"""Two languages that say the same, chosen by the browser or by hand."""

import re
import string
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator

import approvals
from approvals import states
from approvals.routes.pages.language import LANGUAGES, language, preferred

PACKAGE = Path(approvals.__file__).parent
NAMED = re.compile(r"""words(?:\.count)?\(\s*["']([a-z_.]+)["'](\s*~)?""")


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_words_with_the_same_places_for_values() -> None:
    english, french = language("en").words, language("fr").words
    assert list(english) == list(french)
    assert {key: places(text) for key, text in english.items()} == {key: places(text) for key, text in french.items()}


def test_all_words_that_a_page_names_are_there() -> None:
    words = language("en").words
    sources = [*PACKAGE.glob("pages/templates/*.html"), *PACKAGE.glob("routes/pages/*.py")]
    named = [found for path in sources for found in NAMED.findall(path.read_text())]
    assert len(named) > 60
    for key, open_ended in named:
        assert any(word == key or word.startswith(f"{key}." if not open_ended else key) for word in words), key


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_state_has_words(code: str) -> None:
    words = language(code)
    assert all(words.has(f"state.{state}") and words.has(f"now.{state}") for state in states.STATES)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "en"),
        ("fr", "fr"),
        ("fr-CA,en;q=0.5", "fr"),
        ("de,fr;q=0.4,en;q=0.3", "fr"),
        ("en;q=0.3,fr;q=0.2", "en"),
        ("de", "en"),
        ("fr;q=0", "en"),
        ("fr;q=many,*", "en"),
        ("FR", "fr"),
        ("," * 1000 + "fr", "en"),
    ],
)
def test_the_browsers_preference_is_followed(header: str, code: str) -> None:
    assert preferred(header) == code


def test_a_language_chosen_by_hand_wins_and_stays(visitors: Any, service: Any) -> None:
    request = service.ask()
    visitor = visitors(locale="fr-FR", java_script_enabled=False)
    page = visitor.inside(f"/requests/{request['id']}")
    assert page.locator("html").get_attribute("lang") == "fr"
    assert page.get_by_text("Approuver…").is_visible()
    page.get_by_role("button", name="English").click()
    page.get_by_text("Approve…").wait_for()
    assert page.url.endswith(f"/requests/{request['id']}")
    page.goto(visitor.url + "/system")
    assert page.get_by_role("heading", level=1).inner_text() == "System"
    page.get_by_role("button", name="Français").click()
    assert heading(page.get_by_role("heading", level=1)) == "Système"


def heading(found: Locator) -> str:
    found.wait_for()
    return found.inner_text()
