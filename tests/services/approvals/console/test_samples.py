"""The counters of the last hours: what was read, and what is made of it."""

from typing import Any

import pytest

from approvals.routes.pages.gateway import GatewayAway, NotAGateway, parse_measures
from approvals.routes.pages.samples import EVERY_SECONDS, KEPT_SECONDS, Sample, Samples

OK = ("vault_read", "ok")


def filled(*values: float) -> Samples:
    samples = Samples()
    for number, value in enumerate(values):
        samples.add({OK: value}, number * EVERY_SECONDS)
    return samples


def counted(samples: Samples, latest: Sample, number: int = 4) -> list[int]:
    return [part[OK] for part in samples.bins(0, latest, number)]


def test_increases_fall_into_the_part_of_the_time_they_were_seen_in() -> None:
    assert counted(filled(5, 6, 6, 9), Sample(240, {OK: 10})) == [0, 1, 0, 4]


def test_a_gateway_that_began_anew_is_counted_from_nothing() -> None:
    assert counted(filled(5, 9, 2), Sample(240, {OK: 2})) == [0, 4, 2, 0]


def test_a_tool_that_is_called_for_the_first_time_counts_at_once() -> None:
    samples = Samples()
    samples.add({}, 0)
    assert counted(samples, Sample(100, {OK: 3})) == [0, 0, 0, 3]


def test_the_first_sample_tells_of_no_call_in_these_hours() -> None:
    assert counted(Samples(), Sample(100, {OK: 1000})) == [0, 0, 0, 0]


def test_a_clock_set_back_forgets_what_has_not_happened_yet_and_counts_nothing_twice() -> None:
    samples = filled(0, 1, 2, 3)
    samples.add({OK: 4}, 70)
    assert samples.since == 0
    assert sum(counted(samples, Sample(200, {OK: 4}))) == 4


def test_old_samples_and_frequent_ones_cost_nothing() -> None:
    samples = Samples()
    for second in range(0, int(KEPT_SECONDS * 2), 10):
        samples.add({OK: second}, second)
    assert samples.since is not None
    assert KEPT_SECONDS - 60 <= KEPT_SECONDS * 2 - samples.since <= KEPT_SECONDS + 120


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        "up 1\n",
        'mcp_gateway_calls_total{tool="x",outcome="ok"} 1\n',
        "mcp_gateway_build_info{version=\n",
        'mcp_gateway_build_info{version="1"} many\n',
    ],
)
def test_what_is_no_gateway_is_not_read_as_one(text: str) -> None:
    with pytest.raises(NotAGateway):
        parse_measures(text)


def test_the_calls_of_all_channels_and_codes_of_a_tool_are_added_up() -> None:
    from mcp_gateway.metrics import Metrics

    metrics: Any = Metrics()
    metrics.know_tools(["vault_read"])
    for channel, outcome in (("a", "ok"), ("b", "ok"), ("a", "__NOT_FOUND__"), ("a", "__EXISTS__"), ("a", "boom")):
        metrics.calls("vault_read", channel, "hermes", outcome, 0.1)
    metrics.vault_unpushed(3, 90.0)
    measures = parse_measures(metrics.render().decode())
    assert measures.calls == {OK: 2, ("vault_read", "refused"): 2, ("vault_read", "fault"): 1}
    assert (measures.unpushed_commits, measures.unpushed_seconds) == (3, 90)
    assert measures.version
    assert measures.started > 0


def test_why_a_gateway_is_away_is_a_key_of_the_words() -> None:
    from approvals.routes.pages.language import language

    assert all(language("en").has(str(GatewayAway(f"gateway.{why}"))) for why in ("none", "away", "strange"))
