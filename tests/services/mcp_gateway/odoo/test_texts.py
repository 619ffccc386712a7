"""Descriptions there and back, and names with every accent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_gateway.actions.odoo import folding
from mcp_gateway.actions.odoo.texts import to_html, to_text

LETTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u00a0", include_characters="\n\t <>&;")


@given(st.text(LETTERS, max_size=200))
def test_what_is_written_is_read(text: str) -> None:
    assert to_text(to_html(text)) == (text.strip("\n") if text.strip() else "")


@given(st.text(LETTERS, max_size=200))
def test_nothing_in_a_text_becomes_markup(text: str) -> None:
    rest = to_html(text).replace("<p>", "").replace("</p>", "").replace("<br>", "")
    assert "<" not in rest
    assert ">" not in rest


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (False, ""),
        ("", ""),
        ("<p><br></p>", ""),
        ("<p>a</p><p>b<br/>c</p>", "a\n\nb\nc"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<div>a<div>b</div></div>c", "a\n\nb\n\nc"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3"),
        ("<p>a\n   b &lt;c&gt; &amp;&nbsp;d</p>", "a b <c> & d"),
        ("plain", "plain"),
        ("<style>x</style><script>y()</script><p>a</p>", "a"),
        ("<p>unclosed <b>bold", "unclosed bold"),
    ],
)
def test_markup_reads_as_the_words_of_it(markup: object, text: str) -> None:
    assert to_text(markup) == text


@given(st.text(max_size=40).filter(lambda text: folding.fold(text) != ""))
def test_every_name_holds_itself_without_its_accents(text: str) -> None:
    assert folding.found(folding.fold(text), text)
    assert folding.found(text, folding.fold(text))


@pytest.mark.anyio
async def test_a_large_address_book_still_finds_and_says_that_there_may_be_more(
    agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = agent.unique("zzaq")
    wanted = agent.contact(name=f"José {mark}")
    for place in range(6):
        agent.contact(name=f"Jase {place} {mark}")
    monkeypatch.setattr(folding, "MAX_CANDIDATES", 3)
    found = await agent.done("odoo_search_contacts", name=f"jose {mark}")
    assert [row["id"] for row in found["contacts"]] == [wanted]
    broad = await agent.done("odoo_search_contacts", name="as")
    assert "may be more" in broad["note"]
