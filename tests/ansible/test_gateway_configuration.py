"""What the role writes for the gateway: filters keep their three states, and tokens stay behind."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_gateway.catalogue import CATALOGUE
from mcp_gateway.settings.loader import load

ROLE = Path(__file__).parents[2] / "roles" / "mcp_gateway"
TOKEN = "a-token-that-is-long-enough-0123456789"
ODOO_KEY = "a-key-of-odoo-0123456789"
HASH = f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}"
# One client and one channel for each state of a filter.
FILTERS: dict[str, dict[str, Any]] = {
    "absent": {},
    "no-key": {"tools": {}},
    "none": {"tools": {"include": []}},
    "some": {"tools": {"include": ["vault_read"]}},
    "without": {"tools": {"exclude": ["vault_write"]}},
    "some-without": {"tools": {"include": ["vault_read", "vault_write"], "exclude": ["vault_write"]}},
}
VARIABLES: dict[str, Any] = {
    "mcp_gateway_clients": [
        {
            "name": name,
            "tokens": [TOKEN],
            "token_sha256": [HASH.removeprefix("sha256:")],
            "channels": ["absent"],
            **tools,
        }
        for name, tools in FILTERS.items()
    ]
    + [{"name": "nowhere", "token_sha256": [HASH], "channels": [], "rate_per_minute": 60, "odoo_employee_id": 7}],
    "mcp_gateway_channels": {
        **{name: {"toolsets": ["vault", "monitoring"], **tools} for name, tools in FILTERS.items()},
        "nothing": {"toolsets": []},
        "business": {"toolsets": ["projects", "contacts", "crm", "timesheets"]},
    },
    "mcp_gateway_policy": {"vault_write": "auto", "crm_delete_lead": "never", "timesheet_delete": "auto"},
    "mcp_gateway_vault_host": "10.0.0.2",
    "mcp_gateway_vault_port": 2222,
    "mcp_gateway_vault_host_keys": ["ssh-ed25519 AAAA", "ssh-rsa BBBB"],
    "mcp_gateway_prometheus_url": "http://127.0.0.1:9090",
    "mcp_gateway_odoo_url": "https://10.0.0.3:8069",
    "mcp_gateway_odoo_database": "a: b # c",
    "mcp_gateway_odoo_login": "agent@example.com",
    "mcp_gateway_odoo_api_key": ODOO_KEY,
    "mcp_gateway_allowed_networks": ["172.18.0.0/16"],
}
TEMPLATES = ("mcp_gateway.yml", "mcp_gateway.service", "token_lines.json")


def play(directory: Path) -> dict[str, Any]:
    """A playbook that renders the role's templates into a directory."""
    tasks: list[dict[str, Any]] = [
        {
            "ansible.builtin.template": {
                "src": f"{ROLE}/templates/{name}.j2",
                "dest": f"{directory}/{name}",
                "mode": "0600",
            }
        }
        for name in TEMPLATES
    ]
    known_hosts = {"content": "{{ _mcp_gateway_known_hosts }}", "dest": f"{directory}/known_hosts", "mode": "0600"}
    secrets = {"content": "{{ _mcp_gateway_secrets | to_json }}", "dest": f"{directory}/secrets", "mode": "0600"}
    return {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"_common_release": "/opt/talaria/releases/1"},
        "vars_files": [f"{ROLE}/defaults/main.yml", f"{ROLE}/vars/main.yml", f"{directory}/given.json"],
        "tasks": [*tasks, {"ansible.builtin.copy": known_hosts}, {"ansible.builtin.copy": secrets}],
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with what Ansible made of the role's templates."""
    directory = tmp_path_factory.mktemp("written")
    (directory / "given.json").write_text(json.dumps(VARIABLES))
    (directory / "play.yml").write_text(yaml.safe_dump([play(directory)]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", str(directory / "play.yml")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert TOKEN not in ran.stdout
    return directory


@pytest.fixture(scope="module")
def document(written: Path) -> dict[str, Any]:
    document = yaml.safe_load((written / "mcp_gateway.yml").read_text())
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_arrives_in_the_state_it_was_written_in(document: dict[str, Any], name: str) -> None:
    (client,) = (entry for entry in document["clients"] if entry["name"] == name)
    for entry in (client, document["channels"][name]):
        assert {key: entry[key] for key in entry if key == "tools"} == FILTERS[name]


def test_nothing_is_added_to_a_client_but_its_tokens_file(document: dict[str, Any]) -> None:
    assert document["clients"][-1] == {
        "name": "nowhere",
        "tokens_file": "/etc/talaria/tokens.d/nowhere",
        "channels": [],
        "rate_per_minute": 60,
        "odoo_employee_id": 7,
    }
    assert document["channels"]["nothing"] == {"toolsets": []}


def test_tokens_leave_the_controller_as_hashes_only(written: Path) -> None:
    for file in (*TEMPLATES, "known_hosts"):
        assert TOKEN not in (written / file).read_text()
    lines = json.loads((written / "token_lines.json").read_text())
    assert lines["absent"] == [HASH, HASH]
    assert lines["nowhere"] == [HASH]


def test_the_gateway_takes_the_file_and_opens_what_was_meant(written: Path) -> None:
    settings = load(written / "mcp_gateway.yml", CATALOGUE)
    opened = {client.name: client.tools.include for client in settings.clients}
    assert opened["none"] == []
    assert opened["some"] == ["vault_read"]
    assert opened["absent"] is opened["no-key"] is opened["without"] is None


def test_host_keys_are_known_by_address_and_port_one_a_line(written: Path) -> None:
    lines = (written / "known_hosts").read_text()
    assert lines == "[10.0.0.2]:2222 ssh-ed25519 AAAA\n[10.0.0.2]:2222 ssh-rsa BBBB\n"


def test_the_unit_may_talk_to_the_vault_to_odoo_and_the_named_networks_only(written: Path) -> None:
    unit = (written / "mcp_gateway.service").read_text().splitlines()
    assert [line for line in unit if line.startswith("IPAddress")] == [
        "IPAddressDeny=any",
        "IPAddressAllow=localhost",
        "IPAddressAllow=10.0.0.2",
        "IPAddressAllow=10.0.0.3",
        "IPAddressAllow=172.18.0.0/16",
    ]


def test_the_key_of_odoo_is_named_but_never_written_into_configuration_or_unit(written: Path) -> None:
    document = yaml.safe_load((written / "mcp_gateway.yml").read_text())
    assert document["odoo"] == {
        "url": "https://10.0.0.3:8069",
        "database": "a: b # c",
        "login": "agent@example.com",
        "api_key_file": "odoo.key",
        "transport": "auto",
    }
    credential = "LoadCredential=odoo.key:/etc/talaria/credentials/mcp_gateway/odoo.key"
    assert credential in (written / "mcp_gateway.service").read_text().splitlines()
    given = {secret["name"]: secret["content"] for secret in json.loads((written / "secrets").read_text())}
    assert given["odoo.key"] == ODOO_KEY
    for file in (*TEMPLATES, "known_hosts"):
        assert ODOO_KEY not in (written / file).read_text()
