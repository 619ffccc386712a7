"""`approvals list`, `show`, `approve`, `deny`: on the host, for who may write the database, service or no service."""

import argparse
import json
import os
import pwd
import sys
import time
from typing import Any

import anyio

from approvals import states
from approvals.errors import ConfigurationError, NotFound
from approvals.request import Request
from approvals.requests import AlreadyDecided, Requests
from approvals.settings import load
from approvals.store import Store

MAX_REASON = 1000


def add(commands: Any, settings: argparse.ArgumentParser) -> None:
    """Add the commands."""
    listing = commands.add_parser("list", parents=[settings], help="the requests, the oldest first")
    listing.add_argument("--state", choices=states.STATES, help="only those in this state")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.set_defaults(run=_list)
    show = commands.add_parser("show", parents=[settings], help="one request whole")
    show.add_argument("id")
    show.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(run=_show)
    for word in ("approve", "deny"):
        parser = commands.add_parser(word, parents=[settings], help=f"{word} a request that waits")
        parser.add_argument("id")
        parser.add_argument("--reason", default="", help="told to the agent")
        parser.set_defaults(run=_decide, approve=word == "approve")


def _list(options: argparse.Namespace) -> int:
    requests = _requests(options)
    found = anyio.run(requests.list, options.state)
    if options.json:
        print(json.dumps([request.as_json() for request in found]))
        return 0
    for request in found:
        print(f"{request.id}  {request.state:<15} {_age(request)}  {request.client}  {request.tool}  {_title(request)}")
    if not found:
        print("Nothing." if options.state is None else f"Nothing is {options.state}.")
    return 0


def _show(options: argparse.Namespace) -> int:
    request = anyio.run(_requests(options).get, options.id)
    if request is None:
        print(f"There is no request {_plain(options.id)}.", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(request.as_json()))
        return 0
    print(
        f"{request.id} is {request.state}, asked {_age(request).strip()} ago by {request.client} on {request.channel}"
    )
    print(_title(request))
    for label, value in request.preview["facts"]:
        print(f"  {_plain(label)}: {_plain(value)}")
    print(f"  {request.tool} {json.dumps(request.arguments, ensure_ascii=True)}")
    if request.decided_by:
        print(f"  decided by {_plain(request.decided_by)}: {_plain(request.reason or 'no reason given')}")
    return 0


def _decide(options: argparse.Namespace) -> int:
    if len(options.reason) > MAX_REASON:
        print(f"A reason has at most {MAX_REASON} characters.", file=sys.stderr)
        return 2
    requests = _requests(options)
    try:
        request = anyio.run(requests.decide, options.id, options.approve, _who(), options.reason, "cli")
    except NotFound:
        print(f"There is no request {_plain(options.id)}.", file=sys.stderr)
        return 1
    except AlreadyDecided as fault:
        print(f"Nothing was decided: {fault}.", file=sys.stderr)
        return 1
    print(f"{request.id} is {request.state}: {_title(request)}")
    return 0


def _requests(options: argparse.Namespace) -> Requests:
    """The requests of the configured database. Raise ConfigurationError for who may not decide here."""
    configuration = load(options.config)
    path = configuration.database
    try:
        owner = path.stat().st_uid
    except FileNotFoundError as fault:
        raise ConfigurationError([f"database: {path} is not there; has the service run yet?"]) from fault
    except PermissionError as fault:
        raise ConfigurationError([f"{path} is closed to you; decide as root: sudo approvals …"]) from fault
    if os.geteuid() not in (0, owner):
        raise ConfigurationError([f"{path} is closed to you; decide as root: sudo approvals …"])
    if os.geteuid() == 0 and owner != 0:
        # Files that SQLite makes beside the database must stay the service's own.
        os.setegid(pwd.getpwuid(owner).pw_gid)
        os.seteuid(owner)
    settings = configuration.settings
    return Requests(Store(path), settings.expiry_seconds, settings.max_pending_per_client)


def _who() -> str:
    """The person's own name where sudo tells it."""
    return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name


def _title(request: Request) -> str:
    return _plain(str(request.preview["title"]))


def _age(request: Request) -> str:
    minutes = int(max(0, time.time() - request.created) // 60)
    return f"{minutes // 60:3d} h {minutes % 60:02d} min"


def _plain(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
