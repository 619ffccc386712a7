"""A state directory with a log in it, and ways to look at it and to tamper with it."""

import io
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_gateway.audit import AuditLog, Entry, new_receipt
from mcp_gateway.audit.calls import reading
from mcp_gateway.audit.entry import Row

MakeEntry = Callable[..., Entry]
ReadRows = Callable[[], list[Row]]
Edit = Callable[..., None]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def journal() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(state_dir: Path, journal: io.StringIO) -> Iterator[AuditLog]:
    log = AuditLog.open(state_dir, journal)
    yield log
    log.close()


@pytest.fixture
def entry() -> MakeEntry:
    """A call, with what the test cares about changed."""

    def make(outcome: str = "ok", **changes: object) -> Entry:
        plain: dict[str, object] = {
            "receipt": new_receipt(),
            "client": "hermes",
            "channel": "hermes-tools",
            "tool": "vault_search",
            "args": ("query",),
            "digest": "d" * 32,
            "outcome": outcome,
            "ms": 1.5,
        }
        return Entry(**{**plain, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture
def rows(state_dir: Path) -> ReadRows:
    """What is on disk now."""

    def read() -> list[Row]:
        with reading(state_dir) as reader:
            return list(reader.rows())

    return read


@pytest.fixture
def edit(state_dir: Path) -> Edit:
    """Do to the database what someone with write access to it could do."""

    def edit(*statements: str) -> None:
        connection = sqlite3.connect(state_dir / "audit.db", isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return edit
