"""The key of the digests: without it nobody can try out which values give a digest of the log."""

import os
import secrets
from pathlib import Path

from mcp_gateway.errors import ConfigurationError

KEY_BYTES = 32
FILE_NAME = "audit.key"


def load_key(state_dir: Path) -> bytes:
    """The state directory's key, made at the first call. Raise ConfigurationError when the file is not a key of ours.

    The caller holds the directory's lock; the rename makes the file whole or absent whatever happens.
    """
    path = state_dir / FILE_NAME
    if not path.exists():
        _create(path)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            [f"state_dir: {path} has {len(key)} bytes, not {KEY_BYTES}; restore it, or remove it to get a new key"]
        )
    return key


def _create(path: Path) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    give_to_owner(temporary)
    temporary.replace(path)
    sync_directory(path.parent)


def give_to_owner(path: Path) -> None:
    """Let a file that root made (by the command line) belong to the service, as its directory does."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def sync_directory(path: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
