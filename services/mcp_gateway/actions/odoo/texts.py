"""Odoo's descriptions are HTML and an agent's are text: there and back without losing a word or a line."""

import html
import re
from html.parser import HTMLParser

_BLOCKS = frozenset({"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "hr"})
_ROWS = frozenset({"li", "tr"})
_SILENT = frozenset({"script", "style", "head", "template"})
_BLANK = re.compile(r"[ \n\r]+")


def to_html(text: str) -> str:
    """Escaped paragraphs: a blank line parts them, a single line end is a break. Nothing in the text is markup."""
    text = text.strip("\n")
    return "".join(f"<p>{_kept(part)}</p>" for part in text.split("\n\n")) if text.strip() else ""


def to_text(markup: object) -> str:
    """The words of a description with their lines; empty for Odoo's `false`."""
    if not isinstance(markup, str) or not markup:
        return ""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.text()


def _kept(part: str) -> str:
    """HTML folds blank space; a no-break space stays, and comes back as an ordinary one."""
    escaped = html.escape(part, quote=False)
    escaped = re.sub(r"(?m)^ | (?= )| $", "\u00a0", escaped)
    return escaped.replace("\n", "<br>")


class _Reader(HTMLParser):
    """Collects text; blocks are parted by a blank line, rows and breaks by a line end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._line = ""
        self._silent = 0
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag == "br":
            self._line += "\n"
        elif tag in _BLOCKS:
            self._end_block()
        elif tag in _ROWS:
            self._line = self._line.rstrip(" ")
            if self._line and not self._line.endswith("\n"):
                self._line += "\n"
            if tag == "li":
                self._line += "- "
        elif tag in ("td", "th") and self._line and not self._line.endswith(("\n", " ")):
            self._line += " "

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in _BLOCKS:
            self._end_block(keep_empty=tag == "p")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        data = _BLANK.sub(" ", data)
        if not self._line or self._line.endswith(("\n", " ")):
            data = data.removeprefix(" ")
        self._line += data

    def text(self) -> str:
        """Everything read so far."""
        self._end_block()
        return "\n\n".join(self._blocks).replace("\u00a0", " ").strip("\n")

    def _end_block(self, keep_empty: bool = False) -> None:
        block, self._line = self._line.rstrip(" "), ""
        if block or keep_empty:
            self._blocks.append(block)
