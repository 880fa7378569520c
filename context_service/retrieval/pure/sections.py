"""Cuts Markdown into sections, and sections into the pieces by which a page is found. Values in, values out.

A section begins at a heading that is marked by `#`, and ends at the next one of any level; a fenced block counts as
text. Each section is cut by itself. It is also found by the page's title and the headings above it, because a
paragraph that says "within 30 days" may stand below "Refunds".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.terms import indexed_terms, with_terms
from context_service.retrieval.pure.text_pieces import TextPiece, pieces

HEADING_CHARS_MAX = 200  # a heading, together with the headings above it, is cut to this length
BETWEEN = " > "  # stands between a heading and the heading above it

_LEVEL_MAX = 6
_INDENT_MAX = 3  # spaces; a line with more is code
_FENCE_CHARS_MIN = 3


class Section(NamedTuple):
    """The text below a heading, up to the next one."""

    heading: str  # the heading after the headings above it; empty before the first heading
    text: str
    start: int = 0  # where the section begins in the whole text, in characters


class PagePiece(NamedTuple):
    """A piece of a page, before it becomes a passage with a place."""

    section: int  # by its number, from 0
    piece: TextPiece


def sections(markdown: str) -> Iterator[Section]:
    """Yield the sections of a text, in order. The first is the text above all headings, and may be empty."""
    above: list[tuple[int, str]] = []  # the current heading and those above it: level and text, by increasing level
    lines: list[str] = []
    heading, fence, start, end = "", "", 0, 0
    for line in markdown.splitlines(keepends=True):
        end += len(line)
        mark = _fence(line)
        if fence:
            if mark.startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark
        elif (match := _heading(line)) is not None:
            yield Section(heading, "".join(lines), start)
            start = end
            level, text = match
            above = [*((other, heading_text) for other, heading_text in above if other < level), (level, text)]
            heading, lines = (
                BETWEEN.join(heading_text for _, heading_text in above if heading_text)[:HEADING_CHARS_MAX].strip(),
                [],
            )
            continue
        lines.append(line)
    yield Section(heading, "".join(lines), start)


def cut(
    title: str, aliases: Sequence[str], parts: Sequence[Section], *, count: Callable[[str], int]
) -> Iterator[PagePiece]:
    """Yield the pieces by which a page is found: at least one. The first piece also has the terms of the aliases.

    Args:
        title: The title of the page.
        aliases: The other names of the page.
        parts: The sections of the page, in order.
        count: Returns the number of tokens of a text.
    """
    also = " ".join(aliases)
    is_first = True
    seen: set[tuple[str, ...]] = set()
    for number, part in enumerate(parts):
        name = BETWEEN.join(filter(None, (title, part.heading)))
        match = list(pieces(part.text, count=count, name=name)) if part.text.strip() else []
        if not match and part.heading:
            match = [_piece_under(part.heading, name)]
        for piece in match:
            if piece.terms in seen:
                continue
            seen.add(piece.terms)
            yield PagePiece(number, piece._replace(terms=with_terms(piece.terms, also)) if is_first else piece)
            is_first = False
    if is_first:
        yield PagePiece(0, _piece_under(title, " ".join([title, *aliases])))


def _piece_under(text: str, name: str) -> TextPiece:
    return TextPiece(text, indexed_terms(name), marks_of(text))


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading; None if the line is not a heading."""
    text = line.strip()
    if not text.startswith("#") or _indent(line) > _INDENT_MAX:
        return None
    rest = text.lstrip("#")
    level = len(text) - len(rest)
    if level > _LEVEL_MAX or (rest and not rest[0].isspace()):
        return None
    closed = rest.rstrip("#")
    if closed != rest and (not closed or closed[-1].isspace()):
        rest = closed
    return level, " ".join(rest[: 2 * HEADING_CHARS_MAX].split())[:HEADING_CHARS_MAX]


def _fence(line: str) -> str:
    """Return the marks with which a line opens or closes a code fence; empty if it does neither."""
    text = line.lstrip(" ")
    if text[:1] not in ("`", "~") or _indent(line) > _INDENT_MAX:
        return ""
    marks = text[: len(text) - len(text.lstrip(text[0]))]
    return marks if len(marks) >= _FENCE_CHARS_MIN else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
