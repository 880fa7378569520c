"""The analyzer: the terms by which texts are found and queries are asked.

A term is a word in lower case and without accents, reduced to its English stem; stop words are left out. Scripts
without spaces between words give pairs of letters instead. Each word gives one term, and their number is the length of
the text. Some words have further forms, which stand after the terms of all words and do not count in the length: the
exact spelling of a word with accents, and the parts and wholes of identifiers, dates and names in code (`compounds`).

The index stores a term as a number of `MASK_BITS` bits, made of its scope and the term: see `mask`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import Stemmer

from context_service.retrieval.pure.compounds import forms_of
from context_service.retrieval.pure.letters import PAIRED, exact, fold

_STEMS_KEPT = 16 * 1024  # words whose stems are cached
# Only the first characters of a word count. A hash still fits, and a mebibyte without a space is only one short term.
WORD_CHARS_MAX = 64
MASK_BITS = 19
_ASKED_CHARS_MAX = 2_000
# Stands between the terms of the words and the further forms, if there are any. `masks` gives it a number of its own.
FORMS_FOLLOW = ""
FORMS_FOLLOW_NUMBER = -1

# CRC is linear. So words that differ in a digit or two, such as numbers, share some of its bits ten times as often as
# by chance. A product with an odd number (2**32 divided by the golden ratio) spreads them over its upper bits.
_SPREAD = 0x9E3779B1
_SHIFT = 32 - MASK_BITS

# The time to normalise a letter grows with the square of the number of its marks (accents), so further marks are
# removed. Unicode has the same limit for streams (UAX 15).
_MARKS_MAX = 30
_MARKS_END = 0x1F000  # no mark has a higher code, except variation selectors

_FORMULAS = (
    # Each of these characters stands for a whole Arabic sentence. They are replaced by a space, because normalisation
    # would make a text of them eighteen times as long.
    "\ufdfa\ufdfb"
)

_PICTURES = "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
# Characters within a word that are removed: the soft hyphen, joiners and non-joiners, and variation selectors.
_JOINERS = "\u00ad\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
# A translation of ASCII texts, which is faster than a regular expression: capitals become lower case, and characters
# that are neither letters nor digits become spaces.
_ASCII_LETTERS = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))

# The stop words, by their role in a sentence. They are as frequent in questions as in answers, so they do not help to
# find an answer.
_GRAMMAR = {
    "articles": "a an the this that these those some any each every all both either neither such same other another",
    "persons": "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself"
    " she her hers herself it its itself they them their theirs themselves one",
    "auxiliaries": "be am is are was were been being have has had having do does did doing done can could will would"
    " shall should may might must ought",
    "directions": "of in on at by for from to into onto with without within about above below over under between"
    " through during before after against among around as out off up down upon than",
    "joints": "and or but nor so if then else because while though although until unless since whether",
    "questions": "what when where which who whom whose why how",
    "shades": "not no yes too very just also only even still again ever here there now more most much many own few",
    # 's 't 're 've 'll 'd 'm, and the letters before n't
    "parts of contractions": "s t re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn"
    " shouldn mustn needn ain",
}
STOP_WORDS = frozenset(word for words in _GRAMMAR.values() for word in words.split())

# A query must have this many stop words of a language to be in it; only its first words are counted.
_STOP_WORDS_MIN, _GUESSED_WORDS = 2, 64

_stemmers = threading.local()


class Analyzed(NamedTuple):
    """A text as the analyzer sees it."""

    terms: list[str]  # one for each word, in order and with repetitions
    forms: list[str]  # further forms, each once

    @property
    def indexed(self) -> tuple[str, ...]:
        """The terms as passages store them."""
        return (*self.terms, FORMS_FOLLOW, *self.forms) if self.forms else tuple(self.terms)


class AskedWord(NamedTuple):
    """A word of a query."""

    word: str  # in lower case
    term: str
    exact: str  # the term of its exact spelling, if that is another one; else empty


def analyzed(text: str) -> Analyzed:
    """Return the terms of a text and its further forms."""
    plain = _normalise(text)
    words = _words(plain, letters=True)
    forms = [*_exact_terms(words), *_forms(plain)]
    return Analyzed(_stems(words), list(dict.fromkeys(forms)) if forms else forms)


def indexed_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text as passages store them."""
    return analyzed(text).indexed


