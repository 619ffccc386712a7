"""Sharing: what happens when others push too, the remote is away, or it refuses."""

import socket
import stat
import time
from collections.abc import Callable, Iterator

import pytest

from vault_helper import shell

from .conftest import Place, digest


def before_the_push(place: Place, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have a person act between our commit and our push."""
    original = shell.Sharing.share
    done: list[bool] = []

    def share(self: shell.Sharing, *args: object, **options: object) -> shell.Shared:
        if not done:
            done.append(True)
            act()
        return original(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(shell.Sharing, "share", share)


def away(place: Place) -> None:
    """The remote is not there for a while."""
    place.remote.rename(place.root / "away.git")


def back(place: Place) -> None:
    """It is there again."""
    (place.root / "away.git").rename(place.remote)


def test_another_note_pushed_meanwhile_keeps_both(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_push(place, monkeypatch, lambda: place.person_pushes("inbox/theirs.md", "theirs\n"))
    answer = place.write("inbox/ours.md", "ours\n", receipt="r-mine")
    assert answer["ok"]
    assert answer["pushed"] is True
    assert place.subjects(place.remote)[:2] == ["Add inbox/ours.md", "person: inbox/theirs.md"]
    assert answer["commit"] == place.git("rev-parse", "main", cwd=place.remote).strip()
    assert place.text("inbox/theirs.md") == "theirs\n"
    assert place.git("log", "-1", "--format=%(trailers:key=Talaria-Receipt,valueonly)").strip() == "r-mine"
    place.assert_sound()


def test_the_same_note_pushed_meanwhile_is_a_conflict_that_keeps_both_texts(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_push(place, monkeypatch, lambda: place.person_pushes("inbox/first.md", "theirs\n"))
    answer = place.write("inbox/first.md", "ours\n", digest("first\n"), receipt="r-mine")
    assert answer["code"] == "__CONFLICT__"
    facts = answer["facts"]
    assert facts["path"] == "inbox/first.md"
    assert facts["conflict_path"] == "inbox/first.conflict-r-mine.md"
    assert digest("theirs\n") not in str(answer)
    assert place.text("inbox/first.md") == "theirs\n"
    assert place.text(facts["conflict_path"]) == "ours\n"
    assert place.git("show", f"main:{facts['conflict_path']}", cwd=place.remote) == "ours\n"
    assert place.git("show", "main:inbox/first.md", cwd=place.remote) == "theirs\n"
    place.assert_sound()


def test_both_add_the_same_new_note(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_push(place, monkeypatch, lambda: place.person_pushes("inbox/new.md", "theirs\n"))
    answer = place.write("inbox/new.md", "ours\n")
    assert answer["code"] == "__CONFLICT__"
    assert place.text("inbox/new.md") == "theirs\n"
    assert place.text(answer["facts"]["conflict_path"]) == "ours\n"
    place.assert_sound()


def test_other_lines_of_the_same_note_are_merged_and_the_answer_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {n}\n" for n in range(30)]
    place.write("inbox/long.md", "".join(lines))
    theirs = ["their head\n", *lines[1:]]
    before_the_push(place, monkeypatch, lambda: place.person_pushes("inbox/long.md", "".join(theirs)))
    answer = place.write("inbox/long.md", "".join([*lines[:-1], "our end\n"]), digest("".join(lines)))
    assert answer["ok"]
    assert answer["merged"] is True
    assert place.text("inbox/long.md") == "".join([*theirs[:-1], "our end\n"])
    place.assert_sound()


def test_a_note_deleted_by_a_person_stays_deleted_and_ours_lies_beside(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete() -> None:
        clone = place.person()
        place.git("rm", "-q", "inbox/first.md", cwd=clone)
        place.git("commit", "-qm", "delete", cwd=clone)
        place.git("push", "-q", cwd=clone)

    before_the_push(place, monkeypatch, delete)
    answer = place.write("inbox/first.md", "ours\n", digest("first\n"))
    assert answer["code"] == "__CONFLICT__"
    assert not (place.path / "inbox/first.md").exists()
    assert place.text(answer["facts"]["conflict_path"]) == "ours\n"
    place.assert_sound()


def test_a_note_moved_by_a_person_does_not_take_our_text_along(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an agent's text would land in a folder that is not open for writing."""
    lines = [f"line {n}\n" for n in range(30)]
    place.write("inbox/long.md", "".join(lines))

    def move() -> None:
        clone = place.person()
        (clone / "archive").mkdir()
        place.git("mv", "inbox/long.md", "archive/long.md", cwd=clone)
        place.git("commit", "-qm", "archive", cwd=clone)
        place.git("push", "-q", cwd=clone)

    before_the_push(place, monkeypatch, move)
    answer = place.write("inbox/long.md", "".join([*lines, "ours\n"]), digest("".join(lines)))
    assert answer["code"] == "__CONFLICT__"
    assert place.text("archive/long.md") == "".join(lines)
    assert "ours" in place.text(answer["facts"]["conflict_path"])
    place.assert_sound()


def test_a_folder_moved_by_a_person_does_not_move_a_new_note(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def move() -> None:
        clone = place.person()
        place.git("mv", "research", "archive", cwd=clone)
        place.git("commit", "-qm", "archive", cwd=clone)
        place.git("push", "-q", cwd=clone)

    before_the_push(place, monkeypatch, move)
    assert place.write("research/new.md", "ours\n")["pushed"] is True
    assert place.text("research/new.md") == "ours\n"
    assert not (place.path / "archive/new.md").exists()
    place.assert_sound()


def test_a_rewritten_remote_stops_the_push_so_that_nothing_is_lost_or_brought_back(place: Place) -> None:
    place.write("inbox/leaked.md", "a secret\n")
    clone = place.person()
    place.git("reset", "-q", "--hard", "HEAD~1", cwd=clone)
    place.git("commit", "-q", "--allow-empty", "-m", "rewritten", cwd=clone)
    place.git("push", "-q", "--force", cwd=clone)
    away(place)
    assert place.write("inbox/later.md", "later\n")["pushed"] is False
    back(place)
    code, line = shell.push_once(place.vault)
    assert code == 1
    assert "rewritten" in line
    assert place.subjects(place.remote) == ["rewritten", "Begin"]
    assert place.subjects()[:2] == ["Add inbox/later.md", "Add inbox/leaked.md"]
    place.git("fetch", "-q")
    place.git("rebase", "-q", "--onto", "origin/main", "main~1", "main")
    assert shell.push_once(place.vault)[0] == 0
    assert place.subjects(place.remote) == ["Add inbox/later.md", "rewritten", "Begin"]
    assert not (place.path / "inbox/leaked.md").exists()
    place.assert_sound()


def test_a_person_who_did_the_very_same_is_no_conflict(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_push(place, monkeypatch, lambda: place.person_pushes("inbox/first.md", "same\n"))
    answer = place.write("inbox/first.md", "same\n", digest("first\n"), receipt="r-same")
    assert answer["pushed"] is True
    assert place.ask("settle", receipt="r-same")["found"] is True
    place.assert_sound()


def test_remote_away_commits_and_the_timer_pushes_later(place: Place) -> None:
    away(place)
    first = place.write("inbox/a.md", "one\n")
    assert first["ok"]
    assert first["pushed"] is False
    assert "remote" in first["reason"]
    status = place.ask("status")
    assert status["unpushed"] == 1
    assert status["age"] >= 0
    assert status["reason"]
    code, line = shell.push_once(place.vault)
    assert code == 1
    assert "not pushed" in line
    assert "\n" not in line
    back(place)
    assert shell.push_once(place.vault) == (0, "vault: in step with the remote")
    assert place.subjects(place.remote)[0] == "Add inbox/a.md"
    assert place.ask("status")["unpushed"] == 0
    assert place.ask("status")["reason"] == ""
    place.assert_sound()


def test_remote_away_and_back_the_next_write_pushes_both(place: Place) -> None:
    away(place)
    assert place.write("inbox/a.md", "one\n")["pushed"] is False
    back(place)
    assert place.write("inbox/b.md", "two\n")["pushed"] is True
    assert place.subjects(place.remote)[:2] == ["Add inbox/b.md", "Add inbox/a.md"]


def test_many_unpushed_writes_are_rebased_in_order(place: Place) -> None:
    away(place)
    text = "first\n"
    for number in range(4):
        new = f"version {number}\n"
        assert place.write("inbox/first.md", new, digest(text))["pushed"] is False
        text = new
    back(place)
    place.person_pushes("inbox/theirs.md", "theirs\n")
    assert shell.push_once(place.vault)[0] == 0
    assert place.subjects(place.remote)[:5] == ["Change inbox/first.md"] * 4 + ["person: inbox/theirs.md"]
    assert place.text("inbox/first.md") == "version 3\n"
    place.assert_sound()


def test_a_chain_of_conflicting_writes_keeps_every_text(place: Place) -> None:
    away(place)
    assert place.write("inbox/first.md", "ours 1\n", digest("first\n"), receipt="r-one")["pushed"] is False
    assert place.write("inbox/first.md", "ours 2\n", digest("ours 1\n"), receipt="r-two")["pushed"] is False
    back(place)
    place.person_pushes("inbox/first.md", "theirs\n")
    assert shell.push_once(place.vault)[0] == 0
    assert place.text("inbox/first.md") == "theirs\n"
    assert place.text("inbox/first.conflict-r-one.md") == "ours 1\n"
    assert place.text("inbox/first.conflict-r-two.md") == "ours 2\n"
    place.assert_sound()


def test_a_folder_that_others_put_in_the_way_stops_the_push(place: Place) -> None:
    away(place)
    assert place.write("inbox/x.md", "ours\n")["pushed"] is False
    back(place)
    place.person_pushes("inbox/x.md/theirs.md", "theirs\n")
    code, line = shell.push_once(place.vault)
    assert code == 1
    assert "sort it out by hand" in line
    assert place.text("inbox/x.md") == "ours\n"
    place.assert_sound()


def test_the_timer_takes_over_what_people_pushed(place: Place) -> None:
    place.person_pushes("inbox/theirs.md", "theirs\n")
    place.person_pushes("research/solar.md", "changed\n")
    clone = place.person()
    place.git("rm", "-q", "research2/other.md", cwd=clone)
    (clone / "inbox/link.md").symlink_to("first.md")
    (clone / "inbox/tool.sh").write_text("#!/bin/sh\n")
    (clone / "inbox/tool.sh").chmod(0o755)
    place.git("add", "-A", cwd=clone)
    place.git("commit", "-qm", "more", cwd=clone)
    place.git("push", "-q", cwd=clone)
    assert shell.push_once(place.vault) == (0, "vault: in step with the remote")
    assert place.text("inbox/theirs.md") == "theirs\n"
    assert place.text("research/solar.md") == "changed\n"
    assert not (place.path / "research2").exists()
    assert (place.path / "inbox/link.md").is_symlink()
    assert (place.path / "inbox/tool.sh").stat().st_mode & stat.S_IXUSR
    place.assert_sound()


def test_a_file_that_becomes_a_folder_and_back_is_taken_over(place: Place) -> None:
    clone = place.person()
    place.git("rm", "-q", "inbox/first.md", cwd=clone)
    place.git("commit", "-qm", "make room", cwd=clone)
    place.person_pushes("inbox/first.md/inside.md", "inside\n")
    assert shell.push_once(place.vault)[0] == 0
    assert place.text("inbox/first.md/inside.md") == "inside\n"
    place.git("rm", "-qr", "inbox/first.md", cwd=clone)
    place.git("commit", "-qm", "make room", cwd=clone)
    place.person_pushes("inbox/first.md", "a file again\n")
    assert shell.push_once(place.vault)[0] == 0
    assert place.text("inbox/first.md") == "a file again\n"
    place.assert_sound()


def test_files_changed_by_hand_are_left_alone_and_named(place: Place) -> None:
    (place.path / "research/solar.md").write_text("half a thought\n")
    (place.path / "inbox/new.md").write_text("untracked\n")
    place.person_pushes("research/solar.md", "theirs\n")
    place.person_pushes("inbox/new.md", "theirs\n")
    place.person_pushes("inbox/fine.md", "fine\n")
    code, line = shell.push_once(place.vault)
    assert code == 0
    assert "research/solar.md" in line
    assert "inbox/new.md" in line
    assert place.text("research/solar.md") == "half a thought\n"
    assert place.text("inbox/new.md") == "untracked\n"
    assert place.text("inbox/fine.md") == "fine\n"
    place.assert_sound(dirty=" M inbox/new.md\n M research/solar.md\n")


def test_a_persons_local_commits_are_rebased_with_their_author(place: Place) -> None:
    (place.path / "research/local.md").write_text("local\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "By hand on the host")
    place.person_pushes("inbox/theirs.md", "theirs\n")
    assert place.write("inbox/a.md", "ours\n")["pushed"] is True
    assert place.subjects(place.remote)[:3] == ["Add inbox/a.md", "By hand on the host", "person: inbox/theirs.md"]
    assert place.git("log", "-1", "--skip=1", "--format=%an").strip() == "Person"
    place.assert_sound()


@pytest.mark.parametrize("merge", [False, True])
def test_a_persons_conflicting_commits_stop_the_push_and_stay(place: Place, merge: bool) -> None:
    if merge:
        place.git("checkout", "-q", "-b", "side")
        (place.path / "inbox/side.md").write_text("side\n")
        place.git("add", "-A")
        place.git("commit", "-qm", "side")
        place.git("checkout", "-q", "main")
        place.git("merge", "-q", "--no-ff", "-m", "a merge", "side")
    else:
        (place.path / "inbox/first.md").write_text("by hand\n")
        place.git("commit", "-qam", "By hand")
    place.person_pushes("inbox/first.md", "theirs\n")
    before = place.git("rev-parse", "HEAD")
    answer = place.write("inbox/a.md", "ours\n")
    assert answer["pushed"] is False
    assert "by hand" in answer["reason"]
    assert place.git("rev-parse", "HEAD~1") == before
    assert place.ask("status")["unpushed"] >= 2
    place.assert_sound()


def test_no_remote_is_normal(place: Place) -> None:
    place.git("remote", "remove", "origin")
    answer = place.write("inbox/a.md", "x")
    assert answer["ok"]
    assert answer["pushed"] is False
    assert answer["reason"] == "no remote"
    status = place.ask("status")
    assert status["remote"] is False
    assert status["unpushed"] == 0
    assert shell.push_once(place.vault)[0] == 0


def test_a_remote_without_the_branch_gets_it(place: Place) -> None:
    place.git("branch", "-m", "main", "old", cwd=place.remote)
    assert place.write("inbox/a.md", "x")["pushed"] is True
    assert place.subjects(place.remote)[0] == "Add inbox/a.md"


def test_an_empty_vault_takes_over_the_remotes_history(place: Place, empty_place: Place) -> None:
    empty_place.git("remote", "set-url", "origin", str(place.remote))
    assert shell.push_once(empty_place.vault)[0] == 0
    assert empty_place.text("inbox/first.md") == "first\n"
    empty_place.assert_sound()


def test_unrelated_histories_of_ours_are_put_on_top(place: Place, empty_place: Place) -> None:
    away(empty_place)
    empty_place.write("inbox/first.md", "ours\n")
    empty_place.write("inbox/other.md", "ours too\n")
    empty_place.git("remote", "set-url", "origin", str(place.remote))
    assert shell.push_once(empty_place.vault)[0] == 0
    assert empty_place.text("inbox/first.md") == "first\n"
    assert empty_place.text("inbox/other.md") == "ours too\n"
    empty_place.assert_sound()


def test_a_remote_that_refuses_is_quoted(place: Place) -> None:
    hook = place.remote / "hooks/pre-receive"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\necho 'no pushes on Sundays' >&2\nexit 1\n")
    hook.chmod(0o755)
    answer = place.write("inbox/a.md", "x")
    assert answer["pushed"] is False
    assert "refused the push" in answer["reason"]
    hook.unlink()
    assert place.write("inbox/b.md", "x")["pushed"] is True


def test_a_remote_inside_the_vault_is_not_used(place: Place) -> None:
    place.git("remote", "set-url", "origin", "inbox")
    answer = place.write("inbox/a.md", "x")
    assert answer["pushed"] is False
    assert "inside the vault" in answer["reason"]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        yield server.getsockname()[1]


def test_a_hanging_remote_costs_only_the_time_there_is_and_no_credentials_show(place: Place, silent_port: int) -> None:
    place.git("remote", "set-url", "origin", f"http://joe:hunter22@127.0.0.1:{silent_port}/v.git")
    started = time.monotonic()
    answer = place.write("inbox/a.md", "x", seconds=5)
    assert time.monotonic() - started < 4.5
    assert answer["ok"]
    assert answer["pushed"] is False
    assert "does not answer" in answer["reason"]
    assert "hunter22" not in str(answer) + str(place.ask("status"))
    assert place.subjects()[0] == "Add inbox/a.md"


def test_a_lost_answer_is_settled_by_its_receipt_and_a_write_not_begun_is_forbidden(place: Place) -> None:
    answer = place.write("inbox/a.md", "x", receipt="r-known")
    assert place.ask("settle", receipt="r-known")["commit"] == answer["commit"]
    assert place.ask("settle", receipt="r-late") == {"ok": True, "found": False}
    assert place.write("inbox/b.md", "x", receipt="r-late")["code"] == "__WRITE_FAILED__"
    assert not (place.path / "inbox/b.md").exists()
    assert place.write("inbox/b.md", "x", receipt="r-late", attempt=2)["ok"]
    assert place.write("inbox/c.md", "x", attempt=3)["code"] == "__BAD_ARGUMENT__"
    assert place.ask("settle", receipt="../../x")["code"] == "__BAD_ARGUMENT__"


def test_people_see_their_clone_in_step_after_our_push(place: Place) -> None:
    place.write("inbox/a.md", "x")
    assert place.git("status", "-sb").splitlines()[0] == "## main...origin/main"


def test_many_loose_objects_are_packed_by_the_timer(place: Place) -> None:
    folder = place.path / ".git/objects/17"
    folder.mkdir(exist_ok=True)
    for number in range(shell.LOOSE_OBJECTS_SAMPLE + 1):
        (folder / f"{number:038x}").touch()
    assert place.write("inbox/a.md", "x")["ok"]
    before = int(place.git("count-objects").split()[0])
    shell.tidy(place.vault.repository)
    assert int(place.git("count-objects").split()[0]) < before
