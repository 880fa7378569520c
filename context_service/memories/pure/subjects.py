"""Finds what a statement without a key is about, and since when it holds. Pure.

Only a few plain forms count: a home, an employer, a name, and a value that one person has one
of, such as a manager, a phone number or a favorite color. All else has no subject, because ending a memory that still
holds does more harm than keeping two: "My boss is allergic" names no boss, and "I live with a cat" no home.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from context_service.memories.model import MemoryInput, MemoryKind
from context_service.memories.pure.subject_words import (
    AT_TIMES,
    CONNECTORS,
    COUNTRIES,
    FAVORITES,
    HEDGES,
    HOME_VERBS,
    JOB_VERBS,
    NAME_FORMS,
    NUMBERED,
    OF_PEOPLE,
    OWN,
    OWNED_FORMS,
    SPEAKERS,
    THINGS,
    WITHOUT_SPEAKER,
)
from context_service.retrieval.pure.written_dates import dates_in_words, dates_of, month_of

_CHARS_MAX = 240  # a longer text says more than one thing
_OF_KINDS = frozenset({MemoryKind.FACT, MemoryKind.PREFERENCE})

_NAME = r"[^\W\d_a-z][\w'.-]*"  # a word that begins with a capital, or of a script without any
_NAMES = rf"{_NAME}(?:[ -](?:{_NAME}|de|la|le|del|den|der|van|von|am|sur|do|da))*"
_WHO = rf"(?P<who>{SPEAKERS}|{_NAME}(?: {_NAME}){{0,2}}|(?:[Mm]y|[Oo]ur) [a-z]+(?: [a-z]+)?)"
_SINCE = rf"(?:(?:,| (?:{CONNECTORS})\b)(?P<rest>.*))?"
_HOME = re.compile(rf"{_WHO} (?:{HOME_VERBS}) (?P<value>{_NAMES}){_SINCE}")
_JOB = re.compile(rf"{_WHO} (?:{JOB_VERBS}) (?P<value>{_NAMES}){_SINCE}")
_CALLED = re.compile(rf"(?:{NAME_FORMS}) (?P<value>{_NAMES})")
_OWNED = [re.compile(form.replace("OWN", OWN).replace("NAME", rf"{_NAME}(?: {_NAME}){{0,2}}")) for form in OWNED_FORMS]
_FAVORITE = re.compile(FAVORITES, re.IGNORECASE)
_HEDGED = re.compile(rf"(?:{HEDGES})\b", re.IGNORECASE)
_OF_SPEAKER = re.compile(rf"(?:{SPEAKERS}|{OWN})", re.IGNORECASE)
_QUALITY = re.compile(r"\w+(?:ian|ican|ish|ese|ench|utch|lic|rman|egian|wiss|reek|slim|wish)")
_PERSON = re.compile(rf"{_NAMES}(?:(?:[,;(]| (?:{CONNECTORS})\b).*)?")
_VALUE = re.compile(r"[^\W\d_a-z]|\S*[\d@#+]")
_PART_TIME = re.compile(rf"\b(?:{AT_TIMES})\b", re.IGNORECASE)
_GONE = re.compile(r" (?:nach|naar) ")  # "bin nach Berlin …" is a move only with the verb at the end
_MOVED = re.compile(r"\b(?:um)?gezogen\b|\bverhuisd\b")
_DROPPED = re.compile(rf"(?={WITHOUT_SPEAKER})")
_SPOKEN = ((re.compile(r"^I'm\b"), "I am"), (re.compile(r"^I've\b"), "I have"), (re.compile(r"^[Jj]'(?=\w)"), "Je "))

_FROM = re.compile(
    r"\b(?P<word>in|im|en|em|i|w|since|from|as of|on|seit|ab|am|depuis|le|desde|da|dal|sinds|op|siden|fra|den|sedan|"
    r"från|od|с|в)(?: dem| del| de| the| beginning of| start of)? (?=(?P<date>[^,.;!?]{3,30}))",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(r"([^\W\d_]+)\.?(?: (?:de |of )?((?:19|20)\d\d))?(?!\w)")
_YEAR = re.compile(r"((?:19|20)\d\d)(?![\w-])")


def subject_of(memory_input: MemoryInput, *, said_at: datetime) -> tuple[str, datetime | None]:
    """Return what a memory is about, and since when its text says that it holds.

    Args:
        memory_input: The memory. Its key, if it has one, is its subject.
        said_at: The time of the text, which "in May" refers to.

    Returns:
        The subject, empty if nothing supersedes the memory; and the time, None if the text names none.
    """
    if memory_input.key:
        return f"key: {memory_input.key}", None
    text = " ".join(memory_input.text.split()).rstrip(" .!")
    if len(text) > _CHARS_MAX or memory_input.kind not in _OF_KINDS or "?" in text:
        return "", None
    for topic, who in _topics(_spoken_out(text)):
        return f"rule: {topic}: {who}", _since(text, said_at)
    return "", None


def _spoken_out(text: str) -> str:
    """Return a sentence with the word "I" where its verb says it, and without contractions of it."""
    text = text.replace("’", "'")
    for pattern, whole in _SPOKEN:
        text = pattern.sub(whole, text)
    return f"I {text[0].lower()}{text[1:]}" if _DROPPED.match(text) else text


def _topics(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a sentence is about, and whom it is about (empty: the user)."""
    for topic, pattern in (("home", _HOME), ("job", _JOB)):
        if (match := pattern.fullmatch(text)) and not _PART_TIME.search(match["rest"] or ""):
            if _GONE.search(text) and not _MOVED.search(text):
                continue
            yield "country" if match["value"].casefold() in COUNTRIES else topic, _person(match["who"])
    if _CALLED.fullmatch(text):
        yield "name", ""
    for pattern in _OWNED:
        if match := pattern.fullmatch(text):
            yield from _owned(match, is_german=" ist " in text)


