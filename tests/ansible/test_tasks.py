"""What every task of ours has: a name, a module by its full name; and what none has: a download or a moving version."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
PLAYBOOKS = [*CHECKOUT.glob("playbooks/*.yml"), *CHECKOUT.glob("molecule/shared/*.yml")]
TASK_FILES = [path for folder in ("tasks", "handlers") for path in CHECKOUT.glob(f"roles/*/{folder}/*.yml")]
BLOCKS = ("block", "rescue", "always")
# What a task may have besides its module.
KEYWORDS = {
    *("any_errors_fatal", "args", "async", "become", "become_flags", "become_method", "become_user", "changed_when"),
    *("check_mode", "connection", "delay", "delegate_facts", "delegate_to", "diff", "environment", "failed_when"),
    *("ignore_errors", "listen", "loop", "loop_control", "name", "no_log", "notify", "poll", "register", "retries"),
    *("run_once", "tags", "throttle", "until", "vars", "when"),
}


def flat(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The tasks and blocks of a list, and those in its blocks."""
    for task in tasks:
        yield task
        for part in BLOCKS:
            yield from flat(task.get(part, []))


def tasks_of(path: Path) -> Iterator[dict[str, Any]]:
    """Every task and block of a playbook or a task file."""
    for entry in yaml.safe_load(path.read_text()) or []:
        if "hosts" in entry:
            for part in ("pre_tasks", "tasks", "post_tasks", "handlers"):
                yield from flat(entry.get(part, []))
        else:
            yield from flat([entry])


def named(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


@pytest.mark.parametrize("path", [*PLAYBOOKS, *TASK_FILES], ids=named)
def test_every_task_says_what_it_is_for_and_which_module_it_means(path: Path) -> None:
    for task in tasks_of(path):
        assert re.match(r"[A-Z{]", task.get("name", "")), task
        (action,) = set(task) - KEYWORDS - set(BLOCKS[1:])
        assert action == "block" or action.count(".") == 2, f"{action} in {task['name']}"


@pytest.mark.parametrize("path", PLAYBOOKS, ids=named)
def test_every_play_says_what_it_is_for(path: Path) -> None:
    for play in yaml.safe_load(path.read_text()):
        assert re.match(r"[A-Z]", play.get("name", "")), play


def texts() -> Iterator[tuple[Path, str]]:
    """Everything that runs on a host or builds one."""
    for folder in ("roles", "playbooks", "molecule", "inventory"):
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and path.suffix not in {".md", ".pyc"}:
                yield path, path.read_text()


def test_nothing_is_downloaded_by_address_and_no_version_moves() -> None:
    """Hosts take packages from their own Debian mirror and wheels from the controller; nothing else comes in."""
    suspicious = re.compile(
        r"ansible\.builtin\.get_url|\b(curl|wget)\s+-?\S*https?:|:latest\b|docker\.io/|ghcr\.io|quay\.io"
    )
    found = [f"{path}: {hit[0]}" for path, text in texts() for hit in suspicious.finditer(text)]
    assert found == []


def test_the_only_addresses_are_our_own_or_examples() -> None:
    """An address in a role is a dependency that nobody sees; a unit may say where its documentation is."""
    ours = r"127\.0\.0\.1|localhost|[a-z0-9.-]*\b(example|test|internal)\b"
    made_up = r"[\[{($%…\\]|HOST"
    found = [
        f"{path.relative_to(CHECKOUT)}: {address}"
        for path, text in texts()
        for address in re.findall(r"(?m)^(?!Documentation=).*https?://([^\s\"'`,;]+)", text)
        if not re.match(f"{ours}|{made_up}", address)
    ]
    assert found == []


def test_no_step_of_a_scenario_is_skipped_for_want_of_its_playbook() -> None:
    """Molecule takes a playbook that it does not find for a wish to skip the step, and ends well."""
    shared = yaml.safe_load((CHECKOUT / ".config/molecule/config.yml").read_text())
    scenarios = [path.parent for path in CHECKOUT.glob("molecule/*/molecule.yml")]
    assert CHECKOUT / "molecule/default" in scenarios
    for scenario in scenarios:
        own = yaml.safe_load((scenario / "molecule.yml").read_text())
        playbooks = shared["provisioner"]["playbooks"] | own.get("provisioner", {}).get("playbooks", {})
        sequence = own.get("scenario", shared["scenario"])["test_sequence"]
        for step, *named_playbooks in (entry.split() for entry in sequence):
            expected = playbooks["converge" if step == "idempotence" else step] if step != "verify" else "."
            for playbook in [expected, *named_playbooks]:
                assert (scenario / playbook).exists(), f"{scenario.name}: {step} {playbook}"
