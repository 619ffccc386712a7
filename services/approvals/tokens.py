"""Which service holds which token: hashes from files, compared in constant time."""

import hashlib
import hmac
import re
from pathlib import Path

from approvals.errors import ConfigurationError
from approvals.settings import Configuration

# The token in use and the one that replaces it.
MAX_TOKENS = 2
MAX_BYTES = 16 * 1024
_LINE = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)


class Tokens:
    """The services' tokens."""

    def __init__(self, hashes: tuple[tuple[bytes, str], ...]) -> None:
        self._hashes = hashes

    def service(self, header: str) -> str | None:
        """The service whose bearer token an Authorization header shows; every hash is compared."""
        scheme, _, token = header.partition(" ")
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        for known, name in self._hashes:
            if hmac.compare_digest(known, digest):
                found = name
        return found if scheme.lower() == "bearer" and token else None


def load_tokens(configuration: Configuration) -> Tokens:
    """The tokens of all services. Raise ConfigurationError naming file and line, never what stands there."""
    problems: list[str] = []
    hashes: list[tuple[bytes, str]] = []
    for place, service in enumerate(configuration.settings.services):
        path = configuration.path.parent / service.tokens_file
        where = f"services.{place}.tokens_file: {path}"
        found = _hashes(path, where, problems)
        hashes += [(known, service.name) for known in found]
    if len({known for known, _ in hashes}) != len(hashes):
        problems.append("services: two of them have the same token; a token stands for one service")
    if problems:
        raise ConfigurationError(problems)
    return Tokens(tuple(hashes))


def _hashes(path: Path, where: str, problems: list[str]) -> list[bytes]:
    try:
        text = path.read_bytes()[:MAX_BYTES].decode("ascii", "replace")
    except OSError as fault:
        problems.append(f"{where}: cannot be read: {fault.strerror}")
        return []
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if match := _LINE.fullmatch(words):
            found.append(bytes.fromhex(match[1]))
        else:
            problems.append(f"{where}, line {number}: is no `sha256:` with 64 hexadecimal digits")
    if not 1 <= len(found) <= MAX_TOKENS:
        problems.append(f"{where}: holds {len(found)} tokens; it needs one, or two while one is being replaced")
    return found
