"""Build what a host installs the services from: one archive of wheels per Python and architecture, and a manifest.

The hosts have neither compiler nor package index. Each archive holds the wheels of requirements.txt and the one built
from this folder, with a requirements.txt that pins every one by its hash. The same input gives the same bytes.

    wheelhouse.py                            for this machine's architecture
    wheelhouse.py x86_64 aarch64             for these architectures
"""

import argparse
import fcntl
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

SERVICES = Path(__file__).resolve().parent
CHECKOUT = SERVICES.parent
REQUIREMENTS = CHECKOUT / "requirements.txt"
WHEELHOUSE = CHECKOUT / ".cache" / "wheelhouse"

# The system Pythons of Debian 12 and 13.
PYTHONS = ("3.11", "3.13")
ARCHITECTURES = ("x86_64", "aarch64")
# What other systems that a playbook may be run from call the same machines.
OTHER_NAMES = {"arm64": "aarch64", "amd64": "x86_64", "AMD64": "x86_64"}
# Debian 12 has glibc 2.36; a wheel for any older one runs there too. 2.17 is the oldest that wheels are still made for.
GLIBC_MINORS = range(36, 16, -1)
# The zip format knows no earlier moment.
EPOCH = 315532800
# The live version, and the one before it for who goes back to an earlier checkout.
KEPT_VERSIONS = 2


Archives = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Target:
    """A kind of host: its Python and its architecture."""

    python: str
    architecture: str

    @property
    def name(self) -> str:
        return f"py{self.python.replace('.', '')}-{self.architecture}"

    @property
    def markers(self) -> dict[str, str]:
        """What the environment markers of a requirement are judged by."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "platform_python_implementation": "CPython",
            "platform_machine": self.architecture,
            "platform_system": "Linux",
            "os_name": "posix",
            "sys_platform": "linux",
        }


def sources() -> Iterator[Path]:
    """Every file of the services that decides what is deployed, in a fixed order."""
    for path in sorted(SERVICES.rglob("*")):
        parts = path.relative_to(SERVICES).parts
        litter = any(part in {"__pycache__", "build", "dist"} or part.endswith((".egg-info", ".pyc")) for part in parts)
        if path.is_file() and not litter:
            yield path


def version() -> str:
    """The version of the package, and a digest of what goes into it, so that any change is a release of its own."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    for path in sources():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(SERVICES).as_posix()} {content}\n".encode())
    declared = tomllib.loads((SERVICES / "pyproject.toml").read_text())["project"]["version"]
    return f"{declared}+{digest.hexdigest()[:8]}"


def requirements_for(target: Target) -> str:
    """The lines of the lock that a target needs, without markers: pip would judge them by the Python it runs under."""
    lines = []
    for entry in REQUIREMENTS.read_text().replace("\\\n", " ").splitlines():
        if not entry.strip() or entry.lstrip().startswith("#"):
            continue
        pinned, *hashes = (part.strip() for part in entry.split(" --hash="))
        requirement = Requirement(pinned)
        if requirement.marker is None or requirement.marker.evaluate(target.markers):
            lines.append(" --hash=".join([f"{requirement.name}{requirement.specifier}", *hashes]))
    return "\n".join(lines) + "\n"


def pip(*arguments: str | Path) -> None:
    """Run pip under the Python that runs this. Raise CalledProcessError when it fails; it has said why by then."""
    command = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--no-input", *arguments]
    subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)})


def download(target: Target) -> Path:
    """The directory with the wheels of the lock for a target, from an earlier run when the lock has not changed."""
    requirements = requirements_for(target)
    kept = WHEELHOUSE / "downloads" / f"{target.name}-{hashlib.sha256(requirements.encode()).hexdigest()[:16]}"
    if not kept.is_dir():
        for outdated in kept.parent.glob(f"{target.name}-*"):
            shutil.rmtree(outdated)
        with tempfile.TemporaryDirectory(dir=WHEELHOUSE) as temporary:
            wheels = Path(temporary, "wheels")
            wheels.mkdir()
            (wheels / "requirements.txt").write_text(requirements)
            tags = [f"manylinux_2_{minor}_{target.architecture}" for minor in GLIBC_MINORS]
            tags += [f"manylinux2014_{target.architecture}"]
            pip(
                *("download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--implementation=cp"),
                *(f"--python-version={target.python}", *(f"--platform={tag}" for tag in tags)),
                *("--requirement", wheels / "requirements.txt", "--dest", wheels),
            )
            kept.parent.mkdir(exist_ok=True)
            wheels.rename(kept)
    return kept


