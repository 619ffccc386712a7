"""The monitoring tools against a real Prometheus."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import pytest

from mcp_gateway.actions.monitoring import monitoring_tools
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.prometheus import PrometheusPort
from mcp_gateway.settings.prometheus import PrometheusSettings
from mcp_gateway.tools import Condition

pytestmark = pytest.mark.anyio

Run = Callable[..., Awaitable[Mapping[str, Any]]]
ISO = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ")


async def refusal(run: Run, *arguments: Any, **named: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await run(*arguments, **named)
    return caught.value


def length(members: Mapping[str, Any]) -> int:
    return len(json.dumps(members, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


async def test_alerts_tell_name_state_severity_start_summary_and_labels(port: PrometheusPort, run: Run) -> None:
    found = await run(port, "monitoring_alerts")
    firing, pending = found["alerts"]
    assert firing.pop("since").startswith("20")
    assert firing == {
        "name": "AlwaysFiring",
        "state": "firing",
        "severity": "critical",
        "summary": "It always burns",
        "labels": {"team": "owner"},
    }
    assert (pending["name"], pending["severity"], pending["summary"]) == ("NotYet", "", "Only after an hour")
    assert (found["total"], found["firing"], found["pending"]) == (2, 1, 1)
    assert "cut" not in found


@pytest.mark.parametrize(("state", "names"), [("firing", ["AlwaysFiring"]), ("pending", ["NotYet"])])
async def test_a_state_narrows_the_alerts(port: PrometheusPort, run: Run, state: str, names: list[str]) -> None:
    found = await run(port, "monitoring_alerts", state=state)
    assert [alert["name"] for alert in found["alerts"]] == names
    assert found["total"] == 1


async def test_a_vector_has_labels_value_and_time(port: PrometheusPort, run: Run) -> None:
    found = await run(port, "monitoring_query", promql="up")
    (sample,) = found["samples"]
    assert (found["result_type"], found["total"], sample["value"]) == ("vector", 1, 1)
    assert sample["labels"]["job"] == "prometheus"
    assert ISO.fullmatch(sample["time"])


async def test_a_matrix_has_points(port: PrometheusPort, run: Run) -> None:
    found = await run(port, "monitoring_query", promql="up[1m]")
    (sample,) = found["samples"]
    assert found["result_type"] == "matrix"
    assert sample["points"] == len(sample["values"]) > 0
    assert ISO.fullmatch(sample["values"][0][0])


@pytest.mark.parametrize(
    ("promql", "kind", "value"),
    [
        ("1.5", "scalar", 1.5),
        ("1e3", "scalar", 1000),
        ("0/0", "scalar", "NaN"),
        ("1/0", "scalar", "+Inf"),
        ("-1/0", "scalar", "-Inf"),
        ("9007199254740993e3", "scalar", 9.007199254740993e18),
        ('"a\\nb\u00e9\U0001d11e"', "string", "a\nb\u00e9\U0001d11e"),
        ('"5"', "string", "5"),
        ("vector(0/0)", "vector", "NaN"),
    ],
)
async def test_values_are_what_prometheus_says(
    port: PrometheusPort, run: Run, promql: str, kind: str, value: object
) -> None:
    found = await run(port, "monitoring_query", promql=promql)
    assert found["result_type"] == kind
    assert found["samples"][0]["value"] == value
    assert length(found) < 500


async def test_nothing_found_is_an_empty_success_with_a_total(port: PrometheusPort, run: Run) -> None:
    found = await run(port, "monitoring_query", promql="no_such_metric")
    assert found == {"result_type": "vector", "samples": [], "total": 0}


@pytest.mark.parametrize("promql", ["", "   ", "\n\t", "\u00a0"])
async def test_an_empty_query_is_said(port: PrometheusPort, run: Run, promql: str) -> None:
    assert (await refusal(run, port, "monitoring_query", promql=promql)).code == Code.EMPTY_QUERY


@pytest.mark.parametrize(
    ("promql", "words"),
    [
        ("sum(", "unclosed left parenthesis"),
        ("up\r\nContent-Length: 0\r\n\r\n", "parse error"),
        ("up&timeout=1h&query=time()", "parse error"),
        ("\ud800", "half of a character"),
        ("\x00", "parse error"),
        ('label_replace(up, "x", "$1", "y", "(")', "regular expression"),
        ("up * on() up[5m]", "parse error"),
        ("prometheus_http_requests_total / on(job) prometheus_http_requests_total", "many-to-many"),
    ],
)
async def test_a_bad_query_comes_back_in_prometheus_own_words(
    port: PrometheusPort, run: Run, promql: str, words: str
) -> None:
    fault = await refusal(run, port, "monitoring_query", promql=promql)
    assert fault.code == Code.BAD_QUERY
    assert words in fault.hint


async def test_ten_thousand_characters_are_taken_and_one_more_is_too_large(port: PrometheusPort, run: Run) -> None:
    longest = '"' + "x" * 9_998 + '"'
    found = await run(port, "monitoring_query", promql=longest)
    assert found["samples"][0]["value"] == longest[1:-1]
    assert (await refusal(run, port, "monitoring_query", promql=longest + " ")).code == Code.TOO_LARGE


async def test_a_long_parse_error_is_cut(port: PrometheusPort, run: Run) -> None:
    fault = await refusal(run, port, "monitoring_query", promql="x" * 4_000 + " {" + "y" * 5_000)
    assert len(fault.hint) < 1_200


@pytest.mark.parametrize("promql", ['{__name__=~".+"}', '{__name__=~".+"}[1m]', "count_over_time(up[1m])[2h:100ms]"])
async def test_a_long_result_is_cut_with_its_totals(port: PrometheusPort, run: Run, promql: str) -> None:
    found = await run(port, "monitoring_query", promql=promql)
    assert 20_000 < length(found) <= 30_000 or "[2h" in promql
    assert length(found) <= 30_000
    shown = sum(len(sample.get("values", [1])) for sample in found["samples"])
    points = sum(sample.get("points", 1) for sample in found["samples"])
    assert (len(found["samples"]) < found["total"] or shown < points) == ("cut" in found)


async def test_the_newest_points_of_a_long_series_are_shown(port: PrometheusPort, run: Run) -> None:
    found = await run(port, "monitoring_query", promql="vector(time())[1h:1s]")
    (sample,) = found["samples"]
    assert sample["points"] in (3600, 3601)
    assert sample["cut"] == f"the newest {len(sample['values'])} of {sample['points']} points"
    assert sample["values"][-1][1] - sample["values"][0][1] == len(sample["values"]) - 1
    assert 20_000 < length(found) <= 30_000


async def test_an_expensive_query_is_stopped_by_prometheus_itself(port: PrometheusPort, run: Run) -> None:
    promql = "count_over_time(sum(rate(prometheus_http_requests_total[1m]))[300d:1s])"
    began = anyio.current_time()
    fault = await refusal(run, port, "monitoring_query", 4.0, promql=promql)
    assert anyio.current_time() - began < 4.0
    assert fault.code == Code.TIMEOUT
    assert "timed out" in fault.hint


async def test_no_time_left_asks_nothing(port: PrometheusPort, run: Run) -> None:
    assert (await refusal(run, port, "monitoring_query", 0.1, promql="up")).code == Code.TIMEOUT


async def test_a_warning_of_prometheus_is_passed_on_or_absent(port: PrometheusPort, run: Run) -> None:
    assert "warnings" not in await run(port, "monitoring_query", promql="up")


async def test_condition_is_ok(port: PrometheusPort) -> None:
    assert await port.condition() == Condition("ok")


async def test_many_questions_at_once_are_all_answered(port: PrometheusPort, run: Run) -> None:
    answers: list[object] = []

    async def ask(number: int) -> None:
        found = await run(port, "monitoring_query", promql=str(number))
        answers.append(found["samples"][0]["value"])

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(ask, number)
    assert sorted(answers, key=str) == sorted(range(50), key=str)


async def test_after_close_and_before_open_nothing_is_an_empty_success(prometheus_url: str, run: Run) -> None:
    port = PrometheusPort(PrometheusSettings(url=prometheus_url + "/"))
    assert (await refusal(run, port, "monitoring_alerts")).code == Code.UPSTREAM_DOWN
    await port.open()
    assert (await run(port, "monitoring_alerts"))["total"] == 2
    await port.close()
    assert (await refusal(run, port, "monitoring_alerts")).code == Code.UPSTREAM_DOWN


def test_tools_read_only_and_describe_every_parameter() -> None:
    tools = monitoring_tools(PrometheusPort(PrometheusSettings()))
    assert [tool.name for tool in tools] == ["monitoring_alerts", "monitoring_query"]
    assert not any(tool.writes or tool.sensitive for tool in tools)
    for tool in tools:
        fields = tool.arguments.model_fields
        assert all(field.description for field in fields.values())


@pytest.mark.parametrize(
    "url",
    [
        *("", "prometheus", "ftp://x", "http://", "http://u:p@x", "http://x?a", "http://x#a", "http://x:0"),
        *("http://x:99999", "http://x y", "http://x\n", "http://[::1"),
    ],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        PrometheusSettings(url=url)


def test_an_unknown_key_of_the_section_is_refused() -> None:
    with pytest.raises(ValueError, match="adress"):
        PrometheusSettings.model_validate({"adress": "http://127.0.0.1:9090"})
