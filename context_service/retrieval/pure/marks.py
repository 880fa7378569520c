"""Marks of a text that ranking uses in addition to its terms: stored as bits, so that ranking reads no text."""

from __future__ import annotations

import re

QUESTION = 1  # the text has a question mark
TIME = 2  # it has a word of time, or a digit
NUMBER = 4  # it has a number as a word, or a digit
PLACE = 8  # it has a capital letter after "in", "at", "to", "from" or "near", which may be the name of a place
RULE = 16  # it asks for something each time: "Always name the price when I ask for offers."
PREFERENCE = 32  # the speaker says what they like, prefer, decided or avoid
# It names a time by its distance from the day on which it is said, such as "last month".
DAY_AGO, WEEK_AGO, MONTH_AGO, YEAR_AGO, WEEK_AHEAD, MONTH_AHEAD = 64, 128, 256, 512, 1024, 2048
IMPORTED = 4096  # nothing confirms its author: the message comes from an archive, or from another system

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

# A rule must say both: that it holds always, and that it is about what the speaker asks or does.
_HOLDS = re.compile(
    r"(?:^|[.!?:;\n]\s{0,4}|\b(?:please|and|but|so|also|then|you (?:should|must)),?\s)(?:please\s)?"
    r"(?:always|never|don't ever|do not ever|from now on|going forward|in (?:the )?future|whenever"
    r"|(?:every|each|any) ?time"
    r"|(?:make|be) sure to always|remember to always)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:when(?:ever)?|if|(?:every|each|any) ?time|before|after|unless)\s(?:i|we|you)\b"
    r"|\b(?:to|for|with) me\b|\b(?:your|my) (?:answers?|replies|responses?|questions?|requests?)\b|\bfrom now on\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:'d|'m|'ve)?\s(?:[a-z]{1,20}\s){0,2}?(?:prefer(?:red)?|love|like|enjoy|hate|dislike|avoid|favou?r|rather"
    r"|prioriti[sz](?:e|ed|ing)|can't stand|opt(?:ed)? for|choose|chose|decided)\b"
    r"|\bmy (?:preference|priority|favou?rite)\b|\bi(?:'m| am) (?:more of|a fan|allergic|vegan|vegetarian)\b",
    re.IGNORECASE,
)
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DISTANCES = (
    (DAY_AGO, r"yesterday|last night|the other day"),
    (WEEK_AGO, rf"last (?:week|weekend|{_WEEKDAY})|a week ago|(?:few|couple of|\d) days ago"),
    (MONTH_AGO, r"last month|a month ago|(?:few|couple of|two|three|\d) weeks ago"),
    (YEAR_AGO, r"last (?:year|spring|summer|autumn|fall|winter)|a year ago"),
    (WEEK_AHEAD, rf"tomorrow|next (?:week|weekend|{_WEEKDAY})|in a week"),
    (MONTH_AHEAD, r"next month|in a month|in (?:a few|two|three|\d) weeks"),
)
_DISTANCE = re.compile("|".join(rf"(?P<d{mark}>\b(?:{words})\b)" for mark, words in _DISTANCES), re.IGNORECASE)


def _distances_of(text: str) -> int:
    """Return the marks of the times that a text names by their distance."""
    bits = 0
    for match in _DISTANCE.finditer(text):
        bits |= int((match.lastgroup or "d0")[1:])
    return bits


# For ASCII texts, sets of words do the same in a third of the time, because the expressions above try each of their
# words wherever a word begins.
_WORD = re.compile(r"\w+")
_TIME_WORDS = frozenset(f"{word}{ending}" for word in _OF_TIME.split() for ending in ("", "day"))
_NUMBER_WORDS = frozenset(_OF_NUMBER.split())
# The slower expressions are tried only if the text has one of the words without which they cannot match.
_OF_RULE = "always never ever now forward future whenever time anytime everytime"
_OF_PREFERENCE = (
    "prefer preferred love like enjoy hate dislike avoid favor favour rather prioritise prioritize prioritised"
    " prioritized prioritising prioritizing stand opt opted choose chose decided preference priority favorite favourite"
    " more fan allergic vegan vegetarian"
)
_OF_DISTANCE = "yesterday last other ago tomorrow next week month weeks"
_RULE_WORDS, _PREFERENCE_WORDS = frozenset(_OF_RULE.split()), frozenset(_OF_PREFERENCE.split())
_DISTANCE_WORDS = frozenset(_OF_DISTANCE.split())


def imported(marks: int) -> int:
    """Return the marks of a text as those of an imported one, which states no rule of this service's users."""
    return (marks & ~RULE) | IMPORTED


def marks_of(text: str) -> int:
    """Return the marks of a text as bits. All but questions are recognised in English only."""
    words = set(_WORD.findall(text.lower()))
    if text.isascii():
        has_time, has_number = not _TIME_WORDS.isdisjoint(words), not _NUMBER_WORDS.isdisjoint(words)
    else:
        has_time, has_number = bool(_TIME.search(text)), bool(_NUMBER.search(text))
    return (
        (QUESTION if "?" in text or "\uff1f" in text else 0)
        | (TIME if has_time else 0)
        | (NUMBER if has_number else 0)
        | (TIME | NUMBER if _DIGIT.search(text) else 0)
        | (PLACE if _PLACE.search(text) else 0)
        | (RULE if not _RULE_WORDS.isdisjoint(words) and _HOLDS.search(text) and _ASKED.search(text) else 0)
        | (PREFERENCE if not _PREFERENCE_WORDS.isdisjoint(words) and _PREFERENCE.search(text) else 0)
        | (_distances_of(text) if not _DISTANCE_WORDS.isdisjoint(words) else 0)
    )
