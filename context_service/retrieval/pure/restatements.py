"""Finds the passages that newer ones replace: statements of one thing with another value, and recurring questions.

    My parking spot is B14.            →  Facilities moved me, my parking spot is now C02.
    The release is planned for 3 May.  →  The release is postponed to 17 May.
    Where is my parcel? In Hamburg.    →  Where is my parcel now? On your doorstep.

Only plain statements count: a thing with its owner, a verb that says what holds, and a value of the same kind as before
(a time, a number with the same unit, a name, a code). All else is apart, because a wrong mark hides a statement that
holds: "The concert is on 5 May" and "The concert is in the old town hall" are both true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from context_service.retrieval.pure.claims import Claim, Said, claims_of, listed, owners, words_of
from context_service.retrieval.pure.features import question_place
from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.pure.rows import Row
from context_service.retrieval.pure.terms import STOP_WORDS

NEWEST_AMONG = 50  # newer statements are looked for among this many of the best passages
READING = 8  # finding the statements of a text takes as long as parsing this many bytes for each character
_CHARS_MAX = 240  # a longer text is no question that is asked again
_ASKS = re.compile(r"(?:what|where|when|how) ?(?:is|are|'s|\u2019s|many|much)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"[.!?\uff1f]\s+\S|\n")
_COUNTS = frozenset(
    ("how many", "how much", "wie viele", "wie viel", "cuantos", "cuantas", "quanti", "quante", "hoeveel")
)

Place = tuple[int, int]  # the `seq` and the `ordinal` of a passage


def replaced(passages: Sequence[Said]) -> dict[Place, Place]:
    """Return for each passage that a newer one replaces the newest such passage, by `seq` and `ordinal`.

    Args:
        passages: The passages, in any order.
    """
    by_time = sorted(passages, key=lambda said: (said.seq, said.ordinal))
    by: dict[Place, Place] = {}
    _replace_statements(by_time, by)
    _replace_answers(by_time, by)
    return {place: _last(by, place) for place in by}


def spoken(ranked: Iterable[Ranked]) -> list[Row]:
    """Return the rows of the passages that a user or an assistant said."""
    return [item.row for item in ranked if item.row.kind == "text" and item.row.role in ("user", "assistant")]


def said_of(rows: Iterable[Row], texts: Mapping[Place, str]) -> list[Said]:
    """Return passages with their texts; those whose text is gone are left out."""
    said = []
    for row in rows:
        if (text := texts.get((row.seq, row.ordinal))) is not None:
            place = None if row.place is None else (row.session, row.place)
            before = question_place(row)
            answers = None if before is None else (row.session, before)
            said.append(Said(row.seq, row.ordinal, row.role, row.author, text, place, answers))
    return said


def newest_first(ranked: Sequence[Ranked], by: Mapping[Place, Place]) -> list[Ranked]:
    """Return ranked passages with each newest one directly before the first passage that it replaces.

    It answers the question as well as that one, so it has the same score.

    Args:
        ranked: The passages, the best first.
        by: The newest passage by the places of those that it replaces.
    """
    ranked_at = {(item.row.seq, item.row.ordinal): item for item in ranked}
    ordered: dict[Place, Ranked] = {}
    for place, item in ranked_at.items():
        newest = by.get(place)
        if newest in ranked_at and newest not in ordered:
            ordered[newest] = ranked_at[newest]._replace(score=item.score)
        ordered.setdefault(place, item)
    return list(ordered.values())


def _replace_statements(by_time: Iterable[Said], by: dict[Place, Place]) -> None:
    """Add the passages whose statement has another value later.

    A thing that has two values at once, or an earlier value again without a word of change, has no single value: each
    proof has a base case of its own.
    """
    stated: dict[tuple[str, ...], list[tuple[Said, Claim]]] = {}
    for said in by_time:
        for claim in dict.fromkeys(claims_of(said)):
            stated.setdefault(claim.thing, []).append((said, claim))
    for several in stated.values():
        if _has_several_values(several):
            continue
        for number, (said, claim) in enumerate(several):
            for older, old in several[:number]:
                if older.seq != said.seq and _is_other_value(old, claim):
                    by[older.seq, older.ordinal] = said.seq, said.ordinal


def _has_several_values(several: Sequence[tuple[Said, Claim]]) -> bool:
    """Say whether the values of a thing show that it has several of them at a time."""
    ended: set[tuple[str, str]] = set()
    before: tuple[int, Claim] | None = None
    for said, claim in several:
        if before and before[1].kind == claim.kind and before[1].value != claim.value:
            if before[0] == said.seq or ((claim.kind, claim.value) in ended and not claim.is_change):
                return True
            ended.add((claim.kind, before[1].value))
        before = said.seq, claim
    return False


def _replace_answers(by_time: Sequence[Said], by: dict[Place, Place]) -> None:
    """Add the questions that were asked again, and the answers that they got, if the newest one has an answer."""
    answers = {said.answers: said for said in reversed(by_time) if said.answers}
    asked: dict[object, list[Said]] = {}
    for said in by_time:
        if said.role != "assistant" and (question := question_of(said.text)):
            asked.setdefault((said.role, said.author, question), []).append(said)
    for several in asked.values():
        *older, last = several
        answer = answers.get(last.place) if last.place else None
        for earlier in older:
            by[earlier.seq, earlier.ordinal] = last.seq, last.ordinal
            before = answers.get(earlier.place) if earlier.place else None
            if before and answer and before.seq != answer.seq:
                by[before.seq, before.ordinal] = answer.seq, answer.ordinal


def _last(by: dict[Place, Place], place: Place) -> Place:
    """Return the end of a chain of replacements. Each step leads to a later message, so there is an end."""
    while place in by:
        place = by[place]
    return place


def question_of(text: str) -> str:
    """Return the words of a question about one definite thing, to compare; empty for any other text."""
    text = text.strip()
    is_asked = text.endswith(("?", "\uff1f")) or _ASKS.match(text)
    if len(text) > _CHARS_MAX or not is_asked or _SEVERAL.search(text):
        return ""
    words = [word for word in words_of(text) if word not in listed("again")]
    if listed("advice").intersection(words):
        return ""
    names = {word for word in words if word not in STOP_WORDS and word not in owners()}
    is_definite = not owners().isdisjoint(words) or any(count in " ".join(words[:2]) for count in _COUNTS)
    return " ".join(words) if names and is_definite else ""


def _is_other_value(old: Claim, new: Claim) -> bool:
    """Say whether a newer claim about the same thing has another value of the same kind."""
    if old.value == new.value or old.value in new.value or new.value in old.value:
        return False
    kinds = {old.kind, new.kind}
    if len(kinds) > 1 and not (new.is_change and kinds <= {"code", "number", "name"}):
        return False
    if old.kind == "word" and not new.is_change:
        return False
    if old.about and new.about and old.about != new.about:
        return False
    if (old.about or new.about) and old.about != new.about and not new.is_change:
        return False
    if old.only and new.only and old.only != new.only:
        return False
    return not (old.only - new.only and not new.is_change)
