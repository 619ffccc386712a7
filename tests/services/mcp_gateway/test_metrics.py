"""What is counted, and that nobody outside can make Prometheus remember things."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mcp_gateway import __version__
from mcp_gateway.errors import Code
from mcp_gateway.metrics import MAX_VALUES, Metrics
from mcp_gateway.tools import Condition


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.know_tools(["vault_read", "vault_write"])
    return metrics


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Label values (in the order of the labels' names) and numbers of one series."""
    families = text_string_to_metric_families(metrics.render().decode())
    found = [sample for family in families for sample in family.samples if sample.name == name]
    return {tuple(value for _, value in sorted(sample.labels.items())): sample.value for sample in found}


@pytest.mark.parametrize(
    ("outcome", "labels"),
    [
        ("ok", ("", "ok")),
        ("__NOT_FOUND__", ("__NOT_FOUND__", "refused")),
        (Code.STALE_READ, ("__STALE_READ__", "refused")),
        ("__UPSTREAM_DOWN__", ("__UPSTREAM_DOWN__", "fault")),
        ("__TIMEOUT__", ("__TIMEOUT__", "fault")),
        ("cancelled", ("cancelled", "refused")),
        ("fault", ("internal", "fault")),
        ("whatever a bug invents", ("internal", "fault")),
    ],
)
def test_business_answers_and_faults_are_told_apart(metrics: Metrics, outcome: str, labels: tuple[str, str]) -> None:
    metrics.calls("vault_read", "hermes-tools", "hermes", outcome, 0.01)
    code, result = labels
    expected = {("hermes-tools", "hermes", code, result, "vault_read"): 1.0}
    assert samples(metrics, "mcp_gateway_calls_total") == expected


def test_names_an_agent_invents_never_become_labels(metrics: Metrics) -> None:
    for number in range(1000):
        metrics.calls(f"invented_{number}", "hermes-tools", "hermes", "__NOT_FOUND__", 0.001)
    (labels,) = samples(metrics, "mcp_gateway_calls_total")
    assert labels[-1] == "unknown"
    assert samples(metrics, "mcp_gateway_call_seconds_count") == {("unknown",): 1000.0}


def test_a_label_that_runs_wild_stops_at_a_bound(metrics: Metrics) -> None:
    for number in range(MAX_VALUES + 50):
        metrics.refused(f"reason {number}")
    found = samples(metrics, "mcp_gateway_gate_refusals_total")
    assert len(found) == MAX_VALUES + 1
    assert found[("other",)] == 50


def test_duration_is_counted_per_tool(metrics: Metrics) -> None:
    metrics.calls("vault_read", "c", "a", "ok", 0.3)
    metrics.calls("vault_read", "c", "b", "ok", 0.1)
    assert samples(metrics, "mcp_gateway_call_seconds_count") == {("vault_read",): 2.0}
    assert samples(metrics, "mcp_gateway_call_seconds_sum")[("vault_read",)] == pytest.approx(0.4)


def test_a_backend_has_one_state_at_a_time(metrics: Metrics) -> None:
    metrics.backend("vault", Condition("ok"))
    metrics.backend("vault", Condition("down", "the host does not answer"))
    assert samples(metrics, "mcp_gateway_backend_state") == {
        ("vault", "ok"): 0.0,
        ("vault", "degraded"): 0.0,
        ("vault", "down"): 1.0,
    }


def test_gauges_show_the_last_value(metrics: Metrics) -> None:
    metrics.vault_unpushed(3, 12.5)
    metrics.audit(False)
    metrics.sessions("hermes-tools", 4)
    metrics.sessions("hermes-tools", 2)
    metrics.reloaded("refused")
    assert samples(metrics, "mcp_gateway_vault_unpushed_commits") == {(): 3.0}
    assert samples(metrics, "mcp_gateway_vault_unpushed_seconds") == {(): 12.5}
    assert samples(metrics, "mcp_gateway_audit_healthy") == {(): 0.0}
    assert samples(metrics, "mcp_gateway_sessions") == {("hermes-tools",): 2.0}
    assert samples(metrics, "mcp_gateway_config_reloads_total") == {("refused",): 1.0}
    assert samples(metrics, "mcp_gateway_build_info") == {(__version__,): 1.0}


def test_the_process_itself_is_measured(metrics: Metrics) -> None:
    assert samples(metrics, "process_resident_memory_bytes")[()] > 1e6
    assert samples(metrics, "process_open_fds")[()] >= 3


def test_two_instances_do_not_share_anything(metrics: Metrics) -> None:
    metrics.refused("unknown bearer")
    assert samples(Metrics(), "mcp_gateway_gate_refusals_total") == {}
