"""What is written about one call, and the row it becomes."""

from dataclasses import dataclass

# Everything a caller chooses (a tool's name, the names of its arguments) is cut, so that one call stays one short
# line: journald splits lines above 48 KiB, and a split line could not be compared with its row any more.
MAX_TEXT = 200
MAX_NAMES = 64
# Thirty years; what is longer is no duration.
MAX_MS = 1e12

# The journal line carries exactly these, in this order.
FIELDS = (
    "time",
    "seq",
    "head",
    "receipt",
    "client",
    "channel",
    "tool",
    "args",
    "digest",
    "outcome",
    "ms",
    "approval",
)

# Fixed width and always UTC, so that times sort and compare as text.
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"

# Outcome of the row that is written before a writing tool runs.
STARTED = "started"


class AuditUnavailable(Exception):
    """A call could not be written down before its effect, so it must not have one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call: who, where, what, the names (never the values) of its arguments, and how it ended.

    `outcome` is `ok`, an error code, `fault` or, before a writing tool runs, `started`.
    """

    receipt: str
    client: str
    channel: str
    tool: str
    args: tuple[str, ...]
    digest: str
    outcome: str
    ms: float
    approval: str = ""

    def __post_init__(self) -> None:
        """Three decimals of a millisecond are plenty, and what is no duration at all (NaN, negative, absurd) is 0."""
        object.__setattr__(self, "ms", round(float(self.ms), 3) if 0 <= self.ms < MAX_MS else 0.0)


@dataclass(frozen=True, slots=True)
class Row:
    """An entry at its place in the chain."""

    seq: int
    time: str
    entry: Entry
    head: str


def storable(entry: Entry) -> Entry:
    """The same entry in a form that SQLite, JSON and a terminal can carry: no lone surrogates, nothing endless."""
    if len(entry.args) <= MAX_NAMES and all(map(_plain, (*_texts(entry), *entry.args))):
        return entry
    return Entry(
        receipt=_text(entry.receipt),
        client=_text(entry.client),
        channel=_text(entry.channel),
        tool=_text(entry.tool),
        args=_names(entry.args),
        digest=_text(entry.digest),
        outcome=_text(entry.outcome),
        ms=entry.ms,
        approval=_text(entry.approval),
    )


def _texts(entry: Entry) -> tuple[str, ...]:
    return (
        entry.receipt,
        entry.client,
        entry.channel,
        entry.tool,
        entry.digest,
        entry.outcome,
        entry.approval,
    )


def _plain(text: str) -> bool:
    """Almost every call has nothing but short ASCII."""
    return len(text) <= MAX_TEXT and text.isascii()


def _text(text: str) -> str:
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > MAX_NAMES:
        names = (*names[: MAX_NAMES - 1], f"… {len(names) - MAX_NAMES + 1} more")
    return tuple(_text(name) for name in names)
