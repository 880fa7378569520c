"""Plain statements: a thing with its owner, a verb that says what holds, and a value.

    My parking spot is now C02.              the speaker's parking spot, C02, a change
    Der Termin ist auf Mittwoch verschoben.  the appointment, Wednesday, a change
    The fee is 30 euros for members.         the fee, 30 euros, only for members

They are read by forms and short lists of words (`claims.txt`), in ten languages. Anything else says nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

from context_service.retrieval.pure.letters import fold
from context_service.retrieval.pure.terms import STOP_WORDS, stems

# The characters and sentences of a passage that are read, and the characters of the longest sentence.
_TEXT_CHARS_MAX, _SENTENCES_MAX, _CHARS_MAX = 4_000, 12, 240
_THING_WORDS_MAX, _VALUE_WORDS_MAX = 6, 8

# A sentence ends at a sign with a blank after it, but not after a title, which a name follows.
_END_OF_SENTENCE = re.compile(
    r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bProf\.)(?<=[.!?\u3002\uff1f])\s+|\n+"
)
_CLAUSE = re.compile(r"[,;:] |\u2014| \u2013 | (?:and|but|und|aber|et|mais|y|pero|e|ma) ")
_TOKEN = re.compile(r"[$\u20ac\u00a3]?[^\W_](?:(?:[\w@./:%+&-]|,(?=\d{3}))*[\w%])?|[%\u20ac$\u00a3]|(?<=\w)'s\b")
_OPENING = re.compile(
    r"^(?:(?:as of|from|starting|since|ab|seit|depuis|desde|da|vanaf) [^\W_]+(?: on)? |"
    r"(?:so|then|please note|note|remember|update|correction|sorry|by the way|fyi|ok|okay|hi|hello)(?: that)? )+",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"^(?:we|i|they) (?:have |'ve )?"
    r"(?:changed|moved|raised|increased|lowered|reduced|cut|set|renamed|switched|postponed) "
    r"(?P<thing>(?:the|our|my) .+?) (?:from .+? )?to (?P<value>.+)$",
    re.IGNORECASE,
)
_USE = re.compile(r"^use (?P<value>.+?) for (?P<thing>(?:the|our|my) .+?)(?: from now on| now)?$", re.IGNORECASE)
_OF_ME = (
    (
        "home",
        re.compile(r"^i(?: now)? (?:live|moved|have moved)(?: from .+)? (?:in|to) (?P<value>[A-Z].*)$", re.IGNORECASE),
    ),
    ("job", re.compile(r"^i(?: now)? work (?:at|for) (?P<value>[A-Z].*)$", re.IGNORECASE)),
)
_RUNS = re.compile(
    r"^(?P<thing>(?:the |our |my |your )?[\w-]+(?: [\w-]+){0,3}?) (?:now )?(?P<verb>runs|closes|opens|starts|begins)"
    r" (?P<value>(?:on|at) .+)$",
    re.IGNORECASE,
)
# A quick test, because the expressions above take longer.
_IS_SPECIAL = re.compile(r"^(?:we|i|they|use) | (?:runs|closes|opens|starts|begins) (?:on|at) ", re.IGNORECASE)
_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}(?:am|pm)?|\d{1,2}(?:am|pm|h|st|nd|rd|th)", re.IGNORECASE)
_NUMBER = re.compile(r"(?P<sign>[$\u20ac\u00a3]?)\d+(?:[.,:]\d+)*(?P<unit>%?)")
_NAMED = frozenset({"named", "called"})
_SAME_AS_IS = frozenset({"", "starts", "begins"})
_BRITISH = {"favourite": "favorite", "colour": "color", "centre": "center"}
_MARKS_OF_LISTS = frozenset("#*-|>`{[")  # headings, tables, lists and code state nothing by themselves
_UNSURE = frozenset({"it", "that", "this", "which"})  # "the date it opened" is no name of a thing
_ALL = "all"


class Said(NamedTuple):
    """A passage that people or an assistant said."""

    seq: int
    ordinal: int
    role: str
    author: str  # empty if the role says who it is
    text: str
    place: tuple[int, int] | None  # its session and its place there; None if it was not spoken
    answers: tuple[int, int] | None  # session and place of the passage that its message answers


@dataclass(frozen=True, slots=True)
class Claim:
    """A plain statement: a thing, and a value of a kind."""

    thing: tuple[str, ...]
    value: str
    kind: str  # "time", "name", "code", "word" or "number" with its unit
    about: frozenset[str]  # the words between the verb and the value, such as "open until"
    only: frozenset[str]  # the words after the value, which may limit it: "for free users"
    is_change: bool  # it says that the value is a new one


@dataclass(frozen=True, slots=True)
class _Language:
    """The words of a language by which statements are read."""

    speaker: frozenset[str]
    listener: frozenset[str]
    shared: frozenset[str]
    verbs: frozenset[str]
    now: frozenset[str]
    moved: frozenset[str]
    between: frozenset[str]
    articles: frozenset[str]


def claims_of(said: Said) -> Iterator[Claim]:
    """Yield the plain statements of a passage."""
    sentences = _END_OF_SENTENCE.split(said.text[:_TEXT_CHARS_MAX], maxsplit=_SENTENCES_MAX)
    for sentence in map(str.strip, sentences[:_SENTENCES_MAX]):
        if not 0 < len(sentence) <= _CHARS_MAX or sentence[0] in _MARKS_OF_LISTS or sentence[-1] in "?\uff1f":
            continue
        if sentence.partition(" ")[0].casefold() in listed("condition"):
            continue
        for clause in _CLAUSE.split(sentence.rstrip(".! ")):
            own = _OPENING.sub("", clause.strip())
            if claim := _special(own, said) or _plain(own, said):
                yield claim


def _special(clause: str, said: Said) -> Claim | None:
    """Return a statement of another form than "X is Y": "we changed X to Y", "use Y for X", "I live in Y"."""
    english = _languages()["en"]
    for pattern in (_CHANGED, _USE, _RUNS) if _IS_SPECIAL.search(clause) else ():
        if match := pattern.match(clause):
            tokens, verb = _tokens(match["thing"]), match.groupdict().get("verb", "").lower()
            thing = _thing(tokens, said, english) or ((fold(tokens[0].casefold()),) if len(tokens) == 1 else ())
            topic = "use" if pattern is _USE else "" if verb in _SAME_AS_IS else verb
            value = _tokens(match["value"])
            return _claim((*thing, topic), value, english, is_change=pattern is _CHANGED) if thing else None
    for topic, pattern in _OF_ME if clause[:2] in ("I ", "i ") else ():
        if match := pattern.match(clause):
            return _claim((_speaker(said), topic), _tokens(match["value"]), english)
    return None


def _plain(clause: str, said: Said) -> Claim | None:
    """Return the statement of a clause such as "my desk is 17" in any of the languages."""
    tokens = _tokens(clause)
    words = [token.lower() if token.isascii() else fold(token.casefold()) for token in tokens]
    for language in dict.fromkeys(language for word in words for language in _languages_with().get(word, ())):
        verbs = [place for place, word in enumerate(words) if word in language.verbs]
        verbs = [place for place in verbs if words[place] != "'s"] or verbs  # of the owner in "Ann's desk is 17"
        place = verbs[0] if verbs else 0
        change = next((place for place, word in enumerate(words) if word in language.moved), 0) if not place else 0
        place = place or change
        if not 0 < place < len(tokens) - 1:
            continue
        before = [token for token, word in zip(tokens[:place], words, strict=False) if word not in language.now]
        is_change = bool(language.now.intersection(words)) or bool(language.moved.intersection(words))
        thing = _thing(before, said, language)
        if not thing and len(before) == 1 and "_" in before[0]:
            thing = (fold(before[0].casefold()),)
        if thing:
            return _claim((*thing, ""), tokens[place + 1 :], language, is_change=is_change)
    return None


def _thing(tokens: Sequence[str], said: Said, language: _Language) -> tuple[str, ...]:
    """Return the owner and the words of a thing, or nothing if it is no definite thing."""
    words = [fold(token.casefold()) for token in tokens]
    if len(words) > 1 and words[0] in language.shared and words[1] in language.speaker:  # such as "il mio"
        words = words[1:]
    if not 1 < len(words) <= _THING_WORDS_MAX + 1 or not _UNSURE.isdisjoint(words):
        return ()
    owner, rest = words[0], words[1:]
    listener = "assistant" if said.role == "user" else "user"
    if owner in language.speaker:
        return (_speaker(said), *_stems_of(rest))
    if owner in language.listener:
        return (listener, *_stems_of(rest))
    return ("", *_stems_of(rest)) if owner in language.shared else ()


def _stems_of(words: Sequence[str]) -> list[str]:
    """Return the stems of words; a stop word stays as it is, because "the other bug" is not "the bug"."""
    return [(stems([_BRITISH.get(word, word)]) or [word])[0] for word in words]


def _speaker(said: Said) -> str:
    return f"{said.role} {said.author}".strip()


def _claim(
    thing: tuple[str, ...], tokens: Sequence[str], language: _Language, *, is_change: bool = False
) -> Claim | None:
    """Return the statement that a thing has a value, or None if the words after the verb are no plain value."""
    kept = [(token, fold(token.casefold())) for token in tokens]
    is_change = is_change or any(word in language.now for _, word in kept)
    kept = [(token, word) for token, word in kept if word not in language.now]
    about, number = set(), 0
    is_at = False
    while number < len(kept) and not _is_value(*kept[number], language):
        word = kept[number][1]
        is_at = is_at or word in listed("at")
        if word in language.moved:
            is_change = True
        elif word not in language.between:
            about.add(word)
        number += 1
    if number == len(kept):
        return _word_claim(thing, kept, language, is_change=is_change)
    value, after = [kept[number]], number + 1
    while after < len(kept) and (_is_value(*kept[after], language) or _joins(kept, after, language)):
        value.append(kept[after])
        after += 1
    only = frozenset(word for _, word in kept[after:] if word not in language.between and word not in language.moved)
    if after < len(kept) and kept[after][1] in listed("since"):
        only = frozenset()
    moved_last = any(word in language.moved for _, word in kept[after:])
    if len(about) > 2 or len(value) > _VALUE_WORDS_MAX:
        return None
    kind = _kind(value, [word for _, word in kept[after : after + 1]], is_at=is_at)
    if kind.startswith("number "):
        only -= {kind.removeprefix("number ")}
    text = " ".join(word for _, word in value)
    return Claim(thing, text, kind, frozenset(about), only, is_change or moved_last)


def _word_claim(
    thing: tuple[str, ...], kept: Sequence[tuple[str, str]], language: _Language, *, is_change: bool
) -> Claim | None:
    """Return the statement that a thing has a plain word as its value, such as a state or a color."""
    words = [word for _, word in kept if word not in language.between]
    if len(words) != 1 or words[0] in language.articles or words[0] in STOP_WORDS:
        return None
    is_named = any(word in _NAMED for _, word in kept)
    if not (is_change or is_named or _attributes().intersection(thing[1:])):
        return Claim(thing, " ".join(words), "word", frozenset(), frozenset(), False)
    return Claim(thing, " ".join(words), "word", frozenset(), frozenset(), True)


def _is_value(token: str, word: str, language: _Language) -> bool:
    """Say whether a word is a value by itself: it has a digit or a sign, is a day, or begins with a capital."""
    return (
        any(map(str.isdigit, token))
        or word in listed("days")
        or "@" in token
        or "/" in token
        or (token[0].isupper() and word not in language.between and len(token) > 1)
    )


def _joins(kept: Sequence[tuple[str, str]], place: int, language: _Language) -> bool:
    """Say whether a word stands between two words of a time, such as "on" and "at"."""
    return kept[place][1] in language.between and place + 1 < len(kept) and _is_time(kept[place + 1][1])


def _is_time(word: str) -> bool:
    return word in listed("days") or bool(_CLOCK.fullmatch(word)) or (word.isdigit() and len(word) <= 2)


def _kind(value: Sequence[tuple[str, str]], following: Sequence[str], *, is_at: bool) -> str:
    """Return the kind of a value: "time", "number" with its unit, "code" or "name"."""
    words = [word for _, word in value]
    if any(word in listed("days") or _CLOCK.fullmatch(word) for word in words) or (is_at and words[0].isdigit()):
        return "time"
    if match := _NUMBER.fullmatch(value[0][0]):
        unit = match["sign"] or match["unit"] or ("" if len(words) == 1 else words[1])
        return f"number {unit or (following[0] if following and following[0] not in listed('since') else '')}".strip()
    if any(map(str.isdigit, value[0][0])) or any(sign in value[0][0] for sign in "@/_"):
        return "code"
    return "name"


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case and without accents."""
    return [fold(word.casefold()) for word in re.findall(r"[^\W_]+", text)]


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.replace("\u2019", "'"))


