"""Analyzes a query: its terms, the dates that it names, and whether it asks for a time, a number or a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from context_service.retrieval.pure.identifiers import Identifier, identifiers_in
from context_service.retrieval.pure.letters import fold
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching
from context_service.retrieval.pure.slips import is_tried
from context_service.retrieval.pure.terms import AskedWord, asked_forms, asked_words, stems

CHARS_MAX = 20_000  # only this many characters of a query are read
# The most dates of a query, and how many are collected before repetitions are removed. The limits are needed because
# each date is compared with the day of each passage (.3 us), and because each month is combined with each year.
DAYS_MAX, NAMED_MAX = 32, 2_000

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(
    r"\b(?:(?P<day_before>\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?)?"
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
    r"(?:\.?\s(?P<day_behind>\d{1,2})(?:st|nd|rd|th)?\b(?![:\d]))?",
    re.IGNORECASE,
)
# Words that are not only months. Without a day next to them, they count as months only after "in" or "of".
_VERBS_TOO = frozenset({"may", "march", "mar"})
_BEFORE_MONTH = re.compile(r"\b(?:in|of)\s$", re.IGNORECASE)
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

_ASKS_WHEN = re.compile(r"\s*(?:when|what\s(?:date|year|month|day)|how\slong)\b", re.IGNORECASE)
_ASKS_NUMBER = re.compile(r"\bhow\s(?:many|much|old|often|long)\b", re.IGNORECASE)
_ASKS_PLACE = re.compile(r"\b(?:where|country|city|place|state)\b", re.IGNORECASE)


class Day(NamedTuple):
    """A date that a query names; a part that the query does not name is 0."""

    year: int
    month: int
    day: int

    def closeness(self, date_of_text: date) -> float:
        """Return how well the date of a text fits this date.

        Returns:
            1 if every named part is equal, except for a year alone; .5 if only the year is named and equal, or if a day
            is named and only the month fits; 0 if the year or the month differs.
        """
        if self.year and self.year != date_of_text.year:
            return 0.0
        if not self.month:
            return 0.5
        if self.month != date_of_text.month:
            return 0.0
        return 1.0 if self.day in (0, date_of_text.day) else 0.5


@dataclass(frozen=True)
class AnalyzedQuery:
    """A query with its terms, and with the kind of answer that it asks for.

    Attributes:
        text: The text of the caller, cut to `CHARS_MAX` characters.
        words: The terms of its words, in their order.
        forms: The terms of parts and wholes of its words, such as "kd2210" for "KD-2210", each once.
    """

    text: str
    words: tuple[str, ...]
    forms: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> AnalyzedQuery:
        """Analyze a text as a query; any text, such as a chat message, may be one."""
        text = text[:CHARS_MAX]
        words = asked_words(text)
        query = cls(text=text, words=tuple(word.term for word in words), forms=tuple(asked_forms(text)))
        query.__dict__["_spelled"] = words  # which the cached property would compute again
        return query

    def missing(self, matching: Matching) -> list[str]:
        """Return the words of the query that no passage has, and that similar words may replace.

        Args:
            matching: The rows that the terms of the query found. A term with an estimate is in passages, too.
        """
        there = {number for row in matching.rows for _, number in row.found} | matching.estimated.keys()
        gone = {term for number, term in enumerate(self.terms[:ASKED_TERMS_MAX]) if number not in there}
        words = dict.fromkeys(
            folded for word, term, _ in self._spelled if term in gone and is_tried(folded := fold(word))
        )
        return [word for word in words if not _MONTH.fullmatch(word)]  # months are compared as dates

    def meaning(self, meant: Mapping[str, Sequence[str]]) -> AnalyzedQuery:
        """Return the query with unknown words replaced by the words that may be meant.

        Args:
            meant: For each unknown word, the words that may be meant.
        """
        words = [stem for word, term, _ in self._spelled for stem in (stems(meant.get(fold(word), ())) or [term])]
        return AnalyzedQuery(text=self.text, words=tuple(words), forms=self.forms)

    @cached_property
    def _spelled(self) -> Sequence[AskedWord]:
        """The words as they are written, each with its term."""
        return asked_words(self.text)

    @cached_property
    def terms(self) -> Sequence[str]:
        """The distinct terms: of words in order of first use, then of forms. Rows refer to terms by their indexes."""
        return list(dict.fromkeys((*self.words, *self.forms)))

    @cached_property
    def word_count(self) -> int:
        """The number of terms that words have. The terms after them are of forms, which a text need not have."""
        return len(dict.fromkeys(self.words))

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """The term of the exact spelling by the term of a word: "josé" by "jose".

        A text with the exact spelling has both, so it counts more than a text with the other one.
        """
        return {term: exact for _, term, exact in self._spelled if exact}

    @cached_property
    def identifiers(self) -> Sequence[Identifier]:
        """The identifiers that the query names, such as an order or an error code."""
        return identifiers_in(self.text, {term: number for number, term in enumerate(self.terms[:ASKED_TERMS_MAX])})

    @property
    def identifier_terms(self) -> list[str]:
        """The terms of the identifiers as wholes."""
        return [self.terms[identifier.whole] for identifier in self.identifiers]

    @cached_property
    def days(self) -> Sequence[Day]:
        """The dates that the query names, at most `DAYS_MAX`."""
        return list(islice(dict.fromkeys(islice(self._named_days(), NAMED_MAX)), DAYS_MAX))

    def _named_days(self) -> Iterator[Day]:
        """Yield the dates that the query names, with repetitions; a month is combined with each named year."""
        for match in _ISO_DATE.finditer(self.text):
            yield Day(*map(int, match.groups()))
        rest = _ISO_DATE.sub(" ", self.text)
        years = list(dict.fromkeys(int(year) for year in _YEAR.findall(rest))) or [0]
        has_month = False
        for match in _MONTH.finditer(rest):
            if _is_month(match, rest):
                has_month = True
                day = int(match["day_behind"] or match["day_before"] or 0)
                month = _MONTHS.index(match["month"][:3].lower()) + 1
                for year in years:
                    yield Day(year, month, day)
        if not has_month and years != [0]:
            yield from (Day(year, 0, 0) for year in years)

    @cached_property
    def asks_when(self) -> bool:
        """Whether the query asks for a time."""
        return bool(_ASKS_WHEN.match(self.text))

    @cached_property
    def asks_number(self) -> bool:
        """Whether the query asks for a number."""
        return bool(_ASKS_NUMBER.search(self.text))

    @cached_property
    def asks_place(self) -> bool:
        """Whether the query asks for a place."""
        return bool(_ASKS_PLACE.search(self.text))


def _is_month(match: re.Match[str], text: str) -> bool:
    """Say whether a match is a month: "may" and "march" are one only next to a day, or after "in" or "of"."""
    if match["month"].lower() not in _VERBS_TOO or match["day_before"] or match["day_behind"]:
        return True
    return bool(_BEFORE_MONTH.search(text, max(0, match.start() - 4), match.start()))
