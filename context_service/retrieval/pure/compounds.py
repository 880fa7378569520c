"""The further forms of words that consist of several: parts of names in code, identifiers as a whole, and dates.

    chiefComplaint       chief, complaint
    HTTPServer2          http, server, 2
    invoice_total        invoicetotal, next to its words invoice and total
    KD-2210              kd2210, next to kd and 2210; so it is found as KD2210, and KD2210 as kd and 2210
    v1.2.3               1.2.3
    +49 30 123456-78     493012345678, and ~2345678, its last digits
    5 March 2024         2024-03-05, like 2024-03-05, 05.03.2024 and 5 mars 2024

A text has each form once. The number of forms is at most some three for each word, and the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from context_service.retrieval.pure.letters import PAIRED
from context_service.retrieval.pure.written_dates import dates_in_words, dates_of

_PUNCTUATION = ".,;:!?\"'`*_()[]{}<>|=\u2013\u2014\u2026\u201c\u201d\u2018\u2019\u00ab\u00bb"
_TOKENS_KEPT = 16 * 1024  # tokens whose forms are cached
_WHOLE_CHARS_MAX = 64  # longer names are only found by their parts
_WORDS_OF_WHOLE_MAX = 8  # words that are joined at most
_PARTS_MAX = 8
# A word of this many parts or more that are this short on average, such as a hash or a key, has no parts.
_RANDOM_PARTS, _RANDOM_CHARS = 5, 2.5
_DIGITS_MIN, _DIGITS_MAX = 6, 24  # groups of digits that are joined have together this many digits
_PHONE_DIGITS_MIN, _PHONE_DIGITS_MAX, _PHONE_END_DIGITS = 9, 15, 7
PHONE_END = "~"  # the sign before the last digits of a phone number
_ORDINALS = frozenset({"st", "nd", "rd", "th"})

# Words of letters and digits that single signs join, such as "first_name", "v1.2.3" and "a@b.example".
_LETTER = rf"[^\W_{PAIRED}]"
_RUN = re.compile(rf"{_LETTER}+(?:[-_.@\u2010\u2011]{_LETTER}+)*")
_SIGNS = re.compile(r"[-_.@\u2010\u2011]")
# The numbers of a version within a longer name, such as those of "app-1.2.3-beta".
_VERSION = re.compile(r"(?<!\d)(\d+(?:\.\d+)+)")
# Groups of digits with signs between them, as in phone numbers.
_GROUPS = re.compile(r"(?<![\w.,])\+?\(?\d+\)?(?:[ \u00a0./()-]{1,3}\d+)+")
_APART = re.compile(r"\d\)?[ \u00a0./-]{0,2}[ \u00a0][ \u00a0./-]{0,2}\(?\d")  # digits with a space between them
# Digits with a comma before each three of them: a number such as 1,250,000.
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])")
# The groups of an international bank account number. Each group of letters after the first is in upper case, so that
# the next word of a sentence is no group.
_IBAN = re.compile(
    r"(?<!\w)[A-Za-z]{2}\d{2}[ \u00a0-]?[A-Za-z0-9]{4}"
    r"(?:[ \u00a0-]?(?:[A-Z]{4}|(?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{4})){2,7}"
    r"(?:[ \u00a0-]?(?=[A-Z]{0,2}\d)[A-Za-z0-9]{1,3})?(?!\w)"
)
_IBAN_DIGITS_MIN = 8
_DIGIT, _NO_DIGIT = re.compile(r"\d"), re.compile(r"\D+")


class _Shapes(dict[int, str]):
    """The kind of each character, by its code: u for capitals, d for digits, l for other letters."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        shape = self[code] = "u" if letter.isupper() else "d" if letter.isdigit() else "l"
        return shape


_shapes = _Shapes()
_PART = re.compile(r"u+(?=ul)|u?l+|u+|d+")


def forms_of(text: str) -> Iterator[str]:
    """Yield the further forms of a text's words and identifiers, with repetitions; words are in their own case."""
    for token in text.split():
        word = token.strip(_PUNCTUATION)
        if not word.isalpha() or not (word.islower() or word.istitle()):  # most words have no other form
            yield from _known[word] if len(word) <= _WHOLE_CHARS_MAX else _forms_of_token(word)
    if _APART.search(text):
        yield from _groups(text)
    yield from dates_in_words(text)


