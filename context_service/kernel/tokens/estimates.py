"""Estimates how many tokens a text has, for installations without a tokenizer.

Dividing the characters by four is right for English only: for Chinese it gives a fifth, for base64 a third. Here each
kind of character counts as tokenizers count it: a word is one token, a row of letters and digits without words is many,
a Chinese character nearly one. The weights fit o200k_base and cl100k_base; a test compares them with both.
"""

from __future__ import annotations

import re

# Keys, hashes and base64: rows of letters with many digits among them.
_ROW = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_ROW_DIGITS = re.compile(r"[0-9]")
_ROW_DIGITS_SHARE = (0.08, 0.9)
_ROW_CHARS = 1.6  # characters per token in a row of letters and digits

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # `getUserName` has three
_LONG_PIECE = re.compile(r"[A-Z]?[a-z]{10,}|[A-Z]{5,}")
_LONG_PIECE_CHARS = 9
_MORE_CHARS = 4  # for each token of a longer piece
_DIGITS = re.compile(r"[0-9]{1,3}")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_SIGNS_CHARS = 4  # signs per token
_SPACES = re.compile(r"\s{2,}|[\r\n]")
_SPACES_CHARS = 32  # spaces per token
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")

# Tokens for each character: in o200k_base, in cl100k_base. Spaces between words belong to the words.
_SCRIPTS = {
    "\u00aa-\u024f\u1e00-\u1eff": (-0.2, 0.35),  # letters that split a word in two: see _PIECE
    "\u0370-\u03ff\u1f00-\u1fff": (0.41, 0.99),  # Greek
    "\u0400-\u052f": (0.28, 0.55),  # Cyrillic
    "\u0590-\u05ff": (0.37, 1.09),  # Hebrew
    "\u0600-\u06ff\u0750-\u077f": (0.31, 0.82),  # Arabic
    "\u0900-\u0dff": (0.31, 1.3),  # scripts of India
    "\u0e00-\u0eff": (0.42, 0.97),  # Thai, Lao
    "\u3040-\u30ff": (0.68, 0.97),  # Japanese
    "\u1100-\u11ff\uac00-\ud7ff": (0.6, 1.05),  # Korean
    "\u3400-\u9fff\uf900-\ufaff": (0.76, 1.2),  # Chinese
    "\u2010-\u2027\u3000-\u3020\uff00-\uff20": (0.8, 1.0),  # signs
    "\u2600-\u27bf\ufe0f\U0001f000-\U0001faff": (1.3, 2.5),  # pictures
}
_OTHER = (1.2, 1.8)
_CLASSES = [(re.compile(f"[{letters}]"), weights) for letters, weights in _SCRIPTS.items()]


def estimate(text: str, *, older: bool = False) -> int:
    """Return the estimated number of tokens in o200k_base, or with `older` in cl100k_base."""
    rest = _ROW.sub(lambda row: " " if _is_no_word(row.group()) else row.group(), text)
    tokens = (len(text) - len(rest)) / _ROW_CHARS
    tokens += len(_PIECE.findall(rest)) + len(_DIGITS.findall(rest)) + len(_CONTROLS.findall(rest))
    tokens += sum((len(piece) - _LONG_PIECE_CHARS) / _MORE_CHARS for piece in _LONG_PIECE.findall(rest))
    tokens += sum(1 + len(signs) // _SIGNS_CHARS for signs in _SIGNS.findall(rest))
    tokens += sum(1 + len(spaces) // _SPACES_CHARS for spaces in _SPACES.findall(rest))
    if not rest.isascii():
        others = len(rest.encode("ascii", "replace")) - len(rest.encode("ascii", "ignore"))
        for letters, weights in _CLASSES:
            count = len(letters.findall(rest))
            tokens += count * weights[older]
            others -= count
        tokens += others * _OTHER[older]
    return max(round(tokens), 1) if text else 0


def _is_no_word(row: str) -> bool:
    least, most = _ROW_DIGITS_SHARE
    return least <= len(_ROW_DIGITS.findall(row)) / len(row) <= most