def build_package(directory: Path) -> Path:
    """The wheel of the services, built from a copy: the modes of a checkout and older builds in it leave no trace."""
    copy = directory / "source"
    for path in sources():
        target = copy / path.relative_to(SERVICES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        target.chmod(0o644)
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", directory / "package", copy)
    (wheel,) = (directory / "package").iterdir()
    return wheel


def pack(wheels: Path, package: Path, archive: Path) -> None:
    """Write one archive of both, its members sorted and without the times, owners and modes of this machine."""
    name, number, *_ = package.name.split("-")
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    requirements = f"{(wheels / 'requirements.txt').read_text()}{name}=={number} --hash=sha256:{digest}\n"
    members = {path.name: path.read_bytes() for path in [*wheels.glob("*.whl"), package]}
    members["requirements.txt"] = requirements.encode()
    with (
        archive.open("wb") as raw,
        # Wheels are compressed already. No name and no time of today, or the header would differ.
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=1, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in sorted(members):
            entry = tarfile.TarInfo(member)
            entry.size, entry.mtime, entry.mode = len(members[member]), EPOCH, 0o644
            tar.addfile(entry, io.BytesIO(members[member]))


def read_manifest(release: str) -> Archives:
    """The archives {target: {file, sha256}} of this release that are there and whole."""
    try:
        manifest = json.loads((WHEELHOUSE / "manifest.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    if manifest["version"] != release:
        return {}
    return {name: entry for name, entry in manifest["archives"].items() if is_whole(entry)}


def is_whole(entry: dict[str, str]) -> bool:
    """Whether the archive of a manifest entry is there with the bytes that the manifest names."""
    path = WHEELHOUSE / entry["file"]
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]


def write_manifest(release: str, archives: Archives) -> None:
    """Replace the manifest in one step: a deployment that reads it meanwhile sees the old or the new one."""
    draft = WHEELHOUSE / "manifest.json.new"
    draft.write_text(json.dumps({"version": release, "archives": archives}, indent=2, sort_keys=True) + "\n")
    draft.replace(WHEELHOUSE / "manifest.json")


def remove_old_versions() -> None:
    """Keep the archives of the newest versions only; each weighs about 20 MB."""
    versions = [path for path in WHEELHOUSE.iterdir() if path.is_dir() and "+" in path.name]
    for path in sorted(versions, key=lambda item: item.stat().st_mtime, reverse=True)[KEPT_VERSIONS:]:
        shutil.rmtree(path)


def build(release: str, targets: list[Target]) -> Archives:
    """Build the archives of the targets; a run that is interrupted leaves none behind that is not whole."""
    (WHEELHOUSE / release).mkdir(exist_ok=True)
    archives = {}
    with tempfile.TemporaryDirectory(dir=WHEELHOUSE) as temporary:
        package = build_package(Path(temporary))
        for target in targets:
            print(f"Collecting the wheels for Python {target.python} on {target.architecture}", flush=True)
            draft = Path(temporary, target.name)
            pack(download(target), package, draft)
            file = f"{release}/{target.name}.tar.gz"
            archives[target.name] = {"file": file, "sha256": hashlib.sha256(draft.read_bytes()).hexdigest()}
            draft.replace(WHEELHOUSE / file)
    return archives


def main() -> int:
    """Entry point: build what is missing and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", metavar="ARCHITECTURE", help=f"of {', '.join(ARCHITECTURES)}")
    architectures = parser.parse_args().architectures or [OTHER_NAMES.get(platform.machine(), platform.machine())]
    if unknown := set(architectures) - set(ARCHITECTURES):
        parser.error(f"no wheels are collected for {', '.join(unknown)}, only for {', '.join(ARCHITECTURES)}")
    os.umask(0o022)  # it shows in the modes of what pip puts into a wheel
    WHEELHOUSE.mkdir(parents=True, exist_ok=True)
    with (WHEELHOUSE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        release = version()
        archives = read_manifest(release)
        wanted = [Target(python, architecture) for architecture in architectures for python in PYTHONS]
        missing = [target for target in wanted if target.name not in archives]
        if missing:
            archives |= build(release, missing)
            write_manifest(release, archives)
            remove_old_versions()
    print(f"Wheelhouse {release}: {', '.join(sorted(archives))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
