"""Which package may import which; read from the syntax trees, so that no path of the code is missed."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[2] / "services"
PACKAGES = sorted(path.parent.name for path in SERVICES.glob("*/__init__.py"))

# Inside the gateway: a module may import its own layer and those below it.
LAYERS = (
    # What everything speaks: words, codes, shapes and decisions.
    {
        "__init__",
        "errors",
        "tools",
        "answers",
        "schemas",
        "policies",
        "settings",
        "arguments",
        "previews",
        "audit",
        "undo",
        "metrics",
    },
    {"ports"},
    {"actions"},
    {"calls", "clients", "backends", "notify", "logs", "connection"},
    {"channels", "routes", "approvals"},
    {"catalogue", "planning", "readiness", "app", "reload", "serving", "cli", "__main__"},
)
# The same for the approvals service.
APPROVALS_LAYERS = (
    {"__init__", "errors", "hosts", "settings", "states", "systemd", "request", "store"},
    {"changes", "tokens", "sessions", "requests"},
    {"metrics"},
    {"routes"},
    {"app", "serving", "cli", "__main__"},
)
# The one import between services: vault_helper has no process of its own on the gateway's side, so the vault's port
# uses its library half (and never the forced command), through the one module that shows all of it.
BETWEEN_SERVICES = {"mcp_gateway.ports.vault": ["vault_helper.client"]}


def modules(package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((SERVICES / package).rglob("*.py")):
        parts = path.relative_to(SERVICES).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> set[str]:
    """Every module that a file names in an import, wherever it stands; `from a import b` counts as a.b too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


LAYERS_OF = {"mcp_gateway": LAYERS, "approvals": APPROVALS_LAYERS}
LAYERED = [found for package in LAYERS_OF for found in modules(package)]


def layer_of(module: str) -> int:
    package, part = ([*module.split("."), "__init__"])[:2]
    return next(number for number, names in enumerate(LAYERS_OF[package]) if part in names)


def every_module() -> list[tuple[str, Path]]:
    return [found for package in PACKAGES for found in modules(package)]


@pytest.mark.parametrize(("module", "path"), every_module(), ids=lambda value: value if isinstance(value, str) else "")
def test_no_service_imports_another_one(module: str, path: Path) -> None:
    own = module.split(".")[0]
    allowed = BETWEEN_SERVICES.get(module, [])
    foreign = [name for name in imports(path) if within(name, [other for other in PACKAGES if other != own])]
    assert [name for name in foreign if not within(name, allowed)] == []


def within(name: str, packages: list[str]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize(("module", "path"), LAYERED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_layer_imports_nothing_above_it(module: str, path: Path) -> None:
    above = {
        name
        for name in imports(path)
        if within(name, [module.split(".")[0]]) and name != "mcp_gateway.__version__" and known(name)
        if layer_of(name) > layer_of(module)
    }
    assert above == set()


def known(name: str) -> bool:
    """Whether a name is a module or package of ours, and not something inside one."""
    path = SERVICES / Path(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


@pytest.mark.parametrize("package", LAYERS_OF)
def test_every_part_of_a_layered_service_has_a_layer(package: str) -> None:
    parts = {module.split(".")[1] for module, _ in modules(package) if "." in module}
    assert parts <= {name for names in LAYERS_OF[package] for name in names}


def test_the_forced_command_needs_nothing_but_the_standard_library() -> None:
    """It travels to the vault host as one file, where nothing of ours is installed."""
    for name in imports(SERVICES / "vault_helper" / "shell.py"):
        assert name.split(".")[0] in sys.stdlib_module_names, name
