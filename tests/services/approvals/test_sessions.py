"""Logging in: the right passphrase opens, wrong ones wait longer and longer, and nobody is locked out."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from approvals import sessions as module
from approvals.sessions import Approver, Sessions, Throttled
from approvals.store import Store

RIGHT = "olives under the old wall"
HASH = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(RIGHT)

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    one = Store(tmp_path / "approvals.db")
    yield one
    one.close()


@pytest.fixture
def sessions(store: Store, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    monkeypatch.setattr(module, "TOTAL_SECONDS", 0.001)
    return Sessions(store, {"owner": HASH})


async def opened(sessions: Sessions, peer: str = "203.0.113.1") -> str:
    cookie = await sessions.login(RIGHT, peer)
    assert isinstance(cookie, str)
    return cookie


async def test_the_right_passphrase_opens_a_session_with_its_own_token(sessions: Sessions) -> None:
    first, second = await opened(sessions), await opened(sessions)
    assert sessions.check(first) == Approver("owner")
    assert first != second
    assert len({sessions.csrf(first), sessions.csrf(second), first, second}) == 4


@pytest.mark.parametrize("wrong", ["", "olives", RIGHT + " ", RIGHT.upper(), "x" * 2000, "\ud800", "\0"])
async def test_anything_else_opens_nothing(sessions: Sessions, wrong: str) -> None:
    assert await sessions.login(wrong, "203.0.113.1") is None
    assert sessions.refused == 1


async def test_without_a_passphrase_configured_nobody_gets_in(store: Store) -> None:
    assert await Sessions(store, {}).login("", "203.0.113.1") is None


@pytest.mark.parametrize("cookie", ["", "x", "\ud800".encode("utf-8", "replace").decode()])
async def test_an_invented_cookie_is_nobodys(sessions: Sessions, cookie: str) -> None:
    await opened(sessions)
    assert sessions.check(cookie) is None
    assert sessions.csrf(cookie) == ""


async def test_wrong_tries_wait_longer_each_time_and_a_minute_at_most(sessions: Sessions) -> None:
    for _ in range(3):
        assert await sessions.login("wrong", "203.0.113.1") is None
    waits = []
    for _ in range(10):
        outcome = await sessions.login(RIGHT, "203.0.113.1")
        assert isinstance(outcome, Throttled)
        waits.append(outcome.seconds)
        sessions._tried("203.0.113.1")
    assert waits == sorted(waits)
    assert waits[0] <= 1
    assert waits[-1] <= 60


async def test_who_guesses_does_not_lock_the_owner_out(sessions: Sessions) -> None:
    for number in range(20):
        await sessions.login("wrong", f"198.51.100.{number % 4}")
    assert sessions.check(await opened(sessions)) == Approver("owner")


async def test_an_ipv6_guesser_has_one_network_of_many_addresses(sessions: Sessions) -> None:
    outcomes = [await sessions.login("wrong", f"2001:db8::{number:x}") for number in range(5)]
    assert isinstance(outcomes[-1], Throttled)
    assert isinstance(await sessions.login(RIGHT, "2001:db8:0:1::1"), str)


async def test_a_session_ends_with_logging_out_and_with_time(store: Store) -> None:
    now = [1_800_000_000.0]
    sessions = Sessions(store, {"owner": HASH}, lambda: now[0])
    first, second = await opened(sessions), await opened(sessions)
    sessions.logout(first)
    assert (sessions.check(first), sessions.check(second)) == (None, Approver("owner"))
    now[0] += module.SESSION_SECONDS
    assert sessions.check(second) is None


async def test_an_approver_who_was_taken_out_has_no_session_any_more(sessions: Sessions, store: Store) -> None:
    cookie = await opened(sessions)
    assert Sessions(store, {"owner": HASH}).check(cookie) == Approver("owner")
    assert Sessions(store, {"somebody": HASH}).check(cookie) is None


async def test_the_database_holds_no_cookie(sessions: Sessions, store: Store) -> None:
    cookie = await opened(sessions)
    with sqlite3.connect(store.path) as connection:
        assert cookie not in str(connection.execute("SELECT * FROM sessions").fetchall())