def _owned(match: re.Match[str], *, is_german: bool) -> Iterator[tuple[str, str]]:
    """Yield what "my manager is Ola" and its like are about, if the thing and its value are of a kind that is known."""
    value, thing = match["value"], match["thing"].casefold()
    who = _person(match["who"])
    if _HEDGED.match(value):
        return
    if favorite := _FAVORITE.fullmatch(thing):
        yield f"favorite {next(filter(None, favorite.groups()))}", who
        return
    topic = THINGS.get(thing, "")
    if topic in OF_PEOPLE:
        # A person is named: "is kind", "is Norwegian" and "ist Arzt" say something about a person who is known.
        is_person = bool(_PERSON.fullmatch(value)) and not _QUALITY.fullmatch(value)
        is_named = is_person and not (is_german and " " not in value)
    elif topic in NUMBERED:
        is_named = bool(re.search(r"\d", value))
    else:
        is_named = topic == "job title" or bool(_VALUE.match(value))
    if topic and is_named:
        yield topic, who


def _person(who: str) -> str:
    """Return the name of the person that a statement is about, to compare; empty for the user."""
    return "" if _OF_SPEAKER.fullmatch(who) else who.removesuffix("'s").casefold()


def _since(sentence: str, said_at: datetime) -> datetime | None:
    """Return the first day that a sentence names; "in May" is the last May that had begun."""
    for match in _FROM.finditer(sentence):
        text = match["date"]
        for day in (*dates_of(text.split()[0]), *dates_in_words(text)):
            return datetime.combine(date.fromisoformat(day), time(), UTC)
        if (found := _MONTH_YEAR.match(text)) and (month := month_of(found[1])):
            year = int(found[2]) if found[2] else said_at.year - (month > said_at.month)
            return datetime(year, month, 1, tzinfo=UTC)
        if found := _YEAR.match(text):
            return datetime(int(found[1]), 1, 1, tzinfo=UTC)
    return None
