"""JSON that no tool should see becomes a call without arguments and words for the agent."""

import json
import time

import pytest

from mcp_gateway.channels import bodies
from mcp_gateway.channels.bodies import MAX_DEPTH, screen


def call(arguments: str, extra: str = "") -> bytes:
    params = f'{{"name":"probe_echo","arguments":{arguments}{extra}}}'
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"text":"a","times":2}',
        '{"text":"\\ud83d\\ude00 \\u0000"}',
        '{"text":"a [ { [ { quoted"}',
        '{"a":{"text":1},"b":{"text":1}}',
        '{"n":-9223372036854775808,"f":1.5e300}',
        '{"text":"' + "[" * 5000 + '"}',
    ],
)
def test_an_honest_body_goes_on_untouched(arguments: str) -> None:
    body = call(arguments)
    screened = screen(body)
    assert (screened.body, screened.fault, screened.method) == (body, "", "tools/call")
    assert screened.message["params"]["arguments"] == json.loads(arguments)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (call('{"a":1,"a":1}'), bodies.TWICE.format("'a'")),
        (call('{"a":{"b":1,"b":2}}'), bodies.TWICE.format("'b'")),
        (call('{"a":[{"b":1,"b":2}]}'), bodies.TWICE.format("'b'")),
        (call('{"\\u0061":1,"a":2}'), bodies.TWICE.format("'a'")),
        (call("{}", ',"arguments":{}'), bodies.TWICE.format("'arguments'")),
        (call("{}", ',"_meta":{"x":1,"x":2}'), bodies.TWICE.format("'x'")),
        (call('{"a":NaN}'), bodies.NOT_A_NUMBER),
        (call('{"a":-Infinity}'), bodies.NOT_A_NUMBER),
        (call('{"a":1e999}'), bodies.NOT_A_NUMBER),
        (call('{"a":' + "9" * 5000 + "}"), bodies.TOO_LARGE),
        (call('{"a":-' + "9" * 20 + "}"), bodies.TOO_LARGE),
        (call('{"a":"\\ud800"}'), bodies.HALF_CHARACTER),
        (call('{"\\udfff":1}'), bodies.HALF_CHARACTER),
        (call('{"a":"\ud800"}'), bodies.HALF_CHARACTER),
        (call("[]"), bodies.NOT_AN_OBJECT),
        (call("null"), bodies.NOT_AN_OBJECT),
        (call('"x"'), bodies.NOT_AN_OBJECT),
        (call("0"), bodies.NOT_AN_OBJECT),
        (call('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}"), bodies.TOO_DEEP),
        (call('{"a":' + "[" * 200_000 + "]" * 200_000 + "}"), bodies.TOO_DEEP),
        (call('{"a":' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}"), bodies.TOO_DEEP),
    ],
)
def test_a_faulty_call_keeps_its_name_and_id_and_loses_its_arguments(body: bytes, fault: str) -> None:
    screened = screen(body)
    assert screened.fault == fault
    assert json.loads(screened.body) == screened.message
    assert screened.message["id"] == 1
    assert screened.message["params"]["name"] == "probe_echo"
    assert screened.message["params"]["arguments"] == {}


@pytest.mark.parametrize(
    "body",
    [b"", b"x", b"[]", b"1", b"\xff", b'{"method":"tools/call"}', b'{"method":"tools/list","a":1,"a":2}'],
)
def test_what_is_no_call_is_left_for_the_protocol_to_refuse(body: bytes) -> None:
    screened = screen(body)
    assert (screened.body, screened.fault) == (body, "")


def test_endless_nesting_that_is_no_call_ends_as_what_a_parser_refuses() -> None:
    assert screen(b"[" * 100_000).message == {}


def test_the_largest_body_is_looked_at_quickly() -> None:
    began = time.perf_counter()
    screen(b"[" * (1024 * 1024))
    screen(call('{"text":"' + "\\u0041" * 170_000 + '"}'))
    assert time.perf_counter() - began < 5
