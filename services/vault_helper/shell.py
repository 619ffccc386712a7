#!/usr/bin/python3
"""The forced command of the vault host: finds, reads and writes the notes of one git repository, and nothing else.

One long file (over 250 lines), because it is copied to the vault host and run there by `python3 -I` with nothing but
the standard library: no package, no import path and no second file can be missing, old or planted. Its sections, in
reading order: limits, refusals, path rules, text rules, settings, frames, git, files, repository, reads, writes,
sharing (push and rebase), the request loop.

What the rest of this file relies on:

* Nothing a client sends becomes an argument, a shell word or a path outside the rules: paths and texts reach git on its
  standard input, and files are reached from an open descriptor of the vault's top, never through a link.
* git runs in a *shadow* git directory of ours, with our own configuration and attributes, that borrows the vault's
  objects and index. Hooks, filters, drivers and helpers of the vault's `.git/config` or of its tree are therefore never
  read. The vault's own git directory is entered only to read and move refs, with its hooks switched off.
* A change of the vault is one step under a lock, written down in a journal first: whoever takes the lock next finishes
  or undoes what a killed process left.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pwd
import re
import secrets
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

# Files are reached through directory descriptors, which pathlib cannot do.
# ruff: noqa: PTH101, PTH104, PTH108, PTH115, PTH116, PTH208, PTH211

# ---------------------------------------------------------------------------------------------------------------------
# Limits
# ---------------------------------------------------------------------------------------------------------------------

PROTOCOL = 1
# The only word a client may ask sshd to run; anything else was meant for a shell, and there is none here.
COMMAND_WORD = "talaria-vault"
MAGIC = b"TLV1"
# A header holds a path (4 KiB at most) and a few words; an answer's header may hold 300 paths.
MAX_HEADER_BYTES = 64 * 1024
MAX_ANSWER_HEADER_BYTES = 2 * 1024 * 1024
# Room above MAX_CONTENT_BYTES, so that a note that is too large is refused in words rather than by a closed channel.
MAX_BODY_BYTES = 1024 * 1024
MAX_CONTENT_BYTES = 150_000
# Longer files are no notes; reading one whole for every page would keep the host busy.
MAX_NOTE_BYTES = 8 * 1024 * 1024
PAGE_CHARACTERS = 30_000
MAX_LISTED = 300
MAX_MATCHES = 60
MAX_MATCHES_A_FILE = 3
MAX_QUERY_CHARACTERS = 500
# 60 matches of 300 characters and their paths stay below the 30,000 characters of one answer.
MATCH_CHARACTERS = 300
MAX_SEARCH_CHARACTERS = 27_000
# What is kept of one line of git's output; the rest of a longer line is skipped.
MAX_LINE_BYTES = 1024 * 1024
MAX_SEGMENT_BYTES = 255
# PATH_MAX is 4096, and the vault's own folder needs a share of it.
MAX_PATH_BYTES = 3_500
# A conflict note appends up to about 45 bytes to a name.
CONFLICT_SUFFIX_BYTES = 60
# The writer is answered this long before its deadline, whatever the push does.
PUSH_RESERVE_SECONDS = 3.0
PUSH_SECONDS = 10.0
# After a push that timed out, the next writers do not wait as long again: the timer takes its time.
HURRIED_PUSH_SECONDS = 3.0
HURRY_FOR_SECONDS = 60.0
PUSH_TRIES = 4
TIMER_SECONDS = 50.0
# A git command that is no search, push or fetch takes milliseconds; this ends one that hangs.
GIT_SECONDS = 30.0
# A lock file without a living git process is stale after this; git itself never leaves one that long.
STALE_LOCK_SECONDS = 3.0
# Where other people's processes are hidden from us, only age can tell.
STALE_LOCK_BLIND_SECONDS = 600.0
VOID_SECONDS = 3600.0
# The gateway closes channels it does not need; this ends those of a gateway that died without a word.
IDLE_SECONDS = 900
# git's own threshold for "too many loose objects", of which one folder in 256 is counted.
LOOSE_OBJECTS_SAMPLE = 27
RECEIPT_SEARCH_COMMITS = 500


# ---------------------------------------------------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """An answer the agent can act on: a code of the contract, a hint, and facts (never a present hash)."""

    def __init__(self, code: str, hint: str, **facts: object) -> None:
        super().__init__(f"{code}: {hint}")
        self.code, self.hint, self.facts = code, hint, facts


class BrokenFrame(Exception):
    """The other side does not speak this protocol; the channel cannot go on."""


class Misconfigured(Exception):
    """The settings or the repository cannot be used at all; the text says what to mend."""


class GitFailed(Exception):
    """git ended with an error; the text is its first line of complaint, without credentials."""

    def __init__(self, what: str, status: int, stderr: str) -> None:
        super().__init__(f"git {what}: {complaint(stderr)}")
        self.status, self.stderr = status, stderr


class GitLate(GitFailed):
    """git did not end in time and was stopped."""


class SyncStopped(Exception):
    """The vault and its remote cannot be brought together without a person; the text says why."""


NO_SUCH_NOTE = "the vault has no such note; use vault_list or vault_search to find its path"


def bad_path(hint: str, **facts: object) -> Refused:
    """The refusal of a path by its shape or by what stands there."""
    return Refused("__BAD_PATH__", hint, **facts)


def write_failed(hint: str) -> Refused:
    """The refusal of a write that changed nothing."""
    return Refused("__WRITE_FAILED__", hint)


def complaint(stderr: str) -> str:
    """The line of git's complaints that says most, short and without user names or passwords of URLs."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(fatal|error|remote|ssh|!)", line)] or lines
    return scrubbed(telling[0])[:200] if telling else "no reason given"


def scrubbed(text: str) -> str:
    """`text` without the credentials of any URL in it."""
    return re.sub(r"://[^/@\s]+@", "://", text)


def disk_words(error: OSError) -> str:
    """What a failed file operation means to a reader."""
    known = {
        errno.ENOSPC: "the vault host's disk is full",
        errno.EDQUOT: "the vault's disk quota is used up",
        errno.EROFS: "the vault's file system is read-only",
        errno.EACCES: "the vault's user may not write there",
        errno.EPERM: "the vault's user may not write there",
        errno.EFBIG: "the vault host refuses a file of this size",
    }
    return known.get(error.errno or 0, f"the vault host could not store it ({os.strerror(error.errno or 0)})")


class Deadline:
    """The moment after which the client waits no more."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

    def left(self, reserve: float = 0.0) -> float:
        """Seconds left after keeping `reserve` back; never negative."""
        return max(0.0, self.until - reserve - time.monotonic())

    def earlier(self, reserve: float) -> Deadline:
        """A deadline `reserve` seconds before this one."""
        return Deadline(self.left(reserve))


# ---------------------------------------------------------------------------------------------------------------------
# Path rules (pure)
# ---------------------------------------------------------------------------------------------------------------------

FORBIDDEN_CHARACTERS = frozenset('<>:"|?*')
BIDI_CHARACTERS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Names no Windows client of the vault can check out, whatever their ending.
DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))})


def path_fault(path: str) -> str | None:
    """What is wrong with the shape of `path`, in words for the agent; None when nothing is."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "the path is not valid Unicode"
    if not path:
        return "the path is empty"
    if size > MAX_PATH_BYTES:
        return f"the path is longer than {MAX_PATH_BYTES} bytes"
    if path.startswith("/"):
        return "the path must be relative to the vault, without a leading slash"
    if "\\" in path:
        return "use / between folders, no backslash"
    return character_fault(path) or next(filter(None, map(segment_fault, path.split("/"))), None)


def character_fault(path: str) -> str | None:
    """What is wrong with the characters of `path`, if anything."""
    for character in path:
        if unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} or character == "\ufeff":
            return "the path holds a control character"
        if character in BIDI_CHARACTERS:
            return "the path holds a character that changes the writing direction"
        if character in FORBIDDEN_CHARACTERS:
            return 'the path may not hold any of < > : " | ? *'
    if unicodedata.normalize("NFC", path) != path:
        return "the path is not in Unicode normal form C; send the composed form of its letters"
    return None


def segment_fault(segment: str) -> str | None:
    """What is wrong with one folder or file name of a path, if anything."""
    if not segment:
        return "the path has an empty part (// or a trailing slash)"
    if segment in {".", ".."}:
        return "the path may not step through . or .."
    if segment.startswith("."):
        return "hidden files and folders are out of bounds"
    if segment.endswith((".", " ")):
        return "no part of the path may end with a dot or a space"
    if len(segment.encode("utf-8")) > MAX_SEGMENT_BYTES:
        return f"a part of the path is longer than {MAX_SEGMENT_BYTES} bytes"
    plain = unquote(segment)
    if plain != segment and (plain.startswith(".") or "/" in plain or "\\" in plain or "\0" in plain):
        return "the path looks percent-encoded; send it plain"
    return None


def write_fault(path: str, writable: Sequence[str], unreadable: Sequence[str]) -> str | None:
    """Why `path`, well shaped, may not be written; None when it may."""
    if not path.endswith(".md"):
        return "only notes can be written: the path must end with .md"
    for segment in path.split("/"):
        if segment.split(".")[0].rstrip(" ").casefold() in DEVICE_NAMES or segment.casefold() == "git~1":
            return "a part of the path is a name that some of the vault's devices cannot store"
    if not within(path, writable) or within(path, unreadable):
        allowed = ", ".join(writable) or "nowhere: no folder is open for writing"
        return f"notes can be written under: {allowed}"
    return None


def within(path: str, prefixes: Iterable[str]) -> bool:
    """Whether `path` lies in one of the folders `prefixes` (each ends with a slash); compared in normal form C."""
    plain = nfc(path)
    return any(plain.startswith(nfc(prefix)) for prefix in prefixes)


def hidden(path: str) -> bool:
    """Whether any part of `path` starts with a dot."""
    return path.startswith(".") or "/." in path


def prefix_fault(prefix: str) -> str | None:
    """What is wrong with a folder of the settings, if anything."""
    if not prefix.endswith("/"):
        return "must end with /"
    return path_fault(prefix[:-1])


def nfc(text: str) -> str:
    """`text` in Unicode normal form C."""
    return unicodedata.normalize("NFC", text)


def twin_key(name: str) -> str:
    """Equal for two names that a case-blind or normalising device takes for one."""
    return nfc(unicodedata.normalize("NFD", name).casefold())


def conflict_path(path: str, receipt: str, taken: Callable[[str], bool]) -> str:
    """Where our text of `path` goes beside somebody else's: the same folder, a name that says so, never taken."""
    folder, slash, name = path.rpartition("/")
    stem = name.removesuffix(".md")
    while len(stem.encode("utf-8")) > MAX_SEGMENT_BYTES - CONFLICT_SUFFIX_BYTES:
        stem = stem[:-1]
    for number in range(1, 1000):
        suffix = "" if number == 1 else f"-{number}"
        candidate = f"{folder}{slash}{stem.rstrip(' .')}.conflict-{receipt}{suffix}.md"
        if not taken(candidate):
            return candidate
    raise SyncStopped(f"no free name for a conflict note beside {path}")


# ---------------------------------------------------------------------------------------------------------------------
# Text rules (pure)
# ---------------------------------------------------------------------------------------------------------------------


def short_hash(content: bytes) -> str:
    """The contract's `contentHash`: the first 12 hex digits of SHA-256 over the bytes."""
    return hashlib.sha256(content).hexdigest()[:12]


