"""The vault as the gateway sees it: five questions, one write, each with a bound on its time."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault_helper.channels import Answer, LocalOpener, LocalTarget, Opener
from vault_helper.errors import (
    AnswerLate,
    ChannelBroken,
    OutcomeUnknown,
    VaultError,
    VaultRefused,
    VaultUnreachable,
)
from vault_helper.pool import MAX_CHANNELS, ChannelPool
from vault_helper.shell import (
    NO_SUCH_NOTE,
    Deadline,
    content_refusal,
    path_fault,
    within,
    write_fault,
)
from vault_helper.ssh import SshOpener, SshTarget

# Asking what became of a write is worth this much time even when its own is nearly over.
SETTLE_SECONDS = 3.0

Target = SshTarget | LocalTarget

# All that a user of this package needs; the rest of it is nobody else's business.
__all__ = [
    "MAX_CHANNELS",
    "AnswerLate",
    "Found",
    "Listing",
    "LocalTarget",
    "Match",
    "OutcomeUnknown",
    "Page",
    "Rules",
    "SshTarget",
    "Status",
    "Target",
    "VaultClient",
    "VaultError",
    "VaultRefused",
    "VaultUnreachable",
    "Written",
]


@dataclass(frozen=True)
class Rules:
    """The operator's folders, checked on this side too, before anything is sent."""

    writable_prefixes: tuple[str, ...]
    unreadable_prefixes: tuple[str, ...]

    def check_read(self, path: str) -> None:
        """Raise VaultRefused when `path` may not be read, whatever stands there."""
        if fault := path_fault(path):
            raise VaultRefused("__BAD_PATH__", fault)
        if not self.visible(path):
            raise VaultRefused("__NOT_FOUND__", NO_SUCH_NOTE)

    def check_write(self, path: str) -> None:
        """Raise VaultRefused when `path` may not be written."""
        if fault := path_fault(path) or write_fault(path, self.writable_prefixes, self.unreadable_prefixes):
            raise VaultRefused("__BAD_PATH__", fault)

    def visible(self, path: str) -> bool:
        """Whether an agent may know of `path`."""
        return not within(path, self.unreadable_prefixes)


