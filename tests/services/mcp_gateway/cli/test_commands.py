"""Every command says what it found, and its exit status is 0 only when what was asked holds."""

import json
from typing import Any

import pytest

from mcp_gateway import __version__
from mcp_gateway.clients import token_line


def test_without_a_command_the_help_names_them_all(command: Any) -> None:
    result = command.run()
    assert result.returncode == 2
    for name in ("serve", "check", "channels", "tools", "call", "token", "audit"):
        assert name in result.stdout
    assert command.run("--help").returncode == 0
    assert command.run("--version").stdout == f"mcp-gateway {__version__}\n"


def test_the_command_is_a_program(command: Any) -> None:
    result = command.process("check", "--config", str(command.path))
    assert (result.returncode, result.stderr) == (0, "")
    command.write(colour=1)
    result = command.process("check", "--config", str(command.path))
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_check_is_silent_on_stderr_when_all_is_well(command: Any) -> None:
    result = command.about("check")
    assert (result.returncode, result.stderr) == (0, "")
    assert "sound; 1 client, 1 channel" in result.stdout


def test_check_lists_every_problem_and_ends_with_2(command: Any) -> None:
    command.document["clients"][0]["channels"] = ["nowhere"]
    command.write(colour=1, docker={}, listen=[])
    result = command.about("check")
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 4
    for key in ("colour: ", "docker: ", "listen: ", "clients.0.channels: "):
        assert any(line.startswith(key) for line in result.stderr.splitlines())


@pytest.mark.parametrize("content", [None, "", "# nobody\n"])
def test_check_fails_when_a_client_has_no_token(command: Any, content: str | None) -> None:
    path = command.directory / "tokens.d" / "hermes"
    path.unlink() if content is None else path.write_text(content)
    result = command.about("check")
    assert result.returncode == 1
    assert result.stderr.startswith(f"clients.0.tokens_file: {path} ")


def test_check_warns_of_what_is_allowed_and_dangerous(command: Any) -> None:
    (command.directory / "tokens.d" / "hermes").chmod(0o666)
    command.write(listen=[{"host": "0.0.0.0", "port": 8710}])  # noqa: S104  # what the warning is about
    result = command.about("check")
    assert result.returncode == 0
    assert "warning: listen: 0.0.0.0:8710 can be reached from outside" in result.stderr
    assert "chmod go-w" in result.stderr


def test_check_starts_and_writes_nothing(command: Any) -> None:
    assert command.about("check").returncode == 0
    assert not (command.directory / "state").exists()


@pytest.mark.parametrize("name", ["check", "channels", "tools", "serve"])
def test_a_configuration_that_is_not_there_is_said_in_one_line(command: Any, name: str) -> None:
    command.path.unlink()
    result = command.about(name)
    assert (result.returncode, result.stderr) == (2, f"{command.path}: cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("channel", "client", "words"),
    [
        ({}, {}, ("all", "all")),
        ({"include": ["vault_read", "vault_list"]}, {}, ("2 selected", "all")),
        ({"include": []}, {}, ("0 selected", "0 selected")),
        ({"exclude": ["vault_write"]}, {}, ("-1 excluded", "all")),
        ({"exclude": ["vault_write"]}, {"include": ["vault_read"]}, ("-1 excluded", "1 selected")),
        ({}, {"exclude": ["vault_write", "vault_read"]}, ("all", "-2 excluded")),
        ({}, {"include": []}, ("all", "0 selected")),
        ({"include": ["vault_read"], "exclude": ["vault_read"]}, {}, ("0 selected", "0 selected")),
    ],
)
def test_channels_says_in_three_states_what_is_open(
    command: Any, channel: dict[str, Any], client: dict[str, Any], words: tuple[str, str]
) -> None:
    command.document["channels"]["notes"]["tools"] = channel
    command.document["clients"][0]["tools"] = client
    command.write()
    result = command.about("channels")
    assert result.returncode == 0
    lines = [line.partition(" (")[0] for line in result.stdout.splitlines()]
    assert lines == [f"notes: {words[0]}", f"  hermes: {words[1]}"]


