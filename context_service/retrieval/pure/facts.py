"""Decides whether two texts state the same fact: equal stems, numbers, dates and negations, in the same order. Pure.

Texts that differ in anything that might matter stay apart: a wrong merge loses a fact, and a missed one only repeats
it. So all words count except articles, even "before" and "not", and signs such as `<` and `%` count, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from context_service.retrieval.pure.terms import STOP_WORDS, asked_words, stems

_STEMS_KEPT = 16 * 1024
TERMS_MIN = 3  # a text with fewer terms, such as "Yes.", states no fact by itself

_ARTICLES = frozenset({"a", "an", "the"})
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = rf"(?P<{{0}}>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:{_MONTH.format('month1')} {_DAY.format('day1')},? (?P<year1>\d{{4}})"
    rf"|{_DAY.format('day2')} (?:of )?{_MONTH.format('month2')},? (?P<year2>\d{{4}}))\b"
)
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_YEAR = re.compile(r"\d{4}")
_LETTERS, _DIGITS = re.compile(r"[a-z]+"), re.compile(r"\d+")
_YEAR_DIGITS = 4  # a number with this many digits or more may be a year of a date
_GROUPS = re.compile(r"\d,\d")  # a comma between groups of digits, as in 1,000
_NUMBER = r"\d+(?:[.:/-]\d+)*"
_NOT = re.compile(r"\b(?:can(?=not\b)|(?:ca(?=n['\u2019]t\b)))|n['\u2019]t\b")
_WORDS = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't
# Words that `look_of` ignores, because texts with the same statement may differ in them: a month may be written as a
# number, "3rd" as "3", and "cannot" and words before "n't" may be split in another way.
_BEFORE_NOT = frozenset({"cannot", "dare", "daren", "need", "mightn", "mayn", "oughtn", "shan", "ca", "wo", "sha"})
_OF_ANY_LOOK = frozenset(stems(_MONTHS)) | {"st", "nd", "rd", "th"} | _BEFORE_NOT
# A number as a whole, with its sign; a word; a sign that means something.
_TOKEN = re.compile(rf"(?:(?<![\w)])[-\u2212](?=\d))?{_NUMBER}|[^\W\d_][^\W_]*|[^\w\s]|_")


def fact_of(text: str) -> tuple[str, ...]:
    """Return a key of the statement in a text, equal for texts that say the same; empty if the text is too short."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    plain = " ".join(text.lower().split())
    # Each of these patterns is slow, so it is tried only if a cheap test says that the text may match it.
    if _YEAR.search(plain):
        plain = _DATE.sub(_iso, plain)
    if "," in plain:
        plain = _GROUPED.sub(lambda match: match[0].replace(",", ""), plain)
    if "'t" in plain or "\u2019t" in plain or "cannot" in plain:
        plain = _NOT.sub(_spelled_out, plain)
    fact = []
    terms = 0
    for token in _TOKEN.findall(plain):
        first = token[0]
        if first.isalpha():
            if token not in _ARTICLES:
                fact.append(_stem(_WORDS.get(token, token)))
                # Scripts that put no spaces between words have several words between two spaces.
                terms += 1 if token.isascii() else len(asked_words(token))
                terms -= token in STOP_WORDS
        elif first.isdigit() or len(token) > 1:
            fact.append(token)
            terms += 1
        elif _means(token):
            fact.append(token)
    return tuple(fact) if terms >= TERMS_MIN else ()


def look_of(text: str, terms: Iterable[str]) -> object:
    """Return a cheap key that texts with the same statement share, and most other texts do not.

    Args:
        text: The text to compare, of any length.
        terms: The terms of the text's words, without further forms.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    digits = _DIGITS.findall(text)
    words = set(terms)
    if digits or not text.isascii():
        for mixed in [word for word in words if not (word.isalpha() and word.isascii())]:
            words.remove(mixed)
            if mixed.isascii() and not mixed.isdigit():
                words.update(_LETTERS.findall(mixed))
    if digits and (max(map(len, digits)) >= _YEAR_DIGITS or ("," in text and _GROUPS.search(text))):
        digits = []  # numbers of dates and thousands can be written in several ways, so they cannot be compared here
    return tuple(digits), frozenset(words - _OF_ANY_LOOK)


@lru_cache(_STEMS_KEPT)
def _stem(word: str) -> str:
    """Return the stem of a word; a word without meaning of its own stays as it is."""
    match = stems([word])
    return match[0] if match else word


def _means(sign: str) -> bool:
    """Say whether a character changes the meaning: a sign of mathematics or money, a question mark, an accent."""
    return unicodedata.category(sign)[0] in "SM" or sign in "%?\u2030"


def _spelled_out(match: re.Match[str]) -> str:
    """Return "not" for a contraction such as "n't", with a space where it was joined to "can"."""
    return " not" if match[0].startswith("n") else match[0] + (" " if match[0] == "can" else "")


def _iso(match: re.Match[str]) -> str:
    """Return a date as year, month and day in digits."""
    month, day, year = (match[f"{name}1"] or match[f"{name}2"] for name in ("month", "day", "year"))
    return f"{year}-{_MONTHS[month]:02}-{int(day):02}"
