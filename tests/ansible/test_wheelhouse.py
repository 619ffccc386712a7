"""The archives that hosts install from: the same input gives the same bytes, and any change gives a new release."""

import hashlib
import importlib.util
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

SERVICES = Path(__file__).parents[2] / "services"


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Any:
    """The builder, on a checkout of its own with one tiny package and no dependency to download."""
    spec = importlib.util.spec_from_file_location("wheelhouse_under_test", SERVICES / "wheelhouse.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    services = tmp_path / "services"
    (services / "mcp_gateway").mkdir(parents=True)
    (services / "mcp_gateway/__init__.py").write_text('"""A package."""\n')
    (services / "pyproject.toml").write_text((SERVICES / "pyproject.toml").read_text())
    module.SERVICES, module.WHEELHOUSE = services, tmp_path / "wheelhouse"
    module.REQUIREMENTS = tmp_path / "requirements.txt"
    module.REQUIREMENTS.write_text("# nothing\n")
    module.WHEELHOUSE.mkdir()
    for target in ("py311-x86_64", "py313-x86_64"):
        requirements = module.requirements_for(target_of(module, target))
        place = module.WHEELHOUSE / "downloads" / f"{target}-{hashlib.sha256(requirements.encode()).hexdigest()[:16]}"
        place.mkdir(parents=True)
        (place / "requirements.txt").write_text(requirements)
        (place / "some-1.0-py3-none-any.whl").write_bytes(b"some wheel")
    return module


def target_of(module: Any, name: str) -> object:
    python, architecture = name.split("-")
    return module.Target(f"3.{python[3:]}", architecture)


def build(module: Any) -> dict[str, dict[str, str]]:
    archives = module.build(module.version(), [target_of(module, "py311-x86_64")])
    assert isinstance(archives, dict)
    return archives


def test_the_same_input_gives_the_same_bytes_whatever_the_checkout_looks_like(wheelhouse: Any) -> None:
    first = build(wheelhouse)
    source = wheelhouse.SERVICES / "mcp_gateway/__init__.py"
    source.chmod(0o600)
    os.utime(source, (0, 0))
    for litter in ("build/lib/old.py", "mcp_gateway/__pycache__/x.pyc", "talaria.egg-info/PKG-INFO"):
        path = wheelhouse.SERVICES / litter
        path.parent.mkdir(parents=True)
        path.write_text("litter")
    assert build(wheelhouse) == first


def test_any_change_of_the_services_or_of_the_lock_is_a_release_of_its_own(wheelhouse: Any) -> None:
    versions = [wheelhouse.version()]
    (wheelhouse.SERVICES / "mcp_gateway/__init__.py").write_text('"""Another."""\n')
    versions.append(wheelhouse.version())
    (wheelhouse.SERVICES / "mcp_gateway/new.py").write_text("")
    versions.append(wheelhouse.version())
    wheelhouse.REQUIREMENTS.write_text("# nothing at all\n")
    versions.append(wheelhouse.version())
    assert len(set(versions)) == len(versions)
    assert all(version.startswith("0.") and "+" in version for version in versions)


def test_the_archive_pins_every_wheel_that_it_holds(wheelhouse: Any) -> None:
    entry = build(wheelhouse)["py311-x86_64"]
    with tarfile.open(wheelhouse.WHEELHOUSE / entry["file"]) as archive:
        assert [member.name for member in archive] == sorted(member.name for member in archive)
        assert {(member.uid, member.gid, member.mode) for member in archive} == {(0, 0, 0o644)}
        (wheel,) = (name for name in archive.getnames() if name.startswith("talaria-"))
        content, requirements = archive.extractfile(wheel), archive.extractfile("requirements.txt")
        assert content is not None
        assert requirements is not None
        digest = hashlib.sha256(content.read()).hexdigest()
        assert f"--hash=sha256:{digest}" in requirements.read().decode()


def test_markers_are_judged_by_the_host_and_not_by_this_machine(wheelhouse: Any) -> None:
    wheelhouse.REQUIREMENTS.write_text(
        "old==1.0 ; python_full_version < '3.12' \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "new==2.0 ; python_full_version >= '3.12' \\\n    --hash=sha256:cc\n"
        "windows==1 ; sys_platform == 'win32' \\\n    --hash=sha256:dd\n"
        "arm==1 ; platform_machine == 'aarch64' \\\n    --hash=sha256:ee\n"
    )
    lines = {
        name: wheelhouse.requirements_for(target_of(wheelhouse, name)).splitlines()
        for name in ("py311-x86_64", "py313-aarch64")
    }
    assert lines == {
        "py311-x86_64": ["old==1.0 --hash=sha256:aa --hash=sha256:bb"],
        "py313-aarch64": ["new==2.0 --hash=sha256:cc", "arm==1 --hash=sha256:ee"],
    }


def test_the_manifest_names_only_archives_that_are_whole(wheelhouse: Any) -> None:
    release, archives = wheelhouse.version(), build(wheelhouse)
    wheelhouse.write_manifest(release, archives)
    assert wheelhouse.read_manifest(release) == archives
    assert wheelhouse.read_manifest("0.0+other") == {}
    with (wheelhouse.WHEELHOUSE / archives["py311-x86_64"]["file"]).open("ab") as archive:
        archive.write(b"x")
    assert wheelhouse.read_manifest(release) == {}


def test_every_requirement_of_the_lock_is_pinned_by_hash() -> None:
    text = (SERVICES.parent / "requirements.txt").read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(entries) > 20
    assert [line for line in entries if "==" not in line or "--hash=sha256:" not in line] == []
