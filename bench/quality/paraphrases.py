"""Questions that share no word with their answers, so that words alone cannot find these.

`paraphrases.txt` has a statement and a question in each line. Ten statements stand in a conversation, among 200 other
messages: the statements of all others, and small talk.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.quality.conversations import Asked, Conversation, Turn
from bench.quality.talk import talk

FILLER = 200
TOGETHER = 10  # in a conversation

_START = datetime(2025, 1, 6, 18, tzinfo=UTC)

Pair = tuple[str, str]  # a statement, and the question that it answers


def pairs() -> list[Pair]:
    """Return all pairs of a statement and a question."""
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    return [(said, asked) for said, asked in (line.split(" | ") for line in lines)]


def paraphrases(*, seed: int = 1) -> list[Conversation]:
    """Return the conversations. The same seed gives the same ones."""
    generator = random.Random(seed)
    small_talk = [turn.text for turn in talk(seed=seed, turns=2_000, facts=0).turns]
    found = pairs()
    return [
        _conversation(found[start : start + TOGETHER], found, small_talk, generator)
        for start in range(0, len(found), TOGETHER)
    ]


def _conversation(
    asked: Sequence[Pair], found: Sequence[Pair], small_talk: Sequence[str], generator: random.Random
) -> Conversation:
    """Return a conversation of the given statements, all others and small talk, in random order."""
    others = [said for said, question in found if (said, question) not in asked]
    texts = [*others, *generator.sample(small_talk, FILLER - len(others)), *(said for said, _ in asked)]
    generator.shuffle(texts)
    turns = [
        Turn(
            id=str(place),
            text=text,
            session=1,
            said_at=_START + timedelta(minutes=place),
            role="assistant" if place % 2 else "user",
        )
        for place, text in enumerate(texts)
    ]
    questions = [
        Asked(text=question, kind="paraphrase", evidence=frozenset({str(texts.index(said))}))
        for said, question in asked
    ]
    return Conversation(name=f"paraphrases {asked[0][0]}", turns=turns, asked=questions)
