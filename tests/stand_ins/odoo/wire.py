"""HTTP of the test double: XML-RPC for every release, JSON-2 for 19, and the pages that Odoo shows for the rest."""

import json
import threading
import xmlrpc.client
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from . import faults
from .faults import Fault
from .methods import call
from .office import Office, login
from .people import USERS, User
from .seed import filled

PAGE = "<!DOCTYPE html>\n<html><head><title>Odoo</title></head><body><h1>{0}</h1></body></html>"
NO_KEY = "User not authenticated, use an API Key with a Bearer Authorization header."


class Server(ThreadingHTTPServer):
    """The test double as a server; one request at a time changes its records."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], office: Office, database: str) -> None:
        super().__init__(address, Handler)
        self.office = office
        self.database = database
        self.lock = threading.Lock()

    @property
    def info(self) -> list[Any]:
        return [self.office.release, 0, 0, "final", 0, ""]


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/web/version" and self.server.office.release >= 19:
            self._send(200, {"version_info": self.server.info, "version": "19.0"})
        elif path == "/web/health":
            self._send(200, {"status": "pass"})
        elif path.startswith("/xmlrpc/"):
            self._page(405, "Method Not Allowed")
        elif path.startswith("/json/2/") and self.server.office.release >= 19:
            self._fault(faults.request("NotFound", "Did you mean POST /json/2/<model>/<method>?", 404))
        else:
            self._page(404, "404: Page Not Found")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path.rstrip("/")
        release = self.server.office.release
        if path in ("/xmlrpc/2/common", "/xmlrpc/2/object"):
            self._bytes(200, "text/xml; charset=utf-8", self._xml(path.rpartition("/")[2], body))
        elif path.startswith("/json/2/") and release >= 19:
            self._json(path, body)
        elif path.startswith("/json/2/") and release == 18:
            self._bytes(303, "text/html; charset=utf-8", PAGE.format("Redirecting...").encode(), "/web/login")
        else:
            self._page(404, "404: Page Not Found")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the standard library's own name
        """Say nothing: requests hold keys."""

    def _xml(self, service: str, body: bytes) -> bytes:
        try:
            parameters, method = xmlrpc.client.loads(body)
            result = self._service(service, method or "", parameters)
            return xmlrpc.client.dumps((result,), methodresponse=True).encode()
        except Fault as fault:
            return _fault_xml(fault.code, faults.traceback(fault))
        except Exception as fault:  # Odoo answers every Python error so
            name = type(fault).__name__
            return _fault_xml(1, faults.traceback(faults.inside(name, str(fault))))

    def _service(self, service: str, method: str, parameters: Any) -> Any:
        if service == "common" and method == "version":
            release = f"{self.server.office.release}.0"
            info = {"server_version": release, "server_version_info": self.server.info, "server_serie": release}
            return {**info, "protocol_version": 1}
        if parameters[0] != self.server.database:
            words = f'connection to server at "db.internal", port 5432 failed: FATAL:  database "{parameters[0]}" does'
            raise faults.inside("psycopg2.OperationalError", f"{words} not exist\n")
        if service == "common" and method in ("authenticate", "login"):
            return self._authenticate(parameters)
        if service == "object" and method == "execute_kw":
            _, uid, key, model, name, arguments, *named = parameters
            user = _known(uid, key)
            with self.server.lock:
                return call(self.server.office, user, model, name, list(arguments), dict(named[0]) if named else {})
        raise faults.inside("KeyError", method)

    def _authenticate(self, parameters: Any) -> Any:
        if not parameters[2] and self.server.office.release == 18:
            raise faults.inside("AssertionError", "scope and key required")
        user = login(parameters[1], parameters[2])
        return user.uid if user else False

    def _json(self, path: str, body: bytes) -> None:
        try:
            if self.headers.get("X-Odoo-Database") not in (None, self.server.database):
                self._page(404, "Not Found")
                return
            user = self._bearer()
            model, _, method = path.removeprefix("/json/2/").partition("/")
            given = self._body(body)
            with self.server.lock:
                self._send(200, call(self.server.office, user, model, method, None, given))
        except Fault as fault:
            self._fault(fault)
        except Exception as fault:  # as above
            self._fault(faults.inside(type(fault).__name__, str(fault)))

    def _bearer(self) -> User:
        kind, _, key = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not key:
            raise faults.request("Unauthorized", NO_KEY, 401)
        user = next((user for user in USERS if user.key == key and not user.archived), None)
        if user is None:
            raise faults.request("Unauthorized", "Invalid apikey", 401)
        return user

    def _body(self, body: bytes) -> dict[str, Any]:
        try:
            found = json.loads(body)
        except ValueError as fault:
            raise faults.request("BadRequest", f"could not parse the body as json: {fault}", 400) from None
        return found if isinstance(found, dict) else {}

    def _fault(self, fault: Fault) -> None:
        debug = (
            f'Traceback (most recent call last):\n  File "/opt/odoo/odoo/http.py", line 1\n{fault.name}: {fault.text}'
        )
        told = {"name": fault.name, "message": fault.text, "arguments": [fault.text], "context": {}, "debug": debug}
        self._send(fault.status, told)

    def _send(self, status: int, value: Any) -> None:
        self._bytes(status, "application/json; charset=utf-8", json.dumps(value).encode())

    def _page(self, status: int, title: str) -> None:
        self._bytes(status, "text/html; charset=utf-8", PAGE.format(title).encode())

    def _bytes(self, status: int, kind: str, body: bytes, location: str = "") -> None:
        """Head and body in one piece: in two they would wait for each other on a kept connection."""
        head = f"HTTP/1.1 {status} {self.responses.get(status, ('',))[0]}\r\nContent-Type: {kind}\r\n"
        head += "X-Test-Double: odoo\r\n" + (f"Location: {location}\r\n" if location else "")
        self.wfile.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def _known(uid: Any, key: Any) -> User:
    if uid is False or uid is None:
        raise faults.denied()
    user = next((user for user in USERS if user.uid == uid), None)
    if user is None:
        raise faults.missing("res.users", uid, uid)
    if user.key != key or user.archived:
        raise faults.denied()
    return user


def _fault_xml(code: int, text: str) -> bytes:
    return xmlrpc.client.dumps(xmlrpc.client.Fault(code, text), methodresponse=True).encode()


def serve(release: int, host: str, port: int, database: str, demo: bool) -> None:
    """Answer until interrupted. The first line on stdout says where, and that this is not Odoo."""
    server = Server((host, port), filled(release, demo), database)
    address = f"http://{host}:{server.server_address[1]}"
    print(f"{address} is a test double of Odoo {release}, not Odoo; it keeps nothing.", flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        server.server_close()
