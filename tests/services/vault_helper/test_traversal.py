"""No path leads out of the vault, past a link, into a repository's inside or beside a twin."""

import os
import shutil
import unicodedata
from pathlib import Path

import pytest

from vault_helper import shell

from .conftest import Place, digest
from .test_rules import MISSHAPEN


def test_misshapen_paths_reach_neither_reads_nor_writes(place: Place) -> None:
    before = sorted(str(p) for p in place.root.rglob("*") if ".git/" not in str(p))
    header, body = place.order("inbox/a.md", "x")
    for path in MISSHAPEN:
        assert place.ask("read", path=path)["code"] == "__BAD_PATH__", path
        assert place.vault.answer({**header, "path": path}, body)[0]["code"] == "__BAD_PATH__", path
    assert sorted(str(p) for p in place.root.rglob("*") if ".git/" not in str(p)) == before


def test_a_leading_dash_and_shell_words_are_only_a_name(place: Place) -> None:
    for name in ("-rf.md", "--upload-pack=id.md", "$(touch pwned).md", "`id`;&'.md"):
        assert place.write(f"inbox/{name}", "x")["ok"]
        assert place.read(f"inbox/{name}")[1] == "x"
    assert not (place.path / "pwned").exists()
    place.assert_sound()


@pytest.mark.parametrize("target", ["/etc", "../private", "../inbox", "../../person"])
def test_a_linked_folder_is_not_followed(place: Place, target: str) -> None:
    place.person()
    (place.path / "inbox/link").symlink_to(target)
    place.git("add", "-A")
    place.git("commit", "-qm", "link")
    assert place.write("inbox/link/x.md", "x")["code"] == "__BAD_PATH__"
    assert place.ask("read", path="inbox/link/hostname")["code"] in {"__BAD_PATH__", "__NOT_FOUND__"}


@pytest.mark.parametrize("target", ["/etc/hostname", "first.md", "missing.md"])
def test_a_linked_note_is_neither_read_nor_written(place: Place, target: str) -> None:
    link = place.path / "inbox/link.md"
    link.symlink_to(target)
    assert place.write("inbox/link.md", "x")["code"] == "__BAD_PATH__"
    place.git("add", "-A")
    place.git("commit", "-qm", "link")
    assert place.ask("read", path="inbox/link.md")["code"] == "__BAD_PATH__"
    assert place.write("inbox/link.md", "x")["code"] == "__BAD_PATH__"
    assert "inbox/link.md" not in place.ask("list", prefix="")["paths"]
    assert str(link.readlink()) == target


def test_a_tracked_folder_exchanged_for_a_link_shows_nothing(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "solar.md").write_text("solar outside secret\n")
    shutil.rmtree(place.path / "research")
    (place.path / "research").symlink_to(outside)
    assert place.ask("read", path="research/solar.md")["code"] == "__BAD_PATH__"
    assert place.ask("search", query="outside secret")["matches"] == []
    assert place.write("research/new.md", "x")["code"] == "__BAD_PATH__"
    assert sorted(p.name for p in outside.iterdir()) == ["solar.md"]


