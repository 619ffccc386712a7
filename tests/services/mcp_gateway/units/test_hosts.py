"""A Host or Origin is ours only as a whole: nothing that merely begins like one of our names."""

import pytest

from mcp_gateway.policies.hosts import AllowedHosts, names_this_machine, parse_pattern

ALLOWED = AllowedHosts(["127.0.0.1:*", "localhost:*", "[::1]:*", "gw.example", "api.example:8443"])


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("127.0.0.1:8710", True),
        ("127.0.0.1:1", True),
        ("LOCALHOST:80", True),
        ("[::1]:8710", True),
        ("gw.example", True),
        ("api.example:8443", True),
        ("127.0.0.1", False),
        ("127.0.0.1:", False),
        ("127.0.0.1:*", False),
        ("127.0.0.1:70000", False),
        ("127.0.0.1:80,evil.example", False),
        ("127.0.0.1:80@evil.example", False),
        ("127.0.0.1:80.evil.example", False),
        ("127.0.0.1:8710 ", False),
        ("127.0.0.1:٨٠", False),
        ("user@127.0.0.1:80", False),
        ("127.0.0.1.evil.example:80", False),
        ("evil.example#127.0.0.1:80", False),
        ("localhost.:80", False),
        ("gw.example:80", False),
        ("gw.example.", False),
        ("sub.gw.example", False),
        ("api.example", False),
        ("api.example:8444", False),
        ("::1:80", False),
        ("", False),
    ],
)
def test_host(header: str, allowed: bool) -> None:
    assert ALLOWED.host(header) is allowed


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("http://127.0.0.1:3000", True),
        ("https://gw.example", True),
        ("HTTPS://GW.example", True),
        ("null", False),
        ("", False),
        ("https://evil.example", False),
        ("https://gw.example.evil.example", False),
        ("https://gw.example/", False),
        ("https://gw.example/path", False),
        ("https://gw.example, https://evil.example", False),
        ("ftp://gw.example", False),
        ("file://", False),
        ("http://user@gw.example", False),
        ("gw.example", False),
    ],
)
def test_origin(header: str, allowed: bool) -> None:
    assert ALLOWED.origin(header) is allowed


@pytest.mark.parametrize("text", ["", "*", "*.example", "a b", "http://a", "a:b", "a:1:2", "a:70000", "[::1", "a/"])
def test_what_is_no_name_is_refused_as_a_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="host name or address"):
        parse_pattern(text)


def test_an_empty_list_lets_nobody_in() -> None:
    assert AllowedHosts([]).host("127.0.0.1:80") is False


@pytest.mark.parametrize(
    ("header", "here"),
    [
        ("localhost", True),
        ("LOCALHOST:8710", True),
        ("127.0.0.1:8710", True),
        ("127.8.0.1", True),
        ("[::1]:8710", True),
        ("192.0.2.1", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1:80,evil.example", False),
        ("localhost:*", False),
        ("", False),
    ],
)
def test_names_of_this_machine(header: str, here: bool) -> None:
    assert names_this_machine(header) is here
