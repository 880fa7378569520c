"""Cuts a text into the pieces by which it is found: at sentences and paragraphs, each piece once, with its terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from uuid import UUID

from context_service.retrieval.pure.cuts import cut
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.terms import indexed_terms, masks


class TextPiece(NamedTuple):
    """A piece of a text, before it becomes a passage with a place."""

    text: str
    terms: tuple[str, ...]
    marks: int


class NumberedTextPiece(NamedTuple):
    """A piece of a text, with the numbers of its terms in the index of a scope."""

    piece: TextPiece
    numbers: list[int]


def pieces(text: str, *, count: Callable[[str], int], name: str = "") -> Iterator[TextPiece]:
    """Yield the pieces of a text that have a term, in order; a piece that is repeated comes once.

    Args:
        text: The text to cut, of any length.
        count: Returns the number of tokens of a text.
        name: Indexed with each piece, such as the author's name, since people search for authors as often as for words.
    """
    seen: set[tuple[str, ...]] = set()
    for start, end in cut(text, count):
        piece = text[start:end].strip()
        terms = indexed_terms(f"{name}: {piece}" if name else piece)
        if terms and terms not in seen:
            seen.add(terms)
            yield TextPiece(piece, terms, marks_of(piece))


def numbered(text: str, scope_id: UUID, *, count: Callable[[str], int], pieces_max: int) -> list[NumberedTextPiece]:
    """Return the first pieces of a long text with their term numbers. It takes long, so call it in a thread."""
    numbered_pieces: list[NumberedTextPiece] = []
    for piece in pieces(text, count=count):
        if len(numbered_pieces) == pieces_max:
            break
        numbered_pieces.append(NumberedTextPiece(piece, masks(scope_id, piece.terms)))
    return numbered_pieces
