"""Nothing of an inventory reaches a configuration file of Caddy or Prometheus that could mean more than it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[2]
DEPLOY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: caddy, tasks_from: variables.yml}
"""
SITE = {"name": "shop", "hosts": ["shop.example.org"], "upstream": "127.0.0.1:8080"}


def site(**changes: object) -> dict[str, Any]:
    """Return a case with one site; a member that is None is left out."""
    members = {**SITE, **changes}
    return {"caddy_sites": [{name: value for name, value in members.items() if value is not None}]}


def files(root: object, **changes: object) -> dict[str, Any]:
    """Return a case with a site of files."""
    return site(upstream=None, files=root, **changes)


def target(**changes: object) -> dict[str, Any]:
    """Return a case with one target to scrape."""
    return {"prometheus_scrape_targets": [{"job": "gateway", "target": "127.0.0.1:8710", **changes}]}


GOOD: dict[str, dict[str, Any]] = {
    "no sites": {"caddy_sites": []},
    "an upstream": site(),
    "an upstream by name": site(upstream="https://app.internal:8443"),
    "an upstream in IPv6": site(upstream="[::1]:8080"),
    "an upstream's socket": site(upstream="unix//run/shop/http.sock"),
    "files": files("/srv/www/shop/"),
    "a certificate": site(tls={"certificate": "/etc/ssl/shop.pem", "key": "/etc/ssl/private/shop.key"}),
    "an internal certificate": site(tls="internal"),
    "headers": site(headers={"Content-Security-Policy": "default-src 'self'; img-src https://x.example/*"}),
    "a large body": site(max_body="2GB"),
    "many hosts": site(hosts=["shop.example.org", "xn--bcher-kva.example", "a-b.c.example.org"]),
    "an account": {
        "caddy_acme_email": "me+acme@example.org",
        "caddy_acme_directory": "https://ca.example/dir",
    },
    "no targets": {"prometheus_scrape_targets": []},
    "a target": target(),
    "a target with a path": target(path="/metrics/x", target="localhost:9100"),
    "a target elsewhere": {**target(target="10.0.0.2:9100"), "prometheus_allowed_networks": ["10.0.0.2"]},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    # what would publish the gateway or its neighbours
    "the gateway": (site(upstream="127.0.0.1:8710"), "would publish it"),
    "the gateway by name": (site(upstream="localhost:8710"), "would publish it"),
    "the gateway in IPv6": (site(upstream="http://[::1]:8710"), "would publish it"),
    "the gateway by the host's own name": (site(upstream="vps.example.org:8710"), "would publish it"),
    "Prometheus": (site(upstream="127.0.0.1:9090"), "would publish it"),
    "Caddy's own metrics": (site(upstream="127.0.0.1:2018"), "would publish it"),
    "a port with a zero before it": (site(upstream="127.0.0.1:08710"), "is no upstream"),
    "a range of ports": (site(upstream="127.0.0.1:8709-8711"), "is no upstream"),
    "two upstreams": (site(upstream="127.0.0.1:8080 127.0.0.1:8710"), "is no upstream"),
    "a port as a placeholder": (site(upstream="127.0.0.1:{env.PORT}"), "is no upstream"),
    "an upstream without a port": (site(upstream="127.0.0.1"), "is no upstream"),
    "a service's socket": (site(upstream="unix//run/talaria/docker_actions/http.sock"), "may reach"),
    "Docker's socket": (site(upstream="unix//var/run/docker.sock"), "may reach"),
    "the admin socket": (site(upstream="unix//run/caddy/admin.sock"), "may reach"),
    "a socket by a detour": (site(upstream="unix//run/shop/../talaria/x.sock"), "is no upstream"),
    "the whole host": (files("/"), "is no directory to serve"),
    "the vault": (files("/srv/vault"), "which is no web site"),
    "a note of the vault": (files("/srv/vault/vps-vault/public"), "which is no web site"),
    "all of /srv": (files("/srv/"), "which is no web site"),
    "settings": (files("/etc/caddy"), "which is no web site"),
    "somebody's home": (files("/home/me/www"), "which is no web site"),
    "a directory by a detour": (files("/srv/www/../vault"), "is no directory to serve"),
    "a relative directory": (files("srv/www"), "is no directory to serve"),
    # what Caddy's language would read as more than a word
    "a name that is a path": (site(name="../../etc/cron.d/x"), "for its name"),
    "a name with a line break at its end": (site(name="shop\n"), "for its name"),
    "a host with a brace": (site(hosts=["a.example {"]), "is no host name"),
    "a host with a line break": (site(hosts=["a.example\nb.example"]), "is no host name"),
    "a host with a line break at its end": (site(hosts=["a.example\n"]), "is no host name"),
    "a host with a port": (site(hosts=["a.example:8080"]), "is no host name"),
    "a host with a scheme": (site(hosts=["http://a.example"]), "is no host name"),
    "a wildcard": (site(hosts=["*.example.org"]), "is no host name"),
    "an address": (site(hosts=["203.0.113.7"]), "is no host name"),
    "a host in capitals": (site(hosts=["Shop.example.org"]), "is no host name"),
    "a bare word": (site(hosts=["localhost"]), "is no host name"),
    "a placeholder": (site(hosts=["{env.HOME}.example"]), "is no host name"),
    "no host": (site(hosts=[]), "list its host names"),
    "an upstream with a directive": (site(upstream="127.0.0.1:8080\n\trespond 200"), "is no upstream"),
    "an upstream with a brace": (site(upstream="127.0.0.1:8080 {"), "is no upstream"),
    "a directory with a blank": (files("/srv/www/a b"), "is no directory to serve"),
    "a directory with a line break at its end": (files("/srv/www/a\n"), "is no directory to serve"),
    "a header with a quote": (site(headers={"X-A": 'a" \n respond "b'}), "the header"),
    "a header with a placeholder": (site(headers={"X-A": "{env.TOKEN}"}), "the header"),
    "a header's name with a blank": (site(headers={"X A": "b"}), "the header"),
    "a header that is deleted": (site(headers={"-X-Frame-Options": ""}), "the header"),
    "an unknown tls": (site(tls="off"), "tls is acme"),
    "half a certificate": (site(tls={"certificate": "/etc/ssl/a.pem"}), "exactly certificate and key"),
    "a key with a brace": (site(tls={"certificate": "/etc/a.pem", "key": "/etc/a {"}), "exactly certificate and key"),
    "a body without a unit": (site(max_body="100"), "max_body"),
    "both upstream and files": (site(files="/srv/www/a"), "either upstream or files"),
    "neither upstream nor files": (site(upstream=None), "either upstream or files"),
    "two sites of one name": ({"caddy_sites": [SITE, {**SITE, "hosts": ["b.example"]}]}, "twice"),
    "two sites of one host": ({"caddy_sites": [SITE, {**SITE, "name": "b"}]}, "twice"),
    "an address that is none": ({"caddy_acme_email": "me"}, "no e-mail address"),
    "a directory of certificates without TLS": ({"caddy_acme_directory": "http://ca.example"}, "no https URL"),
    "a limit that is none": ({"caddy_max_body": "0MB"}, "caddy_max_body"),
    "one port for two things": ({"caddy_https_port": 80}, "three different ports"),
    # the same for Prometheus
    "a job of Prometheus's name": (target(job="prometheus"), "twice"),
    "a job that is no word": (target(job="a: b"), "needs a name"),
    "a target without a port": (target(target="127.0.0.1"), "is no HOST:PORT"),
    "a target with a line break": (target(target="127.0.0.1:1\n"), "is no HOST:PORT"),
    "a target out of the unit's reach": (target(target="10.0.0.2:9100"), "prometheus_allowed_networks"),
    "a path with a quote": (target(path='/a"'), "is no path"),
    "a network that is none": ({"prometheus_allowed_networks": ["x\nUser=root"]}, "neither an address"),
    "a time that is none": ({"prometheus_retention_time": "30d --web.x"}, "prometheus_retention_time"),
}  # fmt: skip


