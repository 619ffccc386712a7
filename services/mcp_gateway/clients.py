"""Who holds which token: hashes from files, compared in constant time."""

import hashlib
import hmac
import os
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
    # Files that somebody else could write to.
    notes: tuple[str, ...] = ()
    # Clients without a token, who can do nothing: no reason not to serve the others, but never what was meant.
    shut_out: tuple[str, ...] = ()

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


def load_clients(settings: Settings) -> Clients:
    """The clients with their tokens.

    Raise ConfigurationError naming file and line (never its content) of everything that is no token line, and every
    token that two clients share.
    """
    problems: list[str] = []
    reading = _Reading(problems, [], [])
    tokens = [
        (known, client)
        for place, client in enumerate(settings.clients)
        for known in reading.hashes(settings.path.parent / client.tokens_file, f"clients.{place}.tokens_file")
    ]
    problems.extend(_shared(tokens))
    if problems:
        raise ConfigurationError(problems)
    return Clients(tuple(tokens), tuple(reading.notes), tuple(reading.shut_out))


def token_line(token: str) -> str:
    """The line of a tokens file that lets this token in."""
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads tokens files and collects what is to be said about them."""

    problems: list[str]
    notes: list[str]
    shut_out: list[str]

    def hashes(self, path: Path, key: str) -> list[bytes]:
        where = f"{key}: {path}"
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = file.read(MAX_BYTES + 1).decode("ascii", "replace")
        except OSError as fault:
            self.shut_out.append(f"{where} cannot be read ({fault.strerror}), so this client can do nothing")
            return []
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            self.notes.append(f"{where} can be written by others than its owner; chmod go-w it")
        known, wrong = _parse(text, where)
        self.problems.extend(wrong)
        if not known and not wrong:
            self.shut_out.append(
                f"{where} holds no token, so this client can do nothing; `mcp-gateway token new` helps"
            )
        return known


def _parse(text: str, where: str) -> tuple[list[bytes], list[str]]:
    """The hashes, and what is wrong."""
    if len(text) > MAX_BYTES:
        return [], [f"{where} is too large for a tokens file"]
    known: dict[bytes, None] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if match := _LINE.fullmatch(words):
            known[bytes.fromhex(match[1])] = None
        else:
            wrong.append(f"{where}, line {number}: is no `sha256:` with 64 hexadecimal digits")
    if len(known) > MAX_TOKENS:
        wrong.append(f"{where} has {len(known)} tokens; at most {MAX_TOKENS} may live at a time")
    return list(known), wrong


def _shared(tokens: Iterable[tuple[bytes, Client]]) -> list[str]:
    owners: dict[bytes, set[str]] = {}
    for known, client in tokens:
        owners.setdefault(known, set()).add(client.name)
    return [
        f"clients: {' and '.join(sorted(names))} have the same token; a token stands for one client"
        for names in owners.values()
        if len(names) > 1
    ]
