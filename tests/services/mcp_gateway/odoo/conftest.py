"""The tools over the wire, against every release and transport: the test double's, or one real Odoo's.

With TALARIA_TEST_ODOO_URL, _DATABASE, _LOGIN, _KEY and _TRANSPORT set, the same tests run against that server instead.
The user must be able to manage projects and sales and have an employee. TALARIA_TEST_ODOO_USERS may name further
users as JSON, {"worker": "key", "limited": "key", "noemp": "key"}; the tests that need one run only with it.

Longer than most files, because what fixtures share cannot be imported from a neighbour.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import xmlrpc.client
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_gateway.actions.odoo.backend import OdooBackend
from mcp_gateway.actions.odoo.restore import undo_tool
from mcp_gateway.audit import AuditLog
from mcp_gateway.calls import Caller, Calls
from mcp_gateway.metrics import Metrics
from mcp_gateway.settings.odoo import OdooSettings
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.tools import Tool

ROOT = Path(__file__).parents[4]
REAL = os.environ.get("TALARIA_TEST_ODOO_URL", "")
SYSTEMS = [("17", "xmlrpc"), ("18", "xmlrpc"), ("19", "xmlrpc"), ("19", "json2")]
DATABASE, MAIN = "test", "agent"
PLACES = count()


@dataclass(frozen=True)
class System:
    """One Odoo and how to speak to it, with the keys of its users."""

    url: str
    database: str
    transport: str
    login: str
    keys: Mapping[str, str]


class Raw:
    """Requests made without any code of ours, as one user."""

    def __init__(self, http: httpx2.Client, system: System, login: str) -> None:
        self.http, self.system, self.login, self.key = http, system, login, system.keys[login]
        version: Any = self._xml("common", "version")
        self.release = int(version["server_version_info"][0])
        self.uid = self._xml("common", "authenticate", system.database, login, self.key, {})

    def __call__(self, model: str, method: str, ids: object = None, **named: Any) -> Any:
        """The result; raises xmlrpc.client.Fault, over JSON-2 with status and class in it."""
        if self.system.transport == "json2":
            return self._json2(model, method, ids, named)
        arguments = [] if ids is None else [ids]
        if method in ("create", "write") and (first := next((n for n in ("vals_list", "vals") if n in named), "")):
            arguments.append(named.pop(first))
        return self._xml(
            "object", "execute_kw", self.system.database, self.uid, self.key, model, method, arguments, named
        )

    def _xml(self, service: str, method: str, *parameters: Any) -> Any:
        body = xmlrpc.client.dumps(parameters, method, allow_none=True).encode()
        headers = {"Content-Type": "text/xml"}
        answer = self.http.post(f"{self.system.url}/xmlrpc/2/{service}", content=body, headers=headers)
        return xmlrpc.client.loads(answer.content)[0][0]

    def create(self, model: str, **values: object) -> int:
        return int(self(model, "create", vals_list=[values])[0])

    def one(self, model: str, record: int, *names: str) -> dict[str, Any]:
        found = self(model, "read", [record], fields=list(names))
        assert len(found) == 1, (model, record)
        return dict(found[0])

    def _json2(self, model: str, method: str, ids: object, named: dict[str, Any]) -> Any:
        headers = {"Authorization": f"bearer {self.key}", "X-Odoo-Database": self.system.database}
        body = {**named, **({} if ids is None else {"ids": ids})}
        answer = self.http.post(f"{self.system.url}/json/2/{model}/{method}", json=body, headers=headers)
        if answer.status_code != 200:
            raise xmlrpc.client.Fault(answer.status_code, f"{answer.json()['name']}: {answer.json()['message']}")
        return answer.json()


Deed = Callable[[str, bytes], str]


class Meddler:
    """Passes requests on, or does what `deed` says: drop, drop after, hang, hang after, page, busy or huge.

    `drop after` and `hang after` pass the request on first: Odoo does it, and nobody hears of it.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.url = ""
        self.deed: Deed = lambda path, body: ""
        self.seen: list[tuple[str, bytes]] = []
        self.connections = 0
        self.busiest = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._ended = asyncio.Event()

    def once(self, deed: str, *words: bytes) -> None:
        """Misbehave at the first request that holds all of the words."""
        self.times(1, deed, *words)

    def times(self, times: int, deed: str, *words: bytes) -> None:
        left = [deed] * times

        def choose(path: str, body: bytes) -> str:
            return left.pop() if left and all(word in path.encode() + b" " + body for word in words) else ""

        self.deed = choose

    def count(self, *words: bytes) -> int:
        return sum(all(word in path.encode() + b" " + body for word in words) for path, body in self.seen)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        self.busiest = max(self.busiest, len(self._open))
        try:
            async with httpx2.AsyncClient(timeout=30, trust_env=False, verify=False) as client:
                while await self._one(reader, writer, client):
                    pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    def end(self) -> None:
        self._ended.set()
        for writer in self._open:
            writer.close()

    async def _one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: httpx2.AsyncClient
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("Content-Length", headers.get("content-length", 0))))
        self.seen.append((path, body))
        deed = self.deed(path, body)
        if deed == "drop":
            return False
        if deed == "hang":
            await self._ended.wait()
            return False
        status, kind, answer = (
            200,
            "text/html",
            b"<!DOCTYPE html><html><body>Bad gateway at /usr/lib/x.py</body></html>",
        )
        if deed in ("", "drop after", "hang after"):
            sent = {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")}
            got = await client.request(method, self.upstream + path, content=body, headers=sent)
            status, kind, answer = got.status_code, got.headers["content-type"], got.content
        if deed == "drop after":
            return False
        if deed == "hang after":
            await self._ended.wait()
            return False
        if deed.isdigit():
            status = int(deed)
        if deed == "huge":
            kind, answer = "text/xml" if "xmlrpc" in path else "application/json", b"[" + b" " * 5_000_000 + b"]"
        words = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
        writer.write(words.encode() + answer)
        await writer.drain()
        return True


@dataclass
class Agent:
    """An agent with the 23 tools, through the same pipeline as in the gateway."""

    backend: OdooBackend
    caller: Caller
    calls: Calls
    undo_caller: Caller
    raw: Raw
    names: Iterator[int] = field(default_factory=lambda: count(1))

    async def __call__(self, tool: str, **arguments: object) -> Any:
        text = await self.calls.answer(self.caller, tool, arguments)
        assert len(text) <= 30_000 + 1_000, tool
        for secret in (self.raw.key, "Traceback", "/opt/odoo", "db.internal", "cookies"):
            assert secret not in text, tool
        return json.loads(text)

    async def done(self, tool: str, **arguments: object) -> Any:
        """The answer of a call that must succeed."""
        answer = await self(tool, **arguments)
        assert answer["success"] is True, answer
        return answer

    async def refused(self, code: str, tool: str, **arguments: object) -> str:
        """The hint of a call that must be refused with this code."""
        answer = await self(tool, **arguments)
        assert answer.get("error") == f"__{code}__", answer
        return str(answer["hint"])

    async def undo(self, receipt: str) -> Any:
        return json.loads(await self.calls.answer(self.undo_caller, "undo", {"receipt": receipt}))

    def unique(self, words: str) -> str:
        """A name that no other test uses, also on a server that remembers earlier runs."""
        return f"{words} {os.getpid()}-{id(self) % 100_000}-{next(self.names)}"

    def project(self, **values: object) -> int:
        return self.raw.create("project.project", name=self.unique("Apollo"), **values)

    def stages(self, project: int, *names: str) -> list[int]:
        return [
            self.raw.create(
                "project.task.type", name=name, sequence=place, project_ids=[[6, 0, [project]]], fold=name == "Done"
            )
            for place, name in enumerate(names)
        ]

    def task(self, project: int, **values: object) -> int:
        return self.raw.create("project.task", **{"name": self.unique("Task"), "project_id": project, **values})

    def contact(self, **values: object) -> int:
        return self.raw.create("res.partner", **{"name": self.unique("Contact"), **values})

    def lead(self, **values: object) -> int:
        return self.raw.create("crm.lead", **{"name": self.unique("Deal"), "type": "opportunity", **values})

    def crm_stage(self, won: bool) -> int:
        rows = self.raw("crm.stage", "search_read", domain=[["is_won", "=", won]], fields=["name"], order="sequence,id")
        return int(rows[0]["id"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def start() -> Iterator[Callable[[str], str]]:
    """Start the test double of a release, once; gives its address."""
    running: dict[str, tuple[subprocess.Popen[str], str]] = {}

    def start(release: str) -> str:
        if release not in running:
            command = [sys.executable, "-m", "tests.stand_ins.odoo", "--release", release, "--port", "0"]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            running[release] = process, process.stdout.readline().split(" ")[0]
        return running[release][1]

    yield start
    for process, _ in running.values():
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def real() -> System:
    users = json.loads(os.environ.get("TALARIA_TEST_ODOO_USERS", "{}"))
    login = os.environ["TALARIA_TEST_ODOO_LOGIN"]
    keys = {**users, login: os.environ["TALARIA_TEST_ODOO_KEY"]}
    transport = os.environ.get("TALARIA_TEST_ODOO_TRANSPORT", "xmlrpc")
    return System(REAL, os.environ["TALARIA_TEST_ODOO_DATABASE"], transport, login, keys)


@pytest.fixture(params=[("real",)] if REAL else SYSTEMS, ids="-".join)
def system(request: pytest.FixtureRequest, start: Callable[[str], str]) -> System:
    """Each release and transport in turn."""
    if request.param == ("real",):
        return real()
    release, transport = request.param
    users = ("agent", "worker", "noemp", "limited", "leaduser")
    return System(start(release), DATABASE, transport, MAIN, {user: f"test-double-key-of-{user}" for user in users})


Hire = Callable[..., Any]


@pytest.fixture(scope="session")
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=30, trust_env=False, verify=False) as client:  # a server of the test's own
        yield client


@pytest.fixture
def raw(system: System, http: httpx2.Client) -> Callable[[str], Raw]:
    """Requests without any code of ours, as this user."""
    known: dict[str, Raw] = {}
    return lambda login: known.setdefault(login, known.get(login) or Raw(http, system, login))


@pytest.fixture(scope="session")
def ground() -> Iterator[Path]:
    """A folder in memory where there is one: every writing call waits for the disk twice."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def audit(ground: Path) -> Iterator[AuditLog]:
    """One audit log for all tests: each makes rows in it, none looks at them."""
    log = AuditLog.open(ground / "audit", journal=None)
    yield log
    log.close()


@pytest.fixture
def place(ground: Path) -> Path:
    """A folder of the test's own."""
    folder = ground / str(next(PLACES))
    folder.mkdir()
    return folder


@pytest.fixture
async def hire(system: System, http: httpx2.Client, audit: AuditLog, place: Path) -> AsyncIterator[Hire]:
    """Hire an agent: as which user of Odoo, with what else set."""
    async with AsyncExitStack() as stack:

        async def hire(
            login: str = "", *, seconds: float = 20, employee: int | None = None, client: str = "hermes", **odoo: str
        ) -> Agent:
            login = login or system.login
            key = place / f"{login}.key"
            key.write_text(odoo.pop("key", system.keys.get(login, "")) + "\n")
            given = {"url": system.url, "database": system.database, "login": login, "transport": system.transport}
            settings = OdooSettings.model_validate({**given, "api_key_file": key.name, **odoo})
            backend = OdooBackend(settings, Secrets(place), place / "state")
            await backend.open()
            stack.push_async_callback(backend.close)
            calls = Calls(audit, Metrics(), seconds, lambda: [key.read_text().strip()])
            caller = _caller(client, backend.tools(), employee)
            undoing = _caller("cli", [undo_tool(backend.desk)], None)
            return Agent(
                backend,
                caller,
                calls,
                undoing,
                Raw(http, system, login if login in system.keys and not odoo else system.login),
            )

        yield hire


def _caller(client: str, tools: list[Tool], employee: int | None) -> Caller:
    named = {tool.name: tool for tool in tools}
    return Caller(client, "hermes-tools", named, lambda name: "auto", 1_000_000, employee)


@pytest.fixture
async def agent(hire: Hire) -> Any:
    """An agent as the main user."""
    return await hire()


@pytest.fixture
async def meddler(system: System, place: Path) -> AsyncIterator[Meddler]:
    """Something between the gateway and Odoo that can be told to misbehave."""
    meddler = Meddler(system.url)
    server = await asyncio.start_server(meddler.serve, "127.0.0.1", 0)
    meddler.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield meddler
    server.close()
    meddler.end()
    await server.wait_closed()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Against a real server only the tests run whose further users were named."""
    if not REAL:
        return
    known = real().keys
    items[:] = [
        item for item in items if all(user in known for mark in item.iter_markers("users") for user in mark.args)
    ]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "users(*logins): needs these users of Odoo beside the main one")
