"""Messages as people read them: their Markdown rendered, with nothing in it that runs, loads, or pretends.

HTML is text. A picture is the link that its author wrote, since a page loads nothing from other hosts. Links lead to
web pages and mail addresses alone, and their titles say where. A text that a rendering would shorten, or for which the
page's time is up, is shown as it was written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextvars import ContextVar
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

CHARS_MAX = 10_000  # of a rendered text: hostile ones take time that grows with the square of it
PAGE_S = 0.5  # seconds of CPU of one page; later texts are shown as they were written
NESTING_MAX = 40  # the parser leaves out blocks that are nested deeper

_KEPT = 512  # texts whose rendering is kept: a thread asks for its page every few seconds
_LINK = re.compile(r"(https?://|mailto:)", re.IGNORECASE)

_spent_s: ContextVar[float] = ContextVar("prose_spent_s", default=0.0)


def begin_page() -> None:
    """Begin to count the time of a page."""
    _spent_s.set(0.0)


def prose(text: str) -> Markup:
    """Return a text with its Markdown rendered, or as it was written."""
    if len(text) > CHARS_MAX or _spent_s.get() > PAGE_S:
        return _as_written(text)
    began = time.thread_time()
    rendered = _rendered(text)
    _spent_s.set(_spent_s.get() + time.thread_time() - began)
    return _as_written(text) if rendered is None else rendered


def _as_written(text: str) -> Markup:
    return Markup('<div class="written">{}</div>').format(escape(text))


@lru_cache(maxsize=_KEPT)
def _rendered(text: str) -> Markup | None:
    """Return a rendered text, or None if the rendering would leave out a part."""
    tokens = _PARSER.parse(text)
    if any(token.level >= NESTING_MAX - 2 for token in tokens):
        return None
    _change(tokens)
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))  # noqa: S704 - the parser escapes all texts


def _change(tokens: Sequence[Token]) -> None:
    """Make headings paragraphs, so that those of the page stay its outline; name addresses of links; use no styles."""
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            if token.nesting == 1:
                token.attrSet("class", f"heading {token.tag}")
            token.tag = "p"
        if token.type == "link_open":
            token.attrSet("rel", "noreferrer noopener nofollow")
            token.attrSet("title", str(token.attrGet("href")))
        if style := token.attrs.pop("style", ""):  # of a column of a table; the page's policy allows no styles
            token.attrSet("class", f"column-{str(style).rpartition(':')[2].strip()}")
        _change(token.children or ())


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING_MAX})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return parser


_PARSER = _parser()
