"""A client's calls are limited per minute, evenly, and each client for itself."""

from mcp_gateway.policies.rates import Rates


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_may_come_at_once_and_the_next_call_waits() -> None:
    clock = Clock()
    rates = Rates(clock)
    assert [rates.wait("a", 3) for _ in range(4)] == [0, 0, 0, 20]
    clock.now = 19.0
    assert rates.wait("a", 3) == 1
    clock.now = 20.0
    assert rates.wait("a", 3) == 0
    assert rates.wait("a", 3) == 20


def test_one_client_does_not_use_up_anothers_calls() -> None:
    rates = Rates(Clock())
    assert (rates.wait("a", 1), rates.wait("a", 1), rates.wait("b", 1)) == (0, 60, 0)


def test_a_long_rest_gives_no_more_than_a_minutes_worth() -> None:
    clock = Clock()
    rates = Rates(clock)
    rates.wait("a", 2)
    clock.now = 10_000.0
    assert [rates.wait("a", 2) for _ in range(3)] == [0, 0, 30]


def test_a_lower_limit_after_a_reload_holds_at_once() -> None:
    rates = Rates(Clock())
    rates.wait("a", 600)
    assert [rates.wait("a", 1) for _ in range(2)] == [0, 60]


def test_the_wait_is_never_zero_when_a_call_is_refused() -> None:
    rates = Rates(Clock())
    waits = [rates.wait("a", 6000) for _ in range(6001)]
    assert waits[-1] == 1
