"""What an Odoo tool costs over the very request that it makes, both against the test double on loopback.

"Plain" is the same request, sent by the same HTTP client over a kept connection and parsed by the standard library. The
tool goes through the gateway's whole pipeline: arguments, policy, audit row, request, answer.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from bench.table import Ratio, table
from mcp_gateway.actions.odoo.backend import OdooBackend
from mcp_gateway.audit import AuditLog
from mcp_gateway.calls import Caller, Calls
from mcp_gateway.metrics import Metrics
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets

ROOT = Path(__file__).parents[1]
# Both sides take turns; a turn is so many of each.
TURNS, ROUNDS = 5, 60
BOUND = 2.0
KEY, UID = "test-double-key-of-agent", 6
FIELDS = ["name", "active"]


def measure() -> list[Ratio]:
    """One reading tool over each transport."""
    return [_measured(release, transport) for release, transport in (("17", "xmlrpc"), ("19", "json2"))]


def _measured(release: str, transport: str) -> Ratio:
    command = [sys.executable, "-m", "tests.stand_ins.odoo", "--release", release, "--port", "0", "--demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as double:
        assert double.stdout is not None
        url = double.stdout.readline().split(" ")[0]
        try:
            ours, plain = asyncio.run(_both(transport, url))
        finally:
            double.kill()
    return Ratio(f"odoo_list_projects, {release} over {transport}, p50", ours * 1000, plain * 1000, "ms", BOUND)


async def _both(transport: str, url: str) -> tuple[float, float]:
    """The medians of both sides."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "key").write_text(KEY)
        given = {"url": url, "database": "test", "login": "agent", "api_key_file": "key", "transport": transport}
        backend = OdooBackend(OdooSettings.model_validate(given), Secrets(place), place / "state")
        audit = AuditLog.open(place / "state", journal=None)
        await backend.open()
        tools = {tool.name: tool for tool in backend.tools()}
        tool = _tool(Calls(audit, Metrics(), 20), Caller("bench", "bench", tools, lambda name: "auto", 1_000_000_000))
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:  # loopback
            direct = _direct(client, url, transport)
            await _times(direct)
            await _times(tool)
            ours: list[float] = []
            plain: list[float] = []
            for _ in range(TURNS):
                plain += await _times(direct)
                ours += await _times(tool)
        await backend.close()
        audit.close()
    return statistics.median(ours), statistics.median(plain)


def _tool(calls: Calls, caller: Caller) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        answer = json.loads(await calls.answer(caller, "odoo_list_projects", {}))
        assert len(answer["projects"]) == 2

    return run


def _direct(client: httpx2.AsyncClient, url: str, transport: str) -> Callable[[], Awaitable[None]]:
    named: dict[str, Any] = {"domain": [], "fields": FIELDS, "limit": 50, "offset": 0, "order": "name, id"}
    named["context"] = {"lang": "en_US"}

    async def over_json() -> None:
        headers = {"Authorization": f"bearer {KEY}", "X-Odoo-Database": "test"}
        answer = await client.post(f"{url}/json/2/project.project/search_read", json=named, headers=headers)
        assert len(answer.json()) == 2

    async def over_xml() -> None:
        parameters: tuple[Any, ...] = ("test", UID, KEY, "project.project", "search_read", [], named)
        body = xmlrpc.client.dumps(parameters, "execute_kw").encode()
        answer = await client.post(f"{url}/xmlrpc/2/object", content=body, headers={"Content-Type": "text/xml"})
        found: Any = xmlrpc.client.loads(answer.content)[0][0]
        assert len(found) == 2

    return over_json if transport == "json2" else over_xml


async def _times(run: Callable[[], Awaitable[None]]) -> list[float]:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await run()
        times.append(time.perf_counter() - began)
    return times


if __name__ == "__main__":
    ratios = measure()
    print(table(ratios))
    sys.exit(0 if all(one.kept for one in ratios) else 1)
