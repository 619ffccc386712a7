"""The two languages of the pages: which one a visitor reads, and its words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml
from starlette.requests import Request

LANGUAGES = ("en", "fr")
COOKIE = "approvals_language"
DAY_SECONDS = 86400


@dataclass(frozen=True, slots=True)
class Language:
    """All words of the pages in one language."""

    code: str
    words: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The words of this key with the values in their places."""
        return self.words[key].format(**values)

    def count(self, key: str, number: int, **values: object) -> str:
        """`key.one` or `key.many`; French says one for none as well."""
        one = number <= 1 if self.code == "fr" else number == 1
        return self(f"{key}.{'one' if one else 'many'}", number=number, **values)

    def has(self, key: str) -> bool:
        """Whether there are words for something that another service named."""
        return key in self.words


@cache
def language(code: str) -> Language:
    """The words of one of LANGUAGES."""
    text = (files("approvals") / "pages" / "words" / f"{code}.yml").read_text(encoding="utf-8")
    return Language(code, yaml.safe_load(text))


def language_of(request: Request) -> Language:
    """What the visitor chose on the page, or else what the browser prefers."""
    chosen = request.cookies.get(COOKIE, "")
    return language(chosen if chosen in LANGUAGES else preferred(request.headers.get("accept-language", "")))


def preferred(header: str) -> str:
    """The language of ours with the highest weight in an Accept-Language header; English when it names none."""
    best, best_weight = LANGUAGES[0], 0.0
    for part in header.split(",")[:20]:
        name, _, parameter = part.strip().partition(";")
        code, weight = name.strip().lower().partition("-")[0], _weight(parameter)
        if code in LANGUAGES and weight > best_weight:
            best, best_weight = code, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if not name:
        return 1.0
    try:
        return float(value) if name == "q" else 0.0
    except ValueError:
        return 0.0
