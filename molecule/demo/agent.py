"""An agent at work: the official MCP client on the deployed gateway."""

import time
from typing import Any

import anyio
import httpx2

from demo import business, place
from demo.calling import Agent, agent_at, words
from demo.words import chapter, expect, tell
from mcp_gateway.catalogue import CATALOGUE

CHANNEL = "hermes-tools"
TOOLSETS = {name: tools for section in CATALOGUE for name, tools in section.toolsets.items()}
# Prometheus asks each of its targets every 15 s at least; after three times that it has seen all of them.
SCRAPE_ROUNDS, SCRAPE_SECONDS = 15, 3


async def show(base: str) -> None:
    """Show what an agent can do at the gateway and what it cannot. Raise DemoError when anything is not as promised."""
    url = f"{base}/mcp/{CHANNEL}"
    await show_gate(url)
    async with agent_at(url, place.token()) as agent:
        await show_tools(agent)
        note, content = await show_writing(agent)
        await show_overwriting(agent, note, content)
        await show_monitoring(agent)
        await business.show(agent)


async def show_gate(url: str) -> None:
    """Without the token there is nothing to see."""
    chapter("A stranger at the gate")
    async with httpx2.AsyncClient() as http:
        for who, headers in (("no token", {}), ("a wrong token", {"Authorization": "Bearer let-me-in"})):
            response = await http.post(url, headers=headers, content="this is not even JSON")
            expect(response.status_code == 403, f"with {who}: 403 {response.text}", response.status_code)


async def show_tools(agent: Agent) -> None:
    """The tools of the channel, and a search and a reading with them."""
    chapter("The agent, with its token")
    tools = {tool.name for tool in (await agent.client.list_tools()).tools}
    promised = {tool for names in TOOLSETS.values() for tool in names}
    families = ", ".join(f"{name} {len(names)}" for name, names in TOOLSETS.items())
    expect(tools == promised, f"it sees {len(tools)} tools: {families}", tools)
    found = await agent.call("vault_search", query="élan")
    matches = found.get("matches", [])
    expect(bool(matches), f'vault_search "élan" finds {len(matches)} line: {matches and matches[0]["path"]}', found)
    read = await agent.call("vault_read", path=matches[0]["path"])
    expect("contentHash" in read, f"vault_read gives {read.get('total_chars')} characters and the version's hash", read)


async def show_writing(agent: Agent) -> tuple[str, str]:
    """A new note: whole, committed and pushed. Returns its path and content."""
    chapter("The agent writes a note")
    note = f"inbox/demo-{time.strftime('%Y%m%d-%H%M%S')}.md"
    content = "# Delivered\n\nThe sandals carried it here. \N{BIRD}\n"
    wrote = await agent.call("vault_write", path=note, content=content)
    expect(wrote.get("pushed") is True, f"{note} is committed as {str(wrote.get('commit'))[:10]} and pushed", wrote)
    log = place.on_host("sudo -u git git --git-dir=/srv/git/notes.git log -1 --format='%h by %an: %s'")
    tell(f"the remote's newest commit: {log.strip()}")
    outside = await agent.call("vault_write", path="projects/mine.md", content="x")
    expect(outside.get("success") is False, f"a folder that is not the agent's: {words(outside)}", outside)
    return note, content


async def show_overwriting(agent: Agent, note: str, content: str) -> None:
    """A note is overwritten only by a client that has read this very version."""
    chapter("The agent overwrites it")
    bare = await agent.call("vault_write", path=note, content="gone\n")
    expect(bare.get("error") == "__EXISTS__", f"without the hash: {words(bare)}", bare)
    stale = await agent.call("vault_write", path=note, content="gone\n", base_hash="0123456789ab")
    expect(stale.get("error") == "__STALE_READ__", f"with a hash of something else: {words(stale)}", stale)
    version = (await agent.call("vault_read", path=note))["contentHash"]
    wrote = await agent.call("vault_write", path=note, content=content + "\nAnd it came back.\n", base_hash=version)
    expect(
        wrote.get("success") is True, f"with the hash of what it read: written, receipt {wrote.get('receipt')}", wrote
    )


async def show_monitoring(agent: Agent) -> None:
    """Prometheus, asked through the gateway."""
    chapter("The agent asks how the host is")
    answer: dict[str, Any] = {}
    for _ in range(SCRAPE_ROUNDS):
        answer = await agent.call("monitoring_query", promql="up")
        if is_all_up(answer):
            break
        await anyio.sleep(SCRAPE_SECONDS)
    seen = ", ".join(sorted(f"{sample['labels'].get('job')} {sample['value']}" for sample in answer.get("samples", [])))
    expect(is_all_up(answer), f"monitoring_query up: {seen}", answer)


def is_all_up(answer: dict[str, Any]) -> bool:
    """Whether Prometheus sees itself and the gateway, both up."""
    samples = answer.get("samples", [])
    return len(samples) >= 2 and all(sample["value"] == 1 for sample in samples)
