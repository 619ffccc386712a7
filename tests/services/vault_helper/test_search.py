"""Search, list and read on real notes."""

# Text in other scripts is the point.

import time
from collections.abc import Callable

import pytest

from vault_helper import shell

from .conftest import Place


def add(place: Place, path: str, content: str | bytes) -> None:
    """A tracked file, without any ceremony."""
    target = place.path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode() if isinstance(content, str) else content)
    place.git("add", "-f", "--", path)


def texts(place: Place, query: str) -> list[str]:
    """The lines found."""
    return [match["text"] for match in place.ask("search", query=query)["matches"]]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("énergie", "Énergie solaire"),
        ("ÉNERGIE", "Énergie solaire"),
        ("e\u0301nergie", "Énergie solaire"),
        ("ЗАМЕТКИ", "заметки о солнце"),
        ("ノート", "太陽光のノート"),
        ("شمسية", "طاقة شمسية"),
        ("SOLAIRE", "Énergie solaire"),
        ("σΟΦΊΑ", "Σοφία"),
        ("straße", "STRAßE"),
        ("-e", "an option -e here"),
        (r".*[", "a pattern .*[ here"),
        (r"\E.*", r"quoted \E.* here"),
        ("$(id)", "a shell $(id) here"),
        ("a  b", "two a  b blanks"),
        ("\ttab", "a \ttab here"),
        ("#", "# The vault"),
    ],
)
def test_search_is_literal_and_blind_to_case_in_every_script(place: Place, query: str, line: str) -> None:
    add(place, "inbox/greek.md", "Σοφία\nSTRAßE\n")
    add(place, "inbox/odd.md", "an option -e here\na pattern .*[ here\nquoted \\E.* here\na shell $(id) here\n")
    add(place, "inbox/blank.md", "two a  b blanks\na \ttab here\n")
    assert line in texts(place, query)


def test_decomposed_text_is_found_by_composed_letters_and_back(place: Place) -> None:
    add(place, "inbox/mac.md", "cafe\u0301 des e\u0301toiles\n")
    for query in ("café", "CAFÉ", "cafe\u0301", "étoiles"):
        assert texts(place, query) == ["cafe\u0301 des e\u0301toiles"]


@pytest.mark.parametrize("query", [r".*", "s.laire", "[a-z]", r"\w", "x|solaire", "^", r"\Qsolaire\E", "(?i)solaire"])
def test_a_pattern_is_only_text(place: Place, query: str) -> None:
    assert texts(place, query) == []


def test_three_matches_a_note_and_sixty_in_all_and_it_says_so(place: Place) -> None:
    for number in range(30):
        add(place, f"inbox/n{number:02}.md", "needle\n" * 5)
    answer = place.ask("search", query="needle")
    assert len(answer["matches"]) == 60
    assert answer["truncated"] is True
    assert "60" in answer["reason"]
    assert [m["line"] for m in answer["matches"][:4]] == [1, 2, 3, 1]
    few = place.ask("search", query="solaire")
    assert few["truncated"] is False
    assert "reason" not in few


def test_exactly_sixty_matches_are_not_called_cut(place: Place) -> None:
    for number in range(20):
        add(place, f"inbox/n{number:02}.md", "needle\n" * 3)
    answer = place.ask("search", query="needle")
    assert len(answer["matches"]) == 60
    assert answer["truncated"] is False


def test_long_lines_are_clipped_and_answers_stay_small(place: Place) -> None:
    for number in range(25):
        name = "x" * 200
        add(place, f"inbox/{name}{number}.md", ("a" * 4000 + "needle" + "b" * 4000 + "\n") * 3)
    add(place, "inbox/endless.md", "y" * 3_000_000 + "needle at the end")
    answer = place.ask("search", query="needle")
    assert sum(len(m["text"]) + len(m["path"]) for m in answer["matches"]) < 30_000
    assert all("needle" in m["text"] for m in answer["matches"] if not m["path"].startswith("inbox/endless"))
    assert answer["truncated"] is True


