"""Passages of search results, with the words of the search marked."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from markupsafe import Markup, escape

CHARS_MAX = 600  # of a passage; a longer one is shown around its first marked word
_WORDS_MAX = 50  # words of a search that are marked
_BEFORE = 120  # characters that are shown before the first marked word
_STEM_CHARS_MIN = 4  # a word that begins with a longer word of the search is marked, too: "hotel" marks "hotels"
_LITTLE_WORDS_CHARS_MAX = 2  # shorter words of Latin letters, such as "in", are not marked
_WORD = re.compile(r"\w+")


def marked(text: str, search: str) -> Markup:
    """Return a passage as HTML, with its words that are words of the search in `<mark>`; all of it is escaped."""
    words = _words_of(search)
    hits = [match for match in _WORD.finditer(text) if _is_of(_folded(match[0]), words)]
    start = max(hits[0].start() - _BEFORE, 0) if hits and len(text) > CHARS_MAX else 0
    end = min(start + CHARS_MAX, len(text))
    parts = [escape("…" if start else "")]
    place = start
    for match in hits:
        if match.end() > end:
            break
        parts += [escape(_shown(text[place : match.start()])), Markup("<mark>{}</mark>").format(_shown(match[0]))]
        place = match.end()
    parts += [escape(_shown(text[place:end])), escape("…" if end < len(text) else "")]
    return Markup("").join(parts)


@lru_cache(maxsize=16)
def _words_of(search: str) -> frozenset[str]:
    folded = list(dict.fromkeys(map(_folded, _WORD.findall(search))))
    return frozenset(
        [word for word in folded if len(word) > _LITTLE_WORDS_CHARS_MAX or not word.isascii()][:_WORDS_MAX]
    )


def _is_of(word: str, words: frozenset[str]) -> bool:
    return word in words or any(word[:length] in words for length in range(_STEM_CHARS_MIN, len(word)))


def _folded(word: str) -> str:
    """Return a word in small letters without accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
