"""The terms of a text: the terms by which a search finds a passage.

A term is a word in lower case, reduced to its English stem; stop words are left out. Scripts without spaces between
words give pairs of letters instead, as in the search of records. The index stores a term as a number of `MASK_BITS`
bits, made of its scope and the term: see `mask`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from uuid import UUID

import Stemmer

_STEMS_KEPT = 16 * 1024  # words whose stems are cached
# Only the first characters of a word count. A hash still fits, and a mebibyte without a space is only one short term.
WORD_CHARS_MAX = 64
MASK_BITS = 19

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

# Letters of scripts that put no spaces between words: Chinese, Japanese, Korean as in the search of records
# (`context.paired_letters`), and Thai, Lao, Tibetan, Burmese, Khmer.
_PAIRED = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
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

_stemmers = threading.local()


def terms_of(text: str) -> list[str]:
    """Return the terms by which a text is found, in order and with repetitions."""
    return _stems(_words(text, letters=True))


def asked_terms(text: str) -> list[str]:
    """Return the terms of a query, in order.

    They differ from a text's terms for Chinese and Korean. A text is also found by each letter alone, which may be a
    word, but a query of several letters asks only for pairs of adjacent letters.
    """
    return [term for _, term in asked_words(text)]


def asked_words(text: str) -> list[tuple[str, str]]:
    """Return the words of a query, in order, each with its term."""
    words = [word for word in _words(text, letters=False) if word not in STOP_WORDS]
    return list(zip(words, _stems(words), strict=True))


def words_of(text: str) -> set[str]:
    """Return the distinct words of a text, without stop words."""
    return set(_words(text, letters=False)) - STOP_WORDS


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


def masks(scope: UUID, terms: Iterable[str]) -> list[int]:
    """Return the `mask` of each term, in order."""
    begun = zlib.crc32(scope.bytes)
    return [(zlib.crc32(term.encode(), begun) * _SPREAD & 0xFFFFFFFF) >> _SHIFT for term in terms]


def _words(text: str, *, letters: bool) -> list[str]:
    """Return the words in lower case, each cut to `WORD_CHARS_MAX`."""
    if text.isascii():
        return [word[:WORD_CHARS_MAX] for word in text.translate(_ASCII_LETTERS).split()]
    patterns = _Patterns.get()
    words: list[str] = []
    for word, row in patterns.words.findall(_normalise(text, patterns).lower()):
        if word:
            words.append(word[:WORD_CHARS_MAX])
        else:
            words.extend(_pairs(row, letters=letters))
    return words


def _normalise(text: str, patterns: _Patterns) -> str:
    """Return the text with one form for each letter: wide, joined and composed letters become plain ones."""
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
    """Return the stem of each word, in order; stop words are left out."""
    return list(filter(None, map(_known.__getitem__, words)))


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
        letter = rf"[^\W_{_PAIRED}]"
        self.long_marks = re.compile(f"([{marks}]{{{_MARKS_MAX}}})[{marks}]+")
        self.joiners = re.compile(f"[{_JOINERS}]")
        self.words = re.compile(rf"({letter}(?:{letter}|[{marks}])*|[{_PICTURES}])|([{_PAIRED}]+)")

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
