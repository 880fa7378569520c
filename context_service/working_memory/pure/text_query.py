"""A search by words, as its caller writes it: words, "phrases", -minus before either, and "or" between them.

All words must be there, in any form of the analyzer: `KD-2210` is also found as KD2210, and `chiefComplaint` as chief
and complaint. So each word has alternatives, and each alternative is a set of terms. Some forms belong to several
words, such as those of "5 March 2024".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from context_service.retrieval.pure.compounds import PHONE_END, parts_of
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX
from context_service.retrieval.pure.terms import asked_forms, asked_terms, asked_words, folded_words, stems, terms_of

_PREFIX_WORDS_MAX = 10
# A word, or a phrase in quotes, with the minus signs before it. A phrase without a closing quote extends to the end.
_ITEM = re.compile(r'(?P<minus>-*)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_OPERATOR = re.compile(r'"|(?:^|\s)-|\bor\b', re.IGNORECASE)
# Words without the signs that end them. Other signs may join words, such as those of "first_name" and "v1.2.3".
_PIECE = re.compile(r"[^\s/\\()\[\]{},;:!?\"'<>=|&+*]+")
_WINDOW = 8  # a form belongs to at most this many words that follow each other, such as those of a bank account
_PIECES_MAX = 64  # forms of several words are looked for among this many


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A condition on the terms of a record.

    Attributes:
        alternatives: Sets of terms. The record has all terms of one of them.
        phrase: Terms that follow each other in the record; empty if the order does not matter.
        is_negated: The record must not meet the condition.
    """

    alternatives: Sequence[frozenset[str]]
    phrase: tuple[str, ...] = ()
    is_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """A search by words.

    Attributes:
        any_of: The record meets all conditions of one of these lists.
        prefixes: The words that the name of a record may begin its words with instead; empty if the text has operators.
        terms: The terms that count for the rank.
    """

    any_of: Sequence[Sequence[Clause]]
    prefixes: Sequence[str] = ()
    terms: Sequence[str] = ()


@dataclass(slots=True)
class _Reading:
    """The conditions of a text that were read so far."""

    any_of: list[list[Clause]] = field(default_factory=lambda: [[]])
    is_or: bool = False


def has_operators(text: str) -> bool:
    """Say whether a text has quotes, a minus before a word, or "or"."""
    return bool(_OPERATOR.search(text))


def text_query(text: str) -> TextQuery:
    """Return the search that a text asks for. Stop words are no conditions."""
    reading = _Reading()
    for start, end, is_after_or in _stretches(text, reading):
        _begin(reading, is_after_or=is_after_or)
        reading.any_of[-1].extend(_clauses(text[start:end]))
    wanted = [clause for clauses in reading.any_of for clause in clauses if not clause.is_negated]
    spelled = [word.exact for word in asked_words(text) if word.exact]
    terms = dict.fromkeys(term for clause in wanted for terms in clause.alternatives for term in sorted(terms))
    counted = [*list(terms)[:ASKED_TERMS_MAX], *(term for term in spelled[:ASKED_TERMS_MAX])]
    prefixes = [] if has_operators(text) else folded_words(text)[:_PREFIX_WORDS_MAX]
    return TextQuery(
        any_of=[clauses for clauses in reading.any_of if clauses], prefixes=prefixes, terms=list(dict.fromkeys(counted))
    )


def any_word_query(text: str) -> TextQuery:
    """Return the search for records that have any word of a text, such as a question, in any form."""
    terms = list(dict.fromkeys(asked_terms(text)))[:ASKED_TERMS_MAX]
    return TextQuery(any_of=[[Clause(alternatives=[frozenset([term])])] for term in terms], terms=terms)


def _stretches(text: str, reading: _Reading) -> Iterator[tuple[int, int, bool]]:
    """Yield the stretches of plain words, and add the conditions of phrases and of words with a minus."""
    start: int | None = None
    end, is_first, is_after_or = 0, True, False
    for item in _ITEM.finditer(text):
        word, phrase, minus = item["word"], item["phrase"], item["minus"]
        is_or = word is not None and word.lower() == "or" and not minus and not is_first
        if word is not None and not minus and not is_or:
            if start is None:
                start = item.start()
            end, is_first = item.end(), False
            continue
        if start is not None:
            yield start, end, is_after_or
            start, is_after_or = None, False
        if is_or:
            is_after_or = True
            continue
        is_first = False
        _begin(reading, is_after_or=is_after_or)
        is_after_or = False
        clauses = _phrase(phrase) if phrase is not None else _clauses(word)
        reading.any_of[-1].extend(_negated(clauses) if minus else clauses)
    if start is not None:
        yield start, end, is_after_or


