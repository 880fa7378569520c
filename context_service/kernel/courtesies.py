"""Greetings, thanks and assents: texts that ask nothing and tell nothing."""

from __future__ import annotations

from pathlib import Path

_WORDS_MAX = 6
_ASKS_NOTHING_MAX = 10
_CHARS_MAX = 200  # a longer text says more than a courtesy
_PICTURES = frozenset("👍👌🙏👏🎉😊🙂😀❤")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return list(filter(None, map(_letters, text.casefold().split())))


def only_greets(text: str) -> bool:
    """Say whether a text only greets, thanks or agrees; a text without words, such as a thumbs-up, does so, too."""
    words = words_of(text)
    return len(words) <= _WORDS_MAX and all(word in _COURTESIES for word in words)


def asks_nothing(text: str) -> bool:
    """Say whether a text takes up or ends a talk and asks for nothing, such as "Thanks, that's all for today!"."""
    if len(text) > _CHARS_MAX:
        return False
    words = words_of(text)
    if len(words) > _ASKS_NOTHING_MAX or not all(word in _COURTESIES or word in _BETWEEN for word in words):
        return False
    return any(word not in _BETWEEN for word in words) if words else not _PICTURES.isdisjoint(text)


def _letters(word: str) -> str:
    """Return the letters and digits of a word."""
    return "".join(filter(str.isalnum, word))


def _listed(name: str) -> frozenset[str]:
    """Return the words of a file in this folder."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return frozenset(_letters(word) for line in lines if not line.startswith("#") for word in line.split())


_COURTESIES, _BETWEEN = _listed("courtesies.txt"), _listed("between_courtesies.txt")
