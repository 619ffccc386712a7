"""Tokens files: hashes only, at most two, nobody's twice; a wrong line is named by number and never shown."""

from typing import Any

import pytest

from mcp_gateway.clients import load_clients, token_line
from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.loader import load

ONE, TWO, THREE = "first-token-00001", "second-token-0002", "third-token-00003"


def clients_of(site: Any) -> Any:
    return load_clients(load(site.path, site.catalogue))


def test_a_token_and_its_successor_both_let_the_client_in(site: Any) -> None:
    site.tokens("hermes", ONE, TWO)
    clients = clients_of(site)
    for token in (ONE, TWO):
        client, known = clients.holder(token.encode())
        assert client.name == "hermes"
        assert token_line(token) == f"sha256:{known.hex()}"
    assert len(clients.hashes) == 3


@pytest.mark.parametrize("token", ["", "first-token-0000", "first-token-000011", "First-token-00001", "x" * 5000])
def test_an_almost_right_token_is_nobodys(site: Any, token: str) -> None:
    site.tokens("hermes", ONE)
    assert clients_of(site).holder(token.encode()) is None


def test_the_hash_itself_is_no_token(site: Any) -> None:
    site.tokens("hermes", ONE)
    line = token_line(ONE)
    assert clients_of(site).holder(line.encode()) is None
    assert clients_of(site).holder(line.removeprefix("sha256:").encode()) is None


def test_three_live_tokens_are_refused(site: Any) -> None:
    site.tokens("hermes", ONE, TWO, THREE)
    with pytest.raises(ConfigurationError, match="has 3 tokens; at most 2 may live"):
        clients_of(site)


@pytest.mark.parametrize(
    "line",
    [
        "plain-token-value",
        "sha256:abc",
        "sha1:" + "a" * 64,
        token_line(ONE) + " # laptop",
        "sha256: " + "a" * 64,
        "\x00",
    ],
)
def test_a_line_that_is_no_hash_is_named_by_its_number_and_never_shown(site: Any, line: str) -> None:
    path = site.directory / "tokens.d" / "hermes"
    path.write_text(f"# comment\n{token_line(ONE)}\n{line}\n")
    with pytest.raises(ConfigurationError) as caught:
        clients_of(site)
    [problem] = caught.value.problems
    assert problem.startswith(f"clients.0.tokens_file: {path}, line 3: ")
    assert line not in problem


def test_a_token_that_two_clients_share_is_refused_naming_both(site: Any) -> None:
    site.tokens("hermes", ONE)
    site.tokens("claude", TWO, ONE)
    with pytest.raises(ConfigurationError, match="claude and hermes have the same token"):
        clients_of(site)


def test_faults_of_all_files_come_at_once(site: Any) -> None:
    for client in ("hermes", "claude"):
        (site.directory / "tokens.d" / client).write_text("nonsense\n")
    with pytest.raises(ConfigurationError) as caught:
        clients_of(site)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "clients.0.tokens_file",
        "clients.1.tokens_file",
    ]


def test_a_missing_or_empty_file_grants_nothing_and_is_said(site: Any) -> None:
    (site.directory / "tokens.d" / "hermes").unlink()
    (site.directory / "tokens.d" / "claude").write_text("\n# nobody yet\n")
    clients = clients_of(site)
    assert clients.tokens == ()
    assert ["cannot be read" in clients.shut_out[0], "holds no token" in clients.shut_out[1]] == [True, True]


def test_a_file_that_others_can_write_is_worth_a_warning_and_one_they_can_read_is_not(site: Any) -> None:
    path = site.directory / "tokens.d" / "hermes"
    path.chmod(0o644)
    assert clients_of(site).notes == ()
    path.chmod(0o664)
    assert "chmod go-w" in clients_of(site).notes[0]