@cache
def _attributes() -> frozenset[str]:
    """Return the terms of things that have one value of a kind, even if the value is a plain word."""
    return frozenset(stems(sorted(listed("attributes"))))


@cache
def _languages_with() -> dict[str, list[_Language]]:
    """Return the languages by their verbs of statements."""
    languages: dict[str, list[_Language]] = {}
    for language in _languages().values():
        for word in language.verbs | language.moved:
            languages.setdefault(word, []).append(language)
    return languages


@cache
def owners() -> frozenset[str]:
    """Return the words of all languages that say whose a thing is, and articles of definite things."""
    # A single letter such as "i" and "o" is a word of other languages, too.
    return frozenset(
        word
        for language in _languages().values()
        for word in language.speaker | language.listener | language.shared
        if len(word) > 1
    )


@cache
def _languages() -> dict[str, _Language]:
    """Return the words of each language."""
    names = dict.fromkeys(name for name, _ in _table() if name != _ALL)
    return {
        name: _Language(**{field.name: _table().get((name, field.name), frozenset()) for field in fields(_Language)})
        for name in names
    }


@cache
def listed(kind: str) -> frozenset[str]:
    """Return the words of a kind that the table has for all languages."""
    return _table()[_ALL, kind]


@cache
def _table() -> dict[tuple[str, str], frozenset[str]]:
    """Return the words of `claims.txt`, by language and kind."""
    table: dict[tuple[str, str], frozenset[str]] = {}
    for line in Path(__file__).with_name("claims.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            language, kind, *words = line.split()
            table[language, kind] = table.get((language, kind), frozenset()).union(words)
    return table