@dataclass(frozen=True)
class Match:
    """One line that holds the query."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """What a search gave; `cut` says why there may be more."""

    matches: tuple[Match, ...]
    cut: str = ""


@dataclass(frozen=True)
class Listing:
    """The first paths of a folder and how many it has."""

    paths: tuple[str, ...]
    total: int


@dataclass(frozen=True)
class Page:
    """One page of a note and the SHA-256 of the whole version it belongs to."""

    path: str
    text: str
    offset: int
    next_offset: int | None
    total_chars: int
    sha256: str


@dataclass(frozen=True)
class Written:
    """What a write did: its commit, and whether the remote has it."""

    path: str
    sha256: str
    commit: str
    pushed: bool
    reason: str = ""
    repeated: bool = False
    # Somebody else's change of other lines was put together with ours: the note holds more than what was sent.
    merged: bool = False


@dataclass(frozen=True)
class Status:
    """How the vault is: why it cannot be written, and what its remote lacks."""

    fault: str
    has_remote: bool
    unpushed: int
    unpushed_seconds: float
    reason: str


class VaultClient:
    """Asks one vault. Safe to use from up to eight threads at once; opens nothing before the first question."""

    def __init__(self, target: Target, rules: Rules) -> None:
        self._rules = rules
        opener: Opener = SshOpener(target) if isinstance(target, SshTarget) else LocalOpener(target)
        self._pool = ChannelPool(opener)

    def close(self) -> None:
        """End every channel and the connection."""
        self._pool.close()

    def search(self, query: str, seconds: float) -> Found:
        """Lines that hold `query` as plain text, whatever the case."""
        answer, _ = self._read({"op": "search", "query": query}, seconds)
        matches = (Match(**match) for match in answer["matches"])
        return Found(tuple(m for m in matches if self._rules.visible(m.path)), answer.get("reason", ""))

    def list(self, prefix: str, seconds: float) -> Listing:
        """Tracked files below the folder `prefix`; all when it is empty."""
        answer, _ = self._read({"op": "list", "prefix": prefix}, seconds)
        shown = tuple(path for path in answer["paths"] if self._rules.visible(path))
        return Listing(shown, answer["total"] - len(answer["paths"]) + len(shown))

    def read(self, path: str, offset: int, seconds: float) -> Page:
        """The page of the note at `path` that begins at the character `offset`."""
        self._rules.check_read(path)
        answer, body = self._read({"op": "read", "path": path, "offset": offset}, seconds)
        facts = {key: answer[key] for key in ("path", "offset", "next_offset", "total_chars", "sha256")}
        return Page(text=body.decode("utf-8"), **facts)

    def status(self, seconds: float) -> Status:
        """How the vault is."""
        answer, _ = self._read({"op": "status"}, seconds)
        return Status(answer["fault"] or "", answer["remote"], answer["unpushed"], answer["age"], answer["reason"])

    def write(
        self,
        path: str,
        content: bytes,
        base_hash: str | None,
        *,
        client: str,
        receipt: str,
        audit: str,
        seconds: float,
    ) -> Written:
        """Write, commit and push one note.

        Raise VaultRefused when a rule forbids it, VaultUnreachable when nothing was changed, OutcomeUnknown when it
        was sent and nobody can say what became of it.
        """
        self._rules.check_write(path)
        if refusal := content_refusal(content):
            raise VaultRefused(refusal.code, refusal.hint)
        digest = hashlib.sha256(content).hexdigest()
        header = {"op": "write", "path": path, "base_hash": base_hash, "size": len(content), "sha256": digest}
        header |= {"client": client, "receipt": receipt, "audit": audit}
        answer = self._write(header, content, Deadline(seconds))
        facts = {key: answer[key] for key in ("reason", "repeated", "merged") if key in answer}
        return Written(path, digest, answer["commit"], answer["pushed"], **facts)

    def _read(self, header: Mapping[str, object], seconds: float) -> Answer:
        """Ask once, and once more on a new channel when the first broke: nothing was changed by asking."""
        deadline = Deadline(seconds)
        try:
            return self._ask(header, b"", deadline)
        except ChannelBroken:
            return self._ask(header, b"", deadline, fresh=True)

    def _write(self, header: Mapping[str, object], content: bytes, deadline: Deadline) -> dict[str, Any]:
        """Send a write, and once more when it is certain that the first was not and never will be carried out."""
        for attempt in (1, 2):
            try:
                return self._ask({**header, "attempt": attempt}, content, deadline, fresh=attempt > 1)[0]
            except AnswerLate as error:
                if not error.sent:
                    raise
                raise OutcomeUnknown("the vault host did not say in time what became of the note") from error
            except ChannelBroken as error:
                if error.sent and (done := self._settled(header, attempt, deadline)):
                    return done
        raise VaultUnreachable("the connection to the vault host broke twice; nothing was changed")

    def _settled(self, header: Mapping[str, object], attempt: int, deadline: Deadline) -> dict[str, Any] | None:
        """What became of a write whose answer was lost; None when it was not begun, and by asking never will be."""
        patience = Deadline(max(SETTLE_SECONDS, deadline.left()))
        question = {"op": "settle", "receipt": header["receipt"], "attempt": attempt}
        try:
            answer, _ = self._ask(question, b"", patience, fresh=True)
        except VaultError as error:
            raise OutcomeUnknown("the connection broke after the note was sent") from error
        if not answer["found"]:
            return None
        if answer["conflict_path"]:
            hint = (
                "somebody else changed or removed this note at the same time: theirs is at path unless removed, "
                "yours was kept at conflict_path"
            )
            raise VaultRefused("__CONFLICT__", hint, {"path": header["path"], "conflict_path": answer["conflict_path"]})
        reason = {} if answer["pushed"] else {"reason": "the connection broke; the push is left to the timer"}
        return {"commit": answer["commit"], "pushed": answer["pushed"], **reason}

    def _ask(self, header: Mapping[str, object], body: bytes, deadline: Deadline, fresh: bool = False) -> Answer:
        with self._pool.channel(deadline, fresh) as channel:
            answer, content = channel.request(header, body, deadline)
        if answer.pop("ok", None) is not True:
            raise VaultRefused(str(answer["code"]), str(answer["hint"]), answer.get("facts"))
        return answer, content
