"""Writing: what may replace what, what a commit says, and what a person's own work comes to."""

import concurrent.futures
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vault_helper import shell
from vault_helper.channels import LocalTarget
from vault_helper.client import Rules, VaultClient
from vault_helper.errors import VaultRefused

from .conftest import Place, digest


def test_a_new_note_is_committed_and_pushed_with_its_trailers(place: Place) -> None:
    answer = place.write("inbox/new/deep/note.md", "héllo\n", receipt="r-abc")
    assert answer["ok"]
    assert answer["pushed"] is True
    assert place.text("inbox/new/deep/note.md") == "héllo\n"
    raw = place.git("log", "-1", "--format=%H|%an|%cn|%s|%(trailers:only)", "main", cwd=place.remote)
    commit, author, committer, subject, trailers = raw.split("|")
    assert commit == answer["commit"]
    assert (author, committer, subject) == ("Talaria", "Talaria", "Add inbox/new/deep/note.md")
    assert trailers.splitlines()[:3] == ["Talaria-Client: hermes", "Talaria-Receipt: r-abc", "Talaria-Audit: 1:abcd"]
    assert place.git("show", "--name-only", "--format=").split() == ["inbox/new/deep/note.md"]
    place.assert_sound()


def test_overwriting_needs_the_hash_of_what_is_there(place: Place) -> None:
    old = digest("first\n")
    assert place.write("inbox/first.md", "x")["code"] == "__EXISTS__"
    assert place.write("inbox/first.md", "x", "0" * 12)["code"] == "__STALE_READ__"
    assert place.text("inbox/first.md") == "first\n"
    answer = place.write("inbox/first.md", "second\n", old)
    assert answer["ok"]
    assert place.subjects()[0] == "Change inbox/first.md"
    assert place.write("inbox/first.md", "third\n", old)["code"] == "__STALE_READ__"
    place.assert_sound()


def test_a_hash_for_a_note_that_is_gone_is_stale(place: Place) -> None:
    assert place.write("inbox/none.md", "x", "0" * 12)["code"] == "__STALE_READ__"
    assert not (place.path / "inbox/none.md").exists()


def test_no_refusal_carries_a_hash(place: Place) -> None:
    secret = digest("first\n")
    for base in (None, "0" * 12):
        assert secret not in str(place.write("inbox/first.md", "x", base))


def test_sending_the_same_again_is_a_success_without_a_second_commit(place: Place) -> None:
    first = place.write("inbox/a.md", "same\n")
    before = place.subjects()
    again = place.write("inbox/a.md", "same\n")
    assert again["ok"]
    assert again["repeated"] is True
    assert again["commit"] == first["commit"]
    assert again["pushed"] is True
    assert place.write("inbox/a.md", "same\n", "0" * 12)["repeated"] is True
    assert place.subjects() == before


@pytest.mark.parametrize("base", ["", "abc", "g" * 12, "A" * 12, 12, "0" * 64])
def test_a_hash_of_another_shape_is_a_bad_argument(place: Place, base: object) -> None:
    header, body = place.order("inbox/first.md", "x", base_hash=base)
    assert place.vault.answer(header, body)[0]["code"] == "__BAD_ARGUMENT__"


@pytest.mark.parametrize("size", [0, 1, 150_000])
def test_every_size_up_to_the_limit_is_kept_byte_for_byte(place: Place, size: int) -> None:
    assert place.write("inbox/a.md", b"x" * size)["ok"]
    assert (place.path / "inbox/a.md").read_bytes() == b"x" * size


def test_one_byte_more_is_too_large(place: Place) -> None:
    assert place.write("inbox/a.md", b"x" * 150_001)["code"] == "__TOO_LARGE__"
    assert not (place.path / "inbox/a.md").exists()


