"""Caddy as a service of the host: confined, modest, and back again after a crash."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testinfra.host import Host
    from tests.host.conftest import Backend, Public

# It came to 1.4 when this was written, and 3.0 is the most that a service may have.
MOST_EXPOSED = 3.0


def test_caddy_runs_and_comes_back_after_a_reboot(host: Host) -> None:
    """The only door must not stay shut after a night's upgrade."""
    caddy = host.service("caddy")
    assert caddy.is_running
    assert caddy.is_enabled


def test_the_unit_is_confined(host: Host) -> None:
    """What is open to the world is broken into first; it must have nothing to take from there."""
    verdict = host.check_output("systemd-analyze security --no-pager caddy.service").splitlines()[-1]
    found = re.search(r"level for caddy.service: ([0-9.]+)", verdict)
    assert found
    assert float(found[1]) <= MOST_EXPOSED
    process = host.check_output("cat /proc/$(systemctl show -P MainPID caddy.service)/status")
    assert "NoNewPrivs:\t1" in process
    assert "Seccomp:\t2" in process
    assert "CapBnd:\t0000000000000400" in process  # CAP_NET_BIND_SERVICE alone
    assert host.user("caddy").uid != 0
    assert f"Uid:\t{host.user('caddy').uid}\t" in process


def test_caddy_cannot_see_the_secrets_of_the_services(host: Host) -> None:
    """A hole in the door must not lead to the tokens."""
    root = f"/proc/{host.check_output('systemctl show -P MainPID caddy.service')}/root"
    places = f"{root}/etc/talaria {root}/var/lib/talaria {root}/run/talaria {root}/srv/vault"
    assert host.check_output(f"ls -A {root}/etc/caddy/snippets") == "talaria_hide_gateway.caddy"
    assert host.check_output("ls -A /var/lib/talaria") != ""
    assert host.check_output(f"find {places} -mindepth 1 2>/dev/null || true") == ""


def test_the_admin_interface_is_a_socket_for_caddy_alone(host: Host) -> None:
    """Whoever reaches the admin interface rewrites the door; every account of a host reaches a loopback port."""
    socket = host.file("/run/caddy/admin.sock")
    assert socket.is_socket
    assert (socket.user, socket.mode & 0o077) == ("caddy", 0)
    assert host.file("/run/caddy").mode == 0o700
    assert not host.socket("tcp://127.0.0.1:2019").is_listening


@pytest.mark.laboratory
def test_metrics_are_for_this_host(host: Host, public: Public) -> None:
    """Metrics tell a stranger what runs here and how it is used."""
    assert host.socket("tcp://127.0.0.1:2018").is_listening
    assert not host.socket("tcp://0.0.0.0:2018").is_listening
    scrape = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:2018/metrics').read().decode())"
    assert "caddy_http_requests_total" in host.check_output(f'python3 -I -c "{scrape}"')
    assert b"caddy_" not in public.get(b"/metrics", "127.0.0.1:2018")


def test_every_site_imports_the_snippet_first(host: Host) -> None:
    """One site without it is one way round it."""
    files = host.check_output("grep -L '^\timport talaria_hide_gateway$' /etc/caddy/sites/*.caddy || true")
    assert files == ""
    caddyfile = host.file("/etc/caddy/Caddyfile").content_string
    assert caddyfile.count("import /etc/caddy/sites/") == int(host.check_output("ls /etc/caddy/sites/*.caddy | wc -l"))
    assert "\nimport /etc/caddy/snippets/talaria_hide_gateway.caddy\n" in caddyfile


def test_only_root_can_change_the_configuration(host: Host) -> None:
    """A server that is broken into must not be able to open another door for good."""
    places = "/etc/caddy /etc/systemd/system/caddy.service.d /usr/bin/caddy"
    assert host.check_output(f"find {places} ! -type l '(' ! -user root -o -perm /022 ')'") == ""


def test_no_answer_names_the_server_and_all_carry_the_modest_headers(public: Public, backend: Backend) -> None:
    """Names and versions are looked up in lists of holes; the headers stop what needs no hole at all."""
    for answer in [
        public.get(b"/ok"),
        public.get(b"/mcp"),
        public.get(b"/ok", "other.test"),
        public.get(b"/ok", "files.talaria.test"),
        public.say(public.request(b"/ok"), tls=False),
        public.say(public.request(b"/ok", "other.test"), tls=False),
    ]:
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert head.startswith(b"http/1.1 ")
        assert b"\r\nserver:" not in head
        assert b"caddy" not in head
    for answer in [public.get(b"/ok"), public.get(b"/mcp")]:
        assert b"\r\nX-Content-Type-Options: nosniff\r\n" in answer
        assert b"\r\nX-Frame-Options: SAMEORIGIN\r\n" in answer
        assert b"\r\nReferrer-Policy: strict-origin-when-cross-origin\r\n" in answer
    assert backend.marker in public.get(b"/ok")


def test_a_body_above_the_limit_does_not_reach_the_server(public: Public, backend: Backend) -> None:
    """Ten megabytes are enough for a form; a server that keeps bodies in memory is felled by more."""
    backend.seen()
    small = b"a" * 1_000_000
    assert backend.marker in public.get(
        b"/ok", method=b"POST", headers=b"Content-Length: %d\r\n\r\n" % len(small) + small
    )
    large = b"a" * 10_500_000
    answer = public.get(b"/ok", method=b"POST", headers=b"Content-Length: %d\r\n\r\n" % len(large) + large)
    assert backend.marker not in answer
    assert not answer.startswith(b"HTTP/1.1 2")


@pytest.mark.laboratory
def test_a_client_that_never_ends_its_request_is_let_go(public: Public) -> None:
    """A few hundred slow clients would otherwise hold every connection."""
    began = time.monotonic()
    assert public.say(b"GET /ok HTTP/1.1\r\nHost: site.talaria.test\r\nX: ", patience=15) == b""
    assert 4 < time.monotonic() - began < 8


def test_a_killed_caddy_comes_back(public: Public, host: Host, backend: Backend) -> None:
    """The door opens again without anybody being woken."""
    assert backend.marker in public.get(b"/ok")
    before = host.check_output("systemctl show -P MainPID caddy.service")
    host.check_output("systemctl kill --signal KILL caddy.service")
    wait = "for i in $(seq 100); do [ $(systemctl show -P SubState caddy) = running ] && break; sleep 0.1; done"
    after = host.check_output(f"sleep 0.3; {wait}; systemctl show -P MainPID caddy.service")
    assert after not in ("0", before)
    assert backend.marker in public.get(b"/ok")
    assert backend.marker not in public.get(b"/mcp/x")
