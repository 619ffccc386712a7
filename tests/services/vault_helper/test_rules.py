"""The rules for paths and texts, case by case."""

import unicodedata
from pathlib import Path

import pytest

from vault_helper import shell

READABLE = [
    "a.md",
    "inbox/a.md",
    "inbox/sub/éà.md",
    "inbox/-rf.md",
    "inbox/--help.md",
    "inbox/太陽.md",
    "inbox/a b.md",
    "inbox/a'b$(id)`id`;&.md",
    "inbox/100%.md",
    "inbox/a..b.md",
    "inbox/~home.md",
    "inbox/" + "x" * 252 + ".md",
    "inbox/👩‍💻.md",
]
MISSHAPEN = [
    "",
    "/etc/passwd",
    "/inbox/a.md",
    "../a.md",
    "inbox/../../x.md",
    "inbox/..",
    "inbox/./a.md",
    "inbox//x.md",
    "inbox/a.md/",
    "inbox/a.md/.",
    "inbox\\a.md",
    "..\\a.md",
    "inbox/a\0.md",
    "inbox/a\n.md",
    "inbox/a\r.md",
    "inbox/a\x7f.md",
    "inbox/a\x85.md",
    "inbox/a\u2028.md",
    "inbox/\u202egnp.md",
    "inbox/\u2066a.md",
    "inbox/\u200fa.md",
    "inbox/\ufeffa.md",
    "inbox/\ud800.md",
    ".git/hooks/x.md",
    "inbox/.git/hooks/x.md",
    ".obsidian/x.md",
    ".trash/x.md",
    "inbox/.hidden.md",
    "inbox/a.md ",
    "inbox/a.md.",
    "inbox /a.md",
    "inbox./a.md",
    "inbox/e\u0301.md",
    "inbox/a<b.md",
    "inbox/a>b.md",
    "inbox/a:b.md",
    'inbox/a"b.md',
    "inbox/a|b.md",
    "inbox/a?b.md",
    "inbox/a*b.md",
    "C:/a.md",
    "inbox/%2e%2e/%2e%2e/etc/passwd.md",
    "inbox/..%2f..%2fx.md",
    "inbox/a%2fb.md",
    "inbox/%5cx.md",
    "inbox/%00.md",
    "inbox/" + "x" * 253 + ".md",
    "inbox/" + "é" * 127 + ".md",
    "/".join(["x" * 200] * 18),
]


@pytest.mark.parametrize("path", READABLE)
def test_well_shaped_paths_pass(path: str) -> None:
    assert shell.path_fault(path) is None


@pytest.mark.parametrize("path", MISSHAPEN)
def test_misshapen_paths_are_refused_in_words(path: str) -> None:
    fault = shell.path_fault(path)
    assert fault
    assert fault.isascii()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("research/a.md", True),
        ("research/deep/er/a.md", True),
        ("research2/a.md", False),
        ("research.md", False),
        ("a.md", False),
        ("elsewhere/research/a.md", False),
        ("RESEARCH/a.md", False),
        ("research/a.txt", False),
        ("research/a", False),
        ("research/a.MD", False),
        ("research/a.md.exe", False),
        ("research/secret/a.md", False),
        ("research/secrets/a.md", True),
        ("research/CON.md", False),
        ("research/con.tar.md", False),
        ("research/aux/a.md", False),
        ("research/LPT1.md", False),
        ("research/console.md", True),
        ("research/GIT~1/a.md", False),
        ("notes/été/a.md", True),
    ],
)
def test_writes_need_an_open_folder_and_a_name_every_device_can_store(path: str, allowed: bool) -> None:
    writable = ("research/", unicodedata.normalize("NFD", "notes/été/"))
    assert (shell.write_fault(path, writable, ("research/secret/",)) is None) is allowed


def test_no_writable_folder_means_nothing_can_be_written() -> None:
    assert "no folder is open" in str(shell.write_fault("inbox/a.md", (), ()))


