"""`make` is the front door: every command is listed, and says what it needs before it is in the middle of something."""

import os
import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
COMMANDS = {
    *("help", "demo", "demo-down", "deploy", "verify", "token", "wheelhouse"),
    *("test", "test-all", "lint", "unit", "molecule", "bench", "lock", "clean"),
}


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as from a fresh shell, not as part of the make that runs the tests."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False, env=environment
    )


def test_make_alone_lists_every_command_with_a_sentence() -> None:
    listed = re.findall(r"(?m)^  ([a-z-]+) +(\S.+)$", make().stdout)
    assert {name for name, _ in listed} == COMMANDS


@pytest.mark.parametrize("command", ["deploy", "verify"])
@pytest.mark.parametrize("inventory", [(), ("INVENTORY=inventory/none",)])
def test_a_command_for_hosts_asks_for_the_inventory(command: str, inventory: tuple[str, ...]) -> None:
    result = make(command, *inventory)
    assert result.returncode != 0
    assert "Copy inventory/example" in result.stderr


def test_a_token_is_for_somebody() -> None:
    result = make("token")
    assert result.returncode != 0
    assert "CLIENT=" in result.stderr


def test_a_container_engine_that_is_none_is_named() -> None:
    engine = [str(CHECKOUT / "molecule/engine.sh"), "--name"]
    environment = os.environ | {"CONTAINER_ENGINE": "lxc"}
    result = subprocess.run(engine, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "podman or docker" in result.stderr
