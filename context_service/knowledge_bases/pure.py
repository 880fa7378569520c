"""Cuts the text of a document into passages, and finds the page and heading of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple
from uuid import UUID

from context_service.retrieval.pure.cuts import cut
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.sections import BETWEEN, Section, sections
from context_service.retrieval.pure.terms import indexed_terms, length_of, masks
from context_service.retrieval.pure.text_pieces import TextPiece

SECTIONS_MAX = 2_000  # if a text has more headings, they count as text

_MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
_MARKDOWN_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})


class DocumentPiece(NamedTuple):
    """A passage of a document, and its position in it."""

    section: int  # the number of the section, from 0
    start: int  # in characters
    end: int
    page: int  # from 1; 0 if it is unknown
    piece: TextPiece
    numbers: Sequence[int]  # the numbers of its indexed terms, in the scope of the base


@dataclass(frozen=True, slots=True, kw_only=True)
class CutDocument:
    """A document that was cut into passages."""

    headings: Sequence[str]  # the heading of each section
    pieces: Sequence[DocumentPiece]


def is_markdown(name: str, content_type: str) -> bool:
    """Return whether lines of a text that begin with `#` are headings."""
    bare = content_type.partition(";")[0].strip().lower()
    return bare in _MARKDOWN_TYPES or PurePosixPath(name).suffix.lower() in _MARKDOWN_SUFFIXES


def cut_document(
    name: str,
    content_type: str,
    text: str,
    page_starts: Sequence[int],
    *,
    scope_id: UUID,
    count: Callable[[str], int],
) -> CutDocument:
    """Return the passages of a document. For a long document, call this in a thread.

    Args:
        name: The name of the document; each passage can be found by it, as by the headings above the passage.
        content_type: The media type of the document; empty if it is unknown.
        text: The whole text of the document.
        page_starts: The position of each page's first character in the text; empty if it is unknown.
        scope_id: The id of the document's knowledge base.
        count: A function that counts the tokens of a text.
    """
    parts = list(sections(text)) if is_markdown(name, content_type) else []
    if not 0 < len(parts) <= SECTIONS_MAX:
        parts = [Section("", text)]
    headings = [part.heading for part in parts]
    if page_starts:  # cut each page by itself, so that no piece is on two pages
        parts = [Section("", text[start:end], start) for start, end in pairwise((*page_starts, len(text)))]
        headings = [""]
    return CutDocument(
        headings=headings,
        pieces=[
            DocumentPiece(
                0 if page_starts else number,
                start,
                end,
                number + 1 if page_starts else 0,
                piece,
                masks(scope_id, piece.terms),
            )
            for number, start, end, piece in _pieces(name, parts, count)
        ],
    )


def _pieces(
    name: str, parts: Sequence[Section], count: Callable[[str], int]
) -> Iterator[tuple[int, int, int, TextPiece]]:
    """Yield each piece that has a term, with its section and position; repeated texts are yielded once."""
    seen: set[tuple[str, ...]] = set()
    for number, part in enumerate(parts):
        above = BETWEEN.join(filter(None, (name, part.heading)))
        of_name = length_of(indexed_terms(above))
        for start, end in cut(part.text, count):
            whole = part.text[start:end]
            text = whole.strip()
            terms = indexed_terms(f"{above}: {text}")
            if (
                length_of(terms) <= of_name or terms in seen
            ):  # the piece has no term of its own, or repeats another piece
                continue
            seen.add(terms)
            begin = part.start + start + len(whole) - len(whole.lstrip())
            yield number, begin, begin + len(text), TextPiece(text, terms, marks_of(text))
