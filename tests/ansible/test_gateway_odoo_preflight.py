"""What the role says about Odoo before it touches a host: which variable is missing, and nothing when all is there."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLE = Path(__file__).parents[2] / "roles" / "mcp_gateway"
KEY = "a-key-that-is-shown-nowhere"
WHOLE: dict[str, Any] = {
    "mcp_gateway_odoo_url": "http://127.0.0.1:8069",
    "mcp_gateway_odoo_database": "production",
    "mcp_gateway_odoo_login": "agent@example.com",
    "mcp_gateway_odoo_api_key": KEY,
    "mcp_gateway_channels": {"business": {"toolsets": ["crm"]}, "empty": {"toolsets": []}},
}
FINE: dict[str, dict[str, Any]] = {
    "none": {"mcp_gateway_channels": {"hermes-tools": {"toolsets": ["vault"]}}},
    "whole": WHOLE,
    "address": WHOLE | {"mcp_gateway_odoo_url": "https://[2001:db8::1]:8069/"},
    "name": WHOLE | {"mcp_gateway_odoo_url": "https://odoo.example", "mcp_gateway_allowed_networks": ["any"]},
}
# A host for each fault, and the words that its operator needs.
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no-url": (WHOLE | {"mcp_gateway_odoo_url": ""}, r"business offers crm.*Set mcp_gateway_odoo_url"),
    "no-scheme": (WHOLE | {"mcp_gateway_odoo_url": "odoo.example"}, r"https://odoo\.example"),
    "no-database": (WHOLE | {"mcp_gateway_odoo_database": ""}, "mcp_gateway_odoo_database is empty"),
    "no-login": (WHOLE | {"mcp_gateway_odoo_login": ""}, "mcp_gateway_odoo_login is empty"),
    "no-key": (WHOLE | {"mcp_gateway_odoo_api_key": ""}, "mcp_gateway_odoo_api_key is empty.*New API key"),
    "no-way": (WHOLE | {"mcp_gateway_odoo_url": "https://odoo.example"}, "mcp_gateway_allowed_networks"),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the preflight said of each host that it stopped, all asked in one run."""
    directory = tmp_path_factory.mktemp("preflight")
    hosts = FINE | {name: given for name, (given, _) in FAULTS.items()}
    inventory: dict[str, Any] = {
        "all": {"hosts": {name: given | {"ansible_connection": "local"} for name, given in hosts.items()}}
    }
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.include_vars": f"{ROLE}/vars/main.yml"},
            {"ansible.builtin.import_tasks": f"{ROLE}/tasks/preflight_odoo.yml"},
        ],
    }
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
    inventory["all"]["vars"] = defaults
    (directory / "hosts.json").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(yaml.safe_dump([play]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts.json", "play.yml"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert KEY not in ran.stdout + ran.stderr
    recap = dict(re.findall(r"(?m)^(\S+) +: ok=\d.* failed=(\d)", ran.stdout))
    assert set(recap) == set(hosts), ran.stdout + ran.stderr
    return {name: ran.stdout for name, failed in recap.items() if failed != "0"}


@pytest.mark.parametrize("name", FINE)
def test_what_is_whole_passes(said: dict[str, str], name: str) -> None:
    assert name not in said


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_missing_is_named_with_its_remedy(said: dict[str, str], name: str) -> None:
    assert name in said
    told = "\n".join(re.findall(rf"(?m)(?:fatal|failed): \[{name}\].*(?:\n +.*)*", said[name]))
    assert re.search(FAULTS[name][1], told.replace("\n", " ")), told
