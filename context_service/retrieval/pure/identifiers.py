"""Identifiers and other names that a question has, such as INV-2043, E0382 or the alias of a page.

An identifier names one thing, so a passage with exactly this identifier comes before all others, whatever else the
question says. Years, amounts, times and words with a hyphen are no identifiers: "2024", "10am", "24-hour". Nor are the
beginnings of longer identifiers: INV-204 is not INV-2043.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from context_service.retrieval.pure.compounds import runs_of
from context_service.retrieval.pure.terms import STOP_WORDS, asked_forms, asked_words, folded_words
from context_service.retrieval.pure.written_dates import dates_of

_T = TypeVar("_T")

_IDENTIFIERS_MAX = 8  # the first identifiers of a question that count
_CHARS_MIN, _DIGITS_MIN, _LONG_DIGITS_MIN = 4, 2, 6
_QUERY_CHARS_MAX = 2_000  # only these first characters are searched for identifiers

# Words with digits that are amounts, times, ordinals or a year with a word.
_AMOUNT = re.compile(
    r"\d+(?:[.,]\d+)*[a-z\u00b0\u00b5]{1,3}|\d+-[a-z]{2,}|(?:mid|early|late|end|pre|post)-(?:19|20)\d\d|\d+-\d+",
    re.IGNORECASE,
)
_SNAKE = re.compile(r"[^\W\d_]{2,}\w*_\w*[^\W_]")
_DATE = re.compile(r"(?:19|20)\d\d[01]\d[0-3]\d|[0-3]\d[01]\d(?:19|20)\d\d")
_VERSION = re.compile(r"[vV]?\d+\.\d+\.\d+.*")


class Identifier(NamedTuple):
    """An identifier of a question, by the indexes of the question's terms.

    Attributes:
        whole: The term of the whole identifier.
        parts: The terms of its parts. A passage must have one of them, too, if there are any, because two terms may
            share a number in the index.
    """

    whole: int
    parts: frozenset[int]


def identifiers_in(text: str, numbers: Mapping[str, int]) -> list[Identifier]:
    """Return the distinct identifiers of a question, at most `_IDENTIFIERS_MAX`.

    Args:
        text: The text of the question.
        numbers: The index of each term of the question.
    """
    identifiers: dict[int, Identifier] = {}
    text = text[:_QUERY_CHARS_MAX]
    for run in runs_of(text):
        if is_identifier(run):
            terms = dict.fromkeys([*(word.term for word in asked_words(run)), *asked_forms(run)])
            there = [term for term in terms if term in numbers]
            if there and (whole := max(there, key=len)) and len(whole) >= _CHARS_MIN:
                parts = frozenset(numbers[term] for term in there if term != whole)
                identifiers.setdefault(numbers[whole], Identifier(numbers[whole], parts))
    for term in _spaced(text):
        if term in numbers:
            identifiers.setdefault(numbers[term], Identifier(numbers[term], frozenset()))
    return list(identifiers.values())[:_IDENTIFIERS_MAX]


def is_identifier(run: str) -> bool:
    """Say whether a word, or words that signs join, is shaped like an identifier."""
    digits = sum(map(str.isdigit, run))
    if not digits:
        return bool(_SNAKE.fullmatch(run))
    if _VERSION.fullmatch(run):
        return not any(dates_of(run))
    letters = sum(map(str.isalpha, run))
    if not letters:
        return digits >= _LONG_DIGITS_MIN and run.isdigit()
    if digits < _DIGITS_MIN or digits + letters < _CHARS_MIN or any(dates_of(run)):
        return False
    return not _AMOUNT.fullmatch(run)


def _spaced(text: str) -> Iterator[str]:
    """Yield the terms of identifiers that are written in groups, such as bank accounts and phone numbers."""
    for form in asked_forms(text):
        if sum(map(str.isdigit, form)) < _LONG_DIGITS_MIN or "-" in form or "." in form or _DATE.fullmatch(form):
            continue
        if not (form.isdecimal() and f"{int(form):,}" in text):  # an amount
            yield form


class NamedIn:
    """Tells which names a text has.

    Args:
        text: A question.
    """

    def __init__(self, text: str) -> None:
        self._words = f" {' '.join(folded_words(text[:_QUERY_CHARS_MAX]))} "

    def __contains__(self, name: str) -> bool:
        """Say whether the text has all words of a name, one after the other."""
        words = _words_of_name(name)
        return bool(words) and f" {words} " in self._words


def named_first(text: str, items: Sequence[_T], aliases_of: Callable[[_T], Iterable[str]]) -> list[_T]:
    """Return items with those first of which a question names an alias; otherwise, their order stays.

    Args:
        text: The question.
        items: The items, the best first.
        aliases_of: Returns the aliases of an item.
    """
    names = NamedIn(text)
    return sorted(items, key=lambda item: not any(alias in names for alias in aliases_of(item)))


@lru_cache(4_096)
def _words_of_name(name: str) -> str:
    """Return the words of a name, or an empty text for a name that has only stop words or a single letter."""
    words = folded_words(name)
    if all(word in STOP_WORDS for word in words) or len("".join(words)) < 2:
        return ""
    return " ".join(words)
