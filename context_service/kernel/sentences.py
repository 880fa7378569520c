"""Cuts texts into sentences, with the library `sentencex`.

A period ends a sentence unless it belongs to an abbreviation, a number or a quotation, and only a language knows its
abbreviations ("zzgl.", "Mme.", "Dhr."). So the language of a text is guessed first, by its most frequent words; where
they say too little, it is English. docs/architecture.md says why this library was chosen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import sentencex

_PIECE_CHARS = 2_000  # the library's time grows with the square of a text full of quotation marks
_BLANKS_CHARS = 200  # a piece ends at a blank within this many characters before its end
_GUESSED_CHARS, _WORDS_MIN = 2_000, 2
_WORD = re.compile(r"[^\W\d_]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LINE_END = re.compile(r"(?<=\n)")

# Frequent words of languages whose abbreviations the library knows. A word of several languages counts less for each.
_FREQUENT = {
    "en": "the and is to of in for it you that not with on we a be are this",
    "de": "der die das und ist nicht ein eine mit für auf wir ich sie bitte nur auch bei zum zur den dem",
    "fr": "le la les des et est une pas pour dans vous nous je que qui avec sur ne au du",
    "es": "el los las y es una para con por que en del se lo su al como más ya",
    "it": "il gli di che è una per non con del della sono nel alle ma lo si più",
    "nl": "de het een en is niet van voor met op wij ik je naar dat er zijn ook",
    "pt": "o os as um uma não para com do da em que é por ao na no se mais",
    "pl": "nie się i w na do z że jest to po od dla o jak co już",
    "sv": "och att det är en ett inte för på som med av vi jag den till",
    "tr": "ve bir bu için de da ile ne çok daha değil mi saat",
}
_LANGUAGES: dict[str, list[str]] = defaultdict(list)
for _language, _words in _FREQUENT.items():
    for _word in _words.split():
        _LANGUAGES[_word].append(_language)


def sentences_of(text: str, language: str = "") -> list[str]:
    """Return the sentences of a text in their order, without the blanks around them. A line end ends a sentence.

    Args:
        text: The text to cut.
        language: The language code, for a part of a text whose language is known; by default it is guessed.
    """
    readable = text.encode(errors="replace").decode()  # a "?" stands in for each lone surrogate, so positions stay
    language = language or language_of(readable)
    found, end = [], 0
    for piece in _pieces(readable):
        for sentence in sentencex.segment(language, piece):
            found.append(text[end : end + len(sentence)].strip())
            end += len(sentence)
    return [sentence for sentence in found if sentence]


def language_of(text: str) -> str:
    """Guess the language of a text by its frequent words; English if they say too little."""
    head = text[:_GUESSED_CHARS].casefold()
    weights = dict.fromkeys(_FREQUENT, 0.0)
    for word in _WORD.findall(head):
        for language in _LANGUAGES.get(word, ()):
            weights[language] += 1 / len(_LANGUAGES[word])
    best = max(weights, key=lambda language: weights[language])
    if weights[best] >= _WORDS_MIN:
        return best
    return "ru" if _CYRILLIC.search(head) else "en"


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines of a text, and a long line in pieces that end at a blank where there is one."""
    for line in _LINE_END.split(text):
        start = 0
        while len(line) - start > _PIECE_CHARS:
            blank = line.rfind(" ", start + _PIECE_CHARS - _BLANKS_CHARS, start + _PIECE_CHARS)
            end = blank + 1 or start + _PIECE_CHARS
            yield line[start:end]
            start = end
        yield line[start:]
