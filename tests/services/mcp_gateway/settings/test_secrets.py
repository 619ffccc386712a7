"""Secret files are found beside the configuration or where systemd puts them; their values are remembered."""

from pathlib import Path

import pytest

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.settings.secrets import Secrets

KEY = "-----BEGIN KEY-----\nAAAAB3NzaC1yc2EAAAADAQABAAABgQC7\nshort\n-----END KEY-----\n"


def test_the_credentials_directory_wins_over_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tmp_path / "gateway.yml"
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert Secrets.beside(configuration).directory == tmp_path
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x")
    assert Secrets.beside(configuration).directory == Path("/run/credentials/x")


def test_a_command_on_a_deployed_host_finds_them_where_systemd_takes_them_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    folder = tmp_path / "credentials" / "mcp_gateway"
    folder.mkdir(parents=True)
    assert Secrets.beside(tmp_path / "gateway.yml").directory == folder
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x")
    assert Secrets.beside(tmp_path / "gateway.yml").directory == Path("/run/credentials/x")


def test_a_value_is_read_without_blank_space_and_remembered(tmp_path: Path) -> None:
    (tmp_path / "api.key").write_text("  s3cret-value\n")
    secrets = Secrets(tmp_path)
    assert secrets.read("api.key") == "s3cret-value"
    assert secrets.known == ("s3cret-value",)


def test_of_a_key_file_every_long_line_is_remembered_but_not_its_frame(tmp_path: Path) -> None:
    (tmp_path / "vault.key").write_text(KEY)
    secrets = Secrets(tmp_path)
    assert secrets.path("vault.key") == tmp_path / "vault.key"
    assert secrets.known == (KEY.strip(), "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7")


def test_a_short_value_is_not_hidden_because_it_occurs_by_chance(tmp_path: Path) -> None:
    (tmp_path / "pin").write_text("1234")
    secrets = Secrets(tmp_path)
    assert secrets.read("pin") == "1234"
    assert secrets.known == ()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b"\xff\xff", "is not text"),
        (b"x" * 70000, "too large"),
    ],
)
def test_a_secret_that_is_not_there_is_named_with_key_and_file(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "api.key").write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        Secrets(tmp_path).read("api.key", "odoo.api_key_file")
    assert caught.value.problems[0].startswith(f"odoo.api_key_file: {tmp_path}/api.key: ")
    assert words in caught.value.problems[0]


def test_a_look_without_secrets_misses_none() -> None:
    secrets = Secrets.unread()
    assert secrets.read("absent") == ""
    assert secrets.known == ()