def _begin(reading: _Reading, *, is_after_or: bool) -> None:
    """Begin a further list of conditions after "or"."""
    if is_after_or:
        reading.any_of.append([])


def _negated(clauses: Sequence[Clause]) -> list[Clause]:
    """Return one condition that is met where not all of the clauses are."""
    together = frozenset().union(*(clause.alternatives[0] for clause in clauses if clause.alternatives))
    phrase = clauses[0].phrase if len(clauses) == 1 else ()
    alternatives = clauses[0].alternatives if len(clauses) == 1 else [together] if together else []
    return [Clause(alternatives=alternatives, phrase=phrase, is_negated=True)] if any(alternatives) else []


def _phrase(text: str) -> list[Clause]:
    """Return the condition that a record has the words of a phrase, one after the other; nothing for stop words."""
    terms = tuple(terms_of(text))
    return [Clause(alternatives=[frozenset(terms)], phrase=terms)] if len(terms) > 1 else _clauses(text)


def _clauses(text: str) -> list[Clause]:
    """Return a condition for each word of a text; words that have a form together have one condition."""
    pieces = [match.span() for match in _PIECE.finditer(text)]
    alternatives = [_alternatives(text[start:end]) for start, end in pieces]
    windows = _windows(text, pieces[:_PIECES_MAX])
    clauses, place = [], 0
    while place < len(pieces):
        last = place + 1
        for first, after, _ in sorted(windows):  # overlapping windows have one condition
            if first < last:
                last = max(last, after)
        forms = [window for window in windows if place <= window[0] < last]
        together = alternatives[place:last]
        if len(together) == 1:
            sets = [terms for terms in together[0] if terms]
        else:
            plain = frozenset().union(*(sets[0] for sets in together if sets))
            sets = [plain, *(_with_form(together, place, *window) for window in forms)]
        if any(sets):
            clauses.append(Clause(alternatives=list(dict.fromkeys(filter(None, sets)))))
        place = last
    return clauses


def _with_form(
    together: Sequence[Sequence[frozenset[str]]], place: int, first: int, after: int, form: str
) -> frozenset[str]:
    """Return the terms of words of which some are replaced by their common form.

    The end of a phone number stands for all of them, because the country's code may be another one.
    """
    if form.startswith(PHONE_END):
        return frozenset([form])
    rest = [sets[0] for number, sets in enumerate(together, place) if sets and not first <= number < after]
    return frozenset([form]).union(*rest)


def _alternatives(piece: str) -> list[frozenset[str]]:
    """Return the sets of terms that a piece of text is found by: its words, their parts, and the piece as a whole."""
    words = asked_words(piece)
    if not words:
        return []
    own = frozenset(query_word.term for query_word in words)
    forms = asked_forms(piece)
    if not forms:
        return [own]
    cased = _words_in_case(piece)
    parts = {term for word in cased for term in stems(part.casefold() for part in parts_of(word))}
    in_parts = [stems(part.casefold() for part in parts_of(word)) or stems([word.casefold()]) for word in cased]
    by_parts = frozenset(term for terms in in_parts for term in terms)
    wholes = [form for form in forms if form not in parts]
    return list(dict.fromkeys([own, by_parts or own, *(frozenset([form]) for form in _longest(wholes))]))


def _words_in_case(piece: str) -> list[str]:
    """Return the words of a piece as they are written, without the signs between them."""
    return [word for word in re.split(r"[\W_]+", piece) if word]


def _longest(wholes: Sequence[str]) -> list[str]:
    """Return the longest of the forms of a whole piece, and those that are the same thing: a date, a phone's end."""
    longest = max(wholes, key=len, default="")
    return [form for form in wholes if form == longest or "-" in form or form.startswith(PHONE_END)]


def _windows(text: str, pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Return the forms that several pieces have together, each with the first piece and the piece after its last."""
    known = {form for start, end in pieces for form in asked_forms(text[start:end])}
    wanted = [form for form in asked_forms(text) if form not in known]
    windows = []
    for count in range(2, _WINDOW + 1) if wanted else ():
        for first in range(len(pieces) - count + 1):
            forms = asked_forms(text[pieces[first][0] : pieces[first + count - 1][1]])
            for form in [form for form in wanted if form in forms]:
                windows.append((first, first + count, form))
                wanted.remove(form)
    return windows
