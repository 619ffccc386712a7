"""Who holds which token: hashes from files, compared in constant time."""

import hashlib
import hmac
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.model import Client, Settings

# The token in use and the one that replaces it; a third would be one that somebody forgot.
MAX_TOKENS = 2
# Two lines and some comments.
MAX_BYTES = 16 * 1024

_LINE = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients that can be told by a token."""

    tokens: tuple[tuple[bytes, Client], ...]

    def holder(self, token: bytes) -> tuple[Client, bytes] | None:
        """Whose token this is, with its hash; every hash is compared, so that time tells nothing."""
        digest = hashlib.sha256(token).digest()
        found = None
        for known, client in self.tokens:
            if hmac.compare_digest(known, digest):
                found = client, known
        return found

    @property
    def hashes(self) -> frozenset[bytes]:
        """Every hash that opens something."""
        return frozenset(known for known, _ in self.tokens)


def load_clients(settings: Settings) -> tuple[Clients, list[str]]:
    """The clients, and what is missing: a client without a token can do nothing, which is worth saying.

    Raise ConfigurationError naming file and line (never its content) of everything that is no token line, and every
    token that two clients share.
    """
    problems: list[str] = []
    warnings: list[str] = []
    tokens: list[tuple[bytes, Client]] = []
    for place, client in enumerate(settings.clients):
        path = settings.path.parent / client.tokens_file
        hashes = _read(path, f"clients.{place}.tokens_file", problems, warnings)
        tokens += [(known, client) for known in hashes]
    problems.extend(_shared(tokens))
    if problems:
        raise ConfigurationError(problems)
    return Clients(tuple(tokens)), warnings


def token_line(token: str) -> str:
    """The line of a tokens file that lets this token in."""
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def _read(path: Path, where: str, problems: list[str], warnings: list[str]) -> list[bytes]:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            text = file.read(MAX_BYTES + 1).decode("ascii", "replace")
    except OSError as fault:
        warnings.append(f"{where}: {path} cannot be read ({fault.strerror}), so this client can do nothing")
        return []
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        warnings.append(f"{where}: {path} can be written by others than its owner; chmod go-w it")
    hashes = _parse(text, f"{where}: {path}", problems)
    if not hashes and not problems:
        warnings.append(f"{where}: {path} holds no token, so this client can do nothing; `mcp-gateway token new` makes one")
    return hashes


def _parse(text: str, where: str, problems: list[str]) -> list[bytes]:
    hashes: list[bytes] = []
    if len(text) > MAX_BYTES:
        problems.append(f"{where}: is too large for a tokens file")
        return []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        match = _LINE.fullmatch(words)
        if match is None:
            problems.append(f"{where}, line {number}: is no `sha256:` and 64 hexadecimal digits")
        else:
            hashes.append(bytes.fromhex(match[1]))
    hashes = list(dict.fromkeys(hashes))
    if len(hashes) > MAX_TOKENS:
        problems.append(f"{where}: has {len(hashes)} tokens; at most {MAX_TOKENS} may live at a time")
    return hashes


def _shared(tokens: Iterable[tuple[bytes, Client]]) -> list[str]:
    owners: dict[bytes, set[str]] = {}
    for known, client in tokens:
        owners.setdefault(known, set()).add(client.name)
    return [
        f"clients: {' and '.join(sorted(names))} have the same token; a token stands for one client"
        for names in owners.values()
        if len(names) > 1
    ]
