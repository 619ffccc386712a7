"""A role's argument specification and its defaults say the same, so that neither can drift from the other."""

from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = sorted(path for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())
PUBLIC_ROLES = [role for role in ROLES if not role.name.startswith("_")]


def read(path: Path) -> Any:
    """The content of a YAML file of a role, which is there."""
    return yaml.safe_load(path.read_text())


def options_of(role: Path, entry_point: str = "main") -> dict[str, dict[str, Any]]:
    options = read(role / "meta/argument_specs.yml")["argument_specs"][entry_point]["options"]
    assert isinstance(options, dict)
    return options


def test_there_are_roles_to_look_at() -> None:
    assert {"caddy", "mcp_gateway", "prometheus", "vault_repository"} <= {role.name for role in PUBLIC_ROLES}


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_options_are_the_defaults_and_what_is_required(role: Path) -> None:
    required = {name for name, option in options_of(role).items() if option.get("required")}
    defaults = set(read(role / "defaults/main.yml"))
    assert set(options_of(role)) == defaults | required
    assert defaults & required == set(), "a required value has no default"


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_the_default_that_is_documented_is_the_default(role: Path) -> None:
    documented = {name: option["default"] for name, option in options_of(role).items() if "default" in option}
    assert documented == {name: value for name, value in read(role / "defaults/main.yml").items() if value is not None}


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_every_option_has_a_type_and_a_sentence(role: Path) -> None:
    for name, option in options_of(role).items():
        assert option.get("type"), name
        assert str(option.get("description", "")).endswith("."), name


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_every_role_can_be_taken_back(role: Path) -> None:
    assert options_of(role)[f"{role.name}_enabled"]["default"] is True
    assert (role / "tasks/uninstall.yml").exists()


def test_the_shared_steps_are_documented_entry_by_entry() -> None:
    role = next(role for role in ROLES if role.name == "_common")
    entries = set(read(role / "meta/argument_specs.yml")["argument_specs"])
    tasks = {path.stem for path in (role / "tasks").glob("*.yml")} - {"main", "guard"}
    assert entries == tasks
    options = {name for entry in entries for name in options_of(role, entry)}
    assert {name for name in options if not name.startswith("_common_")} == set()
    assert options - set(read(role / "defaults/main.yml")) == set()