def test_line_ends_and_a_missing_last_one_are_kept(place: Place) -> None:
    (place.path / ".gitattributes").write_text("* text=auto eol=lf\n")
    content = "a\r\nb\nc\rd"
    assert place.write("inbox/a.md", content)["ok"]
    assert place.text("inbox/a.md") == content
    assert place.git("rev-parse", "HEAD:inbox/a.md").strip() == place.vault.repository.git.blob_id(content.encode())


@pytest.mark.parametrize("content", [b"\xff", b"a\0b", b"\xed\xa0\x80", b"a\x1b[0m"])
def test_what_is_no_text_is_refused(place: Place, content: bytes) -> None:
    assert place.write("inbox/a.md", content)["code"] == "__BAD_ARGUMENT__"
    assert place.subjects() == ["Begin"]


def test_a_short_or_changed_stream_writes_nothing(place: Place) -> None:
    header, body = place.order("inbox/a.md", "0123456789")
    for wrong in (body[:-1], body + b"x", b"0123456780"):
        assert place.vault.answer(header, wrong)[0]["code"] == "__WRITE_FAILED__"
    assert place.subjects() == ["Begin"]
    place.assert_sound()


def test_words_for_the_commit_cannot_forge_a_trailer(place: Place) -> None:
    for facts in ({"client": "a\nTalaria-Audit: 9:9"}, {"receipt": "r\nx"}, {"audit": "1\n2"}, {"client": ""}):
        assert place.write("inbox/a.md", "x", **facts)["code"] == "__BAD_ARGUMENT__"
    assert place.write("inbox/Talaria-Receipt r-9.md", "x", receipt="r-1")["ok"]
    assert place.git("log", "-1", "--format=%(trailers:key=Talaria-Receipt,valueonly)").strip() == "r-1"


def test_a_persons_dirty_and_staged_work_is_neither_lost_nor_committed(place: Place) -> None:
    (place.path / "research/solar.md").write_text("half a thought\n")
    (place.path / "inbox/staged.md").write_text("staged\n")
    place.git("add", "inbox/staged.md")
    (place.path / "inbox/loose.md").write_text("untracked\n")
    before = place.git("status", "--porcelain")
    assert place.write("inbox/a.md", "ours\n")["ok"]
    assert place.git("show", "--name-only", "--format=").split() == ["inbox/a.md"]
    place.assert_sound(dirty=before)
    assert place.text("research/solar.md") == "half a thought\n"


def test_a_file_that_git_does_not_track_is_not_overwritten_and_nobody_is_sent_to_read_it(place: Place) -> None:
    (place.path / "inbox/loose.md").write_text("untracked\n")
    answer = place.write("inbox/loose.md", "ours\n")
    assert (answer["code"], "vault_read" in answer["hint"]) == ("__EXISTS__", False)
    assert place.text("inbox/loose.md") == "untracked\n"
    assert "vault_read" in place.write("inbox/first.md", "ours\n")["hint"]


def test_a_note_changed_by_hand_counts_with_its_present_bytes_and_is_kept_in_history(place: Place) -> None:
    (place.path / "inbox/first.md").write_text("changed by hand\n")
    assert place.write("inbox/first.md", "ours\n", digest("first\n"))["code"] == "__STALE_READ__"
    assert place.write("inbox/first.md", "ours\n", digest("changed by hand\n"))["ok"]
    assert place.subjects()[:2] == ["Change inbox/first.md", "Keep hand-made changes of inbox/first.md"]
    assert place.git("show", "HEAD~1:inbox/first.md") == "changed by hand\n"
    place.assert_sound()


def test_the_first_write_of_an_empty_repository_makes_its_first_commit(empty_place: Place) -> None:
    answer = empty_place.write("inbox/a.md", "first\n")
    assert answer["pushed"] is True
    assert empty_place.subjects() == ["Add inbox/a.md"]
    empty_place.assert_sound()