def test_git_hidden_and_unreadable_places_are_never_searched(place: Place) -> None:
    (place.path / ".git/description").write_text("uniqueword\n")
    add(place, ".trash/old.md", "uniqueword\n")
    add(place, "inbox/.hidden/a.md", "uniqueword\n")
    add(place, "private/deep/a.md", "uniqueword\n")
    add(place, "inbox/image.md", b"uniqueword\0binary\n")
    add(place, "inbox/private/a.md", "uniqueword\n")
    assert [m["path"] for m in place.ask("search", query="uniqueword")["matches"]] == ["inbox/private/a.md"]


@pytest.mark.parametrize(
    ("query", "code"), [("", "__EMPTY_QUERY__"), ("  ", "__EMPTY_QUERY__"), ("a\nb", "__BAD_QUERY__")]
)
def test_queries_that_are_none_are_refused(place: Place, query: str, code: str) -> None:
    assert place.ask("search", query=query)["code"] == code


def test_a_search_ends_within_its_deadline_on_a_large_vault_and_says_so(place: Place) -> None:
    block = ("lorem ipsum dolor sit amet " * 40 + "\n") * 950
    for number in range(100):
        (place.path / f"inbox/big{number}.md").write_text(block)
    place.git("add", "-A")
    started = time.monotonic()
    answer = place.ask("search", query="not in there", seconds=20)
    assert answer["matches"] == []
    assert answer["truncated"] is False
    whole = time.monotonic() - started
    assert whole < 10
    started = time.monotonic()
    cut = place.vault.answer({"op": "search", "query": "not in there", "seconds": 1.0}, b"")[0]
    assert time.monotonic() - started < 1
    assert cut["truncated"] is True
    assert "time" in cut["reason"]


def test_list_gives_the_first_three_hundred_in_order_and_the_total(place: Place) -> None:
    for number in range(320):
        (place.path / f"inbox/n{number:03}.md").write_text("x")
    place.git("add", "-A")
    answer = place.ask("list", prefix="inbox/")
    assert answer["total"] == 321
    assert len(answer["paths"]) == 300
    assert answer["paths"] == sorted(answer["paths"])


def test_reads_page_by_page_and_names_one_version(place: Place) -> None:
    text = "".join(f"línea {n}\r\n" for n in range(6000))
    add(place, "inbox/long.md", text)
    pages: list[str] = []
    versions: set[str] = set()
    offset: int | None = 0
    while offset is not None:
        answer, page = place.read("inbox/long.md", offset)
        assert len(page) <= 30_000
        assert answer["total_chars"] == len(text)
        pages.append(page)
        versions.add(answer["sha256"])
        offset = answer["next_offset"]
    assert "".join(pages) == text
    assert len(versions) == 1
    refused = place.ask("read", path="inbox/long.md", offset=len(text))
    assert refused["code"] == "__BAD_ARGUMENT__"
    assert str(len(text)) in refused["hint"]


def test_an_empty_note_is_one_empty_page(place: Place) -> None:
    add(place, "inbox/empty.md", "")
    answer, page = place.read("inbox/empty.md")
    assert (answer["total_chars"], answer["next_offset"], page) == (0, None, "")


@pytest.mark.parametrize("content", [b"caf\xe9\n", b"\xff\xfea\0", b"text\0more"])
def test_what_is_no_text_is_not_read(place: Place, content: bytes) -> None:
    add(place, "inbox/odd.md", content)
    assert place.ask("read", path="inbox/odd.md")["code"] == "__BAD_PATH__"


def test_a_file_too_long_for_a_note_is_not_read(place: Place) -> None:
    add(place, "inbox/huge.txt", b"x" * (shell.MAX_NOTE_BYTES + 1))
    assert place.ask("read", path="inbox/huge.txt")["code"] == "__TOO_LARGE__"


def test_reads_show_the_disk_and_a_deleted_note_is_gone(place: Place) -> None:
    (place.path / "inbox/first.md").write_text("changed by hand\n")
    assert place.read("inbox/first.md")[1] == "changed by hand\n"
    (place.path / "inbox/first.md").unlink()
    assert place.ask("read", path="inbox/first.md")["code"] == "__NOT_FOUND__"


def test_a_write_by_another_channel_is_seen_at_once(make_place: Callable[[str], Place]) -> None:
    place = make_place("shared")
    other = Place(place.root)
    assert place.ask("read", path="inbox/new.md")["code"] == "__NOT_FOUND__"
    assert other.write("inbox/new.md", "new\n")["ok"]
    assert place.read("inbox/new.md")[1] == "new\n"