def test_a_folder_exchanged_for_a_link_between_check_and_write_changes_nothing_outside(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    original = shell.Repository.write_journal

    def swap(self: shell.Repository, intent: dict[str, object]) -> None:
        original(self, intent)
        (place.path / "inbox").rename(place.path / "moved")
        (place.path / "inbox").symlink_to(outside)

    monkeypatch.setattr(shell.Repository, "write_journal", swap)
    assert place.write("inbox/a.md", "x")["code"] == "__BAD_PATH__"
    assert list(outside.iterdir()) == []
    assert place.subjects() == ["Begin"]


def test_a_folder_moved_away_after_it_was_opened_is_noticed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    original = shell.Write._rename

    def swap(self: shell.Write, temporary: Path, folder: int, leaf: shell.Leaf, kept: Path) -> None:
        (place.path / "inbox").rename(place.root / "elsewhere")
        (place.path / "inbox").mkdir()
        original(self, temporary, folder, leaf, kept)

    monkeypatch.setattr(shell.Write, "_rename", swap)
    assert place.write("inbox/a.md", "x")["code"] == "__BAD_PATH__"
    assert not (place.root / "elsewhere/a.md").exists()
    assert place.subjects() == ["Begin"]


def test_case_and_normal_form_twins_of_notes_and_folders_are_refused(place: Place) -> None:
    assert place.write("inbox/Café.md", "x")["ok"]
    for twin in ("inbox/café.md", "inbox/CAFÉ.md"):
        answer = place.write(twin, "y")
        assert answer["code"] == "__BAD_PATH__"
        assert answer["facts"]["existing"] == "inbox/Café.md"
    assert place.write("inbox/FIRST.md", "y")["code"] == "__BAD_PATH__"
    assert place.write("research/Deep/a.md", "x")["ok"]
    assert place.write("research/deep/b.md", "y")["code"] == "__BAD_PATH__"


def test_a_decomposed_twin_put_there_by_a_person_is_seen_read_and_not_doubled(place: Place) -> None:
    decomposed = unicodedata.normalize("NFD", "inbox/été.md")
    (place.path / decomposed).write_text("from a Mac\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "mac")
    assert place.ask("read", path=decomposed)["code"] == "__BAD_PATH__"
    assert place.read("inbox/été.md")[1] == "from a Mac\n"
    assert "inbox/été.md" in place.ask("list", prefix="inbox/")["paths"]
    assert place.ask("search", query="from a Mac")["matches"][0]["path"] == "inbox/été.md"
    before = sorted(p.name for p in (place.path / "inbox").iterdir())
    assert place.write("inbox/été.md", "x", digest("from a Mac\n"))["code"] == "__BAD_PATH__"
    assert sorted(p.name for p in (place.path / "inbox").iterdir()) == before


def test_a_twin_that_is_tracked_but_deleted_on_the_disk_counts(place: Place) -> None:
    (place.path / "inbox/first.md").unlink()
    assert place.write("inbox/First.md", "x")["code"] == "__BAD_PATH__"


@pytest.mark.parametrize("name", ["CON.md", "aux.md", "nul/x.md", "Com1.note.md"])
def test_names_that_windows_cannot_store_are_not_written(place: Place, name: str) -> None:
    assert place.write(f"inbox/{name}", "x")["code"] == "__BAD_PATH__"


def test_a_folder_named_like_a_note_is_no_note(place: Place) -> None:
    (place.path / "inbox/x.md").mkdir()
    assert place.write("inbox/x.md", "x")["code"] == "__BAD_PATH__"
    assert place.ask("read", path="inbox/x.md")["code"] == "__NOT_FOUND__"
    assert place.write("inbox/first.md/below.md", "x")["code"] == "__BAD_PATH__"
    (place.path / "inbox/deep.md").mkdir()
    (place.path / "inbox/deep.md/a.md").write_text("a\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "deep")
    shutil.rmtree(place.path / "inbox/deep.md")
    assert place.write("inbox/deep.md", "x")["code"] == "__BAD_PATH__"


def test_submodules_and_repositories_inside_are_out_of_bounds(place: Place) -> None:
    inner = place.path / "inbox/inner"
    inner.mkdir()
    place.git("init", "-q", "-b", "main", cwd=inner)
    (inner / "a.md").write_text("inner\n")
    place.git("add", "a.md", cwd=inner)
    place.git("commit", "-qm", "inner", cwd=inner)
    assert place.write("inbox/inner/new.md", "x")["code"] == "__BAD_PATH__"
    place.git("-c", "advice.addEmbeddedRepo=false", "add", "inbox/inner")
    place.git("commit", "-qm", "embedded")
    assert place.write("inbox/inner/new.md", "x")["code"] == "__BAD_PATH__"
    assert place.ask("read", path="inbox/inner")["code"] == "__BAD_PATH__"
    assert place.ask("read", path="inbox/inner/a.md")["code"] == "__NOT_FOUND__"
    shutil.rmtree(inner / ".git")
    assert place.write("inbox/inner/new.md", "x")["code"] == "__BAD_PATH__"


def test_files_git_does_not_track_are_neither_read_nor_overwritten(place: Place) -> None:
    (place.path / "inbox/loose.md").write_text("loose\n")
    assert place.ask("read", path="inbox/loose.md")["code"] == "__NOT_FOUND__"
    assert place.ask("search", query="loose")["matches"] == []
    assert place.write("inbox/loose.md", "x")["code"] == "__EXISTS__"
    assert place.text("inbox/loose.md") == "loose\n"


def test_special_files_neither_block_nor_answer(place: Place) -> None:
    (place.path / "inbox/first.md").unlink()
    os.mkfifo(place.path / "inbox/first.md")
    assert place.ask("read", path="inbox/first.md")["code"] == "__BAD_PATH__"
    assert place.write("inbox/first.md", "x")["code"] == "__BAD_PATH__"


def test_unreadable_folders_do_not_exist_for_an_agent(place: Place) -> None:
    absent = place.ask("read", path="private/none.md")
    assert place.ask("read", path="private/diary.md") == absent
    assert absent["code"] == "__NOT_FOUND__"
    assert all(not p.startswith(("private/", ".")) for p in place.ask("list", prefix="")["paths"])
    assert place.ask("list", prefix="private/") == {"ok": True, "paths": [], "total": 0}
    found = place.ask("search", query="solar")["matches"]
    assert {m["path"] for m in found} == {"research2/other.md"}


def test_a_prefix_names_whole_folders(place: Place) -> None:
    assert place.ask("list", prefix="research")["paths"] == ["research/solar.md"]
    assert place.ask("list", prefix="research/")["paths"] == ["research/solar.md"]
    assert place.ask("list", prefix="resea")["paths"] == []
    assert place.ask("list", prefix="../")["code"] == "__BAD_PATH__"