def test_deny_wins_over_a_folder_open_for_writing() -> None:
    assert shell.write_fault("inbox/a.md", ("inbox/",), ("inbox/",))


@pytest.mark.parametrize("prefix", ["research", "/research/", "../", "./", "a//b/", ".git/", "a\\/", "", "/", "a*/"])
def test_odd_prefixes_are_refused(prefix: str) -> None:
    assert shell.prefix_fault(prefix)


@pytest.mark.parametrize(
    ("one", "other", "twins"),
    [
        ("Note.md", "note.md", True),
        ("café.md", "cafe\u0301.md", True),
        ("CAFÉ.md", "cafe\u0301.md", True),
        ("straße.md", "STRASSE.md", True),
        ("a.md", "b.md", False),
        ("cafe.md", "café.md", False),
    ],
)
def test_twins_differ_only_in_case_or_normal_form(one: str, other: str, twins: bool) -> None:
    assert (shell.twin_key(one) == shell.twin_key(other)) is twins


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", None),
        (b"a\tb\r\nc\n", None),
        ("\ufeffé 👩\u200d💻 \u202e".encode(), None),
        (b"x" * 150_000, None),
        ("😀".encode() * 37_500, None),
        (b"x" * 150_001, "__TOO_LARGE__"),
        ("😀".encode() * 37_501, "__TOO_LARGE__"),
        (b"\xff\xfe", "__BAD_ARGUMENT__"),
        (b"caf\xe9", "__BAD_ARGUMENT__"),
        (b"\xed\xa0\x80", "__BAD_ARGUMENT__"),
        (b"a\0b", "__BAD_ARGUMENT__"),
        (b"a\x1bb", "__BAD_ARGUMENT__"),
        ("a\x85b".encode(), "__BAD_ARGUMENT__"),
    ],
)
def test_content_is_text_of_bounded_size(content: bytes, code: str | None) -> None:
    refusal = shell.content_refusal(content)
    assert (refusal and refusal.code) == code


@pytest.mark.parametrize(
    ("text", "size", "end"),
    [
        ("abcdef", 3, 3),
        ("abc", 3, 3),
        ("abc", 30, 3),
        ("ab\r\ncd", 3, 2),
        ("abe\u0301f", 3, 2),
        ("a👩\u200d💻b", 2, 1),
        ("a👩\u200d💻b", 3, 1),
        ("ab👍🏽c", 3, 2),
        ("e" + "\u0301" * 200, 100, 36),
    ],
)
def test_a_page_never_tears_a_letter(text: str, size: int, end: int) -> None:
    assert shell.page_end(text, 0, size) == end


def test_pages_put_together_are_the_text() -> None:
    text = "e\u0301" * 50 + "\r\n" * 50 + "👩\u200d💻" * 20
    parts, start = [], 0
    while start < len(text):
        end = shell.page_end(text, start, 7)
        parts.append(text[start:end])
        start = end
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 7


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "__EMPTY_QUERY__"),
        (" \t", "__EMPTY_QUERY__"),
        ("a\nb", "__BAD_QUERY__"),
        ("a\rb", "__BAD_QUERY__"),
        ("a\0b", "__BAD_QUERY__"),
        ("a\ud800b", "__BAD_QUERY__"),
        ("a" * 501, "__BAD_QUERY__"),
        (" a ", None),
        ("-e", None),
        ("é" * 500, None),
    ],
)
def test_queries_are_one_line_of_text(query: str, code: str | None) -> None:
    refusal = shell.query_refusal(query)
    assert (refusal and refusal.code) == code


def test_patterns_are_plain_text_in_both_normal_forms() -> None:
    assert shell.search_patterns(r"a\E.*[") == b"a\\\\E\\.\\*\\[\n"
    assert shell.search_patterns("é") == "é\ne\u0301\n".encode()


@pytest.mark.parametrize("separator", [b"\0", b":"])
def test_matches_are_read_from_the_output_of_old_and_new_git(separator: bytes) -> None:
    raw = b"a b.md\0" + b"12" + separator + b"3" + separator + "xxé: y".encode()
    assert shell.parsed_match(raw) == shell.Match("a b.md", 12, "xxé: y")


