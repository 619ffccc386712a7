"""The vault's repository as people, crashes and full disks leave it."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_helper import shell

from .conftest import Place, digest


def test_an_index_lock_of_a_dead_process_is_removed(place: Place) -> None:
    lock = place.path / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    assert place.write("inbox/a.md", "x")["ok"]
    place.assert_sound()


def test_an_index_lock_of_ours_left_by_a_killed_shell_is_removed_at_once(place: Place) -> None:
    (place.path / ".git/index.lock").write_bytes(shell.MARKER)
    started = time.monotonic()
    assert place.write("inbox/a.md", "x")["ok"]
    assert time.monotonic() - started < 2
    place.assert_sound()


def test_a_fresh_index_lock_is_waited_for_and_then_named(place: Place) -> None:
    lock = place.path / ".git/index.lock"
    lock.touch()
    answer = place.write("inbox/a.md", "x", seconds=2)
    assert answer["code"] == "__TIMEOUT__"
    assert "index.lock" in answer["hint"]
    assert lock.exists()
    assert not (place.path / "inbox/a.md").exists()
    lock.unlink()
    assert place.write("inbox/a.md", "x")["ok"]


def test_an_old_index_lock_of_a_living_git_is_respected(place: Place) -> None:
    lock = place.path / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    living = subprocess.Popen(["git", "cat-file", "--batch"], cwd=place.path, stdin=subprocess.PIPE)
    try:
        assert place.write("inbox/a.md", "x", seconds=2)["code"] == "__TIMEOUT__"
    finally:
        living.communicate()
    assert lock.exists()
    assert place.write("inbox/a.md", "x", seconds=5)["ok"]


def test_a_lock_on_the_branch_left_by_a_dead_process_is_removed(place: Place) -> None:
    lock = place.path / ".git/refs/heads/main.lock"
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    assert place.write("inbox/a.md", "x")["ok"]
    place.assert_sound()


@pytest.mark.parametrize("name", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_fresh_lock_on_the_branch_of_a_process_that_died_just_now_is_waited_out(place: Place, name: str) -> None:
    """It looks like the lock of a living one until it is too old for that."""
    (place.path / ".git" / name).touch()
    assert place.write("inbox/a.md", "x")["ok"]
    place.assert_sound()


def test_people_cannot_commit_into_the_middle_of_a_write(place: Place) -> None:
    with place.vault.repository.exclusive(shell.Deadline(5)):
        done = subprocess.run(["git", "add", "-A"], cwd=place.path, capture_output=True, text=True, check=False)
    assert "index.lock" in done.stderr


def _detach(place: Place) -> None:
    place.git("checkout", "-q", "--detach")


def _rebase(place: Place) -> None:
    place.git("checkout", "-q", "-b", "side")
    (place.path / "inbox/first.md").write_text("side\n")
    place.git("commit", "-qam", "side")
    place.git("checkout", "-q", "main")
    (place.path / "inbox/first.md").write_text("main\n")
    place.git("commit", "-qam", "main")
    place.git("rebase", "-q", "side", check=False)


def _merge(place: Place) -> None:
    _rebase(place)
    place.git("rebase", "--abort")
    place.git("merge", "-q", "side", check=False)


def _other_branch(place: Place) -> None:
    place.git("checkout", "-q", "-b", "other")


@pytest.mark.parametrize(
    ("state", "remedy"),
    [(_detach, "no branch"), (_rebase, "a rebase"), (_merge, "a merge"), (_other_branch, "on branch other")],
)
def test_an_unusual_state_stops_writes_with_the_remedy_and_not_reads(place: Place, state: object, remedy: str) -> None:
    state(place)  # type: ignore[operator]
    head, status = place.git("rev-parse", "HEAD"), place.git("status", "--porcelain")
    answer = place.write("inbox/a.md", "x")
    assert answer["code"] == "__WRITE_FAILED__"
    assert remedy in answer["hint"]
    assert place.read("research/solar.md")[0]["ok"]
    assert place.ask("search", query="solaire")["matches"]
    assert remedy in place.ask("status")["fault"]
    assert place.git("rev-parse", "HEAD") == head
    assert place.git("status", "--porcelain") == status


def test_a_repository_without_a_git_folder_of_its_own_is_refused_in_words(place: Place, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", place.remote):
        with pytest.raises(shell.Misconfigured):
            shell.Vault(shell.Settings.from_mapping({"repository": str(path), "writable_prefixes": []}))


@pytest.fixture
def small_disk(place: Place) -> Iterator[Place]:
    """The vault on a file system of four megabytes."""
    disk = place.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        for name in ("vault", "remote.git"):
            subprocess.run(["cp", "-a", place.root / name, disk], check=True)
        small = Place(disk)
        small.git("config", "gc.auto", "0")
        yield small
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_said_and_loses_nothing(small_disk: Place) -> None:
    content = os.urandom(70_000).hex()
    filler = small_disk.root / "filler"
    assert small_disk.write("inbox/big.md", "first\n")["ok"]
    base = digest("first\n")
    for spare in (0, 4096, 16384, 65536, 147456, 180224, 229376, 262144):
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64k"], capture_output=True, check=False)
        os.truncate(filler, max(0, filler.stat().st_size - spare))
        answer = small_disk.write("inbox/big.md", content, base)
        assert small_disk.text("inbox/big.md") == ("first\n" if not answer["ok"] else content)
        if answer["ok"]:
            base = digest(content)
            content = os.urandom(70_000).hex()
            break
        assert answer["code"] == "__WRITE_FAILED__", answer
        assert "full" in answer["hint"]
        assert small_disk.read("inbox/big.md")[1] == "first\n"
        filler.unlink()
        small_disk.git("fsck", "--strict", "--no-dangling")
    filler.unlink(missing_ok=True)
    for old in (small_disk.path / ".git/objects").rglob("tmp_obj_*"):
        old.unlink()
    assert small_disk.write("inbox/small.md", "works again\n")["ok"]
    small_disk.assert_sound()


@pytest.fixture
def read_only(place: Place, tmp_path: Path) -> Iterator[Place]:
    """The vault on a file system that takes no writes."""
    state = tmp_path / "state"
    state.mkdir()
    subprocess.run(["mount", "--bind", place.path, place.path], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", place.path], check=True)
    place.settings["state_dir"] = str(state)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place.path], check=True)


def test_a_read_only_vault_is_read_and_says_why_it_is_not_written(read_only: Place) -> None:
    assert read_only.read("inbox/first.md")[1] == "first\n"
    assert read_only.ask("search", query="first")["matches"]
    answer = read_only.write("inbox/a.md", "x")
    assert answer["code"] == "__WRITE_FAILED__"
    assert "read-only" in answer["hint"]


def test_a_vault_without_any_commit_is_empty_and_readable(empty_place: Place) -> None:
    assert empty_place.ask("list", prefix="") == {"ok": True, "paths": [], "total": 0}
    assert empty_place.ask("search", query="x")["matches"] == []
    assert empty_place.ask("read", path="inbox/a.md")["code"] == "__NOT_FOUND__"
    assert empty_place.ask("status")["fault"] is None


def test_packed_refs_and_a_packed_repository_work(place: Place) -> None:
    place.git("gc", "-q")
    place.git("pack-refs", "--all", "--prune")
    assert not (place.path / ".git/refs/heads/main").exists()
    assert place.write("inbox/first.md", "x", digest("first\n"))["pushed"] is True
    place.assert_sound()
