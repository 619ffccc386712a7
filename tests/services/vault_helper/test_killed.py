"""kill -9 at every step of a change leaves the old or the new note, and a repository that works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = "tests.services.vault_helper.killed"
# Fewer steps than this would mean that the killing missed the change.
LEAST_STEPS = {"create": 20, "overwrite": 25, "take_over": 40}


@pytest.fixture(scope="module")
def runs(template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.Popen[str]]:
    """All scenarios at once, on whatever cores there are."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "services"), os.environ.get("PYTHONPATH", "")])}
    started = {}
    for scenario in LEAST_STEPS:
        command = [sys.executable, "-m", PROGRAM, scenario, str(template), str(tmp_path_factory.mktemp(scenario))]
        started[scenario] = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    return started


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", sorted(LEAST_STEPS))
def test_killed_at_every_step(scenario: str, runs: dict[str, subprocess.Popen[str]]) -> None:
    output, complaints = runs[scenario].communicate()
    steps = [json.loads(line) for line in output.splitlines()]
    assert runs[scenario].returncode == 0, complaints
    assert [step for step in steps if step["faults"]] == []
    assert steps[-1]["killed"] is False
    assert len(steps) > LEAST_STEPS[scenario]
