"""Equal things have equal bytes, different ones do not, and nothing a JSON parser can produce makes it fall over."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_gateway.audit import AuditLog, Entry
from mcp_gateway.audit.canonical import argument_bytes, row_bytes
from mcp_gateway.audit.entry import storable
from mcp_gateway.errors import ConfigurationError

safe_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
plain_values = st.one_of(safe_text, st.integers(-(2**53) + 1, 2**53 - 1), st.booleans(), st.none())
any_values = st.recursive(
    st.one_of(st.text(max_size=5), st.integers(), st.floats(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


@given(safe_text, st.lists(safe_text, max_size=3), st.floats(0, 1e11), st.integers(1, 2**52))
@settings(max_examples=200, deadline=None)
def test_the_quick_row_encoder_gives_rfc_8785_bytes(text: str, names: list[str], ms: float, seq: int) -> None:
    entry = storable(Entry("r-1", text, text, text, tuple(names), "d", "ok", ms))
    fields = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
    assert row_bytes(seq, "t", entry) == rfc8785.dumps({**fields, "seq": seq, "time": "t"})


@given(st.dictionaries(safe_text, plain_values, max_size=4))
@settings(max_examples=200, deadline=None)
def test_plain_arguments_give_rfc_8785_bytes(arguments: dict[str, object]) -> None:
    assert argument_bytes(arguments) == rfc8785.dumps(arguments)  # type: ignore[arg-type]


@given(st.dictionaries(st.text(max_size=5), any_values, max_size=4))
@settings(max_examples=300, deadline=None)
def test_whatever_the_arguments_are_they_have_bytes_that_do_not_depend_on_order(arguments: dict[str, object]) -> None:
    backwards = dict(reversed(arguments.items()))
    assert argument_bytes(arguments) == argument_bytes(backwards)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":"\\ud800"}', '{"a":"\\ud801"}'),
        ('{"a":"\\ud800"}', '{"a":"\\\\ud800"}'),
        ('{"a":9007199254740993}', '{"a":9007199254740992}'),
        ('{"a":9007199254740993}', '{"a":["integer","0x20000000000001"]}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":true}', '{"a":1}'),
        ('{"a":NaN}', '{"a":null}'),
        ('{"a":Infinity}', '{"a":-Infinity}'),
        ('{"a":{}}', '{"a":[]}'),
        ('{"\\ud800":1}', '{"\\ud801":1}'),
    ],
)
def test_different_arguments_have_different_bytes(one: str, other: str) -> None:
    assert argument_bytes(json.loads(one)) != argument_bytes(json.loads(other))


def test_equal_numbers_are_equal_however_written() -> None:
    assert argument_bytes({"a": 1.0, "b": 10e2}) == argument_bytes({"b": 1000, "a": 1})


def test_endless_nesting_and_foreign_types_have_bytes_too() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert argument_bytes({"a": deep}) == b"odd:too deep"
    assert b"Path" in argument_bytes({"a": Path("x")})
    assert argument_bytes({"a": 10**5000}).startswith(b"odd:")


def test_digest_depends_on_the_key_and_hides_the_value(tmp_path: Path) -> None:
    one, other = AuditLog.open(tmp_path / "one", None), AuditLog.open(tmp_path / "other", None)
    again = AuditLog.open(tmp_path / "one", None)
    arguments = {"query": "secret"}
    assert one.digest(arguments) == again.digest(arguments) != other.digest(arguments)
    assert len(one.digest(arguments)) == 32
    for log in (one, other, again):
        log.close()


def test_a_key_of_the_wrong_length_is_refused_by_name(tmp_path: Path) -> None:
    AuditLog.open(tmp_path, None).close()
    (tmp_path / "audit.key").write_bytes(b"short")
    with pytest.raises(ConfigurationError, match=r"audit\.key has 5 bytes"):
        AuditLog.open(tmp_path, None)


def test_a_key_left_half_written_by_a_crash_is_made_anew(tmp_path: Path, entry: Callable[..., Entry]) -> None:
    (tmp_path / ".audit.key.new").write_bytes(b"half")
    AuditLog.open(tmp_path, None).close()
    assert len((tmp_path / "audit.key").read_bytes()) == 32
    assert not (tmp_path / ".audit.key.new").exists()


def test_a_key_readable_by_others_is_closed(tmp_path: Path) -> None:
    AuditLog.open(tmp_path, None).close()
    (tmp_path / "audit.key").chmod(0o644)
    AuditLog.open(tmp_path, None).close()
    assert (tmp_path / "audit.key").stat().st_mode & 0o777 == 0o600
