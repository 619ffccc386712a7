"""`approvals` on the host."""

import json
from pathlib import Path

import pytest
import yaml
from argon2 import PasswordHasher
from tests.services.approvals.conftest import PASSPHRASE, TOKEN, Asking, Process


def test_a_person_lists_shows_and_decides(process: Process, gateway: Asking) -> None:
    first, second = gateway.request(n=1), gateway.request(n=2)
    listed = process.command("list", "--state", "pending").stdout
    assert first["id"] in listed
    assert second["id"] in listed
    shown = process.command("show", first["id"]).stdout
    assert "name: Lyre" in shown
    assert process.command("approve", first["id"], "--reason", "fine").returncode == 0
    assert process.command("deny", second["id"]).returncode == 0
    found = json.loads(process.command("list", "--json").stdout)
    assert {one["id"]: one["state"] for one in found} == {first["id"]: "approved", second["id"]: "denied"}
    assert found[0]["decided_by"].startswith("cli:")
    assert found[0]["reason"] == "fine"


def test_a_second_decision_is_refused_and_says_what_stands(process: Process, gateway: Asking) -> None:
    request_id = gateway.request()["id"]
    process.command("deny", request_id)
    late = process.command("approve", request_id)
    assert (late.returncode, late.stdout) == (1, "")
    assert "denied already" in late.stderr
    assert gateway.state(request_id) == "denied"


@pytest.mark.parametrize("words", [("show", "apr_x"), ("approve", "apr_x"), ("deny", "'; DROP TABLE requests")])
def test_an_unknown_id_is_said_to_be_unknown(process: Process, words: tuple[str, str]) -> None:
    answer = process.command(*words)
    assert answer.returncode == 1
    assert "There is no request" in answer.stderr


def test_a_title_cannot_command_the_terminal(process: Process, gateway: Asking) -> None:
    gateway.ask(name="\x1b[2Jowned\u202e")
    assert not {"\x1b", "\u202e"} & set(process.command("list").stdout)


def test_the_hash_of_a_passphrase_opens_for_it_and_a_short_one_is_refused(process: Process) -> None:
    made = process.command("passphrase", given=PASSPHRASE + "\n")
    assert PasswordHasher().verify(made.stdout.strip(), PASSPHRASE)
    short = process.command("passphrase", given="short\n")
    assert (short.returncode, short.stdout) == (1, "")


def test_check_lists_every_fault_at_once_and_no_secret(process: Process) -> None:
    document = yaml.safe_load(process.configuration.read_text())
    document |= {"surprise": 1, "expiry_seconds": -1, "public_url": "http://approvals.example"}
    document["approvers"] = [{"name": "owner", "passphrase": "secret-words"}]
    del document["database"]
    process.configuration.write_text(yaml.safe_dump(document))
    answer = process.command("check")
    assert answer.returncode == 2
    for key in ("surprise", "expiry_seconds", "public_url", "approvers.0.passphrase", "database"):
        assert key in answer.stderr, key
    assert "secret-words" not in answer.stderr


@pytest.mark.parametrize("content", ["", "sha256:zz\n", TOKEN + "\n", "sha256:" + "0" * 64 + "\n" * 2 + TOKEN])
def test_a_tokens_file_that_holds_anything_else_is_refused_without_showing_it(process: Process, content: str) -> None:
    (process.folder / "gateway.tokens").write_text(content)
    answer = process.command("check")
    assert answer.returncode == 2
    assert "gateway.tokens" in answer.stderr
    assert TOKEN not in answer.stderr


def test_no_secret_is_in_the_log(process: Process, gateway: Asking) -> None:
    gateway.request()
    Asking(process.url, "some-other-secret-token").ask()
    log = process.log.read_text()
    assert "ready on 127.0.0.1" in log
    assert TOKEN not in log
    assert "some-other-secret-token" not in log


def test_a_database_that_is_not_there_is_said_to_be_missing(process: Process, tmp_path: Path) -> None:
    document = yaml.safe_load(process.configuration.read_text()) | {"database": "elsewhere/approvals.db"}
    process.configuration.write_text(yaml.safe_dump(document))
    answer = process.command("list")
    assert answer.returncode == 2
    assert "has the service run yet?" in answer.stderr