def test_channels_without_toolsets_are_none_and_not_all(command: Any) -> None:
    command.write(channels={"notes": {"toolsets": []}})
    assert command.about("channels").stdout.startswith("notes: 0 selected (0 tools)\n")


def test_tools_lists_what_tools_list_would(command: Any) -> None:
    command.document["clients"][0]["tools"] = {"include": ["vault_read"]}
    command.write()
    assert [tool["name"] for tool in json.loads(command.about("tools", "--json").stdout)["notes"]] == [
        "vault_search",
        "vault_list",
        "vault_read",
        "vault_write",
    ]
    [tool] = json.loads(command.about("tools", "--json", "--client", "hermes").stdout)["notes"]
    assert (tool["name"], tool["inputSchema"]["additionalProperties"]) == ("vault_read", False)
    assert command.about("tools", "--client", "hermes").stdout.splitlines()[1].startswith("  vault_read  ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--channel", "zzz"], "--channel: 'zzz' is no channel"),
        (["--client", "zzz"], "--client: 'zzz' is no client"),
        (["--client", "hermes", "--channel", "extra"], "--channel: extra is not granted to hermes"),
    ],
)
def test_tools_of_what_does_not_exist_is_an_error(command: Any, arguments: list[str], words: str) -> None:
    command.document["channels"]["extra"] = {"toolsets": []}
    command.write()
    result = command.about("tools", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


def test_an_empty_filter_hides_everything_in_every_command(command: Any) -> None:
    command.document["channels"]["notes"]["tools"] = {"include": []}
    command.write()
    assert json.loads(command.about("tools", "--json").stdout) == {"notes": []}
    result = command.run("call", "vault_list", "--config", str(command.path))
    assert (result.returncode, json.loads(result.stdout)["error"]) == (1, "__NOT_FOUND__")


def test_what_is_open_can_be_seen_without_the_secrets_and_check_wants_them(command: Any) -> None:
    """An operator's shell has no credentials directory."""
    vault = {"host": "127.0.0.1", "identity_file": "vault.key", "known_hosts_file": "vault.known_hosts"}
    command.write(vault=vault)
    assert command.about("channels").stdout.startswith("notes: all (4 tools)\n")
    assert len(json.loads(command.about("tools", "--json").stdout)["notes"]) == 4
    result = command.about("check")
    assert result.returncode == 2
    assert result.stderr.startswith(f"vault.identity_file: {command.directory}/vault.key: cannot be read")


def call(command: Any, tool: str, arguments: str, *more: str) -> tuple[int, dict[str, Any]]:
    result = command.run("call", tool, "--config", str(command.path), "--args", arguments, *more)
    said = json.loads(result.stdout)
    assert isinstance(said, dict)
    return result.returncode, said


def test_call_goes_the_way_of_any_client_and_is_written_down_as_cli(command: Any) -> None:
    status, said = call(command, "vault_read", '{"path":"inbox/note.md"}')
    assert (status, said["success"], said["content"]) == (0, True, "A first note.\n")
    status, said = call(command, "vault_write", '{"path":"inbox/new.md","content":"x"}')
    assert (status, said["success"]) == (0, True)
    rows = json.loads(command.about("audit", "--json").stdout)
    assert [(row["client"], row["tool"], row["outcome"]) for row in rows] == [
        ("cli", "vault_read", "ok"),
        ("cli", "vault_write", "ok"),
    ]
    assert rows[1]["receipt"] == said["receipt"]
    assert command.about("audit", "--verify").returncode == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("vault_read", '{"path":"inbox/absent.md"}', "__NOT_FOUND__"),
        ("vault_read", "{}", "__BAD_ARGUMENT__"),
        ("vault_read", "[]", "__BAD_ARGUMENT__"),
        ("vault_read", '{"path":"a","path":"b"}', "__BAD_ARGUMENT__"),
        ("vault_read", '{"path":"\\ud800"}', "__BAD_ARGUMENT__"),
        ("invented", "{}", "__NOT_FOUND__"),
    ],
)
def test_a_call_that_is_refused_ends_with_1(command: Any, tool: str, arguments: str, code: str) -> None:
    status, said = call(command, tool, arguments)
    assert (status, said["success"], said["error"]) == (1, False, code)


