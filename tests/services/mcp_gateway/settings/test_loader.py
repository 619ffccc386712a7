"""A configuration is taken whole or refused with every fault at once, each naming its key."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.loader import load

Change = Callable[[dict[str, Any]], None]


def problems_of(site: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(site.path, site.catalogue)
    return caught.value.problems


def test_the_whole_configuration_is_read(site: Any) -> None:
    settings = load(site.path, site.catalogue)
    assert [client.name for client in settings.clients] == ["hermes", "claude"]
    assert list(settings.channels) == ["tools", "other"]
    assert settings.core.tool_deadline_seconds == 10
    assert settings.state_dir == site.directory / "state"
    assert settings.backends["probe"].word == "hello"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "changes",
    [
        {"clients": []},
        {"channels": {}, "clients": []},
        {"channels": {"tools": {"toolsets": []}, "other": {"toolsets": []}}},
    ],
)
def test_empty_lists_are_legal_and_open_nothing(site: Any, changes: dict[str, Any]) -> None:
    site.write(**changes)
    settings = load(site.path, site.catalogue)
    for key, value in changes.items():
        assert len(getattr(settings, key)) == len(value)


@pytest.mark.parametrize(
    ("where", "value", "key", "words"),
    [
        (("colour",), 1, "colour", "unknown key"),
        (("client",), [], "client", "did you mean clients?"),
        (("docker",), {"socket": "/run/x"}, "docker", "not available in this release"),
        (("content",), {}, "content", "not available in this release"),
        (("approvals",), {}, "approvals.token_file", "missing"),
        (("approvals",), None, "approvals", "leave the section out"),
        (("approvals",), [], "approvals", "valid dictionary"),
        (("approvals",), {"token_file": "t", "url": "ftp://x"}, "approvals.url", "http or https"),
        (("approvals",), {"token_file": "t", "url": "http://u:p@x"}, "approvals.url", "no user"),
        (("approvals",), {"token_file": "t", "wait_seconds": -1}, "approvals.wait_seconds", "0"),
        (("approvals",), {"token_file": "t", "wait_seconds": 9}, "approvals.wait_seconds", "at most 8"),
        (("approvals",), {"token_file": "t", "wait_second": 9}, "approvals.wait_second", "did you mean wait_seconds?"),
        (("channels", "tools", "upstream"), {"url": "http://x"}, "channels.tools.upstream", "not available in this"),
        (("channels", "tools", "tools"), {"arguments": {}}, "channels.tools.tools.arguments", "not available in this"),
        (("channels", "tools", "tools"), {"include": None}, "channels.tools.tools.include", "[] for none"),
        (("channels", "tools", "tools"), {"includes": []}, "channels.tools.tools.includes", "did you mean include?"),
        (("channels", "tools", "tools"), None, "channels.tools.tools", "not null"),
        (("channels", "tools", "tools"), {"include": ["probe_nop"]}, "channels.tools.tools.include", "probe_noop?"),
        (("channels", "tools", "tools"), {"exclude": ["zzz"]}, "channels.tools.tools.exclude", "'zzz' is no tool"),
        (("channels", "tools", "tools"), {"exclude": ["docker_read"]}, "channels.tools.tools.exclude", "not available"),
        (("channels", "tools", "toolsets"), ["docker"], "channels.tools.toolsets", "docker is not available in this"),
        (("channels", "tools", "toolsets"), ["content"], "channels.tools.toolsets", "content is not available in this"),
        (("channels", "tools", "toolsets"), ["prob"], "channels.tools.toolsets", "'prob' is no toolset; did you mean"),
        (("channels", "tools", "toolsets"), None, "channels.tools.toolsets", "valid list, not null"),
        (("channels", "tools"), {}, "channels.tools.toolsets", "missing"),
        (("channels", "tools"), None, "channels.tools", "must be a mapping"),
        (("channels", "to ols"), {"toolsets": []}, "channels.to ols", "letters, digits"),
        (("channels", "tools", "policy"), {"probe_noop": "ask"}, "channels.tools.policy.probe_noop", "'auto'"),
        (("channels", "tools", "policy"), {"nope": "auto"}, "channels.tools.policy.nope", "is no tool"),
        (("channels", "tools", "policy"), {"probe_noop": "approve"}, "channels.tools.policy.probe_noop", "approvals"),
        (("policy",), {"mirror_write": "approve"}, "policy.mirror_write", "needs the section `approvals:`"),
        (("policy",), {"docker_manage": "auto"}, "policy.docker_manage", "not available in this release"),
        (("channels",), None, "channels", "not null"),
        (("channels",), [], "channels", "not a list"),
        (("clients",), None, "clients", "not null"),
        (("clients",), {}, "clients", "not a mapping"),
        (("clients", 0, "channels"), ["tool"], "clients.0.channels", "'tool' is no channel; did you mean tools?"),
        (("clients", 0, "tools"), {"include": ["zzz"]}, "clients.0.tools.include", "is no tool"),
        (("clients", 0, "name"), "a b", "clients.0.name", "letters, digits"),
        (("clients", 0, "name"), "claude", "clients", "the name claude is used 2 times"),
        (("clients", 0, "rate_per_minute"), 0, "clients.0.rate_per_minute", "greater than or equal to 1"),
        (("clients", 0, "rate_per_minute"), "60", "clients.0.rate_per_minute", "not text"),
        (("clients", 0, "rate_per_minute"), True, "clients.0.rate_per_minute", "not true or false"),
        (("clients", 0), {"name": "x"}, "clients.0.tokens_file", "missing"),
        (("clients", 0), "x", "clients.0", "must be a mapping of keys, not text"),
        (("listen",), [], "listen", "at least 1"),
        (("listen", 0, "port"), 70000, "listen.0.port", "65535"),
        (("listen", 0, "port"), "8710", "listen.0.port", "not text"),
        (("listen",), [{"host": "::1", "port": 1}, {"host": "::1", "port": 1}], "listen", "written 2 times"),
        (("allowed_hosts",), ["http://x"], "allowed_hosts.0", "host name"),
        (("allowed_hosts",), ["x:99999"], "allowed_hosts.0", "host name"),
        (("tool_deadline_seconds",), 0, "tool_deadline_seconds", "0.1"),
        (("state_dir",), 5, "state_dir", "not a number"),
        (("probe", "wrod"), "x", "probe.wrod", "did you mean word?"),
        (("probe",), None, "probe", "must be a mapping"),
    ],
)
def test_a_fault_names_its_key_and_what_to_do(
    site: Any, where: tuple[Any, ...], value: Any, key: str, words: str
) -> None:
    place = site.document
    for part in where[:-1]:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    place[where[-1]] = value
    site.write()
    found = problems_of(site)
    assert any(problem.startswith(f"{key}: ") and words in problem for problem in found), found


def test_a_missing_backend_section_is_named_with_the_toolset_that_needs_it(site: Any) -> None:
    del site.document["probe"]
    site.write()
    words = "needs the section `probe:`, which is missing; add it or take"
    assert problems_of(site) == [
        f"channels.{channel}.toolsets: {toolset} {words} {toolset} out"
        for channel, toolset in (("tools", "probe"), ("tools", "mirror"), ("other", "probe"))
    ]


def test_every_fault_is_listed_at_once_also_across_sections(site: Any) -> None:
    site.document["clients"][0]["rate_per_minute"] = "many"
    site.document["clients"][0]["channels"] = ["nowhere"]
    site.document["channels"]["tools"]["toolsets"] = ["nothing"]
    site.write(colour=1, docker={}, listen=[{"host": "127.0.0.1"}], policy={"nope": "auto"}, probe={"x": 1})
    keys = {problem.partition(": ")[0] for problem in problems_of(site)}
    assert keys == {
        "colour",
        "docker",
        "listen.0.port",
        "policy.nope",
        "probe.x",
        "clients.0.rate_per_minute",
        "clients.0.channels",
        "channels.tools.toolsets",
    }


def test_a_value_is_never_repeated_because_it_may_be_a_secret_in_the_wrong_place(site: Any) -> None:
    secret = "hunter2-hunter2"
    site.write(tool_deadline_seconds=secret, clients=[{"name": secret + " ", "tokens_file": "x"}], probe={"word": 5})
    assert secret not in str(problems_of(site))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("listen: []\nlisten: []\n", "listen: written twice"),
        ("channels: {a: {toolsets: []}, a: {toolsets: []}}\n", "a: written twice in the same place, again on line 1"),
        ("clients:\n- name: x\n  name: y\n", "name: written twice in the same place, again on line 3"),
        ("a: [\n", "is not YAML: line 2"),
        ("- a\n", "must be a mapping"),
        ("", "must be a mapping"),
        ("a: !!python/object/apply:os.system [id]\n", "is not YAML"),
        ("[" * 5000, "is not YAML"),
    ],
)
def test_what_is_wrong_as_yaml_is_said_with_its_line(site: Any, text: str, words: str) -> None:
    site.path.write_text(text)
    assert words in str(problems_of(site))


def test_a_file_that_cannot_be_read_is_named(site: Any) -> None:
    site.path.unlink()
    assert problems_of(site) == [f"{site.path}: cannot be read: No such file or directory"]
    site.path.write_bytes(b"\xff\xfe")
    assert problems_of(site) == [f"{site.path}: is not UTF-8 text"]
    site.path.write_bytes(b"#" * (1024 * 1024 + 1))
    assert "larger than" in problems_of(site)[0]


def test_the_example_of_the_manual_without_later_parts_is_sound(site: Any) -> None:
    site.path.write_text(
        yaml.safe_dump(
            {
                "state_dir": "state",
                "clients": [
                    {"name": "h", "tokens_file": "t", "channels": ["c"], "tools": {}, "odoo_employee_id": 1},
                ],
                "channels": {"c": {"toolsets": ["probe"], "tools": {}, "policy": {"mirror_write": "never"}}},
                "policy": {"mirror_slow": "auto"},
                "probe": {},
            }
        )
    )
    settings = load(site.path, site.catalogue)
    assert settings.core.listen[0].port == 8710
    assert settings.clients[0].rate_per_minute == 600
