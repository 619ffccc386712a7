"""Runs one change of a vault again and again, killed one step later each time, and reports what was found.

A program of its own: it forks, which a test run with threads must not. Every file made, linked, renamed or removed and
every git command that changes something is a step; the process is ended with SIGKILL just before it.

Usage: python -m tests.services.vault_helper.killed SCENARIO TEMPLATE WORK  (one JSON object a line)
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vault_helper import shell

from .conftest import Place, digest

CHANGING = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod", "fcntl.flock"}
LOOKING = {"cat-file", "ls-files", "merge-base", "rev-list", "rev-parse", "log", "for-each-ref", "diff-tree", "config"}
# These only add objects that nothing refers to yet: a kill before or after them leaves the same vault.
ADDING = {"hash-object", "merge-tree", "write-tree", "read-tree"}
NOT_THERE = None
# Bringing vault and remote in step again takes longer than everything else, so it is tried after every third kill.
SHARE_EVERY = 3


def changes_something(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audited event is a step of its own."""
    if event == "open":
        return not isinstance(arguments[0], int) and bool(arguments[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
    if event == "subprocess.Popen":
        return not (LOOKING | ADDING) & set(arguments[1])
    return event in CHANGING and "tmp-ticket" not in str(arguments[0])


def kill_before(step: int, report: int) -> None:
    """End this process just before its step number `step`, naming the step on the descriptor `report`."""
    count = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if not changes_something(event, arguments):
            return
        count += 1
        if count == step:
            os.write(report, f"{event} {arguments[1] if event == 'subprocess.Popen' else arguments[0]}".encode()[:200])
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


class Scenario:
    """What is prepared, what is done and killed, and which texts may be found afterwards."""

    def __init__(
        self, prepare: Callable[[Place], None], act: Callable[[Place], object], found: dict[str, set[str | None]]
    ):
        self.prepare, self.act, self.found = prepare, act, found


def _no_remote(place: Place) -> None:
    place.git("remote", "remove", "origin")
    (place.path / "research/solar.md").write_text("a person's half a thought\n")
    place.vault  # noqa: B018  making it is no part of the change


def _hand_made(place: Place) -> None:
    _no_remote(place)
    (place.path / "inbox/first.md").write_text("by hand\n")


def _moved_on(place: Place) -> None:
    """Two writes of ours wait while others pushed: one of ours conflicts, one does not."""
    place.remote.rename(place.root / "away.git")
    place.write("inbox/first.md", "ours\n", digest("first\n"), receipt="r-mine")
    place.write("inbox/second.md", "second\n")
    (place.root / "away.git").rename(place.remote)
    place.person_pushes("inbox/first.md", "theirs\n")
    place.person_pushes("inbox/theirs.md", "theirs too\n")
    (place.path / "research/solar.md").write_text("a person's half a thought\n")
    place.fresh()


SCENARIOS = {
    "create": Scenario(
        _no_remote, lambda place: place.write("inbox/new/a.md", "new\n"), {"inbox/new/a.md": {NOT_THERE, "new\n"}}
    ),
    "overwrite": Scenario(
        _hand_made,
        lambda place: place.write("inbox/first.md", "new\n", digest("by hand\n")),
        {"inbox/first.md": {"by hand\n", "new\n"}},
    ),
    "take_over": Scenario(
        _moved_on,
        lambda place: shell.push_once(place.vault),
        {
            "inbox/first.md": {"ours\n", "theirs\n"},
            "inbox/theirs.md": {NOT_THERE, "theirs too\n"},
            "inbox/second.md": {"second\n"},
            "inbox/first.conflict-r-mine.md": {NOT_THERE, "ours\n"},
        },
    ),
}


def text_of(path: Path) -> str | None:
    """The file's text, None when it is not there."""
    return path.read_text() if path.exists() else None


def attempt(scenario: Scenario, place: Place, step: int) -> tuple[bool, str]:
    """Run the change in a child that is killed before `step`; whether it was, and what the step was."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        kill_before(step, writing)
        scenario.act(place)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as report:
        name = report.read()
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), name.replace(str(place.root), "")


def examine(scenario: Scenario, place: Place, step: int) -> list[str]:
    """Everything that is not as it must be, right after the kill and after the next request."""
    faults = [
        f"{path} holds {text!r} right after the kill"
        for path, allowed in scenario.found.items()
        if (text := text_of(place.path / path)) not in allowed
    ]
    answer = place.write("inbox/after.md", "works\n")
    if not answer["ok"]:
        return [*faults, f"the next write fails: {answer}"]
    if "inbox/first.conflict-r-mine.md" in scenario.found and step % SHARE_EVERY == 0:
        faults += lost(place)
    dirty = {line[3:] for line in place.git("status", "--porcelain").splitlines()}
    by_hand = {"inbox/first.md"} if text_of(place.path / "inbox/first.md") == "by hand\n" else set()
    if dirty != {"research/solar.md"} | by_hand:
        faults.append(f"a person would see {dirty}")
    if text_of(place.path / "research/solar.md") != "a person's half a thought\n":
        faults.append("a person's work is lost")
    leftovers = [p.name for p in (place.path / ".git/talaria").iterdir() if p.name.startswith(("tmp-", "journal"))]
    if leftovers or (place.path / ".git/index.lock").exists():
        faults.append(f"left behind: {leftovers}")
    place.git("fsck", "--strict", "--no-dangling")
    return faults


def lost(place: Place) -> list[str]:
    """Texts that the remote must have once everything was shared again."""
    code, line = shell.push_once(place.vault)
    wanted = {
        "inbox/first.md": "theirs\n",
        "inbox/first.conflict-r-mine.md": "ours\n",
        "inbox/theirs.md": "theirs too\n",
        "inbox/second.md": "second\n",
        "inbox/after.md": "works\n",
    }
    faults = [f"not shared: {line}"] if code else []
    shared = place.root / "shared"
    place.git("clone", "-q", "--template=", str(place.remote), str(shared), cwd=place.root)
    return faults + [
        f"the remote holds {got!r} at {path}"
        for path, text in wanted.items()
        if (got := text_of(shared / path)) != text
    ]


def main(name: str, template: Path, work: Path) -> None:
    """Kill one step later each time, until the change runs to its end."""
    scenario, step = SCENARIOS[name], 1
    prepared = work / "prepared"
    subprocess.run(["cp", "-a", template, prepared], check=True)
    scenario.prepare(Place(prepared))
    while True:
        root = work / f"{name}-{step}"
        subprocess.run(["cp", "-a", prepared, root], check=True)
        place = Place(root)
        place.vault  # noqa: B018  as in a resident forced command, made long before
        killed, what = attempt(scenario, place, step)
        print(
            json.dumps({"step": step, "what": what, "killed": killed, "faults": examine(scenario, place, step)}),
            flush=True,
        )
        shutil.rmtree(root)
        if not killed:
            return
        step += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
