"""The approvals service in a process of its own, a gateway beside it, and one real browser for the whole session."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from argon2 import PasswordHasher
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
PASSPHRASE = "correct horse battery staple"
TOKEN = "token-of-the-gateway-0123456789"
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
# Playwright waits this long for what should be there at once.
PATIENCE_MILLISECONDS = 8000


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def until_it_answers(child: subprocess.Popen[bytes], url: str, seconds: float = 30) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        assert child.poll() is None, "the process ended"
        try:
            httpx2.get(url, timeout=2)
        except httpx2.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"{url} does not answer")


def start(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    environment = {
        key: value for key, value in os.environ.items() if key not in ("CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET")
    }
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["TZ"] = "UTC"
    with log.open("wb") as kept:
        return subprocess.Popen([sys.executable, "-m", *arguments], stdout=kept, stderr=kept, env=environment)


def stop(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@dataclass
class Service:
    """A running service, and what an agent's gateway would ask it."""

    directory: Path
    document: dict[str, Any]
    child: subprocess.Popen[bytes] | None = None
    asked: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.document['listen'][0]['port']}"

    def run(self) -> None:
        path = self.directory / "approvals.yml"
        path.write_text(yaml.safe_dump(self.document))
        self.child = start(["approvals", "serve", "--config", str(path)], self.directory / "log")
        until_it_answers(self.child, f"{self.url}/healthz")

    def ask(self, title: str = "", arguments: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A new request as the service keeps it; no two have the same arguments."""
        self.asked += 1
        facts = more.pop("facts", [["Stack", "web-stack"], ["State", "running, 3 containers"]])
        body = {
            "client": f"hermes-{self.asked // 15}",
            "channel": "hermes-tools",
            "tool": "docker_manage",
            "arguments": {"stack": "web-stack", "action": "restart", "number": self.asked, **(arguments or {})},
            "preview": {
                "title": title or f"Restart web-stack ({self.asked})",
                "facts": facts,
                "fingerprint": "ab" * 32,
            },
            "receipt": f"r-{self.asked}",
            **more,
        }
        return self.told(self.http("POST", "/api/requests", json=body))

    def present(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self.told(self.http("GET", f"/api/requests/{request['id']}"))

    def run_through(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """What the gateway does with an approved request."""
        self.told(self.http("POST", f"/api/requests/{request['id']}/claim"))
        self.told(
            self.http("POST", f"/api/requests/{request['id']}/result", json={"outcome": "done", "answer": dict(answer)})
        )

    def http(self, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx2.request(method, self.url + path, headers=headers, timeout=10, **more)

    @staticmethod
    def told(response: httpx2.Response) -> dict[str, Any]:
        assert response.status_code in (200, 201), response.text
        found = response.json()
        assert isinstance(found, dict)
        return found


def make_service(directory: Path, **more: Any) -> Service:
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    (directory / "owner.hash").write_text(cheap.hash(PASSPHRASE))
    (directory / "gateway.tokens").write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    document = {
        "listen": [{"host": "127.0.0.1", "port": free_port()}],
        "database": str(directory / "approvals.db"),
        "services": [{"name": "mcp_gateway", "tokens_file": "gateway.tokens"}],
        "approvers": [{"name": "owner", "passphrase_hash_file": "owner.hash"}],
        "max_pending_per_client": 20,
        **more,
    }
    return Service(directory, document)


@pytest.fixture(scope="session")
def gateway_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real gateway with a local vault that answers and a Prometheus that does not."""
    directory = tmp_path_factory.mktemp("gateway")
    repository = directory / "vault"
    (repository / "inbox").mkdir(parents=True)
    (repository / "inbox" / "note.md").write_text("A note.\n")
    git = ["git", "-C", str(repository), "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(repository)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "First"], check=True)
    (directory / "hermes").write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    port = free_port()
    document = {
        "listen": [{"host": "127.0.0.1", "port": port}],
        "state_dir": str(directory / "state"),
        "clients": [{"name": "hermes", "tokens_file": "hermes", "channels": ["notes", "watch"]}],
        "channels": {"notes": {"toolsets": ["vault"]}, "watch": {"toolsets": ["monitoring"]}},
        "vault": {"transport": "local", "repository": str(repository), "writable_prefixes": ["inbox/"]},
        "prometheus": {"url": f"http://127.0.0.1:{free_port()}"},
    }
    path = directory / "mcp_gateway.yml"
    path.write_text(yaml.safe_dump(document))
    child = start(["mcp_gateway", "serve", "--config", str(path)], directory / "log")
    try:
        until_it_answers(child, f"http://127.0.0.1:{port}/healthz")
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(child)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, gateway_url: str) -> Iterator[Service]:
    """One service for all tests that do not change how it stands."""
    found = make_service(tmp_path_factory.mktemp("approvals"), gateway_url=gateway_url)
    found.run()
    yield found
    assert found.child is not None
    stop(found.child)


# Playwright keeps an event loop running in this thread: tests of other modules that run their own must not meet it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Visitor:
    """One browser profile; whatever the browser complains of is kept, and must be nothing."""

    context: BrowserContext
    url: str
    complaints: list[str] = field(default_factory=list)

    def page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._asked)
        return page

    def _said(self, message: ConsoleMessage) -> None:
        # That a page has the status 401, 403 or 404 is what some tests want; everything else is a complaint.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def inside(self, path: str = "/") -> Page:
        """A page of this visitor, who logs in first when that has not been done."""
        page = self.page()
        page.goto(self.url + path)
        if page.locator("#passphrase").count():
            page.fill("#passphrase", PASSPHRASE)
            page.locator(".login button").click()
            page.wait_for_url(self.url + path)
        return page


class Visitors:
    """Makes visitors, and judges what their browsers said when the test is over."""

    def __init__(self, browser: Browser, service: Service) -> None:
        self._browser = browser
        self._service = service
        self.made: list[Visitor] = []

    def __call__(self, service: Service | None = None, **options: Any) -> Visitor:
        options = {"viewport": DESK, "locale": "en-GB", "java_script_enabled": True, **options}
        visitor = Visitor(self._browser.new_context(**options), (service or self._service).url)
        self.made.append(visitor)
        return visitor


@pytest.fixture
def visitors(browser: Browser, service: Service) -> Iterator[Visitors]:
    made = Visitors(browser, service)
    yield made
    for visitor in made.made:
        visitor.context.close()
        assert visitor.complaints == []
