"""Folds letters: accents are removed, and letters of one alphabet get the form that people type without it.

Letters of Latin, Greek, Cyrillic, Hebrew and Arabic lose their marks. In other scripts, such as Devanagari or Thai,
marks are vowels, so they stay.
"""

from __future__ import annotations

import unicodedata

# Letters of scripts that put no spaces between words: Chinese, Japanese, Korean, Thai, Lao, Tibetan, Burmese, Khmer.
PAIRED = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)

# Letters that Unicode does not decompose, and letters that are written in several ways.
_LETTERS = {
    **{"æ": "ae", "œ": "oe", "ß": "ss", "þ": "th", "ـ": ""},
    **dict(zip("øłđðħŋŧıĸſəƒςґ", "olddhntiksefσг", strict=True)),
    **dict(zip("أإآٱىیکة", "ااااييكه", strict=True)),
}
# Letters that are other letters, not accented ones, although Unicode decomposes them.
_LETTERS_OF_THEIR_OWN = frozenset("йў")
# The exact form of a word has "ue" for "ü" and the like, as languages spell it without accents: then "Müller" and
# "Mueller" find each other, and count more than "Muller" does. Letters with two codes have one.
_SPELLED = {
    **{"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe", "ß": "ss", "ı": "i", "ς": "σ"},
    **{"\u0307": "", "ی": "ي", "ک": "ك", "ـ": ""},
}

# Accents of Latin, Greek and Cyrillic; points of Hebrew; vowels and other signs of Arabic.
_DROPPED = (
    *((0x300, 0x36F), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C7)),
    *((0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6ED)),
)


class _Folds(dict[int, str]):
    """The folded form of each letter, by its code, as `str.translate` takes it; computed at first use."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        folded = _LETTERS.get(letter)
        if folded is None and letter in _LETTERS_OF_THEIR_OWN:
            folded = letter
        if folded is None:
            folded = _fold_digit(letter)
        if not folded and letter not in _LETTERS:
            plain = "".join(mark for mark in unicodedata.normalize("NFD", letter) if not _is_dropped(ord(mark)))
            folded = unicodedata.normalize("NFC", "".join(_LETTERS.get(base, base) for base in plain))
        self[code] = folded
        return folded


_folds = _Folds()
_EAST = "\u2c00"  # no letter from here on is folded, and there are many


class _Spelled(dict[int, str]):
    """The exact form of each letter, by its code; computed at first use."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = spelled = _fold_digit(letter) or _SPELLED.get(letter, letter)
        return spelled


_spelled = _Spelled()


def fold(word: str) -> str:
    """Return a word in lower case without accents, with the digits 0 to 9."""
    return word if word.isascii() or word[0] >= _EAST else word.translate(_folds)


def exact(word: str) -> str:
    """Return the exact form of a word in lower case: with its accents, and with "ue" for "ü" and the like."""
    return word if word.isascii() or word[0] >= _EAST else word.translate(_spelled)


def _fold_digit(letter: str) -> str:
    """Return the digit 0 to 9 that a digit of any script stands for; empty if the letter is no digit."""
    return str(unicodedata.decimal(letter)) if letter.isdecimal() else ""


def _is_dropped(code: int) -> bool:
    return code >= _DROPPED[0][0] and any(first <= code <= last for first, last in _DROPPED)
