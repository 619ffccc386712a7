"""The test double answers as Odoo did; named a real server, the same records are held against that."""

import xmlrpc.client
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load((Path(__file__).parents[3] / "stand_ins" / "odoo" / "cases.yml").read_text(encoding="utf-8"))
USERS = {user: pytest.mark.users(user) for user in ("worker", "noemp", "limited")}
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["case"], marks=[USERS[case["as"]]] if "as" in case else []) for case in CASES],
)
async def test_the_test_double_answers_as_odoo_did(case: dict[str, Any], system: Any, raw: Any) -> None:
    if case.get("transport", system.transport) != system.transport:
        return
    kept: dict[str, Any] = {}
    for step in case["steps"]:
        user = step.get("as", case.get("as", "")) or system.login
        ask = raw(user)
        if ask.release not in case.get("releases", [17, 18, 19]):
            return
        model, _, method = step["ask"].rpartition(".")
        named = _filled(step.get("named", {}), kept)
        ids = _filled(step.get("ids"), kept)
        if "fault" in step:
            code, status, kind, words = _filled(step["fault"], kept)
            with pytest.raises(xmlrpc.client.Fault) as caught:
                ask(model, method, ids, **named)
            text = str(caught.value.faultString)
            if system.transport == "json2":
                assert (caught.value.faultCode, kind in text) == (status, True), text
            else:
                assert caught.value.faultCode == code, text
                assert code != 1 or kind in text
            assert words in text
            continue
        result = ask(model, method, ids, **named)
        if "keep" in step:
            kept[step["keep"]] = result[0]
        else:
            assert result == _filled(step["result"], kept)


def _filled(value: Any, kept: dict[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith("$"):
            return kept[value[1:]]
        for name, record in kept.items():
            value = value.replace(f"${name},", f"{record},")
        return value
    if isinstance(value, dict):
        return {key: _filled(part, kept) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, kept) for part in value]
    return value


async def test_the_test_double_says_that_it_is_one(start: Any, http: Any) -> None:
    answer = http.get(f"{start('19')}/web/health")
    assert answer.headers["X-Test-Double"] == "odoo"
