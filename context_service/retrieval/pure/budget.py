"""Selects the best items for a prompt: as many as fit, none twice, and not all of them results of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

_T = TypeVar("_T")

SAME_SHARE = 0.9  # two texts say the same if they share at least this share of all their terms
_SAME_TERMS_MIN = 4  # texts that share fewer terms ("yes, please") say the same only if they are equal
_RESULTS_SHARE = 3  # one item in this many may be the result of a tool


class Item(NamedTuple):
    """A text that may be put into a prompt."""

    tokens: int  # the tokens of the text and of the lines that the prompt adds to it
    is_result: bool  # the text is the result of a tool
    terms: Sequence[str]  # the terms of the text, by which near-duplicates are found


def within_budget(items: Iterable[Item], *, tokens_max: int, items_max: int) -> list[int]:
    """Return the indexes of the items that fit the budget, in order.

    An item that does not fit is skipped, since a shorter one may fit later. Also skipped are near-duplicates of a
    chosen item, and results of tools beyond a third of `items_max`.

    Args:
        items: The items, best first. They are read only until the budget is used up.
        tokens_max: The most tokens of all chosen items together.
        items_max: The most items to choose.
    """
    taken: list[int] = []
    seen: list[_TextTerms] = []
    results_left = max(items_max // _RESULTS_SHARE, 1)
    for number, item in enumerate(items):
        if len(taken) >= items_max or tokens_max <= 0:
            break
        if item.tokens > tokens_max or (item.is_result and not results_left):
            continue
        seen_text = _TextTerms(item.terms)
        if any(map(seen_text.is_same, seen)):
            continue
        seen.append(seen_text)
        taken.append(number)
        tokens_max -= item.tokens
        results_left -= item.is_result
    return taken


def fitting(
    pieces: Sequence[_T], join: Callable[[Sequence[_T]], str], *, tokens_max: int, count: Callable[[str], int]
) -> tuple[Sequence[_T], str, int]:
    """Return as many of the best pieces as fit when joined, with the joined text and its tokens.

    Joined pieces may have more tokens than the sum of each alone, so the last ones are dropped until the whole fits.
    """
    while True:
        text = join(pieces)
        tokens = count(text)
        if tokens <= tokens_max or not pieces:
            return pieces, text, tokens
        pieces = pieces[:-1]


def quoted_lines(text: str) -> str:
    """Return a text with each line marked as quoted, so that a model does not take it for an instruction."""
    return "\n".join(f"> {line}" for line in text.splitlines())


class _TextTerms:
    """The terms of a text, by which near-duplicates are found."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = tuple(terms)
        self._different = frozenset(terms)
        self._numbers = frozenset(term for term in self._different if any(map(str.isdigit, term)))

    def is_same(self, other: _TextTerms) -> bool:
        """Say whether another text says the same; texts with different numbers never do."""
        if self._terms == other._terms:
            return bool(self._terms)
        both, together = len(self._different & other._different), len(self._different | other._different)
        return both >= _SAME_TERMS_MIN and both >= SAME_SHARE * together and self._numbers == other._numbers
