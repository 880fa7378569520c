"""Reads the visible text of HTML, with the parser of the standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from context_service.retrieval.documents.encodings import decoded

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object"})
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike"
    "|strong|sub|sup|time|tt|u|var|wbr"
)
_CELLS = frozenset({"td", "th"})
_VOID = frozenset(  # they have no end
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_ENDS_ITSELF = frozenset({"dd", "dt", "option", "p", "td", "th", "tr"})  # the next element of the name ends them
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
_TOLD = frozenset({"alt", "title", "placeholder"})
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})""", re.IGNORECASE)
_HEAD_BYTES = 4_096  # the charset of a page is looked for in its first bytes
_SPACES = re.compile(r"\s+")
_PIECE_CHARS = 64 * 1024


def text_of_html(data: bytes, charset: str) -> Iterator[str]:
    """Yield the visible text of a page, a line for each block."""
    declared = _CHARSET.search(data[:_HEAD_BYTES])
    text = decoded(data, charset or (declared[1].decode().lower() if declared else ""))
    parser = _Texts()
    for start in range(0, len(text), _PIECE_CHARS):
        parser.feed(text[start : start + _PIECE_CHARS])
        yield parser.take()
    parser.close()
    yield parser.take()


class _Texts(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._unseen = ""  # the name of the invisible element that the parser is in; empty outside of one
        self._depth = 0  # how deep the parser is in elements of this name, which may be nested

    def take(self) -> str:
        """Return the text collected since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def parse_html_declaration(self, i: int) -> int:
        """Treat a declaration that no standard knows, such as `<![x]>`, as a comment, as browsers do."""
        try:
            return super().parse_html_declaration(i)
        except AssertionError:  # the library raises this for an unknown declaration
            return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle the start of an element: a line, a cell, or something invisible."""
        if self._unseen and tag == self._unseen and tag in _ENDS_ITSELF:
            self._unseen = ""
        if self._unseen:
            self._depth += tag == self._unseen
            return
        is_hidden = _is_hidden(attrs)
        if tag in _UNSEEN or (is_hidden and tag not in _VOID):
            self._unseen, self._depth = tag, 1
            return
        if is_hidden:
            return
        self._break(tag)
        for name, value in attrs:
            if name in _TOLD and value:
                self._pieces.append(f" {value} ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle an element without content."""
        if tag not in _UNSEEN and not _is_hidden(attrs):
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._unseen:
            self._depth -= tag == self._unseen
            if not self._depth:
                self._unseen = ""
            return
        self._break(tag)

    def handle_data(self, data: str) -> None:
        """Add a text to the current line, if it is visible; its own line breaks count as spaces."""
        if not self._unseen:
            self._pieces.append(_SPACES.sub(" ", data))

    def _break(self, tag: str) -> None:
        """Separate the texts of two elements: cells by a tab, blocks by a line break, inline elements by nothing."""
        if tag in _CELLS:
            self._pieces.append("\t")
        elif not _INLINE.fullmatch(tag):
            self._pieces.append("\n")


def _is_hidden(attrs: list[tuple[str, str | None]]) -> bool:
    """Return whether an element says itself that browsers do not show it. Style sheets are not read."""
    attributes = dict(attrs)
    return "hidden" in attributes or _HIDDEN.search(attributes.get("style") or "") is not None
