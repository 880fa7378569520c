"""Whether a pack answers the twelve questions, by program.

A fact is answered if its needles stand together with the right speaker: in one message, or in one line of a summary or
of the state that names the speaker. A fact is not answered while a statement that contradicts it is shown as current. A
statement is shown as current if it stands in the state, or in a line of a summary without a date or a ref. A line that
says itself that it holds no longer is not current, nor is one that a note after the state ends; the lines of a
recalled passage have the date and the speaker of the line above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import orjson

from bench.handover.story import QUESTIONS, Fact, Speaker, Told
from bench.long_run.prepared import strings
from bench.long_run.strategies import Shown, Strategy
from context_service.packing.pure.texts.conversation import HEADING

_SPEAKER = re.compile(r"\b(user|assistant|tool|system)(?: ([\w.]+))?:")
_DATED = re.compile(r"[(\[ ]m\d+\b|\d{4}-\d\d-\d\d")
_HEAD = re.compile(r"\[m[\d/.]+\] (\w+)(?: ([^,]+))?, \d{4}-\d\d-\d\d")
_NO_LONGER = re.compile(r"(?:no longer|; before): (.*)$")
_ENDED = re.compile(r"\b(lifted|no longer|superseded|earlier|was)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A message that a pack shows, or a line of a summary or of the state.

    Attributes:
        speaker: Who said it; None if the pack does not say.
        is_current: The pack presents it as true now.
    """

    text: str
    speaker: Speaker | None
    is_verbatim: bool
    is_current: bool


@dataclass(slots=True)
class Score:
    """How well one pack answers the questions.

    Attributes:
        answered: The share of facts that are answered, by question.
        present: The share whose needles stand anywhere, with any speaker or none.
        stale: Outdated statements that are shown as current.
        lifted: Lifted rules that are shown as rules in force.
        orders: Sentences of tools that stand in a summary or the state without their speaker.
    """

    step: int
    answered: dict[str, float] = field(default_factory=dict)
    present: dict[str, float] = field(default_factory=dict)
    stale: int = 0
    lifted: int = 0
    orders: int = 0

    @property
    def mean(self) -> float:
        """The mean over the questions."""
        return fmean(self.answered.values())

    @property
    def mean_present(self) -> float:
        """The mean over the questions, without regard to speakers and contradictions."""
        return fmean(self.present.values())


def scored(strategy: Strategy, pack: Sequence[Shown], told: Told, step: int, seq: int) -> Score:
    """Count the answers and the mistakes in the pack that a strategy shows after a step.

    Args:
        strategy: The strategy that made the pack; it says which parts are state.
        pack: The parts that the strategy shows.
        told: The story, with the facts and the orders of tools.
        step: The number of the step in the story.
        seq: Number of the last message of the step; facts count if they hold then.
    """
    statements = _without_ended(
        [line for part in pack for line in statements_of(part, is_state=strategy.is_state(part))]
    )
    facts = [fact for fact in told.facts if fact.holds(seq)]
    score = Score(step=step)
    for question in QUESTIONS:
        asked = [fact for fact in facts if fact.question == question]
        if asked:
            score.answered[question] = fmean(is_answered(fact, statements) for fact in asked)
            score.present[question] = fmean(any(_has(line, fact.needles) for line in statements) for fact in asked)
    for fact in facts:
        if is_contradicted(fact, statements):
            if fact.question == "lifted":
                score.lifted += 1
            else:
                score.stale += 1
    score.orders = sum(
        order in line.text and not line.is_verbatim and (line.speaker is None or line.speaker.role != "tool")
        for order in told.tool_orders
        for line in statements
    )
    return score


def is_answered(fact: Fact, statements: Sequence[Statement]) -> bool:
    """Return whether a fact stands in the statements with its right speaker, and nothing contradicts it."""
    return any(
        _has(line, fact.needles) and _is_spoken_by(line, fact.speaker) for line in statements
    ) and not is_contradicted(fact, statements)


def is_contradicted(fact: Fact, statements: Sequence[Statement]) -> bool:
    """Return whether a statement that contradicts the fact is shown as current."""
    return any(
        line.is_current and _has(line, old) and not _has(line, fact.needles)
        for old in fact.stale
        for line in statements
    )


def statements_of(part: Shown, *, is_state: bool) -> Iterator[Statement]:
    """Yield the statements of a part of a pack: a message is one, and each line of a text is one."""
    if isinstance(part.of, str):
        if any(HEADING.fullmatch(line) for line in part.of.split("\n", 2)[:2]):
            yield from _of_zone(part.of)
            return
        yield from _of_lines(part.of, is_state=is_state)
        return
    for piece in part.of.pieces:
        message = orjson.loads(piece.json)
        speaker = Speaker(role=message["role"], name=message.get("name", ""))
        yield Statement(text="\n".join(strings(message)), speaker=speaker, is_verbatim=True, is_current=False)


def _of_lines(text: str, *, is_state: bool) -> Iterator[Statement]:
    """Yield the lines of a text of the service. A quoted line has the speaker and the date of the head above it."""
    head = None
    for line in text.split("\n"):
        is_quoted = line.startswith("> ")
        head = _HEAD.match(line) or (head if is_quoted else None)
        match = head if is_quoted else _SPEAKER.search(line)
        is_dated = bool(head if is_quoted else _DATED.search(line))
        yield Statement(
            text=line,
            speaker=Speaker(role=match[1], name=match[2] or "") if match else None,
            is_verbatim=False,
            is_current=not _ENDED.search(line) and (is_state or not is_dated),
        )


def _without_ended(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements, with those marked that a note says hold no longer."""
    ended = {match[1] for line in statements if (match := _NO_LONGER.search(line.text)) and not line.is_verbatim}
    return [
        replace(line, is_current=False) if line.is_current and line.text.removeprefix("- ") in ended else line
        for line in statements
    ]


def _of_zone(text: str) -> Iterator[Statement]:
    """Yield the messages of users in the zone `conversation`: each stands below a line with its ref and speaker."""
    headings = list(HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=True):
        role, _, name = heading["who"].partition(" ")
        yield Statement(
            text=text[heading.end() : end],
            speaker=Speaker(role=role, name=name),
            is_verbatim=True,
            is_current=False,
        )


def _has(statement: Statement, needles: Sequence[str]) -> bool:
    return all(needle in statement.text for needle in needles)


def _is_spoken_by(statement: Statement, speaker: Speaker) -> bool:
    """Return whether a statement names this speaker. A message of a tool names no tool: its call does."""
    shown = statement.speaker
    if shown is None or shown.role != speaker.role:
        return False
    return shown.name == speaker.name or (speaker.role != "user" and not shown.name) or not speaker.name
