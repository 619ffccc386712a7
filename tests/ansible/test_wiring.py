"""The rules that keep roles apart: only the wiring joins them, and every inventory has the same wiring."""

import re
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
ROLES = sorted(path for path in (REPOSITORY / "roles").iterdir() if path.is_dir())
PUBLIC_ROLES = [role for role in ROLES if not role.name.startswith("_")]
INVENTORIES = [REPOSITORY / "inventory/example", REPOSITORY / "inventory/demo", REPOSITORY / "molecule/shared"]
WIRING = REPOSITORY / "inventory/wiring.yml"
# Long enough for every role of the bundle, short enough to be read before a deployment.
MAX_WIRING_LINES = 120


def sources(role: Path) -> str:
    """Everything that Ansible evaluates in a role."""
    folders = ("defaults", "handlers", "tasks", "templates", "vars")
    return "\n".join(path.read_text() for folder in folders for path in (role / folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_a_role_never_reads_the_variables_of_another(role: Path) -> None:
    text = re.sub(r"(?m)^\s*#.*$", "", sources(role))
    for other in PUBLIC_ROLES:
        if other != role:
            options = yaml.safe_load((other / "meta/argument_specs.yml").read_text())["argument_specs"]["main"][
                "options"
            ]
            read = [name for name in options if re.search(rf"\b{name}\b", text)]
            assert read == [], f"{role.name} reads {read} of {other.name}"
    assert not re.search(r"\btalaria_[a-z_]+\b(?=\s*[|}\]])", text), "the inventory's own variables are for the wiring"


@pytest.mark.parametrize("role", PUBLIC_ROLES, ids=lambda role: role.name)
def test_every_variable_of_a_role_begins_with_its_name(role: Path) -> None:
    for folder, prefix in (("defaults", f"{role.name}_"), ("vars", f"_{role.name}_")):
        file = role / folder / "main.yml"
        names = yaml.safe_load(file.read_text()) if file.exists() else {}
        assert [name for name in names if not name.startswith(prefix)] == []
    registered = re.findall(r"(?m)^\s*register: (\S+)", sources(role))
    assert [name for name in registered if not name.startswith(f"_{role.name}_")] == []


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
def test_every_inventory_has_the_one_wiring(inventory: Path) -> None:
    wiring = inventory / "group_vars/all/wiring.yml"
    assert wiring.is_symlink(), "a copy would stay behind when the bundle changes"
    assert wiring.resolve() == WIRING


def test_the_wiring_is_short_and_sets_what_roles_have() -> None:
    assert len(WIRING.read_text().splitlines()) <= MAX_WIRING_LINES
    known: set[str] = set()
    for role in PUBLIC_ROLES:
        known |= set(
            yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
        )
    names = [name for name in yaml.safe_load(WIRING.read_text()) if not name.startswith("talaria_")]
    assert [name for name in names if name not in known] == []


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
def test_what_the_operator_sets_is_read_after_the_wiring(inventory: Path) -> None:
    files = sorted(path.name for path in (inventory / "group_vars/all").iterdir())
    assert files[-1] == "yours.yml", "Ansible reads the files of a directory in the order of their names"


def test_the_inventory_to_copy_asks_for_six_values_at_most() -> None:
    files = [path for path in (REPOSITORY / "inventory/example").rglob("*.yml") if not path.is_symlink()]
    numbers = [int(number) for file in files for number in re.findall(r"# (\d)\.", file.read_text())]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 6