def test_a_client_named_cli_narrows_the_command_line_too(command: Any) -> None:
    (command.directory / "tokens.d" / "cli").write_text(token_line("another-token") + "\n")
    command.document["clients"].append(
        {"name": "cli", "tokens_file": "tokens.d/cli", "channels": ["notes"], "tools": {"exclude": ["vault_write"]}}
    )
    command.write()
    assert call(command, "vault_write", '{"path":"inbox/new.md","content":"x"}')[1]["error"] == "__NOT_FOUND__"


def test_call_wants_to_know_the_channel_when_several_show_the_tool(command: Any) -> None:
    command.document["channels"]["more"] = {"toolsets": ["vault"]}
    command.write()
    result = command.run("call", "vault_read", "--config", str(command.path))
    assert (result.returncode, "--channel: notes, more show vault_read" in result.stderr) == (2, True)
    assert call(command, "vault_read", '{"path":"inbox/note.md"}', "--channel", "notes")[0] == 0


def test_what_the_policy_never_lets_run_is_not_there_on_the_command_line_either(command: Any) -> None:
    command.document["channels"]["more"] = {"toolsets": ["vault"], "policy": {"vault_read": "never"}}
    command.write()
    status, said = call(command, "vault_read", '{"path":"inbox/note.md"}', "--channel", "more")
    assert (status, said["error"]) == (1, "__NOT_FOUND__")
    # Only one channel is left that shows it, so there is nothing to ask.
    assert call(command, "vault_read", '{"path":"inbox/note.md"}')[0] == 0
    listed = json.loads(command.run("tools", "--config", str(command.path), "--json").stdout)
    assert [tool["name"] for tool in listed["more"]] == ["vault_search", "vault_list", "vault_write"]
    assert "more: -1 excluded (3 tools)" in command.run("channels", "--config", str(command.path)).stdout


def test_a_client_named_cli_calls_only_through_the_channels_that_it_is_granted(command: Any) -> None:
    (command.directory / "tokens.d" / "cli").write_text(token_line("another-token") + "\n")
    command.document["channels"]["more"] = {"toolsets": ["vault"]}
    command.document["clients"].append({"name": "cli", "tokens_file": "tokens.d/cli", "channels": ["more"]})
    command.write()
    result = command.run("call", "vault_list", "--config", str(command.path), "--channel", "notes")
    assert (result.returncode, result.stderr) == (2, "--channel: notes is not granted to cli\n")
    assert call(command, "vault_list", "{}")[0] == 0


@pytest.mark.parametrize("arguments", ["{", "", "[" * 100_000])
def test_arguments_that_are_no_json_are_a_wrong_question(command: Any, arguments: str) -> None:
    result = command.run("call", "vault_read", "--config", str(command.path), "--args", arguments)
    assert (result.returncode, result.stderr[:20]) == (2, "--args: is no JSON; ")


def test_token_new_prints_a_token_with_its_line_and_stores_nothing(command: Any) -> None:
    before = sorted(command.directory.rglob("*"))
    result = command.run("token", "new", "hermes")
    token, line = result.stdout.splitlines()
    assert (result.returncode, line) == (0, token_line(token))
    assert len(token) >= 43
    assert command.run("token", "new", "hermes").stdout.splitlines()[0] != token
    assert sorted(command.directory.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments", [["token"], ["token", "new"], ["token", "new", "a b"], ["token", "new", "-x"], ["zzz"]]
)
def test_a_wrong_question_ends_with_2(command: Any, arguments: list[str]) -> None:
    assert command.run(*arguments).returncode == 2
