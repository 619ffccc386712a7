"""What the audit log knows of an approved call: whether it began here, and how it ended."""

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from mcp_gateway.audit.calls import UNKNOWN, Filter, Unreadable, reading


@dataclass(frozen=True, slots=True)
class Trace:
    """One execution in the audit log; `outcome` is empty when it began and nobody wrote down its end."""

    receipt: str
    outcome: str


async def trace(state_dir: Path, receipt: str) -> Trace | None:
    """None when the log has no row of it: it never began. Raise Unreadable when the log cannot tell."""
    return await anyio.to_thread.run_sync(_trace, state_dir, receipt)


def _trace(state_dir: Path, receipt: str) -> Trace | None:
    with reading(state_dir) as reader:
        calls = reader.calls(Filter(receipt=receipt, limit=1))
    if not calls:
        return None
    outcome = str(calls[-1]["outcome"])
    return Trace(receipt, "" if outcome == UNKNOWN else outcome)


__all__ = ["Trace", "Unreadable", "trace"]
