"""The `vault:` section: what is needed, what is refused, and in which words."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from mcp_gateway.errors import ConfigurationError
from mcp_gateway.ports.vault import VaultPort
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.vault import VaultSettings

SSH = {"host": "127.0.0.1", "identity_file": "vault.key", "known_hosts_file": "known_hosts"}
LOCAL = {"transport": "local", "repository": "/srv/vault"}


def test_defaults_open_nothing_for_writing() -> None:
    settings = VaultSettings.model_validate(SSH)
    assert (settings.transport, settings.user, settings.port) == ("ssh", "vault", 22)
    assert settings.writable_prefixes == ()


def test_local_needs_only_the_repository() -> None:
    assert VaultSettings.model_validate(LOCAL).repository == "/srv/vault"


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({}, "also needs host, identity_file, known_hosts_file"),
        ({"host": "h"}, "also needs identity_file, known_hosts_file"),
        ({"transport": "local"}, "also needs repository"),
        ({**LOCAL, "repository": "vault"}, "absolute path"),
        ({**SSH, "transport": "telnet"}, "'ssh' or 'local'"),
        ({**SSH, "port": 0}, "greater than or equal to 1"),
        ({**SSH, "password": "x"}, "Extra inputs"),
        ({**SSH, "writable_prefixes": ["inbox"]}, "must end with /"),
        ({**SSH, "writable_prefixes": ["/inbox/"]}, "must be relative"),
        ({**SSH, "writable_prefixes": ["../"]}, "without empty, hidden or dotted"),
        ({**SSH, "writable_prefixes": [".git/"]}, "without empty, hidden or dotted"),
        ({**SSH, "writable_prefixes": ["in*/"]}, "character"),
        ({**SSH, "unreadable_prefixes": ["a\n/"]}, "character"),
        ({**SSH, "writable_prefixes": "inbox/"}, "tuple"),
    ],
)
def test_faults_are_told_in_words(section: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        VaultSettings.model_validate(section)
    assert words in str(caught.value)


def test_missing_files_are_all_told_at_once_with_their_keys(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        VaultPort(VaultSettings.model_validate(SSH), Secrets(tmp_path))
    assert [words.split(":")[0] for words in caught.value.problems] == ["vault.identity_file", "vault.known_hosts_file"]