def with_terms(indexed: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the terms of a passage together with those of another text, such as other names of its page."""
    length = length_of(indexed)
    also = analyzed(text)
    forms = dict.fromkeys((*indexed[length + 1 :], *also.forms))
    return Analyzed([*indexed[:length], *also.terms], list(forms)).indexed


def length_of(indexed: Sequence[str]) -> int:
    """Return the length of a passage by its stored terms: the number of its words."""
    return indexed.index(FORMS_FOLLOW) if FORMS_FOLLOW in indexed else len(indexed)


def terms_of(text: str) -> list[str]:
    """Return the terms of a text's words, in order and with repetitions."""
    return _stems(_words(_normalise(text), letters=True))


def findable_terms(text: str) -> list[str]:
    """Return the terms by which a text is found: those of its words, then its further forms."""
    terms, forms = analyzed(text)
    return terms + forms


def asked_terms(text: str) -> list[str]:
    """Return the terms of a query: those of its words in order, then its further forms.

    They differ from a text's terms for Chinese and Korean. A text is also found by each letter alone, which may be a
    word, but a query of several letters asks only for pairs of adjacent letters.
    """
    return [*(word.term for word in asked_words(text)), *asked_forms(text)]


def asked_words(text: str) -> list[AskedWord]:
    """Return the words of a query, in order, each with its term.

    Stop words of English are never terms. Those of another language are left out if the query is in that language: a
    text that shares only "der" with "Wie heißt der Hund?" says nothing about the dog.
    """
    words = _words(_normalise(text), letters=False)
    stop_words = _stop_words_of(words)
    return [
        AskedWord(word, term, "" if word.isascii() else _known[exact(word)] if exact(word) != fold(word) else "")
        for word in words
        if (term := _known[fold(word)]) and fold(word) not in stop_words
    ]


def _stop_words_of(words: Sequence[str]) -> frozenset[str]:
    """Return the stop words of the language of a query, without accents; none for English and for short queries.

    A query is in the language of which it has the most stop words, at least `_STOP_WORDS_MIN`, if other words remain.
    """
    folded = list(map(fold, words[:_GUESSED_WORDS]))
    count, best = max(_STOP_WORDS_MIN - 1, sum(word in STOP_WORDS for word in folded)), frozenset[str]()
    for stop_words in _stop_words():
        if (found := sum(word in stop_words for word in folded)) > count and found < len(folded):
            count, best = found, stop_words
    return best


@cache
def _stop_words() -> list[frozenset[str]]:
    """Return the stop words of each language but English, without accents."""
    lists: dict[str, set[str]] = {}
    for line in Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            language, *words = line.split()
            lists.setdefault(language, set()).update(map(fold, words))
    return list(map(frozenset, lists.values()))


def asked_forms(text: str) -> list[str]:
    """Return the further forms of a query's words, each once: parts and wholes, but not the exact spellings.

    Only the beginning of a long query is read, because a search uses few of its terms.
    """
    return _forms(_normalise(text[:_ASKED_CHARS_MAX]))


def words_of(text: str) -> set[str]:
    """Return the distinct words of a text without accents and without stop words, and the parts of its names."""
    plain = _normalise(text)
    words = {fold(word) for word in _words(plain, letters=False)}
    return words - STOP_WORDS | {form for form in _forms(plain) if form.isalpha()}


def folded_words(text: str) -> list[str]:
    """Return the words of a text in lower case and without accents, in their order, with stop words and repetitions."""
    return [fold(word) for word in _words(_normalise(text), letters=False)]


def stems(words: Iterable[str]) -> list[str]:
    """Return the terms of single words."""
    return _stems(list(words))


def mask(scope: UUID, term: str) -> int:
    """Return the number of `MASK_BITS` bits that stands for a term of a scope in the index; it fits an int4.

    The number is derived from scope and term, so one index serves all scopes without growing with their vocabularies.
    Few bits matter, because a GIN index keeps unused keys for ever. Two terms may share a number: readers check the
    scope, and a wrong term only adds noise. docs/benchmarks.md, "The index of words", says why it has 19 bits; another
    width needs a rebuild of the index (`retrieval rebuild`).
    """
    return (zlib.crc32(term.encode(), zlib.crc32(scope.bytes)) * _SPREAD & 0xFFFFFFFF) >> _SHIFT


def masks(scope: UUID, terms: Collection[str]) -> list[int]:
    """Return the `mask` of each term, in order; `FORMS_FOLLOW` has the same number in all scopes."""
    begun = zlib.crc32(scope.bytes)
    numbers = [(zlib.crc32(term.encode(), begun) * _SPREAD & 0xFFFFFFFF) >> _SHIFT for term in terms]
    if FORMS_FOLLOW in terms:
        numbers[list(terms).index(FORMS_FOLLOW)] = FORMS_FOLLOW_NUMBER
    return numbers


def _words(plain: str, *, letters: bool) -> list[str]:
    """Return the words of a normalised text in lower case, each cut to `WORD_CHARS_MAX`."""
    if plain.isascii():
        return [word[:WORD_CHARS_MAX] for word in plain.translate(_ASCII_LETTERS).split()]
    words: list[str] = []
    for word, row in _Patterns.get().words.findall(plain.casefold()):
        if word:
            words.append(word[:WORD_CHARS_MAX])
        else:
            words.extend(_pairs(row, letters=letters))
    return words


def _forms(plain: str) -> list[str]:
    """Return the terms of the parts and wholes of a normalised text's words, each once."""
    forms = [fold(form.casefold())[:WORD_CHARS_MAX] for form in forms_of(plain)]
    return list(dict.fromkeys(_stems(forms))) if forms else forms


def _exact_terms(words: Iterable[str]) -> Iterator[str]:
    """Yield the terms of the exact spellings of words with accents."""
    for word in words:
        if not word.isascii() and (spelled := exact(word)) != fold(word) and (term := _known[spelled]):
            yield term


def _normalise(text: str) -> str:
    """Return the text with one form for each letter: wide, joined and composed letters become plain ones."""
    if text.isascii():
        return text
    patterns = _Patterns.get()
    text = patterns.long_marks.sub(r"\1", text)
    for formula in _FORMULAS:
        text = text.replace(formula, " ")
    return patterns.joiners.sub("", unicodedata.normalize("NFKC", text))


def _pairs(row: str, *, letters: bool) -> Iterator[str]:
    """Yield each pair of adjacent letters; with `letters`, also each letter that may be a word, before its pair."""
    if len(row) == 1:
        yield row
        return
    for place, letter in enumerate(row):
        if letters and _may_be_word(letter):
            yield letter
        if place + 1 < len(row):
            yield row[place : place + 2]


def _may_be_word(letter: str) -> bool:
    """Say whether a letter may be a word: Chinese or Korean ones may, a Japanese syllable or a Thai letter may not."""
    return "\u3400" <= letter <= "\ufaff" or letter >= "\U00020000"


def _stems(words: list[str]) -> list[str]:
    """Return the stem of each word without its accents, in order; stop words are left out."""
    return list(filter(None, map(_known.__getitem__, map(fold, words))))


class _Stems(dict[str, str]):
    """A cache of the stems of recent words; the stem of a stop word is empty."""

    def __missing__(self, word: str) -> str:
        """Compute and cache the stem of a word that is not in the cache."""
        # Each thread has its own stemmer, because a stemmer writes to a buffer. The stemmer has no cache (0), because
        # this dict is the cache.
        stemmer: Stemmer.Stemmer | None = getattr(_stemmers, "english", None)
        if stemmer is None:
            stemmer = _stemmers.english = Stemmer.Stemmer("english", 0)
        stem: str = "" if word in STOP_WORDS else stemmer.stemWord(word)
        if len(self) >= _STEMS_KEPT:  # a full cache is emptied; common words soon return to it
            self.clear()
        self[word] = stem
        return stem


_known = _Stems()


class _Patterns:
    """The regular expressions for words of texts that are not ASCII, compiled at first use."""

    def __init__(self) -> None:
        marks = _class_of(code for code in range(0x300, _MARKS_END) if unicodedata.category(chr(code)).startswith("M"))
        letter = rf"[^\W_{PAIRED}]"
        self.long_marks = re.compile(f"([{marks}]{{{_MARKS_MAX}}})[{marks}]+")
        self.joiners = re.compile(f"[{_JOINERS}]")
        self.words = re.compile(rf"({letter}(?:{letter}|[{marks}])*|[{_PICTURES}])|([{PAIRED}]+)")

    @staticmethod
    @cache
    def get() -> _Patterns:
        return _Patterns()


def _class_of(codes: Iterable[int]) -> str:
    """Return character codes as ranges, in the form that the brackets of a regular expression take."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
