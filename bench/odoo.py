"""What a tool costs over the request to Odoo that it makes: both in one run, against the test double on loopback.

    python bench/odoo.py            exits 1 when a median is above its floor

"Direct" is the very same request, sent by httpx2 over a kept connection and parsed by the standard library. A tool is
measured through the gateway's whole pipeline: arguments, policy, audit row, request, answer.
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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "services"))

from mcp_gateway.actions.odoo.backend import OdooBackend  # noqa: E402
from mcp_gateway.audit import AuditLog  # noqa: E402
from mcp_gateway.calls import Caller, Calls  # noqa: E402
from mcp_gateway.metrics import Metrics  # noqa: E402
from mcp_gateway.settings.odoo import OdooSettings  # noqa: E402
from mcp_gateway.settings.secrets import Secrets  # noqa: E402

ROUNDS = 300
# The median call through the gateway takes at most twice its request to Odoo made directly.
FLOOR = 2.0
KEY, UID = "test-double-key-of-agent", 6
FIELDS = ["name", "active"]


def main() -> int:
    """Measure every transport; 0 when all floors hold."""
    results = [measured(release, transport) for release, transport in (("17", "xmlrpc"), ("19", "json2"))]
    return 0 if all(results) else 1


def measured(release: str, transport: str) -> bool:
    command = [sys.executable, "-m", "tests.stand_ins.odoo", "--release", release, "--port", "0", "--demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as double:
        assert double.stdout is not None
        url = double.stdout.readline().split(" ")[0]
        try:
            return asyncio.run(_measure(release, transport, url))
        finally:
            double.kill()


async def _measure(release: str, transport: str, url: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "key").write_text(KEY)
        given = {"url": url, "database": "test", "login": "agent", "api_key_file": "key", "transport": transport}
        backend = OdooBackend(OdooSettings.model_validate(given), Secrets(place), place / "state")
        audit = AuditLog.open(place / "state", journal=None)
        await backend.open()
        calls = Calls(audit, Metrics(), 20)
        tools = {tool.name: tool for tool in backend.tools()}
        caller = Caller("bench", "bench", tools, lambda name: "auto", 1_000_000_000)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:  # noqa: S501  # loopback
            direct = _direct(client, url, transport)
            tool = _tool(calls, caller)
            await _rounds(direct), await _rounds(tool)  # warm both
            ours, theirs = [], []
            for _ in range(5):  # in turns, so that a busy moment of the machine meets both
                theirs += await _rounds(direct, ROUNDS // 5)
                ours += await _rounds(tool, ROUNDS // 5)
        await backend.close()
        audit.close()
    one, other = statistics.median(ours), statistics.median(theirs)
    print(f"Odoo {release} {transport}: direct {other * 1000:.2f} ms, tool {one * 1000:.2f} ms, ratio {one / other:.2f}")
    return one <= FLOOR * other


def _tool(calls: Calls, caller: Caller) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        answer = json.loads(await calls.answer(caller, "odoo_list_projects", {}))
        assert answer["success"] is True and len(answer["projects"]) == 2

    return run


def _direct(client: httpx2.AsyncClient, url: str, transport: str) -> Callable[[], Awaitable[None]]:
    named: dict[str, Any] = {"domain": [], "fields": FIELDS, "limit": 50, "offset": 0, "order": "name, id"}
    named["context"] = {"lang": "en_US"}

    async def over_json() -> None:
        headers = {"Authorization": f"bearer {KEY}", "X-Odoo-Database": "test"}
        answer = await client.post(f"{url}/json/2/project.project/search_read", json=named, headers=headers)
        assert len(answer.json()) == 2

    async def over_xml() -> None:
        parameters = ("test", UID, KEY, "project.project", "search_read", [], named)
        body = xmlrpc.client.dumps(parameters, "execute_kw").encode()
        answer = await client.post(f"{url}/xmlrpc/2/object", content=body, headers={"Content-Type": "text/xml"})
        found: Any = xmlrpc.client.loads(answer.content)[0][0]
        assert len(found) == 2

    return over_json if transport == "json2" else over_xml


async def _rounds(run: Callable[[], Awaitable[None]], rounds: int = 50) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        await run()
        times.append(time.perf_counter() - began)
    return times


if __name__ == "__main__":
    sys.exit(main())