def runs_of(text: str) -> list[str]:
    """Return the words of a text, with those that single signs join as one, such as "INV-2043"."""
    return _RUN.findall(text)


class _Known(dict[str, tuple[str, ...]]):
    """A cache of the forms of recent tokens; most have none."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        """Compute and cache the forms of a token that is not in the cache."""
        forms = tuple(_forms_of_token(token))
        if len(self) >= _TOKENS_KEPT:  # a full cache is emptied; common tokens soon return to it
            self.clear()
        self[token] = forms
        return forms


_known = _Known()


def _forms_of_token(token: str) -> Iterator[str]:
    """Yield further terms that find a text without white space: words of a CamelCase name, parts of numbers, dates."""
    for run in _RUN.findall(token):
        if run.isalpha():
            if not (run[1:].islower() or run.isupper()):
                yield from parts_of(run)
        elif not run.isdigit():
            yield from _forms_of_run(run)
        elif _PHONE_DIGITS_MIN <= len(run) <= _PHONE_DIGITS_MAX:
            yield _end_of(run)
    if _DIGIT.search(token):
        for match in _THOUSANDS.finditer(token):
            yield match[0].replace(",", "")
        yield from dates_of(token)
        yield from _groups(token)


def parts_of(word: str) -> list[str]:
    """Return the parts of a word of letters and digits, such as "HTTPServer2"; empty if it has only one."""
    if len(word) > _WHOLE_CHARS_MAX:
        return []
    if word[-1:] == "s" and word[:-1].isupper():  # such as "PDFs"
        return [word[:-1]]
    spans = [match.span() for match in _PART.finditer(word.translate(_shapes))]
    if not 1 < len(spans) <= _PARTS_MAX or (len(spans) >= _RANDOM_PARTS and len(word) < _RANDOM_CHARS * len(spans)):
        return []
    parts = [word[start:end] for start, end in spans]
    return [part for part in parts if part.isdigit() or (len(part) > 1 and part not in _ORDINALS)]


def _forms_of_run(run: str) -> Iterator[str]:
    """Yield the forms of words that signs join, and of single words with digits."""
    words = _SIGNS.split(run)
    for word in words:
        if not (word.isdigit() or (word.isalpha() and (word[1:].islower() or word.isupper() or len(word) == 1))):
            yield from parts_of(word)
    if 1 < len(words) <= _WORDS_OF_WHOLE_MAX and len(run) <= _WHOLE_CHARS_MAX:
        whole = _whole(run, words)
        if whole:
            yield whole
        for name in run.split("."):  # such as "main_loop" in "main_loop.py"
            if name != run and name[0].isalpha() and len(words_of_name := _SIGNS.split(name)) > 1:
                yield _whole(name, words_of_name)
        if "." in run and (version := _VERSION.search(run)) and version[1] != whole:
            yield version[1]


def _whole(run: str, words: list[str]) -> str:
    """Return joined words as one, with only the points between digits; empty for few digits, such as a range."""
    if all(map(str.isdigit, words)) and "." not in run and sum(map(len, words)) < _DIGITS_MIN:
        return ""
    whole, place = words[0], len(words[0])
    for word in words[1:]:
        is_version = run[place] == "." and whole[-1].isdigit() and word[0].isdigit()
        whole += f".{word}" if is_version else word
        place += 1 + len(word)
    # A version is also asked without the letter before it.
    return whole[1:] if "." in whole and whole[0] in "vV" and whole[1].isdigit() else whole


def _groups(text: str) -> Iterator[str]:
    """Yield bank accounts, phone numbers and other groups of digits without the signs between them."""
    for match in _IBAN.finditer(text):
        account = "".join(filter(str.isalnum, match[0]))
        if sum(map(str.isdigit, account)) >= _IBAN_DIGITS_MIN:
            yield account
    for match in _GROUPS.finditer(text):
        digits = _NO_DIGIT.sub("", match[0])
        if _DIGITS_MIN <= len(digits) <= _DIGITS_MAX and not text[match.end() : match.end() + 1].isalpha():
            yield digits
            if _PHONE_DIGITS_MIN <= len(digits) <= _PHONE_DIGITS_MAX:
                yield _end_of(digits)


def _end_of(digits: str) -> str:
    """Return the end of a phone number, which is the same with and without the country's code."""
    return f"{PHONE_END}{digits[-_PHONE_END_DIGITS:]}"
