"""Who is at the console: a passphrase opens a session, and guessing is slowed, never rewarded with a lock-out."""

import hashlib
import hmac
import ipaddress
import math
import secrets
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from approvals.store import Store

# Half a working day; a phone that is lost has no session tomorrow.
SESSION_SECONDS = 12 * 3600.0
# A slip or two cost nothing; then each further one doubles the wait, up to a minute.
FREE_TRIES = 3
LONGEST_SECONDS = 60.0
# Tries older than this are forgotten.
FORGET_SECONDS = 900.0
# Networks remembered; more than this many guessers push out the oldest, and `TOTAL_SECONDS` still slows them.
MAX_PEERS = 4096
# With guesses from everywhere one is checked in this time, whoever asks; the owner waits his turn as well.
TOTAL_SECONDS = 0.25
MAX_QUEUE = 20
MAX_PASSPHRASE = 1024


@dataclass(frozen=True, slots=True)
class Throttled:
    """Too many tries: the next one is looked at after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody with a session."""

    name: str


@dataclass(slots=True)
class _Tries:
    count: int
    last: float


class Sessions:
    """Sessions of one database; they survive a restart. `hashes` are the argon2 hashes by approver."""

    def __init__(self, store: Store, hashes: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._hashes = dict(hashes)
        self._hasher = PasswordHasher()
        # Takes as long as a real one, so that time does not tell whether anybody has a passphrase.
        self._nobody = self._hasher.hash(secrets.token_hex())
        self._now = now
        self._tries: OrderedDict[str, _Tries] = OrderedDict()
        self._turn = anyio.CapacityLimiter(1)
        self.refused = 0

    async def login(self, passphrase: str, peer: str) -> str | Throttled | None:
        """The cookie of a new session; None for a wrong passphrase."""
        network = _network(peer)
        if seconds := self._wait(network):
            return Throttled(seconds)
        if self._turn.statistics().tasks_waiting >= MAX_QUEUE:
            return Throttled(MAX_QUEUE * TOTAL_SECONDS)
        async with self._turn:
            if seconds := self._wait(network):
                return Throttled(seconds)
            self._tried(network)  # before the check, so that tries at the same moment count each other
            if len(self._tries) > FREE_TRIES:
                await anyio.sleep(TOTAL_SECONDS)
            name = await anyio.to_thread.run_sync(self._owner, passphrase)
        if name is None:
            self.refused += 1
            return None
        self._tries.pop(network, None)
        return self._open(name)

    def check(self, cookie: str) -> Approver | None:
        """Whose session this is. An approver who is not configured any more has none."""
        row = self._row(cookie)
        return Approver(row[0]) if row and row[0] in self._hashes else None

    def csrf(self, cookie: str) -> str:
        """The token that a form of this session carries; empty without a session."""
        row = self._row(cookie)
        return row[1] if row else ""

    def logout(self, cookie: str) -> None:
        """End a session."""
        self._store.do(lambda sql: sql.execute("DELETE FROM sessions WHERE cookie = ?", (_hash(cookie),)))

    def _row(self, cookie: str) -> tuple[str, str] | None:
        now = self._now()

        def work(sql: sqlite3.Connection) -> tuple[str, str] | None:
            found: tuple[str, str] | None = sql.execute(
                "SELECT approver, csrf FROM sessions WHERE cookie = ? AND created > ? AND created <= ?",
                (_hash(cookie), now - SESSION_SECONDS, now + SESSION_SECONDS),
            ).fetchone()
            return found

        return self._store.do(work) if cookie else None

    def _open(self, name: str) -> str:
        cookie, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._now()

        def work(sql: sqlite3.Connection) -> None:
            sql.execute("DELETE FROM sessions WHERE created <= ?", (now - SESSION_SECONDS,))
            sql.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", (_hash(cookie), name, csrf, now, now))

        self._store.do(work)
        return cookie

    def _owner(self, passphrase: str) -> str | None:
        if len(passphrase) > MAX_PASSPHRASE:
            return None
        found = None
        for name, known in [*self._hashes.items(), *([] if self._hashes else [("", self._nobody)])]:
            if self._fits(known, passphrase) and name:
                found = found or name
        return found

    def _fits(self, known: str, passphrase: str) -> bool:
        try:
            return self._hasher.verify(known, passphrase)
        except (Argon2Error, InvalidHashError, UnicodeEncodeError):
            return False

    def _wait(self, network: str) -> float:
        """Seconds until this network's next try is looked at."""
        tries = self._tries.get(network)
        if tries is None or tries.count < FREE_TRIES:
            return 0.0
        pause = min(LONGEST_SECONDS, 2.0 ** (tries.count - FREE_TRIES))
        left = tries.last + pause - time.monotonic()
        return math.ceil(left * 10) / 10 if left > 0 else 0.0

    def _tried(self, network: str) -> None:
        moment = time.monotonic()
        tries = self._tries.pop(network, None)
        count = tries.count if tries and moment - tries.last < FORGET_SECONDS else 0
        self._tries[network] = _Tries(min(count + 1, 32), moment)
        while len(self._tries) > MAX_PEERS:
            self._tries.popitem(last=False)


def _network(peer: str) -> str:
    """One guesser's addresses: an IPv6 host has a whole /64."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def _hash(cookie: str) -> str:
    """What is kept of a cookie: nobody who reads the database gets a session."""
    return hmac.new(b"approvals session", cookie.encode(), hashlib.sha256).hexdigest()