def faults(case: dict[str, Any]) -> list[str]:
    """Return what the role's preflight finds in a case: its template alone, as a run of the role takes seconds."""
    role = ROOT / "roles" / next(iter(case)).partition("_")[0]
    variables: dict[str, Any] = {"_prometheus_ours": True}
    for part in ("vars", "defaults"):
        variables |= yaml.safe_load((role / part / "main.yml").read_text())
    templar = Templar(loader=DataLoader(), variables=variables | case)
    text = templar.template(trust_as_template((role / "templates/faults.txt.j2").read_text()))
    return [line for line in str(text or "").splitlines() if line.strip()]


@pytest.mark.parametrize("name", GOOD)
def test_what_is_sound_is_accepted(name: str) -> None:
    """A preflight that refuses too much is switched off."""
    assert faults(GOOD[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_more_than_it_should_is_refused_and_the_fault_is_named(name: str) -> None:
    """One word of an inventory must not become a directive, another site or another directory."""
    case, words = REFUSED[name]
    assert words in "\n".join(faults(case))


def test_the_role_stops_and_names_all_faults_at_once(tmp_path: Path) -> None:
    """One fault a run makes a deployment take as many runs as there are faults."""
    sites = [{**SITE, "upstream": "127.0.0.1:8710", "hosts": ["*.x"], "tls": "off"}]
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\nroles_path = {ROOT / 'roles'}\n")
    (tmp_path / "play.yml").write_text(DEPLOY)
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    run = subprocess.run(
        [ansible, "-i", "localhost,", "-e", json.dumps({"caddy_sites": sites}), "play.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2
    for words in ["would publish it", "is no host name", "tls is acme"]:
        assert words in run.stdout
