"""The benchmark of handovers: its stories say what they claim, and its scoring tells right from wrong."""

from __future__ import annotations

import orjson
import pytest

from bench.handover.__main__ import STORIES
from bench.handover.scoring import is_answered, is_contradicted, statements_of
from bench.handover.story import QUESTIONS, Fact, Speaker, Story
from bench.long_run.strategies import Shown

ANN = Speaker(role="user", name="Ann")
CAP = Fact(question="values", speaker=ANN, needles=("15 percent",), seq=9, stale=(("the cap", "12 percent"),))


def score(text: str, *, is_state: bool = False) -> tuple[bool, bool]:
    """Return whether a text answers what the cap is, and whether it contradicts it."""
    statements = list(statements_of(Shown("key", 1, text), is_state=is_state))
    return is_answered(CAP, statements), is_contradicted(CAP, statements)


@pytest.mark.parametrize("kind", STORIES)
def test_each_fact_stands_in_its_message(kind: type[Story]):
    told = kind(seed=3).tell()
    for fact in told.facts:
        message = told.workload.messages[fact.seq - 1]
        texts = [message.content]
        for part in message.parts:
            texts += [str(orjson.loads(part.tool_result.content_json))] if part.tool_result else []
        assert all(needle in "\n".join(texts) for needle in fact.needles) or fact.question == "files"
    assert {fact.question for fact in told.facts} == set(QUESTIONS)


@pytest.mark.parametrize("kind", STORIES)
def test_a_seed_gives_one_story(kind: type[Story]):
    assert kind(seed=2, steps=100).tell() == kind(seed=2, steps=100).tell()
    assert kind(seed=2, steps=100).tell() != kind(seed=4, steps=100).tell()


@pytest.mark.parametrize(
    ("text", "is_state", "expected"),
    [
        ("user Ann: the cap is 15 percent (m9)", False, (True, False)),
        ("user Bo: the cap is 15 percent (m9)", False, (False, False)),
        ("the cap is 15 percent (m9)", False, (False, False)),
        ("user Ann: the cap is 15 percent (m9)\nuser Ann: the cap is 12 percent (m2)", False, (True, False)),
        ("user Ann: the cap is 15 percent (m9)\nuser Ann: the cap is 12 percent (m2)", True, (False, True)),
        ("user Ann: the cap is 15 percent (m9)\nuser Ann: the cap is 12 percent", False, (False, True)),
        ("user Ann: the cap is 15 percent, no longer 12 percent (m9)", True, (True, False)),
    ],
)
def test_a_fact_needs_its_speaker_and_no_contradiction(text: str, is_state: bool, expected: tuple[bool, bool]):
    assert score(text, is_state=is_state) == expected


def test_a_message_of_the_conversation_is_its_users_and_not_current():
    zone = "[m3 user Bob]\nFrom now on the cap is 12 percent.\n[m9 user Ann]\nNo:\nit is 15 percent."
    assert score(zone) == (True, False)
    assert score(zone.replace("Ann", "Eve")) == (False, False)
