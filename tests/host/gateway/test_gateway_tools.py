"""What an agent gets from the deployed tools: the real vault and the real Prometheus, over the wire, in both eras."""

import hashlib
import secrets
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://gateway_hosts"]
pytestmark = pytest.mark.anyio
MODES = ("legacy", "2026-07-28")
VAULT = {"vault_search", "vault_list", "vault_read", "vault_write"}
MONITORING = {"monitoring_alerts", "monitoring_query"}

Answer = Callable[[Any], dict[str, Any]]


@pytest.fixture(scope="module")
def repository(variables: dict[str, Any]) -> str:
    return str(variables.get("talaria_vault_path", "/srv/vault/vps-vault"))


def git(root: Host, repository: str, *words: str) -> str:
    """The output of git in the vault, as its owner."""
    command = ["runuser", "-u", "vault", "--", "env", "HOME=/nonexistent", "git", "-C", repository, *words]
    return str(root.check_output(shlex.join(command)))


@pytest.fixture
def note(root: Host, repository: str) -> Iterator[str]:
    """The path of a note that does not exist yet; what a test made of it is taken out of the vault afterwards."""
    path = f"inbox/talaria-verify-{secrets.token_hex(6)}.md"
    yield path
    if git(root, repository, "ls-files", path):
        git(root, repository, "rm", "--quiet", path)
        identity = ("-c", "user.name=Talaria", "-c", "user.email=talaria@localhost")
        git(
            root,
            repository,
            *identity,
            "commit",
            "--quiet",
            "--message",
            "Remove a verification's note",
            "--",
            path,
        )


@pytest.mark.parametrize("mode", MODES)
async def test_the_agent_sees_the_tools_of_its_channel(gateway: Any, mode: str) -> None:
    """What is configured is what is offered, to old and new clients alike."""
    async with gateway.agent(mode=mode) as agent:
        names = {tool.name for tool in (await agent.list_tools()).tools}
    assert names >= VAULT | MONITORING


@pytest.mark.parametrize("mode", MODES)
async def test_a_note_is_written_found_read_and_committed(
    gateway: Any, answer: Answer, root: Host, repository: str, note: str, mode: str
) -> None:
    """The main job: what the agent writes is in the vault's history, under the agent's name."""
    word = f"Élan-{secrets.token_hex(4)}"
    content = f"# {word}\n\nЖилищ, 日本語, مرحبا\n"
    async with gateway.agent(mode=mode) as agent:
        written = answer(await agent.call_tool("vault_write", {"path": note, "content": content}))
        found = answer(await agent.call_tool("vault_search", {"query": word.lower()}))
        listed = answer(await agent.call_tool("vault_list", {"prefix": "inbox/"}))
        read = answer(await agent.call_tool("vault_read", {"path": note}))
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    assert (written["success"], written["path"], written["contentHash"]) == (True, note, digest)
    assert [match["path"] for match in found["matches"]] == [note]
    assert note in listed["paths"]
    assert (read["content"], read["contentHash"]) == (content, digest)
    commit = git(root, repository, "log", "-1", "--format=%H %B", "--", note)
    assert commit.startswith(written["commit"])
    assert f"Talaria-Client: {gateway.client}" in commit
    assert f"Talaria-Receipt: {written['receipt']}" in commit
    assert "Talaria-Audit: " in commit


async def test_a_note_is_overwritten_only_with_the_hash_of_what_it_holds(
    gateway: Any, answer: Answer, root: Host, repository: str, note: str
) -> None:
    """Two writers must not destroy each other's text, and no refusal may hand out the key to do so."""
    async with gateway.agent() as agent:
        first = answer(await agent.call_tool("vault_write", {"path": note, "content": "one\n"}))
        blind = answer(await agent.call_tool("vault_write", {"path": note, "content": "blind\n"}))
        second = answer(
            await agent.call_tool("vault_write", {"path": note, "content": "two\n", "base_hash": first["contentHash"]})
        )
        stale = answer(
            await agent.call_tool("vault_write", {"path": note, "content": "late\n", "base_hash": first["contentHash"]})
        )
    assert (blind["success"], blind["error"]) == (False, "__EXISTS__")
    assert second["success"]
    assert (stale["success"], stale["error"]) == (False, "__STALE_READ__")
    assert first["contentHash"] not in str(blind)
    assert second["contentHash"] not in str(stale)
    assert git(root, repository, "show", f"HEAD:{note}") == "two"


async def test_paths_outside_the_rules_write_nothing(gateway: Any, answer: Answer, root: Host, repository: str) -> None:
    """The agent's key must not become a way to change the host."""
    before = git(root, repository, "rev-parse", "HEAD")
    paths = (
        "../x.md",
        "/etc/x.md",
        "inbox/../../x.md",
        ".git/hooks/x.md",
        "elsewhere/x.md",
        "inbox/x.sh",
        "inbox//x.md",
    )
    async with gateway.agent() as agent:
        for path in paths:
            refused = answer(await agent.call_tool("vault_write", {"path": path, "content": "x\n"}))
            assert (refused["success"], refused["error"] in {"__BAD_PATH__", "__FORBIDDEN__"}) == (False, True), refused
    assert git(root, repository, "rev-parse", "HEAD") == before