def test_a_long_line_is_clipped_around_its_hit() -> None:
    line = "a" * 5000 + "HIT" + "b" * 5000
    text = shell.clipped(line, 5000)
    assert "HIT" in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) <= shell.MATCH_CHARACTERS + 2


def test_a_conflict_note_lies_beside_and_never_takes_a_taken_or_overlong_name() -> None:
    receipt = "r-" + "a" * 26
    assert shell.conflict_path("inbox/a.md", receipt, lambda _: False) == f"inbox/a.conflict-{receipt}.md"
    assert shell.conflict_path("a.md", receipt, lambda p: "-2" not in p).endswith("-2.md")
    long = shell.conflict_path("inbox/" + "é" * 126 + ".md", receipt, lambda _: False)
    assert len(long.removeprefix("inbox/").encode()) <= 255


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://git.example/v.git", False),
        ("ssh://git@git.example/v.git", False),
        ("git@git.example:v.git", False),
        ("../remote.git", False),
        ("/srv/remote.git", False),
        ("file:///srv/remote.git", False),
        ("ext::sh -c id", True),
        ("git@x::y", True),
        ("--upload-pack=id", True),
        ("ssh://-oProxyCommand=id/x", True),
        ("gopher://x", True),
        ("evil.git", True),
        (".", True),
        ("/vault/evil.git", True),
    ],
)
def test_remotes_of_unknown_kinds_are_not_used(url: str, refused: bool) -> None:
    assert bool(shell.url_fault(url, Path("/vault"))) is refused


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("fatal: unable to access 'https://joe:pw@h/x/': Could not resolve host: h", "does not answer"),
        ("ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote", "does not answer"),
        ("git@h: Permission denied (publickey).", "refused the login"),
        ("fatal: could not read Username for 'https://joe:pw@h': terminal prompts disabled", "refused the login"),
        ("fatal: '/x' does not appear to be a git repository", "not there"),
        ("! [remote rejected] main -> main (pre-receive hook declined)", "refused the push"),
        ("something odd", "something odd"),
        ("", "no reason"),
    ],
)
def test_push_failures_are_told_in_plain_words_without_credentials(stderr: str, words: str) -> None:
    reason = shell.push_reason(stderr)
    assert words in reason
    assert "pw" not in reason


def test_rewriting_a_commit_keeps_author_and_message_and_drops_the_signature() -> None:
    raw = (
        b"tree t1\nparent p1\nauthor A <a> 1 +0000\ncommitter B <b> 2 +0000\nencoding latin1\n"
        b"gpgsig -----BEGIN\n line\n -----END\n\nSubject\n\ncaf\xe9\n"
    )
    assert shell.rewritten(raw, "t2", "p2", "C <c> 3 +0000", "Talaria-Conflict: x\n") == (
        b"tree t2\nparent p2\nauthor A <a> 1 +0000\ncommitter C <c> 3 +0000\nencoding latin1\n\n"
        b"Subject\n\ncaf\xe9\nTalaria-Conflict: x\n"
    )


def test_settings_name_every_fault_at_once() -> None:
    with pytest.raises(shell.Misconfigured) as caught:
        shell.Settings.from_mapping(
            {"repository": "vault", "writable_prefixes": ["inbox"], "git_name": "a\nb", "colour": "red"}
        )
    for key in ("repository", "writable_prefixes", "git_name", "colour"):
        assert key in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("rev-parse", "-q", "HEAD"), "rev-parse"),
        ((*shell.QUIET, "update-ref", "-m", "x", "refs/heads/main"), "update-ref"),
        (("--literal-pathspecs", "rev-list", "--stdin"), "rev-list"),
        (("--version",), ""),
    ],
)
def test_a_failure_of_git_names_what_it_was_to_do(arguments: tuple[str, ...], word: str) -> None:
    assert shell.verb(arguments) == word