def content_refusal(content: bytes) -> Refused | None:
    """Why `content` cannot become a note; None when it can. TAB, LF and CR are the only control characters kept."""
    if len(content) > MAX_CONTENT_BYTES:
        return Refused("__TOO_LARGE__", f"a note may have {MAX_CONTENT_BYTES} bytes, this one has {len(content)}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Refused("__BAD_ARGUMENT__", "the content is not valid UTF-8")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text):
        return Refused("__BAD_ARGUMENT__", "the content holds a control character other than tab and line ends")
    return None


def page_end(text: str, start: int, size: int) -> int:
    """Where a page of at most `size` characters from `start` ends without tearing a letter from its accents."""
    end = min(len(text), start + size)
    for _ in range(64):
        if end >= len(text) or end <= start + 1 or not torn(text[end - 1], text[end]):
            break
        end -= 1
    return end


def torn(before: str, after: str) -> bool:
    """Whether a cut between these two characters would split what a reader sees as one."""
    joiners = "\u200d"
    return (
        unicodedata.category(after).startswith("M")
        or after in joiners
        or before in joiners
        or (before, after) == ("\r", "\n")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


def clipped(line: str, column: int) -> str:
    """At most MATCH_CHARACTERS of `line` around the character `column`, with an ellipsis where it was cut."""
    if len(line) <= MATCH_CHARACTERS:
        return line
    start = max(0, min(column - MATCH_CHARACTERS // 3, len(line) - MATCH_CHARACTERS))
    piece = line[start : start + MATCH_CHARACTERS]
    return ("…" if start else "") + piece + ("…" if start + MATCH_CHARACTERS < len(line) else "")


def query_refusal(query: str) -> Refused | None:
    """Why `query` cannot be searched for; None when it can."""
    if not query.strip():
        return Refused("__EMPTY_QUERY__", "say what to look for")
    if len(query) > MAX_QUERY_CHARACTERS:
        return Refused("__BAD_QUERY__", f"a query may have {MAX_QUERY_CHARACTERS} characters")
    if re.search(r"[\r\n]", query):
        return Refused("__BAD_QUERY__", "a query is one line; search for one line of the passage")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", query):
        return Refused("__BAD_QUERY__", "the query holds a control character")
    return None


def search_patterns(query: str) -> bytes:
    r"""The patterns for `git grep -P -f -`: the query as plain text, composed and decomposed.

    Every ASCII character that is no letter or digit is escaped. `-F` would not do: with `-i` and other letters than
    ASCII git wraps the text in `\Q…\E`, and a query holding `\E` becomes a pattern.
    """
    forms = dict.fromkeys(unicodedata.normalize(form, query) for form in ("NFC", "NFD"))
    return "".join(re.sub(r"([^0-9A-Za-z\u0080-\U0010ffff])", r"\\\1", form) + "\n" for form in forms).encode()


@dataclass(frozen=True)
class Match:
    """One line that holds the query."""

    path: str
    line: int
    text: str


def parsed_match(raw: bytes) -> Match | None:
    """One output line of `git grep -z -n --column`; None when it is none. (Newer git writes `:` for some NULs.)"""
    found = re.match(rb"([^\0]+)\0(\d+)[\0:](\d+)[\0:](.*)", raw, re.DOTALL)
    if not found:
        return None
    path, number, column, line = found.groups()
    before = len(line[: int(column) - 1].decode("utf-8", "replace"))
    text = clipped(line.decode("utf-8", "replace").rstrip("\r"), before)
    return Match(path.decode("utf-8", "surrogateescape"), int(number), text)


# ---------------------------------------------------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What the operator fixed: the repository, who may write where, and how commits are signed and shared."""

    repository: Path
    writable_prefixes: tuple[str, ...]
    unreadable_prefixes: tuple[str, ...]
    git_name: str
    git_email: str
    remote: str
    branch: str
    state_dir: Path
    ssh_identity: str
    ssh_known_hosts: str

    @classmethod
    def from_mapping(cls, given: Mapping[str, object]) -> Settings:
        """Raise Misconfigured naming every key that is missing, unknown or of the wrong kind."""
        reader = SettingsReader(given)
        repository = reader.text("repository")
        settings = cls(
            repository=Path(repository),
            writable_prefixes=reader.prefixes("writable_prefixes"),
            unreadable_prefixes=reader.prefixes("unreadable_prefixes"),
            git_name=reader.identity("git_name", "Talaria"),
            git_email=reader.identity("git_email", "talaria@localhost"),
            remote=reader.text("remote", "origin"),
            branch=reader.text("branch", ""),
            state_dir=Path(reader.text("state_dir", "") or f"{repository}/.git/talaria"),
            ssh_identity=reader.text("ssh_identity", ""),
            ssh_known_hosts=reader.text("ssh_known_hosts", ""),
        )
        reader.finish(settings)
        return settings


class SettingsReader:
    """Reads settings key by key and collects what is wrong, so that the operator sees everything at once."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = dict(given)
        self.problems: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """The text under `key`, or `default`; without a default it must be there."""
        value = self.given.pop(key, default)
        if not isinstance(value, str) or (default is None and not value):
            self.problems.append(f"{key}: a text is needed")
            return ""
        return value

    def identity(self, key: str, default: str) -> str:
        """A name or address that can stand in a commit."""
        value = self.text(key, default)
        if not value.strip() or re.search(r"[<>\x00-\x1f\x7f]", value):
            self.problems.append(f"{key}: a plain name is needed")
        return value.strip()

    def prefixes(self, key: str) -> tuple[str, ...]:
        """The folders under `key`; none when it is absent."""
        value = self.given.pop(key, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            self.problems.append(f"{key}: a list of folders is needed")
            return ()
        self.problems += [f"{key}: {item!r} {fault}" for item in value if (fault := prefix_fault(item))]
        return tuple(value)

    def finish(self, settings: Settings) -> None:
        """Raise Misconfigured with everything found."""
        self.problems += [f"{key}: unknown" for key in self.given]
        for key, path in (("repository", settings.repository), ("state_dir", settings.state_dir)):
            if not path.is_absolute():
                self.problems.append(f"{key}: an absolute path is needed")
        if self.problems:
            raise Misconfigured("; ".join(self.problems))


def load_settings(file: str) -> Settings:
    """The settings in the JSON file `file`. Raise Misconfigured when it cannot be read."""
    try:
        given = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misconfigured(f"{file} cannot be read: {error}") from None
    if not isinstance(given, dict):
        raise Misconfigured(f"{file} must hold one JSON object")
    return Settings.from_mapping(given)


# ---------------------------------------------------------------------------------------------------------------------
# Frames: 4 bytes of magic, header length, body length, header (JSON object), body
# ---------------------------------------------------------------------------------------------------------------------

PREFIX = struct.Struct(">4sII")


def encoded_frame(header: Mapping[str, object], body: bytes = b"") -> bytes:
    """One frame as it goes over the wire."""
    raw = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return PREFIX.pack(MAGIC, len(raw), len(body)) + raw + body


def read_frame(
    read_exactly: Callable[[int], bytes], max_header: int, max_body: int
) -> tuple[dict[str, Any], bytes] | None:
    """The next frame, or None at a clean end. Raise BrokenFrame for anything else than a frame within the limits.

    `read_exactly(n)` gives n bytes, or fewer when the stream ends before.
    """
    start = read_exactly(PREFIX.size)
    if not start:
        return None
    if len(start) < PREFIX.size or not start.startswith(MAGIC):
        raise BrokenFrame("this is the vault's request channel: it speaks frames, not commands")
    _, header_size, body_size = PREFIX.unpack(start)
    if header_size > max_header or body_size > max_body:
        raise BrokenFrame("the frame is larger than any request may be")
    raw = read_exactly(header_size)
    body = read_exactly(body_size)
    if len(raw) < header_size or len(body) < body_size:
        raise BrokenFrame("the frame ended early")
    try:
        header = json.loads(raw)
    except ValueError:
        raise BrokenFrame("the frame's header is not JSON") from None
    if not isinstance(header, dict):
        raise BrokenFrame("the frame's header is not an object")
    return header, body


# ---------------------------------------------------------------------------------------------------------------------
# git
# ---------------------------------------------------------------------------------------------------------------------

SHADOW_CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	fsmonitor = false
	untrackedCache = false
	splitIndex = false
	ignoreCase = false
	quotePath = false
	logAllRefUpdates = false
	fsync = committed,loose-object
{extensions}[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
[protocol "file"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "https"]
	allow = always
[protocol "http"]
	allow = always
[http]
	lowSpeedLimit = 1
	lowSpeedTime = 8
[merge]
	conflictStyle = merge
[fetch]
	recurseSubmodules = false
	writeCommitGraph = false
[push]
	recurseSubmodules = no
	gpgSign = false
	followTags = false
[submodule]
	recurse = false
[commit]
	gpgSign = false
"""
# Attributes of the git directory win over every `.gitattributes` in the tree: no filter, no conversion, no driver.
SHADOW_ATTRIBUTES = "* !diff !merge -text !eol -crlf !ident !filter !working-tree-encoding !export-subst\n"
EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class Git:
    """Runs git for one vault, in the shadow git directory, with an environment of ours alone."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.top = settings.repository
        self.real = self.top / ".git"
        self._config: tuple[tuple[int, ...], dict[str, str]] = ((), {})
        self._require_repository()
        self.format = self.config().get("extensions.objectformat", "sha1")
        self.shadow = self._make_shadow()
        self.environment = self._environment()

    def _require_repository(self) -> None:
        if not stat.S_ISDIR(_mode(self.top)):
            raise Misconfigured(f"{self.top} is not a folder")
        if not stat.S_ISDIR(_mode(self.real)) or not (self.real / "HEAD").exists():
            raise Misconfigured(f"{self.top} is not an ordinary clone: it has no .git folder of its own")

    def config(self) -> dict[str, str]:
        """The vault's own configuration as plain data (last value wins, includes not followed)."""
        file = self.real / "config"
        try:
            seen = signature(os.stat(file))
        except OSError:
            return {}
        if seen != self._config[0]:
            command = ["git", "config", "--file", str(file), "--no-includes", "--null", "--list"]
            env = {"PATH": SAFE_PATH, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
            done = subprocess.run(command, env=env, cwd="/", capture_output=True, timeout=GIT_SECONDS, check=False)
            entries = (entry.partition("\n") for entry in done.stdout.decode("utf-8", "replace").split("\0") if entry)
            self._config = (seen, {key: value for key, _, value in entries})
        return self._config[1]

    def _make_shadow(self) -> Path:
        """Create the shadow once; it is named after its content, so a new release or another vault makes its own."""
        extensions = "[extensions]\n\tobjectFormat = sha256\n" if self.format == "sha256" else ""
        config = SHADOW_CONFIG.format(version=1 if extensions else 0, extensions=extensions)
        name = hashlib.sha256(f"{config}{SHADOW_ATTRIBUTES}{self.top}".encode()).hexdigest()[:12]
        shadow = self.settings.state_dir / f"shadow-{name}"
        if shadow.is_dir():
            return shadow
        work = self.settings.state_dir / f"shadow-new-{secrets.token_hex(6)}"
        try:
            for folder in ("objects", "refs/heads", "info", "home"):
                (work / folder).mkdir(parents=True, mode=0o700)
            (work / "HEAD").write_text("ref: refs/heads/none\n")
            (work / "config").write_text(config)
            (work / "info/attributes").write_text(SHADOW_ATTRIBUTES)
            with contextlib.suppress(FileExistsError, OSError):
                os.rename(work, shadow)
        except OSError as error:
            raise Misconfigured(f"{self.settings.state_dir} cannot be used: {disk_words(error)}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return shadow

    def _environment(self) -> dict[str, str]:
        """Everything git sees; nothing is inherited, so no variable of a login or a unit can steer it."""
        env = {
            "PATH": SAFE_PATH,
            "LC_ALL": "C.UTF-8",
            "HOME": str(self.shadow / "home"),
            "TALARIA_VAULT": "1",
            "GIT_DIR": str(self.shadow),
            "GIT_WORK_TREE": str(self.top),
            "GIT_OBJECT_DIRECTORY": str(self.real / "objects"),
            "GIT_INDEX_FILE": str(self.real / "index"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "SSH_ASKPASS": "/bin/false",
            "GIT_EDITOR": ":",
            "GIT_PAGER": "cat",
            "GIT_SSH_VARIANT": "ssh",
            "GIT_SSH_COMMAND": self._ssh_command(),
            "GIT_AUTHOR_NAME": self.settings.git_name,
            "GIT_AUTHOR_EMAIL": self.settings.git_email,
            "GIT_COMMITTER_NAME": self.settings.git_name,
            "GIT_COMMITTER_EMAIL": self.settings.git_email,
        }
        if (self.real / "shallow").exists():
            env["GIT_SHALLOW_FILE"] = str(self.real / "shallow")
        return env

    def _ssh_command(self) -> str:
        """ssh for the operator's remote: the vault user's own key, no questions, no configuration file."""
        words = ["ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ForwardAgent=no"]
        if self.settings.ssh_identity:
            words += ["-o", "IdentitiesOnly=yes", "-i", self.settings.ssh_identity]
        if self.settings.ssh_known_hosts:
            words += ["-o", f"UserKnownHostsFile={self.settings.ssh_known_hosts}"]
        return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)

    def start(self, args: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """git as a process of its own group with pipes on all three streams."""
        return subprocess.Popen(
            ["git", *args],
            cwd=self.top,
            env={**self.environment, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        seconds: float = GIT_SECONDS,
        accept: Sequence[int] = (0,),
    ) -> tuple[int, bytes]:
        """Status and output of one git command. Raise GitFailed for another status, GitLate after `seconds`."""
        process = self.start(args, env)
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            end_group(process)
            raise GitLate(verb(args), -1, f"no answer within {seconds:.0f} s") from None
        except BaseException:
            end_group(process)
            raise
        if process.returncode not in accept:
            raise GitFailed(verb(args), process.returncode, err.decode("utf-8", "replace"))
        return process.returncode, out

    def words(self, *args: str, **options: Any) -> str:
        """The output of one git command as one stripped text."""
        return self.run(*args, **options)[1].decode("utf-8", "surrogateescape").strip()

    def real_env(self) -> dict[str, str]:
        """For the few commands that concern the vault's own refs and maintenance."""
        return {"GIT_DIR": str(self.real)}

    def remote_env(self) -> dict[str, str]:
        """For push and fetch: the home of the vault's user, where ssh and https credentials of its own may lie."""
        return {"HOME": pwd.getpwuid(os.getuid()).pw_dir}

    def blob_id(self, content: bytes) -> str:
        """The object id git gives to `content`."""
        return hashlib.new(self.format, b"blob %d\0" % len(content) + content).hexdigest()

    def store(self, kind: str, content: bytes) -> str:
        """Write one object into the vault's repository and return its id."""
        return self.words("hash-object", "-t", kind, "-w", "--no-filters", "--stdin", stdin=content)


SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"
# Options for commands in the vault's own git directory, whose configuration is read there.
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "core.pager=cat")


def verb(args: Sequence[str]) -> str:
    """What git was to do, of its arguments: the first that is neither an option nor an option's value."""
    values = {at + 1 for at, word in enumerate(args) if word == "-c"}
    return next((word for at, word in enumerate(args) if at not in values and not word.startswith("-")), "")


def signature(found: os.stat_result) -> tuple[int, ...]:
    """Changes whenever the file was replaced or written."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _mode(path: Path) -> int:
    """The mode of `path` itself (links not followed), 0 when it is not there."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Stop git and whatever it started, and take its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


# ---------------------------------------------------------------------------------------------------------------------
# Files: everything below the vault's top, one folder at a time, links never followed
# ---------------------------------------------------------------------------------------------------------------------

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Tree:
    """The vault's working tree from an open descriptor of its top; close it after the request."""

    def __init__(self, top: Path) -> None:
        self.top = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.top)

    def folder(self, parts: Sequence[str], make: bool = False) -> int | None:
        """A descriptor (the caller closes it) of the folder `parts`; None when it is not there.

        Raise bad_path when a part is a link, a file or another repository. With `make`, missing folders are made.
        """
        here = os.dup(self.top)
        for part in parts:
            try:
                deeper = self._enter(here, part, make)
            except FileNotFoundError:
                return None
            finally:
                os.close(here)
            here = deeper
        return here

    def _enter(self, here: int, part: str, make: bool) -> int:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=here)
        try:
            deeper = os.open(part, FOLDER_FLAGS, dir_fd=here)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise bad_path(f"{part} on the way is not a folder of the vault") from None
            raise
        if kind_of(deeper, ".git") is not None:
            os.close(deeper)
            raise bad_path(f"{part} is a repository of its own (a submodule) and out of bounds")
        return deeper

    def look(self, path: str, limit: int | None = None) -> Leaf:
        """What stands at `path`. Raise bad_path when the way there is barred, TOO_LARGE above `limit` bytes."""
        *parts, name = path.split("/")
        folder = self.folder(parts)
        if folder is None:
            return Leaf("absent")
        try:
            return read_leaf(folder, name, limit)
        finally:
            os.close(folder)

    def twin(self, path: str) -> str | None:
        """A file or folder on the way that differs from `path` only in case or normal form, if there is one."""
        here: int | None = os.dup(self.top)
        done: list[str] = []
        for part in path.split("/"):
            if here is None:
                return None
            names = os.listdir(here)
            if part not in names and (other := [name for name in names if twin_key(name) == twin_key(part)]):
                os.close(here)
                return "/".join([*done, other[0]])
            os.close(here)
            done.append(part)
            here = self.folder(done) if kind_of_path(self.top, done) == "folder" else None
        if here is not None:
            os.close(here)
        return None


@dataclass(frozen=True)
class Leaf:
    """What stands at a path: `absent`, `file`, `link`, `folder` or `other`; a file's or link's content with it."""

    kind: str
    content: bytes = b""
    status: os.stat_result | None = None

    def git_mode(self) -> str:
        """The mode git would record."""
        if self.kind == "link":
            return "120000"
        return "100755" if self.status and self.status.st_mode & 0o100 else "100644"


def kind_of(folder: int, name: str) -> str | None:
    """The kind of `name` in an open folder; None when it is not there."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "other")


def kind_of_path(top: int, parts: Sequence[str]) -> str | None:
    """The kind of what stands at `parts`, whose parent folders were walked before."""
    return kind_of(top, "/".join(parts))


def read_leaf(folder: int, name: str, limit: int | None = None) -> Leaf:
    """What `name` is in the open folder, with its content. Raise TOO_LARGE for more than `limit` bytes."""
    kind = kind_of(folder, name)
    if kind == "link":
        return Leaf("link", os.fsencode(os.readlink(name, dir_fd=folder)))
    if kind != "file":
        return Leaf(kind or "absent")
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return Leaf("absent")
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return Leaf("other")
        if limit is not None and status.st_size > limit:
            raise Refused("__TOO_LARGE__", f"the file has {status.st_size} bytes, more than can be read as a note")
        return Leaf("file", file.read(), status)


def write_durably(path: Path, content: bytes, mode: int = 0o666) -> None:
    """A new file with exactly `content`, on the disk before this returns. Raise FileExistsError when it is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, content: bytes) -> None:
    """`path` holds either its old content or `content`, whatever happens meanwhile."""
    work = path.with_name(f"tmp-{secrets.token_hex(6)}")
    try:
        write_durably(work, content, 0o600)
        os.rename(work, path)
    except OSError:
        work.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path | int) -> None:
    """Names made or changed in `folder` survive a power cut."""
    descriptor = os.open(folder, FOLDER_FLAGS) if isinstance(folder, Path) else folder
    try:
        os.fsync(descriptor)
    finally:
        if descriptor is not folder:
            os.close(descriptor)


# ---------------------------------------------------------------------------------------------------------------------
# The repository: state, refs, index, locks, journal
# ---------------------------------------------------------------------------------------------------------------------

MARKER = b"talaria vault lock\n"
Entry = tuple[str, str]  # mode and object id
UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


@dataclass(frozen=True)
class Head:
    """Where the repository stands: the branch's ref (empty when detached) and its commit (None before the first)."""

    ref: str
    commit: str | None


@dataclass
class Tracked:
    """What git tracks, keyed by the path in normal form C: the path as stored, mode and object id."""

    entries: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)

    def with_changes(self, changes: Mapping[str, Entry | None]) -> Tracked:
        """The table after `changes`, so that one's own write does not make the whole index be read again."""
        for stored, entry in changes.items():
            path = nfc(stored)
            if entry is None:
                self.entries.pop(path, None)
                self.twins.pop(twin_key(path), None)
            else:
                self.entries[path] = (stored, *entry)
                self.twins[twin_key(path)] = path
        return self

    def mode(self, path: str) -> str:
        """The mode git tracks `path` with, empty when it does not."""
        return self.entries.get(path, ("", "", ""))[1]


class Repository:
    """The vault's repository: reading its state, changing it step by step, and mending what a dead process left."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.git = Git(settings)
        self.top, self.real = self.git.top, self.git.real
        # Beside the objects, so that files can be renamed from here into the working tree.
        self.own = self.real / "talaria"
        self._tracked: tuple[tuple[int, ...], Tracked] = ((), Tracked())

    # --- state

    def head(self) -> Head:
        """Where HEAD points now."""
        text = (self.real / "HEAD").read_text(encoding="utf-8").strip()
        if text == "ref: refs/heads/.invalid":  # the ref store is not plain files
            text = "ref: " + self.git.words(
                *QUIET, "symbolic-ref", "-q", "HEAD", env=self.git.real_env(), accept=(0, 1)
            )
        if not text.startswith("ref: refs/heads/"):
            return Head("", text or None)
        ref = text.removeprefix("ref: ")
        return Head(ref, self.ref(ref))

    def ref(self, name: str) -> str | None:
        """The commit a ref of the vault points to; None when there is no such ref."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = (self.real / name).read_text(encoding="ascii").strip()
            if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
                return text
        found = self.git.words(*QUIET, "for-each-ref", "--format=%(objectname)", name, env=self.git.real_env())
        return found.splitlines()[0] if found else None

    def fault(self, head: Head) -> str | None:
        """Why nothing may be committed now, with the remedy; None when it may."""
        for name, what in UNFINISHED.items():
            if (self.real / name).exists():
                return f"{what} is unfinished in the vault's repository; finish or abort it on the vault host"
        if not head.ref:
            return "the vault's repository has no branch checked out; check one out on the vault host"
        branch = head.ref.removeprefix("refs/heads/")
        if self.settings.branch and branch != self.settings.branch:
            return f"the vault's repository is on branch {branch}, not on {self.settings.branch}; switch it back"
        return None

    def tracked(self) -> Tracked:
        """What the index holds; read again only when it changed."""
        try:
            seen = signature(os.stat(self.real / "index"))
        except FileNotFoundError:
            return Tracked()
        if seen != self._tracked[0]:
            listing = self.git.run("ls-files", "--stage", "-z")[1]
            self._tracked = (seen, parsed_index(listing))
        return self._tracked[1]

    def blob_at(self, commit: str | None, path: str) -> str | None:
        """The object id `commit` holds at `path`; None when it holds nothing there."""
        if commit is None:
            return None
        name = f"{commit}:{path}\n".encode("utf-8", "surrogateescape")
        answer = self.git.words("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=name).split()
        return answer[0] if answer[-1] == "blob" else None

    def is_folder(self, commit: str, path: str) -> bool:
        """Whether `commit` holds a folder at `path`."""
        name = f"{commit}:{path}\n".encode("utf-8", "surrogateescape")
        return self.git.words("cat-file", "--batch-check=%(objecttype)", stdin=name) == "tree"

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` contains `older`."""
        return self.git.run("merge-base", "--is-ancestor", older, newer, accept=(0, 1))[0] == 0

    # --- locks

    def make_own(self) -> None:
        """The folder for lock, journal and temporary files. Raise write_failed when it cannot be made."""
        try:
            self.own.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise write_failed(f"{disk_words(error)}; nothing was changed") from None

    @contextlib.contextmanager
    def flock(self, name: str, deadline: Deadline) -> Iterator[None]:
        """Hold a lock of ours, freed by the kernel if this process dies. Raise TIMEOUT when others keep it."""
        self.make_own()
        try:
            descriptor = os.open(self.own / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise write_failed(f"{disk_words(error)}; nothing was changed") from None
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not deadline.left():
                        raise Refused("__TIMEOUT__", "other writes kept the vault busy; nothing was changed") from None
                    time.sleep(0.004)
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def exclusive(self, deadline: Deadline) -> Iterator[None]:
        """Be the only one to change the vault, people's own git included; what the dead left is mended first."""
        with self.flock("lock", deadline):
            self._take_index_lock(deadline)
            try:
                Recovery(self).run()
                yield
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.real / "index.lock")

    def _take_index_lock(self, deadline: Deadline) -> None:
        """git's own lock: while we hold it nobody else can add, commit, merge or check out."""
        lock = self.real / "index.lock"
        ticket = self.own / f"tmp-ticket-{os.getpid()}"
        try:
            ticket.unlink(missing_ok=True)
            write_durably(ticket, MARKER, 0o644)
            while not self._link_lock(ticket, lock):
                if not deadline.left():
                    raise Refused(
                        "__TIMEOUT__",
                        "somebody is working in the vault's repository (.git/index.lock); nothing was changed",
                    )
                time.sleep(0.05)
        except OSError as error:
            raise write_failed(f"{disk_words(error)}; nothing was changed") from None
        finally:
            with contextlib.suppress(OSError):
                ticket.unlink(missing_ok=True)

    def _link_lock(self, ticket: Path, lock: Path) -> bool:
        """Whether the lock is ours now; a lock of the dead is removed on the way."""
        try:
            os.link(ticket, lock)
        except FileExistsError:
            self.remove_dead_lock(lock)
            return False
        return True

    def remove_dead_lock(self, lock: Path) -> None:
        """Remove a lock file whose maker is gone: ours (we hold the only flock), or old and without any living git."""
        try:
            found = os.lstat(lock)
            ours = found.st_size == len(MARKER) and lock.read_bytes() == MARKER
        except OSError:
            return
        if not ours:
            patience = STALE_LOCK_SECONDS if sees_everyone() else STALE_LOCK_BLIND_SECONDS
            if time.time() - found.st_mtime < patience or git_is_alive(self.top):
                return
        with contextlib.suppress(OSError):
            if signature(os.lstat(lock)) == signature(found):
                lock.unlink()

    # --- changes

    def set_ref(self, ref: str, new: str, old: str | None, why: str) -> None:
        """Move a ref of the vault from `old` to `new`, or raise GitFailed."""
        zero = "0" * len(new)
        command = (*QUIET, "update-ref", "-m", f"talaria: {why}", ref, new, old or zero)
        # Long enough for a lock that a process left behind when it died just now.
        until = time.monotonic() + STALE_LOCK_SECONDS + 1
        while True:
            try:
                self.git.run(*command, env=self.git.real_env())
            except GitFailed as error:
                if ".lock" not in error.stderr or time.monotonic() > until:
                    raise
                time.sleep(0.1)
                for name in (ref, "HEAD", "packed-refs"):
                    self.remove_dead_lock(self.real / f"{name}.lock")
            else:
                return

    def note_ref(self, ref: str, new: str) -> None:
        """Remember a remote's commit in a remote-tracking ref."""
        old = self.ref(ref)
        if old != new:
            self.set_ref(ref, new, old, "seen on the remote")

    def tree_with(self, commit: str | None, changes: Mapping[str, Entry | None]) -> str:
        """The tree of `commit` with `changes` (None removes), built in a private index; returns its id.

        `adopt` keeps that index for the commit made from it, so that the next write need not read the tree again.
        """
        work = self.own / f"tmp-index-{os.getpid()}"
        for leftover in (work, work.with_name(work.name + ".lock")):
            leftover.unlink(missing_ok=True)
        env = {"GIT_INDEX_FILE": str(work)}
        kept = self.own / f"index-{commit}"
        if commit and kept.exists():
            shutil.copyfile(kept, work)
        elif commit:
            self.git.run("read-tree", commit, env=env)
        self.git.run("update-index", "-z", "--index-info", stdin=index_info(changes, self.git.format), env=env)
        return self.git.words("write-tree", env=env)

    def adopt(self, commit: str) -> None:
        """Keep the private index of the last `tree_with` as that of `commit`, and no other."""
        os.rename(self.own / f"tmp-index-{os.getpid()}", self.own / f"index-{commit}")
        for old in self.own.glob("index-*"):
            if old.name != f"index-{commit}":
                old.unlink(missing_ok=True)

    def set_index(self, changes: Mapping[str, Entry | None]) -> None:
        """Put `changes` into the vault's own index; what a person staged elsewhere stays. Needs `exclusive`."""
        work = self.own / f"tmp-real-index-{os.getpid()}"
        for leftover in (work, work.with_name(work.name + ".lock")):
            leftover.unlink(missing_ok=True)
        before: tuple[int, ...] = ()
        with contextlib.suppress(FileNotFoundError):
            before = signature(os.stat(self.real / "index"))
            shutil.copyfile(self.real / "index", work)
        info = index_info(changes, self.git.format)
        self.git.run("update-index", "-z", "--index-info", stdin=info, env={"GIT_INDEX_FILE": str(work)})
        shutil.copymode(self.real / "HEAD", work)
        os.rename(work, self.real / "index")
        if before and before == self._tracked[0]:
            self._tracked = (signature(os.stat(self.real / "index")), self._tracked[1].with_changes(changes))

    def commit_object(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Store a commit by Talaria and return its id; no ref moves."""
        who = f"{self.settings.git_name} <{self.settings.git_email}> {int(time.time())} {time.strftime('%z')}"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
        return self.git.store("commit", ("\n".join(lines) + "\n\n" + message).encode("utf-8", "surrogateescape"))

    # --- journal

    @property
    def journal(self) -> Path:
        """The file that names a change under way."""
        return self.own / "journal.json"

    def write_journal(self, intent: Mapping[str, object]) -> None:
        """Write down what is about to happen, durably."""
        replace_durably(self.journal, json.dumps(intent).encode("ascii"))

    def clear_journal(self) -> None:
        """Nothing is under way any more."""
        self.journal.unlink(missing_ok=True)


def parsed_index(listing: bytes) -> Tracked:
    """The output of `git ls-files --stage -z` as a table; names that are no UTF-8 are left out."""
    tracked = Tracked()
    for raw in listing.split(b"\0"):
        head, tab, name = raw.partition(b"\t")
        if not tab:
            continue
        mode, identity, _ = head.decode("ascii").split(" ")
        with contextlib.suppress(UnicodeDecodeError):
            stored = name.decode("utf-8")
            path = nfc(stored)
            if path not in tracked.entries or stored == path:
                tracked.entries[path] = (stored, mode, identity)
    tracked.twins = {twin_key(path): path for path in tracked.entries}
    return tracked


def index_info(changes: Mapping[str, Entry | None], object_format: str) -> bytes:
    """`changes` as input for `git update-index -z --index-info`; removals come first, to free names for folders."""
    zero = "0" * (64 if object_format == "sha256" else 40)
    lines = []
    for path, entry in sorted(changes.items(), key=lambda change: change[1] is not None):
        mode, identity = entry or ("0", zero)
        lines.append(f"{mode} {identity}\t{path}\0")
    return "".join(lines).encode("utf-8", "surrogateescape")


def sees_everyone() -> bool:
    """Whether the processes of other users can be seen (`hidepid` hides them)."""
    return Path("/proc/1/comm").exists()


def git_is_alive(top: Path) -> bool:
    """Whether a git that is not ours may be working in `top`; a git we cannot look into counts."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if not (process / "comm").read_text().startswith("git"):
                continue
            where = os.readlink(process / "cwd")
            if f"{where}/".startswith(f"{top}/") and b"TALARIA_VAULT=1" not in (process / "environ").read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            return True
    return False


class Recovery:
    """Finishes or undoes what a killed process left, from its journal. Needs the lock."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def run(self) -> None:
        """Afterwards nothing is half done; raise write_failed when the disk does not allow it."""
        repository = self.repository
        try:
            intent = json.loads(repository.journal.read_bytes())
        except FileNotFoundError:
            intent = None
        except ValueError:
            intent = None
            repository.clear_journal()
        try:
            if intent:
                {"write": self._finish_write, "advance": self._finish_advance}[intent["kind"]](intent)
                repository.clear_journal()
            self._sweep()
        except (OSError, GitFailed) as error:
            words = disk_words(error) if isinstance(error, OSError) else str(error)
            raise write_failed(f"an interrupted change cannot be finished yet: {words}") from None

    def _finish_write(self, intent: Mapping[str, Any]) -> None:
        """A note that was put in place gets its commit; one that was not stays as it was."""
        repository = self.repository
        with Tree(repository.top) as tree:
            leaf = tree.look(intent["path"])
        if leaf.kind != "file" or repository.git.blob_id(leaf.content) != intent["entry"][1]:
            return
        head = repository.head()
        if head.ref != intent["ref"]:
            return
        settle_write(repository, intent, head)

    def _finish_advance(self, intent: Mapping[str, Any]) -> None:
        """An advance begun is carried to its end, unless somebody moved the branch meanwhile."""
        head = self.repository.head()
        if head.ref == intent["ref"] and head.commit in (intent["old"], intent["new"]):
            Advance(self.repository, head.ref, intent["old"], intent["new"]).carry_out(head)

    def _sweep(self) -> None:
        for leftover in self.repository.own.glob("tmp-*"):
            leftover.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------------------------------------------
# Reads: list, read, search
# ---------------------------------------------------------------------------------------------------------------------


class Reads:
    """What can be learnt from the vault without changing it."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.unreadable = repository.settings.unreadable_prefixes

    def visible(self, path: str) -> bool:
        """Whether an agent may know of `path`."""
        return not hidden(path) and not within(path, self.unreadable)

    def list(self, prefix: str) -> dict[str, Any]:
        """The first tracked files below `prefix` in the order of their names, and how many there are."""
        folder = prefix.removesuffix("/")
        if folder and (fault := path_fault(folder)):
            raise bad_path(fault)
        paths = sorted(
            path
            for path, (_, mode, _) in self.repository.tracked().entries.items()
            if mode.startswith("100")
            and (not folder or path == folder or path.startswith(f"{folder}/"))
            and self.visible(path)
        )
        return {"paths": paths[:MAX_LISTED], "total": len(paths)}

    def read(self, path: str, offset: int) -> tuple[dict[str, Any], bytes]:
        """One page of a tracked text file, with the SHA-256 of the whole version it belongs to."""
        text, digest = self._text(path)
        if offset < 0 or offset > len(text) or (offset == len(text) and offset):
            raise Refused("__BAD_ARGUMENT__", f"offset is outside the note, which has {len(text)} characters")
        end = page_end(text, offset, PAGE_CHARACTERS)
        following = end if end < len(text) else None
        head = {"path": path, "total_chars": len(text), "offset": offset, "next_offset": following, "sha256": digest}
        return head, text[offset:end].encode("utf-8")

    def _text(self, path: str) -> tuple[str, str]:
        content = self._content(path)
        if b"\0" in content:
            raise bad_path("this is a binary file; only text can be read")
        try:
            return content.decode("utf-8"), hashlib.sha256(content).hexdigest()
        except UnicodeDecodeError:
            raise bad_path("this file is not valid UTF-8 text; a person must convert it first") from None

    def _content(self, path: str) -> bytes:
        if fault := path_fault(path):
            raise bad_path(fault)
        absent = Refused("__NOT_FOUND__", NO_SUCH_NOTE)
        stored, mode, _ = self.repository.tracked().entries.get(path, ("", "", ""))
        if not mode or not self.visible(path):
            raise absent
        if not mode.startswith("100"):
            raise bad_path("this is a link or a submodule; only files of the vault can be read")
        with Tree(self.repository.top) as tree:
            leaf = tree.look(stored, MAX_NOTE_BYTES)
        if leaf.kind == "absent":
            raise absent
        if leaf.kind != "file":
            raise bad_path("there is no regular file at this path now")
        return leaf.content

    def search(self, query: str, deadline: Deadline) -> dict[str, Any]:
        """Lines that hold `query` as plain text, whatever the case, in any script; see `search_patterns`.

        Case is compared letter by letter as PCRE does: a long s or the Kelvin sign match s and k only in queries with
        other than ASCII letters, `ß` does not match SS, the Turkish dotted İ matches only itself.
        """
        if refusal := query_refusal(query):
            raise refusal
        excluded = [":(exclude,top,glob)**/.*", ":(exclude,top,glob)**/.*/**"]
        for form in ("NFC", "NFD"):
            excluded += [f":(exclude,top,literal){unicodedata.normalize(form, p)}" for p in self.unreadable]
        args = ["grep", "-I", "-n", "-z", "--column", "-i", "-P", f"--max-count={MAX_MATCHES_A_FILE}"]
        args += ["--no-color", "--full-name", "-f", "-", "--", ":(top)", *dict.fromkeys(excluded)]
        return Search(self, self.repository.git.start(args), deadline).run(search_patterns(query))


class Search:
    """One running `git grep`, read as it comes and stopped when there is enough or time is up."""

    def __init__(self, reads: Reads, process: subprocess.Popen[bytes], deadline: Deadline) -> None:
        self.reads, self.process, self.deadline = reads, process, deadline
        self.matches: list[Match] = []
        self.characters = 0
        self.allowed: dict[str, bool] = {}
        self.cut = ""

    def run(self, patterns: bytes) -> dict[str, Any]:
        """The matches found, and why there may be more."""
        assert self.process.stdin
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(patterns)
                self.process.stdin.close()
            for line in self._lines():
                self._take(line)
                if self.cut:
                    break
            else:
                self._check_end()
        finally:
            end_group(self.process)
        found = [{"path": nfc(m.path), "line": m.line, "text": m.text} for m in self.matches]
        answer: dict[str, Any] = {"matches": found, "truncated": bool(self.cut)}
        return {**answer, "reason": self.cut} if self.cut else answer

    def _lines(self) -> Iterator[bytes]:
        """git's output line by line until its end or the deadline; over-long lines lose their tail."""
        assert self.process.stdout
        source = self.process.stdout.fileno()
        rest, skipping = b"", False
        while True:
            ready, _, _ = select.select([source], [], [], self.deadline.left(1.0))
            if not ready:
                self.cut = "the time for one search was up; search for something rarer"
                return
            chunk = os.read(source, 256 * 1024)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if not skipping:
                    yield line
                skipping = False
            if len(rest) > MAX_LINE_BYTES:
                if not skipping:
                    yield rest
                rest, skipping = b"", True
        if rest and not skipping:
            yield rest

    def _take(self, line: bytes) -> None:
        match = parsed_match(line)
        if match is None or not self._may_show(match.path):
            return
        if len(self.matches) == MAX_MATCHES:
            self.cut = f"only the first {MAX_MATCHES} matches are shown; search for something rarer"
            return
        self.characters += len(match.text) + len(match.path) + 40
        if self.characters > MAX_SEARCH_CHARACTERS:
            self.cut = f"only the first {len(self.matches)} matches fit into an answer; search for something rarer"
            return
        self.matches.append(match)

    def _may_show(self, path: str) -> bool:
        """Whether the file may be known, and is one of the vault itself rather than something behind a link."""
        if path not in self.allowed:
            self.allowed[path] = self.reads.visible(path) and self._is_file(path)
        return self.allowed[path]

    def _is_file(self, path: str) -> bool:
        *parts, name = path.split("/")
        with Tree(self.reads.repository.top) as tree:
            try:
                folder = tree.folder(parts)
            except Refused:
                return False
            if folder is None:
                return False
            try:
                return kind_of(folder, name) == "file"
            finally:
                os.close(folder)

    def _check_end(self) -> None:
        """After the end of the output: 0 is matches, 1 is none, anything else is a fault worth naming."""
        if self.cut:
            return
        assert self.process.stderr
        stderr = self.process.stderr.read().decode("utf-8", "replace")
        if self.process.wait() not in (0, 1):
            raise GitFailed("grep", self.process.returncode, stderr)


# ---------------------------------------------------------------------------------------------------------------------
# Writes
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """One write as asked for, its shape already checked."""

    path: str
    content: bytes
    base_hash: str | None
    client: str
    receipt: str
    audit: str

    def trailers(self) -> str:
        """The lines that tie the commit to the call."""
        lines = [f"Talaria-Client: {self.client}", f"Talaria-Receipt: {self.receipt}"]
        return "\n".join([*lines, *([f"Talaria-Audit: {self.audit}"] if self.audit else [])]) + "\n"


def checked_order(settings: Settings, request: Mapping[str, Any], body: bytes) -> Order:
    """The order in a request. Raise Refused when path, content or the words for the commit break a rule."""
    path = text_of(request, "path")
    fault = path_fault(path) or write_fault(path, settings.writable_prefixes, settings.unreadable_prefixes)
    if fault:
        raise bad_path(fault)
    if request.get("size") != len(body) or request.get("sha256") != hashlib.sha256(body).hexdigest():
        raise write_failed("the note did not arrive whole; nothing was changed, send it again")
    if refusal := content_refusal(body):
        raise refusal
    base_hash = request.get("base_hash")
    if base_hash is not None and not re.fullmatch(r"[0-9a-f]{12}", str(base_hash)):
        raise Refused("__BAD_ARGUMENT__", "base_hash is the 12-digit contentHash of vault_read")
    words = {key: text_of(request, key) for key in ("client", "receipt", "audit")}
    patterns: dict[str, str] = {
        "client": r"[^\x00-\x20\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,99}",
        "receipt": RECEIPT,
        "audit": r"[!-~]{0,200}",
    }
    for key, pattern in patterns.items():
        if not re.fullmatch(pattern, words[key]):
            raise Refused("__BAD_ARGUMENT__", f"{key} cannot stand in a commit")
    return Order(path, body, base_hash, **words)


RECEIPT = r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}"


def text_of(request: Mapping[str, Any], key: str) -> str:
    """The text under `key` of a request. Raise Refused when it is something else."""
    value = request.get(key, "")
    if not isinstance(value, str):
        raise Refused("__BAD_ARGUMENT__", f"{key} must be a text")
    return value


def overwrite_refusal(exists: bool, same: bool, present: str, base_hash: str | None) -> Refused | None:
    """Why a write would overwrite what its author has not read; None when it may go on. Never holds a hash."""
    if same:
        return None
    if exists and base_hash is None:
        return Refused(
            "__EXISTS__", "there is a note at this path; read it all with vault_read and send its contentHash"
        )
    if base_hash is not None and (not exists or present != base_hash):
        return Refused(
            "__STALE_READ__", "the note changed or went away since it was read; read it again with vault_read"
        )
    return None


class Write:
    """One write under the lock: check, put in place, commit."""

    def __init__(self, repository: Repository, tree: Tree, order: Order) -> None:
        self.repository, self.tree, self.order = repository, tree, order
        self.git = repository.git
        *self.parents, self.name = order.path.split("/")

    def run(self) -> dict[str, Any]:
        """The facts of the answer; afterwards the note is committed or nothing has changed."""
        head = self.repository.head()
        if fault := self.repository.fault(head):
            raise write_failed(f"{fault}; nothing was changed")
        leaf = self._look()
        blob = self.git.blob_id(self.order.content)
        committed = self.repository.blob_at(head.commit, self.order.path) if leaf.kind == "file" else None
        same = leaf.kind == "file" and leaf.content == self.order.content
        refusal = overwrite_refusal(leaf.kind == "file", same, short_hash(leaf.content), self.order.base_hash)
        if refusal:
            raise self._readable(refusal)
        if same and committed == blob:
            return {"commit": self._last_commit(head), "repeated": True}
        return {"commit": self._carry_out(head, leaf, committed, blob), "repeated": same, "parent": head.commit}

    def _readable(self, refusal: Refused) -> Refused:
        """The refusal, without the advice to read what no read shows."""
        if refusal.code != "__EXISTS__" or self.order.path in self.repository.tracked().entries:
            return refusal
        return Refused(
            "__EXISTS__",
            "a file that is not part of the vault yet lies at this path on the vault host; choose another path, or ask "
            "the operator to commit it",
        )

    def _look(self) -> Leaf:
        """What stands at the path now. Raise bad_path when nothing may be put there."""
        path, tracked = self.order.path, self.repository.tracked()
        for number in range(1, len(self.parents) + 1):
            if tracked.mode("/".join(self.parents[:number])):
                raise bad_path(f"{'/'.join(self.parents[:number])} is not a folder of the vault")
        if tracked.mode(path) in {"120000", "160000"}:
            raise bad_path("there is a link or a submodule at this path")
        if any(other.startswith(f"{path}/") for other in tracked.entries):
            raise bad_path("there is a folder at this path")
        leaf = self.tree.look(path)
        if leaf.kind not in {"absent", "file"}:
            raise bad_path(f"there is a {leaf.kind} at this path")
        twin = self.tree.twin(path) or tracked.twins.get(twin_key(path), path)
        if twin != path and leaf.kind == "absent":
            raise bad_path(
                f"{nfc(twin)} differs from this path only in case or accents; use that one", existing=nfc(twin)
            )
        return leaf

    def _last_commit(self, head: Head) -> str:
        """The commit that brought the note as it is."""
        asked = f"{head.commit}\n--\n{self.order.path}\n".encode()
        return self.git.words("--literal-pathspecs", "rev-list", "--max-count=1", "--stdin", stdin=asked)

    def _carry_out(self, head: Head, leaf: Leaf, committed: str | None, blob: str) -> str:
        temporary = self.repository.own / f"tmp-note-{os.getpid()}"
        entry = (leaf.git_mode(), blob)
        try:
            self._stage(temporary, leaf)
            self.git.store("blob", self.order.content)
            base = self._keep_hand_made(head, leaf, committed)
            message = f"{'Change' if leaf.kind == 'file' else 'Add'} {self.order.path}\n\n{self.order.trailers()}"
            tree = self.repository.tree_with(base, {self.order.path: entry})
            commit = self.repository.commit_object(tree, [base] if base else [], message)
            self.repository.adopt(commit)
            intent: dict[str, object] = {"kind": "write", "path": self.order.path, "entry": entry, "message": message}
            intent |= {"ref": head.ref, "parent": head.commit, "commit": commit}
            self.repository.write_journal(intent)
        except (OSError, GitFailed) as error:
            temporary.unlink(missing_ok=True)
            raise write_failed(f"{failure_words(error)}; nothing was changed") from None
        return self._place(temporary, leaf, intent, head)

    def _stage(self, temporary: Path, leaf: Leaf) -> None:
        """The new note beside the repository, whole and on the disk, with the old one's mode and group."""
        temporary.unlink(missing_ok=True)
        write_durably(temporary, self.order.content)
        if temporary.stat().st_size != len(self.order.content):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if leaf.status:
            os.chmod(temporary, stat.S_IMODE(leaf.status.st_mode))
            with contextlib.suppress(OSError):
                os.chown(temporary, -1, leaf.status.st_gid)

    def _keep_hand_made(self, head: Head, leaf: Leaf, committed: str | None) -> str | None:
        """The commit to build on: HEAD, or one more that keeps a person's uncommitted text of this very note."""
        if leaf.kind != "file" or leaf.content == self.order.content or committed == self.git.blob_id(leaf.content):
            return head.commit
        entry = (leaf.git_mode(), self.git.store("blob", leaf.content))
        tree = self.repository.tree_with(head.commit, {self.order.path: entry})
        message = f"Keep hand-made changes of {self.order.path}\n\nTalaria-Kept-For: {self.order.receipt}\n"
        commit = self.repository.commit_object(tree, [head.commit] if head.commit else [], message)
        self.repository.adopt(commit)
        return commit

    def _place(self, temporary: Path, leaf: Leaf, intent: Mapping[str, Any], head: Head) -> str:
        """Rename the note into its folder and settle the commit; on failure put back what was there."""
        kept = self.repository.own / f"tmp-kept-{os.getpid()}"
        kept.unlink(missing_ok=True)
        folder = -1
        try:
            found = self.tree.folder(self.parents, make=True)
            if found is None:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            folder = found
            self._rename(temporary, folder, leaf, kept)
            return settle_write(self.repository, intent, head)
        except (OSError, GitFailed, Refused) as error:
            self._undo(temporary, folder, kept)
            self.repository.clear_journal()
            if isinstance(error, Refused):
                raise
            raise write_failed(f"{failure_words(error)}; nothing was changed") from None
        finally:
            kept.unlink(missing_ok=True)
            if folder >= 0:
                os.close(folder)

    def _rename(self, temporary: Path, folder: int, leaf: Leaf, kept: Path) -> None:
        """Put the note in place unless something else stands there than what was checked."""
        if leaf.status is None:
            try:
                os.link(temporary, self.name, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                raise Refused("__EXISTS__", "a note appeared at this path meanwhile; read it with vault_read") from None
            temporary.unlink()
        else:
            os.link(self.name, kept, src_dir_fd=folder, follow_symlinks=False)
            if signature(os.lstat(kept))[:4] != signature(leaf.status)[:4]:
                raise Refused("__STALE_READ__", "the note changed while it was written; read it again with vault_read")
            os.rename(temporary, self.name, dst_dir_fd=folder)
        sync_folder(folder)
        again = self.tree.folder(self.parents)
        if again is None or not os.path.sameopenfile(again, folder):
            raise bad_path("a folder on the way was exchanged meanwhile")
        os.close(again)

    def _undo(self, temporary: Path, folder: int, kept: Path) -> None:
        """The note as it was before; called when the commit could not be settled."""
        with contextlib.suppress(OSError):
            if temporary.exists():
                temporary.unlink()
            elif kept.exists():
                os.rename(kept, self.name, dst_dir_fd=folder)
            elif folder >= 0:
                os.unlink(self.name, dir_fd=folder)


def failure_words(error: Exception) -> str:
    """What stopped a write, for a reader."""
    if isinstance(error, OSError):
        return disk_words(error)
    if isinstance(error, GitFailed) and "No space left" in error.stderr:
        return disk_words(OSError(errno.ENOSPC, ""))
    return str(error)


def settle_write(repository: Repository, intent: Mapping[str, Any], head: Head) -> str:
    """The branch and the index follow a note that is in place; returns its commit. Clears the journal.

    If the branch moved since the commit was made, the commit is made again on top of where it stands now.
    """
    path, entry = intent["path"], tuple(intent["entry"])
    commit, parent = str(intent["commit"]), intent["parent"]
    for _ in range(3):
        if head.commit != parent and not (head.commit and repository.is_ancestor(commit, head.commit)):
            parent = head.commit
            tree = repository.tree_with(parent, {path: entry})
            commit = repository.commit_object(tree, [parent] if parent else [], intent["message"])
        if head.commit == parent:
            try:
                repository.set_ref(head.ref, commit, parent, f"write {path}")
            except GitFailed:
                moved = repository.head()
                if moved == head:
                    raise
                head = moved
                continue
        repository.set_index({path: entry})
        repository.clear_journal()
        return commit
    raise GitFailed("update-ref", 1, "the branch keeps moving")


# ---------------------------------------------------------------------------------------------------------------------
# Sharing: push, fetch, rebase, advance
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remote:
    """Where the vault is shared: a URL, the branch there, and the ref in which its last known commit is kept."""

    fetch_url: str
    push_url: str
    branch: str
    tracking: str


@dataclass
class Shared:
    """How sharing ended: whether everything is on the remote, why not, and whose files were left alone."""

    pushed: bool
    reason: str = ""
    kept: list[str] = field(default_factory=list)


def url_fault(url: str, top: Path) -> str | None:
    """Why a remote's URL is not used: anything but https, http, ssh and a repository outside the vault itself."""
    if re.match(r"(https?|ssh)://[^-]", url) or re.match(r"([\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!//|:)", url):
        return None
    path = url.removeprefix("file://")
    if "://" in path or "::" in path or path.startswith("-"):
        return "the vault's remote has an address of a kind that is not used"
    if Path(os.path.realpath(top / path)).is_relative_to(os.path.realpath(top)):
        return "the vault's remote lies inside the vault itself"
    return None


def push_reason(stderr: str) -> str:
    """Why a push or fetch failed, in plain words and without credentials."""
    known = (
        (
            r"Could not resolve|Connection refused|Connection timed out|unable to access|Network is unreachable|"
            r"No route to host|Connection reset|Connection closed|no answer within",
            "the remote does not answer",
        ),
        (
            r"Permission denied|Authentication failed|could not read (Username|Password)|terminal prompts disabled|"
            r"403|Host key verification failed",
            "the remote refused the login of the vault's user",
        ),
        (
            r"does not appear to be a git repository|does not exist|not found|dubious ownership",
            "the remote repository is not there or not usable",
        ),
        (r"remote rejected|declined", "the remote refused the push"),
    )
    for pattern, words in known:
        if re.search(pattern, stderr):
            return f"{words} ({complaint(stderr)})"
    return complaint(stderr)


class Sharing:
    """Brings the vault and its remote together. Whoever holds the push lock pushes for everybody who waits."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.git = repository.git
        # Whether nobody waits: then a slow remote may take all the time there is.
        self.patient = False

    # --- what is known without the network

    def remote(self) -> Remote | None:
        """The remote, or None when none is configured. Raise SyncStopped when its address is not used."""
        name = self.repository.settings.remote
        head = self.repository.head()
        branch = self.repository.settings.branch or head.ref.removeprefix("refs/heads/")
        config = self.git.config()
        is_url = "/" in name or ":" in name
        url = name if is_url else config.get(f"remote.{name}.url", "")
        if not url or not branch:
            return None
        push_url = url if is_url else config.get(f"remote.{name}.pushurl", url)
        for address in (url, push_url):
            if fault := url_fault(address, self.repository.top):
                raise SyncStopped(fault)
        return Remote(url, push_url, branch, f"refs/remotes/{'talaria' if is_url else name}/{branch}")

    def waiting(self, remote: Remote, head: Head) -> tuple[int, float]:
        """How many commits the remote lacks, and the age of the oldest in seconds."""
        if head.commit is None:
            return 0, 0.0
        known = self.repository.ref(remote.tracking)
        if known == head.commit:
            return 0, 0.0
        asked = f"{head.commit}\n" + (f"^{known}\n" if known else "")
        lines = self.git.words("rev-list", "--timestamp", "--stdin", stdin=asked.encode()).split("\n")
        stamps = [int(line.split(" ")[0]) for line in lines if line]
        return len(stamps), max(0.0, time.time() - min(stamps)) if stamps else 0.0

    def find(self, receipt: str, tip: str | None, since: str | None = None) -> tuple[str, str] | None:
        """The commit with this receipt in `tip`'s history (not in `since`'s) and the conflict note it names, if any."""
        if tip is None:
            return None
        fields = "%x00".join(
            [
                "%H",
                *(f"%(trailers:key={key},valueonly,separator=%x20)" for key in ("Talaria-Receipt", "Talaria-Conflict")),
            ]
        )
        asked = f"{tip}\n" + (f"^{since}\n" if since else "")
        limit = f"--max-count={RECEIPT_SEARCH_COMMITS}"
        for line in self.git.words("log", limit, f"--format={fields}", "--stdin", stdin=asked.encode()).split("\n"):
            commit, *trailers = line.split("\0")
            if trailers and trailers[0].strip() == receipt:
                return commit, trailers[1].strip()
        return None

    # --- the way out

    def share(self, deadline: Deadline, waiting_for: str | None = None, fetch_first: bool = False) -> Shared:
        """Push everything that is committed; return at the latest at `deadline`.

        `waiting_for` is the commit of a writer, who is content as soon as another's push has taken it along.
        """
        try:
            remote = self.remote()
            if remote is None:
                return Shared(False, "no remote")
            before = self.repository.ref(remote.tracking)
            with self.repository.flock("push.lock", deadline):
                if waiting_for and self._has(remote, waiting_for, before):
                    return Shared(True)
                return self._share_locked(remote, deadline, fetch_first)
        except Refused as refusal:
            reason = "other pushes are under way" if refusal.code == "__TIMEOUT__" else refusal.hint
            return Shared(False, reason)
        except SyncStopped as stop:
            return self._failed(str(stop))
        except GitFailed as error:
            return self._failed(push_reason(error.stderr))
        except OSError as error:
            return self._failed(disk_words(error))

    def _has(self, remote: Remote, commit: str, before: str | None) -> bool:
        """Whether the remote got `commit` while we waited for our turn; `before` is what it had when we began."""
        known = self.repository.ref(remote.tracking)
        return known is not None and (
            known == commit or (known != before and self.repository.is_ancestor(commit, known))
        )

    def _share_locked(self, remote: Remote, deadline: Deadline, fetch_first: bool) -> Shared:
        kept: list[str] = []
        refused: str | None = ""
        for _ in range(PUSH_TRIES):
            if fetch_first:
                theirs = self._fetch(remote, deadline)
                if theirs:
                    kept += self._reconcile(remote, theirs, deadline)
            head = self.repository.head()
            if head.commit is None or head.commit == self.repository.ref(remote.tracking):
                return self._succeeded(kept)
            refused = self._push(remote, head.commit, deadline)
            if refused is None:
                self.repository.note_ref(remote.tracking, head.commit)
                return self._succeeded(kept)
            if fetch_first and not re.search(
                r"fetch first|non-fast-forward|incorrect old value|failed to update|cannot lock", refused
            ):
                break
            fetch_first = True
        return self._failed(push_reason(refused or ""), kept)

    def _push(self, remote: Remote, commit: str, deadline: Deadline) -> str | None:
        """None when the remote has the commit now, else git's complaint about a refusal. Other failures raise."""
        seconds = min(HURRIED_PUSH_SECONDS if self._hurried() else PUSH_SECONDS, deadline.left())
        seconds = deadline.left() if self.patient else seconds
        args = ("push", "--porcelain", "--no-verify", "--", remote.push_url, f"{commit}:refs/heads/{remote.branch}")
        process = self.git.start(args, self.git.remote_env())
        try:
            out, err = process.communicate(b"", timeout=max(0.1, seconds))
        except subprocess.TimeoutExpired:
            self._failed("the remote does not answer", late=True)
            raise GitLate("push", -1, f"no answer within {seconds:.0f} s") from None
        finally:
            end_group(process)
        if process.returncode == 0:
            return None
        refused = [line for line in out.decode("utf-8", "replace").splitlines() if line.startswith("!")]
        if not refused:
            raise SyncStopped(push_reason(err.decode("utf-8", "replace")))
        return "\n".join([*refused, err.decode("utf-8", "replace")])

    def _fetch(self, remote: Remote, deadline: Deadline) -> str | None:
        """The remote's commit, brought here; None when it has no such branch."""
        head = self.repository.head()
        ours = self.git.shadow / "refs/heads/ours"
        theirs = self.git.shadow / "refs/talaria/theirs"
        if head.commit:  # what we have already, so that git does not fetch it again
            ours.write_text(f"{head.commit}\n")
        theirs.unlink(missing_ok=True)
        args = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
        ]
        args += ["--force", "--", remote.fetch_url, f"refs/heads/{remote.branch}:refs/talaria/theirs"]
        try:
            seconds = deadline.left() if self.patient else min(PUSH_SECONDS, deadline.left())
            self.git.run(*args, env=self.git.remote_env(), seconds=max(0.1, seconds))
        except GitFailed as error:
            if "find remote ref" in error.stderr:
                return None
            raise SyncStopped(push_reason(error.stderr)) from None
        return theirs.read_text().strip()

    def _reconcile(self, remote: Remote, theirs: str, deadline: Deadline) -> list[str]:
        """Take over what others pushed, our own commits on top; returns the files of people that were left alone."""
        repository = self.repository
        with repository.exclusive(deadline):
            head = repository.head()
            if fault := repository.fault(head):
                raise SyncStopped(fault)
            self._refuse_rewritten(repository.ref(remote.tracking), theirs)
            kept: list[str] = []
            if head.commit is None or not repository.is_ancestor(theirs, head.commit):
                new = theirs
                if head.commit and not repository.is_ancestor(head.commit, theirs):
                    new = Rebase(repository).onto(theirs, head.commit)
                kept = Advance(repository, head.ref, head.commit, new).run(head)
            repository.note_ref(remote.tracking, theirs)
            return kept

    def _refuse_rewritten(self, known: str | None, theirs: str) -> None:
        """Raise SyncStopped when the remote lost commits it had: to drop them or to bring them back is not for us."""
        if known and not self.repository.is_ancestor(known, theirs):
            raise SyncStopped(
                "the remote's history was rewritten: commits it had are gone; on the vault host, fetch and either "
                "reset the branch to the remote's or push it back"
            )

    # --- how the last try ended

    def _hurried(self) -> bool:
        last = self.last()
        return bool(last.get("late")) and time.time() - float(last.get("at", 0)) < HURRY_FOR_SECONDS

    def last(self) -> dict[str, Any]:
        """How the last push ended: `reason` (empty when well), `at`, `late`, `kept`."""
        try:
            found = json.loads((self.repository.own / "push.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, reason: str, kept: Sequence[str], late: bool) -> None:
        state = {"reason": reason, "at": time.time(), "late": late, "kept": list(kept)}
        with contextlib.suppress(OSError):
            replace_durably(self.repository.own / "push.json", json.dumps(state).encode("ascii"))

    def _succeeded(self, kept: list[str]) -> Shared:
        if self.last().get("reason") or kept:
            self._remember("", kept, late=False)
        return Shared(True, kept=kept)

    def _failed(self, reason: str, kept: Sequence[str] = (), late: bool = False) -> Shared:
        late = late or "no answer within" in reason
        self._remember(reason, kept, late)
        return Shared(False, reason, list(kept))


class Rebase:
    """Puts local commits on top of the remote's, without touching working tree or index."""

    def __init__(self, repository: Repository) -> None:
        self.repository, self.git = repository, repository.git

    def onto(self, theirs: str, ours: str) -> str:
        """The new tip. Raise SyncStopped when a person's own commits do not fit."""
        asked = f"{ours}\n^{theirs}\n".encode()
        listing = self.git.words("rev-list", "--reverse", "--topo-order", "--parents", "--stdin", stdin=asked)
        base = theirs
        for line in listing.splitlines():
            commit, *parents = line.split(" ")
            if len(parents) > 1:
                raise SyncStopped("a merge made on the vault host is not pushed yet; push it there by hand")
            base = self._replay(commit, parents[0] if parents else None, base)
        return base

    def _replay(self, commit: str, parent: str | None, base: str) -> str:
        """`commit`'s change on top of `base`."""
        raw = self.git.run("cat-file", "commit", commit)[1]
        found = re.search(rb"^Talaria-(?:Receipt|Kept-For): (\S+)$", raw, re.MULTILINE)
        changes = changed_paths(self.git, parent, commit)
        if not found or len(changes) != 1 or changes[0].new is None:
            return self._replay_hand_made(raw, commit, parent, base)
        return self._replay_note(raw, changes[0], base, found[1].decode())

    # --- a commit of ours: one note. Git's own merge would follow a person's renames, and so might carry an agent's
    # text into a folder that is not open for writing; git before 2.50 cannot be told otherwise.

    def _replay_note(self, raw: bytes, change: Change, base: str, receipt: str) -> str:
        assert change.new
        if self._in_the_way(base, change.path):
            raise SyncStopped(f"others made a folder of {change.path}, or a file of its folder; sort it out by hand")
        theirs = self.repository.blob_at(base, change.path)
        before = change.old[1] if change.old else None
        if theirs in (before, change.new[1]):
            return self._commit(raw, base, {change.path: change.new})
        merged = self._merged(before, change.new[1], theirs) if before and theirs else None
        if merged is not None:
            return self._commit(raw, base, {change.path: (change.new[0], self.git.store("blob", merged))})
        beside = conflict_path(change.path, receipt, lambda name: self.repository.blob_at(base, name) is not None)
        return self._commit(raw, base, {beside: change.new}, f"Talaria-Conflict: {beside}\n")

    def _in_the_way(self, base: str, path: str) -> bool:
        """Whether a file stands where a folder is needed, or a folder where the note goes."""
        parts = path.split("/")
        parents = ["/".join(parts[:length]) for length in range(1, len(parts))]
        return any(self.repository.blob_at(base, parent) for parent in parents) or self.repository.is_folder(base, path)

    def _merged(self, before: str, ours: str, theirs: str) -> bytes | None:
        """Both changes of one note put together; None when they touch the same lines."""
        names = [self.repository.own / f"tmp-merge-{side}-{os.getpid()}" for side in ("ours", "before", "theirs")]
        try:
            with Blobs(self.git) as blobs:
                for name, identity in zip(names, (ours, before, theirs), strict=True):
                    name.unlink(missing_ok=True)
                    write_durably(name, blobs.read(identity))
            status, text = self.git.run("merge-file", "-p", "-q", *map(str, names), accept=range(256))
        finally:
            for name in names:
                name.unlink(missing_ok=True)
        return text if status == 0 else None

    def _commit(self, raw: bytes, base: str, changes: Mapping[str, Entry | None], trailer: str = "") -> str:
        tree = self.repository.tree_with(base, changes)
        commit = self.git.store("commit", rewritten(raw, tree, base, self._committer(), trailer))
        self.repository.adopt(commit)
        return commit

    # --- a person's commit: as git rebases it, or not at all

    def _replay_hand_made(self, raw: bytes, commit: str, parent: str | None, base: str) -> str:
        side, change = self._sides(commit, parent, base)
        status, out = self.git.run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", side, change, accept=(0, 1)
        )
        if status:
            raise SyncStopped(
                "commits made by hand on the vault host conflict with what others pushed; rebase them there by hand"
            )
        tree = out.split(b"\0")[0].decode("ascii").strip()
        return self.git.store("commit", rewritten(raw, tree, base, self._committer()))

    def _sides(self, commit: str, parent: str | None, base: str) -> tuple[str, str]:
        """Two commits whose merge base is `commit`'s parent: git 2.39 cannot be told the base of a merge."""
        common = parent or self.repository.commit_object(EMPTY_TREE[self.git.format], [], "base\n")
        tree = self.git.words("rev-parse", f"{base}^{{tree}}")
        side = self.repository.commit_object(tree, [common], "side\n")
        if parent:
            return side, commit
        tree = self.git.words("rev-parse", f"{commit}^{{tree}}")
        return side, self.repository.commit_object(tree, [common], "side\n")

    def _committer(self) -> str:
        settings = self.repository.settings
        return f"{settings.git_name} <{settings.git_email}> {int(time.time())} {time.strftime('%z')}"


def rewritten(raw: bytes, tree: str, parent: str, committer: str, trailer: str = "") -> bytes:
    """A commit object with another tree, parent and committer; author, message and encoding stay, signatures go."""
    head, _, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    dropping = False
    for line in head.split(b"\n"):
        dropping = line.startswith((b"tree ", b"parent ", b"committer ", b"gpgsig")) or (
            dropping and line.startswith(b" ")
        )
        if not dropping:
            kept.append(line)
    author = [line for line in kept if line.startswith(b"author ")]
    others = [line for line in kept if not line.startswith(b"author ")]
    lines = [
        b"tree " + tree.encode(),
        b"parent " + parent.encode(),
        *author,
        b"committer " + committer.encode(),
        *others,
    ]
    end = b"" if message.endswith(b"\n") or not trailer else b"\n"
    return b"\n".join(lines) + b"\n\n" + message + end + trailer.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Change:
    """What happened to one path between two commits; None stands for "not there"."""

    path: str
    old: Entry | None
    new: Entry | None


def changed_paths(git: Git, old: str | None, new: str) -> list[Change]:
    """Every path that differs between two commits (`old` None: everything is new)."""
    before = old or EMPTY_TREE[git.format]
    out = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, new)[1]
    return parsed_changes(out)


def parsed_changes(raw: bytes) -> list[Change]:
    """The output of `git diff-tree -r -z --raw`."""
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    changes = []
    for facts, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, old_id, new_id, _ = facts.removeprefix(":").split(" ")
        old = None if old_mode == "000000" else (old_mode, old_id)
        new = None if new_mode == "000000" else (new_mode, new_id)
        changes.append(Change(path, old, new))
    return changes


def unsafe_change(path: str) -> bool:
    """Whether a path of somebody's commit may not be written into the working tree at all."""
    parts = path.split("/")
    return any(part in {"", ".", ".."} or part.casefold() in {".git", "git~1"} for part in parts)


class Advance:
    """Moves the branch, the index and the working tree from one commit to another, file by file.

    A file that a person changed and did not commit is left alone. Every step can be repeated, so a killed process'
    advance is simply carried out again.
    """

    def __init__(self, repository: Repository, ref: str, old: str | None, new: str) -> None:
        self.repository, self.git = repository, repository.git
        self.ref, self.old, self.new = ref, old, new
        self.kept: list[str] = []

    def run(self, head: Head) -> list[str]:
        """Carry the advance out; returns the paths left alone. Needs `exclusive`."""
        changes = changed_paths(self.git, self.old, self.new)
        if any(unsafe_change(change.path) for change in changes):
            raise SyncStopped("the remote holds a path that no working tree may hold; a person must look at it")
        self.repository.write_journal({"kind": "advance", "ref": self.ref, "old": self.old, "new": self.new})
        self.carry_out(head)
        self.repository.clear_journal()
        return self.kept

    def carry_out(self, head: Head) -> None:
        """Files first, then the branch, then the index; each step finds out whether it was done before."""
        changes = changed_paths(self.git, self.old, self.new)
        entries = self._new_index_entries(changes)
        with Tree(self.repository.top) as tree, Blobs(self.git) as blobs:
            for change in sorted(changes, key=lambda c: (c.new is not None, c.path)):
                self._apply(tree, blobs, change)
        if head.commit != self.new:
            self.repository.set_ref(self.ref, self.new, head.commit, "take over what others pushed")
        self.repository.set_index(entries)

    def _new_index_entries(self, changes: Sequence[Change]) -> dict[str, Entry | None]:
        """What to put into the index: every changed path, except where a person staged something else."""
        listing = self.git.run("ls-files", "--stage", "-z")[1] if (self.repository.real / "index").exists() else b""
        staged: dict[str, Entry] = {}
        for raw in listing.decode("utf-8", "surrogateescape").split("\0"):
            facts, tab, path = raw.partition("\t")
            if tab:
                mode, identity, _ = facts.split(" ")
                staged[path] = (mode, identity)
        return {c.path: c.new for c in changes if staged.get(c.path) in (c.old, c.new)}

    def _apply(self, tree: Tree, blobs: Blobs, change: Change) -> None:
        """One file, unless it is done already or a person's text stands there."""
        try:
            leaf = tree.look(change.path)
            if self._stands(leaf, change.new):
                return
            if not self._stands(leaf, change.old):
                self.kept.append(change.path)
                return
            self._put(tree, blobs, change)
        except Refused:
            self.kept.append(change.path)

    def _stands(self, leaf: Leaf, entry: Entry | None) -> bool:
        """Whether what stands on the disk is what git recorded."""
        if entry is None:
            return leaf.kind == "absent"
        if entry[0] == "160000":
            return leaf.kind == "folder"
        kind = "link" if entry[0] == "120000" else "file"
        return leaf.kind == kind and self.git.blob_id(leaf.content) == entry[1]

    def _put(self, tree: Tree, blobs: Blobs, change: Change) -> None:
        *parents, name = change.path.split("/")
        folder = tree.folder(parents, make=change.new is not None)
        if folder is None:
            return
        try:
            if change.new is None:
                self._remove(folder, name, change)
            elif change.new[0] == "160000":
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            else:
                self._replace(folder, name, change.new[0], blobs.read(change.new[1]))
            os.fsync(folder)
        finally:
            os.close(folder)
        if change.new is None:
            self._remove_empty(tree, parents)

    def _remove(self, folder: int, name: str, change: Change) -> None:
        with contextlib.suppress(OSError):
            if change.old and change.old[0] == "160000":
                os.rmdir(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)

    def _replace(self, folder: int, name: str, mode: str, content: bytes) -> None:
        work = self.repository.own / f"tmp-take-{os.getpid()}"
        work.unlink(missing_ok=True)
        if mode == "120000":
            os.symlink(os.fsdecode(content), work)
        else:
            write_durably(work, content, 0o777 if mode == "100755" else 0o666)
        os.rename(work, name, dst_dir_fd=folder)

    def _remove_empty(self, tree: Tree, parents: Sequence[str]) -> None:
        """As git does: a folder whose last file went away goes too."""
        for length in range(len(parents), 0, -1):
            *above, name = parents[:length]
            folder = tree.folder(above)
            if folder is None:
                return
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError:
                return
            finally:
                os.close(folder)


class Blobs:
    """Reads file contents from the repository, one after another, through one git process."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process:
            end_group(self.process)

    def read(self, identity: str) -> bytes:
        """The content of one blob. Raise GitFailed when the repository lacks it."""
        if self.process is None:
            self.process = self.git.start(["cat-file", "--batch"])
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{identity}\n".encode("ascii"))
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed("cat-file", 1, f"the repository lacks {identity}")
        content = self.process.stdout.read(int(head[2]))
        self.process.stdout.read(1)
        return content


# ---------------------------------------------------------------------------------------------------------------------
# Requests
# ---------------------------------------------------------------------------------------------------------------------

Answer = tuple[dict[str, Any], bytes]


class Vault:
    """Answers requests, one at a time; every rule is checked here, whatever the client checked before."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.repository = Repository(settings)
        self.reads = Reads(self.repository)
        self.sharing = Sharing(self.repository)

    def answer(self, request: Mapping[str, Any], body: bytes) -> Answer:
        """The answer to one request, a refusal included; never raises for anything a client can cause."""
        operations: dict[str, Callable[[Mapping[str, Any], bytes, Deadline], Answer]] = {
            "hello": self._hello,
            "list": self._list,
            "read": self._read,
            "search": self._search,
            "write": self._write,
            "settle": self._settle,
            "status": self._status,
        }
        try:
            deadline = Deadline(min(300.0, max(0.0, float(request.get("seconds", 20)))))
            operation = operations.get(str(request.get("op")))
            if operation is None:
                raise Refused("__BAD_ACTION__", "the vault host does not know this request")
            head, content = operation(request, body, deadline)
        except Refused as refusal:
            return {"ok": False, "code": refusal.code, "hint": refusal.hint, "facts": refusal.facts}, b""
        except (GitFailed, OSError, Misconfigured) as error:
            return {
                "ok": False,
                "code": "__UPSTREAM_ERROR__",
                "hint": f"the vault host failed: {failure_words(error)}",
            }, b""
        except Exception as error:
            traceback.print_exc()
            hint = f"the vault host met a fault of its own ({type(error).__name__})"
            return {"ok": False, "code": "__UPSTREAM_ERROR__", "hint": hint}, b""
        return {"ok": True, **head}, content

    def _hello(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        head = self.repository.head()
        state = {
            "branch": head.ref.removeprefix("refs/heads/"),
            "commit": head.commit,
            "fault": self.repository.fault(head),
        }
        return {"protocol": PROTOCOL, **state}, b""

    def _list(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        return self.reads.list(text_of(request, "prefix")), b""

    def _read(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        offset = request.get("offset", 0)
        if not isinstance(offset, int):
            raise Refused("__BAD_ARGUMENT__", "offset must be a whole number")
        return self.reads.read(text_of(request, "path"), offset)

    def _search(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        return self.reads.search(text_of(request, "query"), deadline), b""

    def _status(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        head = self.repository.head()
        state: dict[str, Any] = {"branch": head.ref.removeprefix("refs/heads/"), "fault": self.repository.fault(head)}
        try:
            remote = self.sharing.remote()
        except SyncStopped as stop:
            return {**state, "remote": True, "unpushed": 0, "age": 0.0, "reason": str(stop)}, b""
        unpushed, age = self.sharing.waiting(remote, head) if remote else (0, 0.0)
        reason = str(self.sharing.last().get("reason", "")) if unpushed else ""
        return {**state, "remote": remote is not None, "unpushed": unpushed, "age": age, "reason": reason}, b""

    def _write(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        order = checked_order(self.settings, request, body)
        with self.repository.exclusive(deadline.earlier(1.0)):
            self._refuse_void(order.receipt, attempt_of(request))
            with Tree(self.repository.top) as tree:
                facts = Write(self.repository, tree, order).run()
        answer = {"path": order.path, "commit": facts["commit"]}
        if facts["repeated"]:
            answer["repeated"] = True
        shared = self.sharing.share(deadline.earlier(PUSH_RESERVE_SECONDS), facts["commit"])
        return {**answer, **self._outcome(order, facts, shared)}, b""

    def _outcome(self, order: Order, facts: Mapping[str, Any], shared: Shared) -> dict[str, Any]:
        """What became of the commit. Raise Refused when somebody else's text won the path."""
        result: dict[str, Any] = {"pushed": shared.pushed} | ({"reason": shared.reason} if shared.reason else {})
        head = self.repository.head()
        if "parent" not in facts or head.commit in (None, facts["commit"]):
            return result
        assert head.commit
        if self.repository.is_ancestor(facts["commit"], head.commit):
            return result
        found = self.sharing.find(order.receipt, head.commit, facts["parent"])
        if found is None:
            return result
        commit, beside = found
        if beside:
            raise Refused(
                "__CONFLICT__",
                "somebody else changed or removed this note at the same time: theirs is at path unless removed, "
                "yours was kept at conflict_path; read what there is and write what should stand",
                path=order.path,
                conflict_path=beside,
                commit=commit,
                pushed=shared.pushed,
            )
        merged = self.repository.blob_at(commit, order.path) != self.repository.git.blob_id(order.content)
        return {**result, "commit": commit} | ({"merged": True} if merged else {})

    def _settle(self, request: Mapping[str, Any], body: bytes, deadline: Deadline) -> Answer:
        """What became of a write whose answer was lost: its commit, or the promise that it will never happen."""
        receipt = text_of(request, "receipt")
        if not re.fullmatch(RECEIPT, receipt):
            raise Refused("__BAD_ARGUMENT__", "this is no receipt")
        with self.repository.exclusive(deadline):
            head = self.repository.head()
            found = self.sharing.find(receipt, head.commit)
            if found is None:
                self._make_void(receipt, attempt_of(request))
                return {"found": False}, b""
        remote = self.sharing.remote()
        known = self.repository.ref(remote.tracking) if remote else None
        pushed = bool(known) and self.repository.is_ancestor(found[0], str(known))
        return {"found": True, "commit": found[0], "conflict_path": found[1], "pushed": pushed}, b""

    def _make_void(self, receipt: str, attempt: int) -> None:
        """Forbid a try of a write that may still be on its way to the lock."""
        folder = self.repository.own / "void"
        folder.mkdir(mode=0o700, exist_ok=True)
        for old in folder.iterdir():
            if time.time() - old.stat().st_mtime > VOID_SECONDS:
                old.unlink(missing_ok=True)
        (folder / f"{receipt}.{attempt}").touch()

    def _refuse_void(self, receipt: str, attempt: int) -> None:
        if (self.repository.own / "void" / f"{receipt}.{attempt}").exists():
            raise write_failed("this write was given up before it began; nothing was changed")


def attempt_of(request: Mapping[str, Any]) -> int:
    """Which try of one write a request is about."""
    attempt = request.get("attempt", 1)
    if attempt not in (1, 2):
        raise Refused("__BAD_ARGUMENT__", "a write is tried twice at most")
    return int(attempt)


def push_once(vault: Vault) -> tuple[int, str]:
    """The timer's round: take over what others pushed, push what is not pushed; exit status and one line to log."""
    try:
        if vault.repository.journal.exists():
            with vault.repository.exclusive(Deadline(TIMER_SECONDS / 2)):
                pass
    except Refused as refusal:
        return 1, f"vault: {refusal.hint}"
    vault.sharing.patient = True
    shared = vault.sharing.share(Deadline(TIMER_SECONDS), fetch_first=True)
    tidy(vault.repository)
    kept = f"; left alone because changed by hand: {', '.join(shared.kept[:10])}" if shared.kept else ""
    if shared.pushed:
        return 0, f"vault: in step with the remote{kept}"
    if shared.reason == "no remote":
        return 0, "vault: no remote is configured, nothing to push"
    return 1, f"vault: not pushed: {shared.reason}{kept}"


def tidy(repository: Repository) -> None:
    """Pack loose objects when there are many: one write makes about four, and git's own upkeep is off."""
    with contextlib.suppress(OSError, GitFailed):
        if len(os.listdir(repository.real / "objects/17")) > LOOSE_OBJECTS_SAMPLE:
            repository.git.run(*QUIET, "repack", "-d", "-l", "-q", env=repository.git.real_env(), seconds=TIMER_SECONDS)


class Resident:
    """The vault of a settings file, made anew when the file changes; says when this program itself was replaced."""

    def __init__(self, config: str) -> None:
        self.config = config
        self.program = signature(os.stat(__file__))
        self.seen = signature(os.stat(config))
        self.vault = Vault(load_settings(config))

    def answer(self, request: Mapping[str, Any], body: bytes) -> Answer:
        """The answer under the settings of this moment. Raise Misconfigured when they became unusable."""
        if (seen := signature(os.stat(self.config))) != self.seen:
            self.vault, self.seen = Vault(load_settings(self.config)), seen
        return self.vault.answer(request, body)

    def outdated(self) -> bool:
        """Whether a new release lies where this program was started from."""
        return signature(os.stat(__file__)) != self.program


def serve(resident: Resident, source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer requests until the client closes the channel, is silent for long, or a new release is there.

    Raise BrokenFrame when the client does not speak the protocol.
    """
    while True:
        signal.alarm(IDLE_SECONDS)  # ends this process, which is doing nothing
        frame = read_frame(source.read, MAX_HEADER_BYTES, MAX_BODY_BYTES)
        signal.alarm(0)
        if frame is None:
            return
        request, body = frame
        answer, content = resident.answer(request, body)
        sink.write(encoded_frame({"id": request.get("id"), **answer}, content))
        sink.flush()
        if resident.outdated():
            return


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; exit status 0 when everything asked for was done."""
    parser = argparse.ArgumentParser(description="Serve one vault on standard input and output.")
    parser.add_argument("--config", required=True, help="JSON file with the vault's settings")
    parser.add_argument("--push", action="store_true", help="bring vault and remote in step once, and end")
    options = parser.parse_args(arguments)
    wanted = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if wanted not in {"", COMMAND_WORD}:
        print("This key opens the vault's request channel only; it runs no commands.", file=sys.stderr)
        return 1
    try:
        resident = Resident(options.config)
        if options.push:
            status, line = push_once(resident.vault)
            print(line)
            return status
        serve(resident, sys.stdin.buffer, sys.stdout.buffer)
    except (Misconfigured, BrokenFrame) as error:
        print(str(error), file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        print(f"{error.filename} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
