"""The tables, and the connection every process opens in the same way."""

import fcntl
import os
import sqlite3
from pathlib import Path

# The command line and the service may write at the same time, each for milliseconds.
BUSY_SECONDS = 10.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    id TEXT PRIMARY KEY, service TEXT NOT NULL, client TEXT NOT NULL, channel TEXT NOT NULL, tool TEXT NOT NULL,
    arguments TEXT NOT NULL, digest TEXT NOT NULL, preview TEXT NOT NULL, receipt TEXT NOT NULL, state TEXT NOT NULL,
    created REAL NOT NULL, expires REAL NOT NULL, decided REAL, decided_by TEXT, reason TEXT, dispatched REAL,
    ended REAL, answer TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS requests_by_call ON requests (service, digest, created);
CREATE INDEX IF NOT EXISTS requests_by_state ON requests (state, created);
CREATE TABLE IF NOT EXISTS sessions (
    cookie TEXT PRIMARY KEY, approver TEXT NOT NULL, csrf TEXT NOT NULL, created REAL NOT NULL, seen REAL NOT NULL
) STRICT;
"""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection with its tables. Raise OSError or sqlite3.Error; nobody but the owner may read the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    # One at a time: to switch a new file to WAL, SQLite waits for nobody and says that it is locked.
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        connection = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # A decision that was told must be there after a power cut.
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection
    finally:
        os.close(folder)
