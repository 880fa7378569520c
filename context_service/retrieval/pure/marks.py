"""Marks of a text that ranking uses in addition to its terms: stored as bits, so that ranking reads no text."""

from __future__ import annotations

import re

QUESTION = 1  # the text has a question mark
TIME = 2  # it has a word of time, or a digit
NUMBER = 4  # it has a number as a word, or a digit
PLACE = 8  # it has a capital letter after "in", "at", "to", "from" or "near", which may be the name of a place

_OF_TIME = (
    "yesterday today tonight tomorrow ago last next week weekend weeks month months year years day days morning evening"
    " night mon tues wednes thurs fri satur sun"
)
_OF_NUMBER = (
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million"
    " once twice couple dozen several"
)
_DIGIT = re.compile("[0-9]")
_TIME = re.compile(rf"\b(?:{_OF_TIME.replace(' ', '|')})(?:day)?\b", re.IGNORECASE)
_NUMBER = re.compile(rf"\b(?:{_OF_NUMBER.replace(' ', '|')})\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear)\s{1,4}[A-Z]")


# For ASCII texts, sets of words do the same in a third of the time, because the expressions above try each of their
# words wherever a word begins.
_WORD = re.compile(r"\w+")
_TIME_WORDS = frozenset(f"{word}{ending}" for word in _OF_TIME.split() for ending in ("", "day"))
_NUMBER_WORDS = frozenset(_OF_NUMBER.split())


def marks_of(text: str) -> int:
    """Return the marks of a text as bits. Places and times are recognised in English only."""
    if text.isascii():
        words = _WORD.findall(text.lower())
        has_time, has_number = not _TIME_WORDS.isdisjoint(words), not _NUMBER_WORDS.isdisjoint(words)
    else:
        has_time, has_number = bool(_TIME.search(text)), bool(_NUMBER.search(text))
    return (
        (QUESTION if "?" in text or "\uff1f" in text else 0)
        | (TIME if has_time else 0)
        | (NUMBER if has_number else 0)
        | (TIME | NUMBER if _DIGIT.search(text) else 0)
        | (PLACE if _PLACE.search(text) else 0)
    )
