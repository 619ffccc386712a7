"""kill -9 at every step of a change leaves the old or the new note, and a repository that works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed.py")
# Fewer steps than this would mean that the killing missed the change.
LEAST_STEPS = {"create": 20, "overwrite": 25, "take_over": 40}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", sorted(LEAST_STEPS))
def test_killed_at_every_step(scenario: str, template: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), scenario, str(template), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [step for step in steps if step["faults"]] == []
    assert steps[-1]["killed"] is False
    assert len(steps) > LEAST_STEPS[scenario]
