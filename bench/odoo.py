"""What an Odoo tool costs over the very requests that it makes, both against the test double on loopback.

"Plain" are the same requests, sent by the same HTTP client over a kept connection and parsed by the standard library:
one for the tool that reads, and for the tool that writes the three of a careful client (read, write, read back). The
tool goes through the gateway's whole pipeline: arguments, policy, audit, what undo needs, requests, answer.
"""

import asyncio
import itertools
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
from mcp_gateway.actions.odoo.tasks import WRITTEN
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
CONTEXT = {"lang": "en_US"}
# A task of the test double's demonstration records.
TASK = 1

Run = Callable[[], Awaitable[None]]
Ask = Callable[[str, str, dict[str, Any]], Awaitable[Any]]


def measure() -> list[Ratio]:
    """One tool that reads and one that writes, over each transport."""
    ways = (("17", "xmlrpc"), ("19", "json2"))
    return [_measured(name, *way) for name in ("odoo_list_projects", "odoo_update_task") for way in ways]


def _measured(name: str, release: str, transport: str) -> Ratio:
    command = [sys.executable, "-m", "tests.stand_ins.odoo", "--release", release, "--port", "0", "--demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as double:
        assert double.stdout is not None
        url = double.stdout.readline().split(" ")[0]
        try:
            ours, plain = asyncio.run(_both(name, transport, url))
        finally:
            double.kill()
    return Ratio(f"{name}, {release} over {transport}, p50", ours * 1000, plain * 1000, "ms", BOUND)


async def _both(name: str, transport: str, url: str) -> tuple[float, float]:
    """The medians of both sides."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "key").write_text(KEY)
        given = {"url": url, "database": "test", "login": "agent", "api_key_file": "key", "transport": transport}
        backend = OdooBackend(OdooSettings.model_validate(given), Secrets(place), place / "state")
        audit = AuditLog.open(place / "state", journal=None)
        await backend.open()
        tools = {tool.name: tool for tool in backend.tools()}
        calls, caller = Calls(audit, Metrics(), 20), Caller("bench", "bench", tools, lambda name: "auto", 1_000_000_000)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:  # loopback
            ask = _over_json(client, url) if transport == "json2" else _over_xml(client, url)
            tool, direct = SIDES[name](calls, caller, ask)
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


def _reading(calls: Calls, caller: Caller, ask: Ask) -> tuple[Run, Run]:
    """The list of projects, and the one request behind it."""

    async def tool() -> None:
        answer = json.loads(await calls.answer(caller, "odoo_list_projects", {}))
        assert len(answer["projects"]) == 2

    async def direct() -> None:
        named = {"domain": [], "fields": ["name", "active"], "limit": 50, "offset": 0, "order": "name, id"}
        assert len(await ask("project.project", "search_read", named)) == 2

    return tool, direct


def _writing(calls: Calls, caller: Caller, ask: Ask) -> tuple[Run, Run]:
    """A new name for a task, and the three requests behind it."""
    numbers = itertools.count()

    async def tool() -> None:
        changed = {"task_id": TASK, "name": f"Name {next(numbers)}"}
        answer = json.loads(await calls.answer(caller, "odoo_update_task", changed))
        assert answer["changed"] == ["name"], answer

    async def direct() -> None:
        name = f"Name {next(numbers)}"
        assert await ask("project.task", "read", {"ids": [TASK], "fields": list(WRITTEN)})
        assert await ask("project.task", "write", {"ids": [TASK], "vals": {"name": name}})
        assert (await ask("project.task", "read", {"ids": [TASK], "fields": ["name"]}))[0]["name"] == name

    return tool, direct


SIDES = {"odoo_list_projects": _reading, "odoo_update_task": _writing}


def _over_json(client: httpx2.AsyncClient, url: str) -> Ask:
    async def ask(model: str, method: str, named: dict[str, Any]) -> Any:
        headers = {"Authorization": f"bearer {KEY}", "X-Odoo-Database": "test"}
        body = {**named, "context": CONTEXT}
        return (await client.post(f"{url}/json/2/{model}/{method}", json=body, headers=headers)).json()

    return ask


def _over_xml(client: httpx2.AsyncClient, url: str) -> Ask:
    async def ask(model: str, method: str, named: dict[str, Any]) -> Any:
        rest = {**named, "context": CONTEXT}
        first = [rest.pop("ids")] if "ids" in rest else []
        body = xmlrpc.client.dumps(("test", UID, KEY, model, method, first, rest), "execute_kw").encode()
        answer = await client.post(f"{url}/xmlrpc/2/object", content=body, headers={"Content-Type": "text/xml"})
        return xmlrpc.client.loads(answer.content)[0][0]

    return ask


async def _times(run: Run) -> list[float]:
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
