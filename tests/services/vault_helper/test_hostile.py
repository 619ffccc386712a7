"""A repository that wants to run something runs nothing."""

import subprocess
from pathlib import Path

import pytest

from vault_helper import shell

from .conftest import Place, digest

HOOKS = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "pre-push",
    "pre-auto-gc",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-rebase",
    "fsmonitor-watchman",
    "update",
]


@pytest.fixture
def trap(place: Place) -> Path:
    """A program that leaves a mark wherever it is run from; every hook, filter, driver and helper points to it."""
    mark = place.root / "mark"
    trap = place.root / "trap.sh"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\nexit 0\n')
    trap.chmod(0o755)
    return trap


def sprung(place: Place) -> str:
    """What the trap noted."""
    mark = place.root / "mark"
    return mark.read_text() if mark.exists() else ""


def set_traps(place: Place, trap: Path) -> None:
    """Everything a repository's own configuration, hooks and attributes can name."""
    hooks = place.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).symlink_to(trap)
    (place.path / ".git/included").write_text(f"[core]\n\tfsmonitor = {trap}\n")
    config = f"""
[core]
	fsmonitor = {trap}
	hooksPath = {hooks}
	sshCommand = {trap}
	editor = {trap}
	pager = {trap}
	askPass = {trap}
	gitProxy = {trap}
	alternateRefsCommand = {trap}
	attributesFile = {place.path}/.gitattributes
[include]
	path = included
[filter "evil"]
	clean = {trap}
	smudge = {trap}
	process = {trap}
	required = true
[diff]
	external = {trap}
[diff "evil"]
	command = {trap}
	textconv = {trap}
[merge "evil"]
	driver = {trap} %O %A %B
[credential]
	helper = {trap}
[gpg]
	program = {trap}
[commit]
	gpgSign = true
[gc]
	recentObjectsHook = {trap}
	auto = 1
[uploadpack]
	packObjectsHook = {trap}
[remote "origin"]
	uploadpack = {trap}
	receivepack = {trap}
	proxy = {trap}
	vcs = evil
[pager]
	grep = {trap}
[alias]
	grep = !{trap}
	push = !{trap}
	ls-files = !{trap}
[core]
	worktree = /etc
	bare = false
"""
    with (place.path / ".git/config").open("a") as file:
        file.write(config)
    info = place.path / ".git/info"
    info.mkdir(exist_ok=True)
    attributes = "* filter=evil diff=evil merge=evil ident text eol=crlf working-tree-encoding=UTF-16\n"
    (place.path / ".gitattributes").write_text(attributes)
    (info / "attributes").write_text(attributes)
    (place.path / ".gitconfig").write_text(config)
    (place.path / "config").write_text(config)


def test_reads_writes_pushes_and_rebases_run_nothing_of_the_repository(place: Place, trap: Path) -> None:
    place.person()
    set_traps(place, trap)
    assert place.read("research/solar.md")[0]["ok"]
    assert place.ask("list", prefix="")["total"] > 0
    assert place.ask("search", query="solaire")["matches"]
    assert place.write("inbox/first.md", "a $Id$ b\r\n", digest("first\n"))["pushed"] is True
    place.person_pushes("inbox/theirs.md", "their $Id$\n")
    place.person_pushes("inbox/first.md", "theirs\n")
    (place.path / ".git/refs/heads/main.lock").unlink(missing_ok=True)
    assert place.write("inbox/more.md", "more\n")["pushed"] is True
    assert shell.push_once(place.vault)[0] == 0
    shell.tidy(place.vault.repository)
    assert place.ask("status")["unpushed"] == 0
    assert sprung(place) == ""
    assert place.text("inbox/theirs.md") == "their $Id$\n"
    assert place.text("inbox/first.md") == "theirs\n"


def test_the_traps_would_spring_for_a_careless_git(place: Place, trap: Path) -> None:
    """Otherwise the test above could not fail."""
    set_traps(place, trap)
    config = (place.path / ".git/config").read_text().replace("worktree = /etc", "")
    (place.path / ".git/config").write_text(config)
    place.git("status", check=False)
    place.git("add", "-A", check=False)
    place.git("commit", "-qm", "x", check=False)
    assert "trap" in sprung(place) or "hooks" in sprung(place)


def test_ext_transports_are_not_started(place: Place, trap: Path) -> None:
    for url in (f"ext::{trap}", f"ext::sh -c {trap}"):
        place.git("remote", "set-url", "origin", url)
        assert place.write(f"inbox/{len(url)}.md", "x")["pushed"] is False
    place.git("config", "url.ext::sh.insteadOf", "https://")
    assert sprung(place) == ""


def test_nothing_of_our_environment_reaches_git(place: Place, trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(trap))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert place.write("inbox/a.md", "x")["pushed"] is True
    assert sprung(place) == ""


def test_attributes_in_the_tree_cannot_hide_a_note_from_search(place: Place) -> None:
    (place.path / ".gitattributes").write_text("* binary\n*.md -diff -text\n")
    assert place.ask("search", query="solaire")["matches"]


def make_tree(where: Path, entries: str) -> str:
    """The id of a tree with these entries, whatever their names."""
    done = subprocess.run(["git", "mktree"], cwd=where, input=entries, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_commit_with_a_path_into_the_git_folder_is_not_taken_over(place: Place) -> None:
    clone = place.person()
    blob = place.git("hash-object", "-w", "inbox/first.md", cwd=clone).strip()
    inner = make_tree(clone, f"100755 blob {blob}\tpost-commit\n")
    hooks = make_tree(clone, f"040000 tree {inner}\thooks\n")
    tree = make_tree(clone, place.git("ls-tree", "HEAD", cwd=clone) + f"040000 tree {hooks}\t.GIT\n")
    commit = place.git("commit-tree", tree, "-p", "HEAD", "-m", "evil", cwd=clone).strip()
    place.git("push", "-q", "origin", f"{commit}:main", cwd=clone)
    before = place.git("rev-parse", "HEAD")
    code, line = shell.push_once(place.vault)
    assert code == 1
    assert "no working tree may hold" in line
    assert place.git("rev-parse", "HEAD") == before
    assert not (place.path / ".GIT").exists()
    answer = place.write("inbox/a.md", "x")
    assert answer["ok"]
    assert answer["pushed"] is False


def test_a_link_pushed_by_somebody_is_not_written_through(place: Place) -> None:
    clone = place.person()
    (clone / "inbox/out").symlink_to(place.root)
    place.git("add", "-A", cwd=clone)
    place.git("commit", "-qm", "link", cwd=clone)
    place.git("push", "-q", cwd=clone)
    assert shell.push_once(place.vault)[0] == 0
    place.git("rm", "-q", "inbox/out", cwd=clone)
    place.git("commit", "-qm", "no link", cwd=clone)
    place.person_pushes("inbox/out/planted.md", "planted\n")
    assert shell.push_once(place.vault)[0] == 0
    assert not (place.root / "planted.md").exists()
    assert place.text("inbox/out/planted.md") == "planted\n"
    assert not (place.path / "inbox/out").is_symlink()
    place.assert_sound()


def test_replacement_objects_do_not_change_what_is_read_or_committed(place: Place) -> None:
    fake = place.git("commit-tree", "HEAD^{tree}", "-m", "fake").strip()
    place.git("replace", "HEAD", fake)
    assert place.write("inbox/a.md", "x")["pushed"] is True
    place.git("replace", "-d", place.git("rev-parse", "HEAD~1").strip())
    assert "Begin" in place.subjects()
