"""Undo as the operator runs it, and the tools as a client is shown them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_gateway.cli import main
from mcp_gateway.schemas import definition

# Of the 24,000 characters that all 32 tools may take, these 23 leave enough for the other nine.
MAX_CHARACTERS = 16_500


@pytest.mark.anyio
async def test_the_23_definitions_leave_room_for_the_others(agent: Any) -> None:
    tools = list(agent.caller.tools.values())
    assert len(tools) == 23
    assert sum(len(json.dumps(definition(tool), separators=(",", ":"))) for tool in tools) < MAX_CHARACTERS


@pytest.fixture
def config(system: Any, place: Path) -> Path:
    """A configuration with the four toolsets."""
    (place / "odoo.key").write_text(system.keys[system.login])
    (place / "tokens").write_text("")
    odoo = {"url": system.url, "database": system.database, "login": system.login, "api_key_file": "odoo.key"}
    document = {
        "state_dir": "state",
        "clients": [{"name": "hermes", "tokens_file": "tokens", "channels": ["tools"]}],
        "channels": {"tools": {"toolsets": ["projects", "contacts", "crm", "timesheets"]}},
        "policy": {"crm_delete_lead": "auto", "timesheet_delete": "auto"},
        "odoo": {**odoo, "transport": system.transport},
    }
    path = place / "gateway.yml"
    path.write_text(yaml.safe_dump(document))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr().out
    return int(ended.value.code or 0), json.loads(printed) if printed.startswith(("{", "[")) else printed


def test_a_call_is_undone_by_its_receipt_and_both_are_in_the_audit_log(
    config: Path, raw: Any, system: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = raw(system.login)
    contact = ask("res.partner", "create", vals_list=[{"name": "Ann", "city": "Ghent"}])[0]
    given = json.dumps({"contact_id": contact, "city": "Bruges"})
    status, answer = run(capsys, "call", "odoo_update_contact", "--config", str(config), "--args", given)
    assert (status, answer["changed"]) == (0, ["city"])
    status, undone = run(capsys, "undo", answer["receipt"], "--config", str(config))
    assert (status, undone["undone"], undone["restored"]) == (0, answer["receipt"], ["city"])
    assert ask("res.partner", "read", [contact], fields=["city"])[0]["city"] == "Ghent"
    status, again = run(capsys, "undo", answer["receipt"], "--config", str(config))
    assert (status, again["error"]) == (1, "__CONFLICT__")
    config.write_text(config.read_text().replace("state_dir: state", f"state_dir: {config.parent / 'state'}"))
    _, rows = run(capsys, "audit", "--config", str(config), "--json")
    assert {row["tool"]: row["outcome"] for row in rows} | {"undo": ""} == {"odoo_update_contact": "ok", "undo": ""}
    assert [row["outcome"] for row in rows if row["tool"] == "undo"].count("ok") == 1


def test_undo_without_the_section_says_so(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yaml.safe_load(config.read_text())
    del document["odoo"], document["policy"]
    document["channels"] = {}
    document["clients"] = []
    config.write_text(yaml.safe_dump(document))
    status, _ = run(capsys, "undo", "r-" + "a" * 26, "--config", str(config))
    assert status == 2