def test_a_repository_of_sha256_objects_works(tmp_path: Path, empty_place: Place) -> None:
    for name, bare in (("remote.git", ["--bare"]), ("vault", [])):
        subprocess.run(["rm", "-rf", empty_place.root / name], check=True)
        empty_place.git("init", "-q", "--object-format=sha256", "-b", "main", *bare, name, cwd=empty_place.root)
    empty_place.git("remote", "add", "origin", "../remote.git")
    assert empty_place.write("inbox/a.md", "one\n")["pushed"] is True
    assert empty_place.write("inbox/a.md", "two\n", digest("one\n"))["pushed"] is True
    assert len(empty_place.git("rev-parse", "HEAD").strip()) == 64
    empty_place.assert_sound()


def test_mode_of_an_overwritten_note_stays(place: Place) -> None:
    (place.path / "inbox/first.md").chmod(0o755)
    place.git("commit", "-qam", "executable")
    assert place.write("inbox/first.md", "x", digest("first\n"))["ok"]
    assert (place.path / "inbox/first.md").stat().st_mode & 0o777 == 0o755
    place.assert_sound()


def test_a_note_exchanged_between_check_and_rename_is_not_overwritten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = shell.Repository.write_journal

    def meddle(self: shell.Repository, intent: dict[str, object]) -> None:
        original(self, intent)
        (place.path / "inbox/first.md").write_text("just saved by a person\n")

    monkeypatch.setattr(shell.Repository, "write_journal", meddle)
    assert place.write("inbox/first.md", "ours\n", digest("first\n"))["code"] == "__STALE_READ__"
    assert place.text("inbox/first.md") == "just saved by a person\n"
    assert place.subjects() == ["Begin"]


def test_a_note_that_appears_between_check_and_rename_is_not_overwritten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = shell.Repository.write_journal

    def meddle(self: shell.Repository, intent: dict[str, object]) -> None:
        original(self, intent)
        (place.path / "inbox/new.md").write_text("a person's\n")

    monkeypatch.setattr(shell.Repository, "write_journal", meddle)
    assert place.write("inbox/new.md", "ours\n")["code"] == "__EXISTS__"
    assert place.text("inbox/new.md") == "a person's\n"
    assert place.subjects() == ["Begin"]


@pytest.fixture
def client(place: Place) -> VaultClient:
    return VaultClient(LocalTarget(place.settings), Rules(("inbox/", "research/"), ("private/",)))


def test_of_two_agents_with_the_same_hash_exactly_one_wins(place: Place, client: VaultClient) -> None:
    start = threading.Barrier(2)

    def overwrite(name: str) -> str:
        start.wait()
        facts = {"client": name, "receipt": f"r-{name}", "audit": ""}
        try:
            client.write("inbox/first.md", f"{name}\n".encode(), digest("first\n"), seconds=20, **facts)
        except VaultRefused as refusal:
            return refusal.code
        return name

    try:
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            results = sorted(threads.map(overwrite, ["a", "b"]))
    finally:
        client.close()
    assert results[0] == "__STALE_READ__"
    assert place.text("inbox/first.md") == f"{results[1]}\n"
    assert len(place.subjects()) == 2
    place.assert_sound()


def test_fifty_concurrent_writes_make_fifty_commits_and_lose_nothing(place: Place, client: VaultClient) -> None:
    def write(number: int) -> bool:
        facts = {"client": "hermes", "receipt": f"r-{number}", "audit": ""}
        text = f"note {number}\n".encode()
        return client.write(f"inbox/n{number}.md", text, None, seconds=60, **facts).pushed

    try:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            pushed = list(threads.map(write, range(50)))
    finally:
        client.close()
    assert pushed == [True] * 50
    assert len(place.subjects(place.remote)) == 51
    assert place.git("rev-list", "--merges", "main") == ""
    for number in range(50):
        assert place.git("show", f"main:inbox/n{number}.md", cwd=place.remote) == f"note {number}\n"
    place.assert_sound()


def test_the_forced_command_needs_nothing_but_the_standard_library() -> None:
    command = [sys.executable, "-I", "-S", shell.__file__, "--help"]
    done = subprocess.run(command, env={}, cwd="/", capture_output=True, text=True, check=True)
    assert "--push" in done.stdout