async def test_a_long_note_crosses_whole(gateway: Any, answer: Answer, root: Host, repository: str, note: str) -> None:
    """Four-byte characters up to the limit: nothing on the way may count arguments or cut a stream."""
    content = "\N{GRINNING FACE}" * 37_500
    async with gateway.agent() as agent:
        written = answer(await agent.call_tool("vault_write", {"path": note, "content": content}))
        more = answer(await agent.call_tool("vault_write", {"path": note, "content": content + "x"}))
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert (written["success"], written["contentHash"]) == (True, digest[:12])
    assert more["error"] == "__TOO_LARGE__"
    assert root.check_output(f"sha256sum {repository}/{note}").split()[0] == digest


async def test_prometheus_is_asked_and_knows_the_gateway(gateway: Any, answer: Answer) -> None:
    """The monitoring tools must show the real state of this host, the gateway's own health included."""
    async with gateway.agent() as agent:
        asked = answer(await agent.call_tool("monitoring_query", {"promql": "up"}))
        wrong = answer(await agent.call_tool("monitoring_query", {"promql": "up{"}))
        alerts = answer(await agent.call_tool("monitoring_alerts", {}))
    assert asked["success"]
    assert "mcp_gateway" in str(asked)
    assert wrong["error"] == "__BAD_QUERY__"
    assert alerts["success"]
    assert isinstance(alerts["alerts"], list)


async def test_a_misspelt_argument_is_named_and_nothing_is_done(gateway: Any, answer: Answer, note: str) -> None:
    """A dropped argument would turn a careful overwrite into a blind one."""
    async with gateway.agent() as agent:
        refused = answer(await agent.call_tool("vault_write", {"path": note, "content": "x", "basehash": "0" * 12}))
        read = answer(await agent.call_tool("vault_read", {"path": note}))
    assert refused["error"] == "__BAD_ARGUMENT__"
    assert "basehash" in refused["hint"]
    assert read["error"] == "__NOT_FOUND__"


async def test_an_unknown_tool_is_an_answer(gateway: Any, answer: Answer) -> None:
    """Three protocol errors would make a Hermes client drop the server for a minute."""
    async with gateway.agent() as agent:
        assert answer(await agent.call_tool("vault_destroy", {}))["error"] == "__NOT_FOUND__"


@pytest.mark.laboratory
@pytest.mark.parametrize("mode", MODES)
async def test_a_hidden_tool_is_neither_listed_nor_called(
    gateway: Any, answer: Answer, root: Host, repository: str, note: str, mode: str
) -> None:
    """A filter that only tidies the list is none: knowing the name must not be enough."""
    async with gateway.agent("reader", mode) as agent:
        names = {tool.name for tool in (await agent.list_tools()).tools}
        hidden = answer(await agent.call_tool("vault_write", {"path": note, "content": "x\n"}))
        unknown = answer(await agent.call_tool("vault_destroy", {"path": note, "content": "x\n"}))
    assert names == (VAULT | MONITORING) - {"vault_write"}
    assert hidden["error"] == unknown["error"] == "__NOT_FOUND__"
    assert not root.file(f"{repository}/{note}").exists


@pytest.mark.laboratory
@pytest.mark.parametrize(("client", "channel"), [("nobody", "hermes-tools"), ("elsewhere", "closed")])
async def test_an_empty_list_of_tools_opens_nothing(gateway: Any, answer: Answer, client: str, channel: str) -> None:
    """The one mistake that must never happen: an empty allow-list read as no restriction."""
    async with gateway.agent(client, channel=channel) as agent:
        assert (await agent.list_tools()).tools == []
        for name in sorted(VAULT | MONITORING):
            assert answer(await agent.call_tool(name, {}))["error"] == "__NOT_FOUND__", name


@pytest.mark.laboratory
async def test_whoever_saw_a_part_of_a_long_note_gets_no_hash_of_it(gateway: Any, answer: Answer, note: str) -> None:
    """An agent that read the first page must not be able to overwrite the pages it never saw."""
    content = "line\n" * 12_000
    async with gateway.agent() as writer, gateway.agent("reader") as reader:
        assert answer(await writer.call_tool("vault_write", {"path": note, "content": content}))["success"]
        first = answer(await reader.call_tool("vault_read", {"path": note}))
        last = answer(await reader.call_tool("vault_read", {"path": note, "offset": first["next_offset"]}))
    assert "contentHash" not in first
    assert last["contentHash"] == hashlib.sha256(content.encode()).hexdigest()[:12]
