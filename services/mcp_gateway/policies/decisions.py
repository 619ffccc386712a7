"""Whether a tool runs at once, needs a person's word first, or never runs: then it is not even shown."""

from collections.abc import Mapping

from mcp_gateway.errors import Code, Refusal

# Built-in: what deletes or restarts asks a person first. A channel's word goes before the general one, and both
# before this.
DEFAULTS: Mapping[str, str] = {"docker_manage": "approve", "crm_delete_lead": "approve", "timesheet_delete": "approve"}


def decide(tool: str, channel: Mapping[str, str], general: Mapping[str, str]) -> str:
    """`auto`, `approve` or `never`."""
    for rules in (channel, general, DEFAULTS):
        if tool in rules:
            return rules[tool]
    return "auto"


def allow(tool: str, decision: str, askable: bool = False) -> None:
    """Raise Refusal unless the policy says `auto`, or `approve` and there is somebody to ask."""
    if decision != "auto" and not (decision == "approve" and askable):
        words = f"{tool} needs a person's approval, and nobody is set up to give it. Ask the operator."
        raise Refusal(Code.FORBIDDEN, words)
