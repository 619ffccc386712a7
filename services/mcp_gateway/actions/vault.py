"""The vault tools: find, list, read and write notes, overwriting only what was read whole."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from mcp_gateway.answers import altered, defang
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.vault import Page, VaultPort
from mcp_gateway.previews import fingerprint
from mcp_gateway.tools import Arguments, Call, Preview, Tool

# Notes under way or read whole, over all clients: a long-forgotten one only has to be read again.
MAX_REMEMBERED = 4096
SHORT_HASH = re.compile(r"[0-9a-f]{12}")
# Digits of SHA-256 that stand for a version; the contract's.
SHORT_HASH_DIGITS = 12
MAX_BYTES = 150_000


class SearchArguments(Arguments):
    """Arguments of vault_search."""

    query: str = Field(
        description="Text to look for: one line, taken literally, case ignored in any script. At most 500 characters."
    )


class ListArguments(Arguments):
    """Arguments of vault_list."""

    prefix: str | None = Field(None, description="Folder to list, e.g. `research/`. Default: the whole vault.")


class ReadArguments(Arguments):
    """Arguments of vault_read."""

    path: str = Field(description="Path of the note in the vault, e.g. `research/solar.md`.")
    offset: int | None = Field(
        None, ge=0, description="Character to begin at: `next_offset` of the page before. Default: 0."
    )


class WriteArguments(Arguments):
    """Arguments of vault_write."""

    path: str = Field(description="Path of the note: under a writable folder, ending with `.md`.")
    content: str = Field(description="The whole new text of the note, at most 150,000 bytes of UTF-8.")
    base_hash: str | None = Field(
        None,
        description="To overwrite: the `contentHash` that vault_read gave for the version you read. "
        "Leave it out for a new note.",
    )


@dataclass(slots=True)
class _Progress:
    """How far a client has read one version; `expected` is None once it saw the end."""

    sha256: str
    expected: int | None


class Served:
    """Which client was shown every page of which version. Kept in memory: after a restart a note is read again."""

    def __init__(self, size: int = MAX_REMEMBERED) -> None:
        self._size = size
        self._seen: OrderedDict[tuple[str, str], _Progress] = OrderedDict()

    def page(self, client: str, page: Page, unaltered: bool) -> bool:
        """Note that a page was served; whether the client has now seen the whole of this version, in order."""
        key = (client, page.path)
        seen = self._seen.get(key)
        if seen and seen.sha256 == page.sha256 and seen.expected is None and unaltered:
            return True
        follows = seen is not None and seen.sha256 == page.sha256 and seen.expected == page.offset
        if not unaltered or not (page.offset == 0 or follows):
            # A page out of order does not undo what was read before it; an altered one does.
            if not unaltered:
                self._seen.pop(key, None)
            return False
        self._remember(key, _Progress(page.sha256, page.next_offset))
        return page.next_offset is None

    def written(self, client: str, path: str, sha256: str) -> None:
        """Note that the client itself wrote this version, so it knows it whole."""
        self._remember((client, path), _Progress(sha256, None))

    def _remember(self, key: tuple[str, str], progress: _Progress) -> None:
        self._seen[key] = progress
        self._seen.move_to_end(key)
        if len(self._seen) > self._size:
            self._seen.popitem(last=False)


def vault_tools(port: VaultPort) -> list[Tool]:
    """The four tools over one vault."""
    served = Served()

    async def search(call: Call, arguments: SearchArguments) -> Mapping[str, object]:
        found = await port.search(arguments.query, call.deadline)
        matches = [{"path": match.path, "line": match.line, "text": match.text} for match in found.matches]
        return {"matches": matches} | ({"cut": found.cut} if found.cut else {})

    async def list_notes(call: Call, arguments: ListArguments) -> Mapping[str, object]:
        listing = await port.list(arguments.prefix or "", call.deadline)
        return _listed(listing.paths, listing.total)

    async def read(call: Call, arguments: ReadArguments) -> Mapping[str, object]:
        page = await port.read(arguments.path, arguments.offset or 0, call.deadline)
        return _read(page, call, served)

    async def write(call: Call, arguments: WriteArguments) -> Mapping[str, object]:
        return await _write(port, served, call, arguments)

    async def preview(call: Call, arguments: WriteArguments) -> Preview:
        return await _preview(port, call, arguments)

    return [
        Tool(
            "vault_search",
            "vault",
            "Find lines in the notes that hold a text, taken literally and whatever its case. Gives path, line number "
            "and line: at most 3 a note and 60 in all; `cut` says when there are more.",
            SearchArguments,
            search,
        ),
        Tool(
            "vault_list",
            "vault",
            "List the files of the vault or of one folder by path; at most 300, `total` says how many there are.",
            ListArguments,
            list_notes,
        ),
        Tool(
            "vault_read",
            "vault",
            "Read a note, 30,000 characters a page: go on with `next_offset` until there is none. `contentHash`, which "
            "overwriting needs, comes with the last page once every page was read in order.",
            ReadArguments,
            read,
        ),
        Tool(
            "vault_write",
            "vault",
            "Write a note whole, commit and push it. An existing note is overwritten only with the `contentHash` of "
            "its present version as base_hash. `pushed` false means: committed, and pushed later by itself.",
            WriteArguments,
            write,
            writes=True,
            preview=preview,
        ),
    ]


def _listed(paths: tuple[str, ...], total: int) -> dict[str, object]:
    members: dict[str, object] = {"paths": list(paths), "total": total}
    if len(paths) < total:
        members["cut"] = f"Only the first {len(paths)} of {total} are shown; list a folder to see more of it."
    return members


def _read(page: Page, call: Call, served: Served) -> dict[str, object]:
    """The answer for one page, with the hash only when nothing of this version was kept from the client."""
    changed = altered(page.text)
    members: dict[str, object] = {"path": page.path, "content": defang(page.text) if changed else page.text}
    members |= {"offset": page.offset, "total_chars": page.total_chars}
    if page.next_offset is not None:
        members["next_offset"] = page.next_offset
    if served.page(call.client, page, unaltered=not changed):
        members["contentHash"] = page.sha256[:SHORT_HASH_DIGITS]
    elif page.next_offset is None and not changed:
        members["hint"] = "No contentHash: not every page of this version was read in order. Begin at offset 0."
    if changed:
        members["altered"] = True
    return members


async def _write(port: VaultPort, served: Served, call: Call, arguments: WriteArguments) -> dict[str, object]:
    if arguments.base_hash is not None and not SHORT_HASH.fullmatch(arguments.base_hash):
        words = "base_hash must be the 12 hex digits of vault_read's contentHash; leave it out for a new note."
        raise Refusal(Code.BAD_ARGUMENT, words)
    written = await port.write(
        arguments.path,
        _encoded(arguments.content),
        arguments.base_hash,
        client=call.client,
        receipt=call.receipt,
        audit=call.audit,
        deadline=call.deadline,
    )
    members: dict[str, object] = {"path": written.path, "contentHash": written.sha256[:SHORT_HASH_DIGITS]}
    members |= {"commit": written.commit, "pushed": written.pushed}
    members |= {"reason": written.reason} if written.reason else {}
    members |= {"repeated": True} if written.repeated else {}
    if written.merged:
        del members["contentHash"]
        members["merged"] = "Somebody else's change of the same note was put together with yours; read it again."
    else:
        served.written(call.client, written.path, written.sha256)
    return members


async def _preview(port: VaultPort, call: Call, arguments: WriteArguments) -> Preview:
    """Whether the note is new or replaced, and how long it becomes. Raise Refusal as writing it now would."""
    raw = _encoded(arguments.content)
    try:
        present = await port.read(arguments.path, 0, call.deadline)
    except Refusal as fault:
        if fault.code is not Code.NOT_FOUND:
            raise
        if arguments.base_hash is not None:
            words = f"{arguments.path} is not there any more; leave base_hash out to write it as a new note."
            raise Refusal(Code.STALE_READ, words) from fault
        version, replaced = "", "nothing: a new note"
    else:
        version, replaced = present.sha256, f"a note of {present.total_chars} characters"
        if arguments.base_hash is None and present.sha256 != hashlib.sha256(raw).hexdigest():
            words = f"{arguments.path} exists. Read it, then write with its contentHash as base_hash."
            raise Refusal(Code.EXISTS, words)
        if arguments.base_hash is not None and not present.sha256.startswith(arguments.base_hash):
            raise Refusal(Code.STALE_READ, f"{arguments.path} has changed since you read it. Read it again.")
    # Never the present hash: what differs is told to the agent, who must read the note to learn it.
    facts = (
        ("path", arguments.path),
        ("size", f"{len(raw)} bytes"),
        ("replaces", replaced),
        ("content", arguments.content),
    )
    asked = {"path": arguments.path, "content": hashlib.sha256(raw).hexdigest(), "version": version}
    return Preview(f"Write the note {arguments.path}", facts, fingerprint(asked))


def _encoded(content: str) -> bytes:
    try:
        raw = content.encode("utf-8")
    except UnicodeEncodeError:
        raise Refusal(Code.BAD_ARGUMENT, "content has half of a character pair in it; send whole characters.") from None
    if len(raw) > MAX_BYTES:
        raise Refusal(Code.TOO_LARGE, f"content has {len(raw)} bytes; a note may have {MAX_BYTES}. Split it.")
    return raw
