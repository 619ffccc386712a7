"""Prometheus as a service of the host: on loopback only, from its very first start, and confined."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from testinfra.host import Host
    from tests.host.conftest import Public

# It came to 0.9 when this was written, and 3.0 is the most that a service may have.
MOST_EXPOSED = 3.0
ASK = """
import sys, urllib.error, urllib.request
request = urllib.request.Request("http://127.0.0.1:9090" + sys.argv[2], method=sys.argv[1])
try:
    answer = urllib.request.urlopen(request, timeout=10)
except urllib.error.HTTPError as refused:
    answer = refused
print(answer.status, answer.read().decode())
"""


def ask(host: Host, path: str, method: str = "GET") -> tuple[int, str]:
    """Return the status and the body of an answer, asked for on the host itself."""
    status, _, body = host.check_output("python3 -I -c %s %s %s", ASK, method, path).partition(" ")
    return int(status), body


def api(host: Host, path: str) -> Any:
    """Return the data of an answer of Prometheus's API."""
    status, body = ask(host, f"/api/v1/{path}")
    assert status == 200
    return json.loads(body)["data"]


def test_prometheus_runs_and_comes_back_after_a_reboot(host: Host) -> None:
    """Nobody notices that the watchman is asleep."""
    prometheus = host.service("prometheus")
    assert prometheus.is_running
    assert prometheus.is_enabled


def test_prometheus_listens_on_loopback_only(host: Host, public: Public) -> None:
    """It has no login: whoever reaches it reads everything it knows of the services."""
    listening = host.check_output("ss -Hltn 'sport = :9090'").split()
    assert listening[3] == "127.0.0.1:9090"
    assert "\n" not in host.check_output("ss -Hltn 'sport = :9090'")
    with pytest.raises(ConnectionRefusedError):
        public.connect(9090)
    public.connect(22).close()


def test_prometheus_has_never_listened_on_another_address(host: Host) -> None:
    """The package starts it at once, on every address if nothing says otherwise: a minute is enough for a scanner."""
    since = "@$(($(stat -c %Y /etc/systemd/system/prometheus.service.d/talaria.conf) - 1))"
    journal = f'journalctl --no-pager --output cat --unit prometheus.service --since "{since}"'
    starts = host.check_output(f"{journal} | grep 'Start listening'")
    addresses = re.findall(r"address=(\S+)", starts)
    assert addresses
    assert set(addresses) == {"127.0.0.1:9090"}


def test_no_exporter_came_along(host: Host) -> None:
    """The package recommends one that listens on every address."""
    assert not host.package("prometheus-node-exporter").is_installed
    assert host.package("prometheus").is_installed


def test_the_unit_is_confined(host: Host) -> None:
    """It reads what many services say; it must not be able to do more."""
    verdict = host.check_output("systemd-analyze security --no-pager prometheus.service").splitlines()[-1]
    found = re.search(r"level for prometheus.service: ([0-9.]+)", verdict)
    assert found
    assert float(found[1]) <= MOST_EXPOSED
    process = host.check_output("cat /proc/$(systemctl show -P MainPID prometheus.service)/status")
    assert "NoNewPrivs:\t1" in process
    assert "Seccomp:\t2" in process
    assert "CapBnd:\t0000000000000000" in process


def test_only_root_can_change_the_configuration(host: Host) -> None:
    """An alert that can be switched off by what it watches is none."""
    places = "/etc/prometheus/prometheus.yml /etc/prometheus/rules /etc/systemd/system/prometheus.service.d"
    assert host.check_output(f"find {places} ! -type l '(' ! -user root -o -perm /022 ')'") == ""


def test_every_target_is_scraped_every_15_seconds_and_answers(host: Host) -> None:
    """A target that is not scraped raises no alert."""
    assert host.run("promtool check config /etc/prometheus/prometheus.yml").rc == 0
    targets = api(host, "targets?state=active")["activeTargets"]
    assert "prometheus" in {target["labels"]["job"] for target in targets}
    assert {target["scrapeInterval"] for target in targets} == {"15s"}
    deadline = time.monotonic() + 40
    while any(target["health"] != "up" for target in targets) and time.monotonic() < deadline:
        time.sleep(2)
        targets = api(host, "targets?state=active")["activeTargets"]
    assert {target["scrapeUrl"]: target["lastError"] for target in targets if target["health"] != "up"} == {}


def test_a_query_finds_what_was_scraped(host: Host) -> None:
    """Running is not watching: the samples must be there."""
    found = api(host, "query?query=" + quote('up{job="prometheus"}'))["result"]
    assert [sample["value"][1] for sample in found] == ["1"]


def test_a_target_that_is_down_raises_an_alert(host: Host) -> None:
    """The least that an operator must be told."""
    rules = [rule for group in api(host, "rules?type=alert")["groups"] for rule in group["rules"]]
    down = next(rule for rule in rules if rule["name"] == "TargetDown")
    assert (down["query"], down["health"]) == ("up == 0", "ok")


@pytest.mark.parametrize("path", ["/api/v1/admin/tsdb/snapshot", "/-/reload", "/-/quit"])
def test_nobody_on_the_host_can_stop_reload_or_copy_it(host: Host, path: str) -> None:
    """Every account of a host reaches a loopback port."""
    status, body = ask(host, path, "POST")
    assert status in (403, 500)
    assert re.search("disabled|not enabled", body)


def test_metrics_are_kept_for_a_bounded_time_and_size(host: Host) -> None:
    """Metrics that fill the disk take the services with them."""
    flags = api(host, "status/flags")
    assert re.fullmatch(r"[1-9][0-9]*(d|w|y)", flags["storage.tsdb.retention.time"])
    assert flags["storage.tsdb.retention.size"] not in ("0B", "")
    assert flags["web.enable-admin-api"] == flags["web.enable-lifecycle"] == "false"


@pytest.mark.laboratory
def test_a_killed_prometheus_comes_back(host: Host) -> None:
    """The watchman gets up again without anybody being woken."""
    before = host.check_output("systemctl show -P MainPID prometheus.service")
    host.check_output("systemctl kill --signal KILL prometheus.service")
    wait = "for i in $(seq 100); do ss -Hltn | grep -q 127.0.0.1:9090 && break; sleep 0.1; done"
    after = host.check_output(f"sleep 0.3; {wait}; systemctl show -P MainPID prometheus.service")
    assert after not in ("0", before)
    deadline = time.monotonic() + 30  # it reads back what it had not yet written in order
    while (readiness := ask(host, "/-/ready")[0]) == 503 and time.monotonic() < deadline:
        time.sleep(0.5)
    assert readiness == 200
    assert api(host, "status/buildinfo")["version"]
