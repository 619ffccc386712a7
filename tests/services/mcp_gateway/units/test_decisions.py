"""The channel's policy goes before the general one, and both before what is built in."""

import pytest

from mcp_gateway.policies.decisions import decide


@pytest.mark.parametrize(
    ("tool", "channel", "general", "decision"),
    [
        ("vault_read", {}, {}, "auto"),
        ("docker_manage", {}, {}, "approve"),
        ("crm_delete_lead", {}, {}, "approve"),
        ("timesheet_delete", {}, {}, "approve"),
        ("docker_manage", {}, {"docker_manage": "auto"}, "auto"),
        ("vault_write", {}, {"vault_write": "never"}, "never"),
        ("vault_write", {"vault_write": "auto"}, {"vault_write": "never"}, "auto"),
        ("vault_write", {"vault_read": "never"}, {}, "auto"),
    ],
)
def test_decision(tool: str, channel: dict[str, str], general: dict[str, str], decision: str) -> None:
    assert decide(tool, channel, general) == decision
