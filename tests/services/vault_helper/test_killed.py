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


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", sorted(LEAST_STEPS))
def test_killed_at_every_step(scenario: str, template: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", PROGRAM, scenario, str(template), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "services")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [step for step in steps if step["faults"]] == []
    assert steps[-1]["killed"] is False
    assert len(steps) > LEAST_STEPS[scenario]
