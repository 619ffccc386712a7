"""What Odoo's HTML fields keep of what is written into them."""

import html
from html.parser import HTMLParser

_WORDS = "a b blockquote br code div em h1 h2 h3 h4 h5 h6 hr i img li ol p pre span strong table tbody td th tr u ul"
KEPT = frozenset(_WORDS.split(" "))
SILENT = frozenset({"script", "style"})
VOID = frozenset({"br", "hr", "img"})


def sanitized(value: object) -> object:
    """The same without scripts, handlers and unknown tags; bare text becomes a paragraph. Nothing tells that it did."""
    if not isinstance(value, str) or not value:
        return value if value is not None else False
    reader = _Reader()
    reader.feed(value)
    reader.close()
    found = "".join(reader.parts)
    return found if found.lstrip().startswith("<") else f"<p>{found}</p>"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silent += 1
        elif tag in KEPT:
            kept = [(name, "" if (value or "").startswith("javascript:") else value or "") for name, value in attrs]
            shown = "".join(f' {name}="{html.escape(value)}"' for name, value in kept if not name.startswith("on"))
            self.parts.append(f"<{tag}{shown}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in KEPT and tag not in VOID:
            self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(html.escape(data, quote=False))
