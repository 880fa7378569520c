"""How good recall is by words alone, on conversations that are generated: what a change of ranking must not lose."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from bench.quality import beam
from bench.quality.agent_log import agent_log
from bench.quality.conversations import Conversation
from bench.quality.figures import figures
from bench.quality.in_memory import Index, by_bm25, searcher
from bench.quality.locomo import conversations
from bench.quality.paraphrases import FILLER, pairs, paraphrases
from bench.quality.talk import talk
from context_service.retrieval.profiles import profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.terms import terms_of


@pytest.mark.parametrize(
    ("generate", "least", "above_bm25"),
    [(agent_log, 0.84, 0.1), (partial(talk, facts=60), 0.74, 0.5)],
    ids=["a log of agents", "a conversation of 20,000 messages"],
)
def test_the_default_finds_what_is_planted(generate: Callable[[], Conversation], least: float, above_bm25: float):
    """`make bench-recall` has the figures of all profiles, and of conversations of people."""
    generated = generate()
    by_words = figures(by_bm25, [generated])[""].recall_at_10
    recall = figures(searcher(profile("default")), [generated])[""].recall_at_10

    assert recall >= least
    assert recall >= by_words + above_bm25


@pytest.mark.parametrize("make", [agent_log, talk])
def test_the_same_seed_gives_the_same_conversation(make):
    one, same, other = make(seed=1), make(seed=1), make(seed=2)

    assert one == same
    assert one.turns != other.turns
    assert len({turn.id for turn in one.turns}) == len(one.turns)
    assert all(asked.evidence <= {turn.id for turn in one.turns} for asked in one.asked)


def test_conversations_of_a_folder_are_read(tmp_path):
    document = {
        "sessions": [
            {
                "session": 3,
                "date": "12:05 am on 2 March, 2024",
                "turns": [{"id": "D3:1", "speaker": "Kim", "text": "Look!", "caption": "a photo of a bee"}],
            }
        ],
        "questions": [
            {"question": "What did Kim show?", "kind": "single-hop", "evidence": ["D3:1"]},
            {"question": "Who is not there?", "kind": "single-hop", "evidence": ["D9:1"]},
        ],
    }
    (tmp_path / "conversation-1.json").write_text(json.dumps(document), "utf-8")
    (read,) = conversations(tmp_path)

    (turn,) = read.turns
    assert (turn.indexed, turn.session, turn.said_at) == (
        "Kim: Look! [a photo of a bee]",
        3,
        datetime(2024, 3, 2, 0, 5, tzinfo=UTC),
    )
    assert [asked.evidence for asked in read.asked] == [{"D3:1"}]


def test_talk_with_an_assistant_is_read_with_its_roles_and_searched_by_passages(tmp_path):
    """An assistant's answers are long: the service cuts them, so what is measured in memory must be cut, too."""
    answer = "\n\n".join(f"Step {number}: {'whisk the eggs and fold in the flour, ' * 12}" for number in range(9))
    document = {
        "turns": [
            {"id": 0, "role": "user", "session": 2, "day": "2024-03-02", "text": "How do I bake a sponge?"},
            {"id": 1, "role": "assistant", "session": 2, "day": "2024-03-02", "text": answer},
        ],
        "questions": [
            {"text": "What was baked?", "kind": "recall", "evidence": [0, 7]},
            {"text": "Who left?", "kind": "recall", "evidence": [9]},
        ],
    }
    (tmp_path / "conversation-1.json").write_text(json.dumps(document), "utf-8")
    (read,) = beam.conversations(tmp_path)

    assert [(turn.role, turn.session, turn.said_at.date().isoformat()) for turn in read.turns] == [
        ("user", 2, "2024-03-02"),
        ("assistant", 2, "2024-03-02"),
    ]
    assert [asked.evidence for asked in read.asked] == [{"0"}]
    rows = Index(read).matching(AnalyzedQuery.of("flour")).rows
    assert [(row.seq, row.place) for row in rows[:3]] == [(0, 0), (1, 1), (1, 2)]
    assert by_bm25(read)("flour") == ["1"]


def test_paraphrases_share_no_word_with_what_they_ask_for():
    assert len(pairs()) == 100
    for said, asked in pairs():
        assert set(terms_of(said)) & set(terms_of(asked)) == set()
    statements = dict(pairs())
    for conversation in paraphrases():
        assert len(conversation.turns) == FILLER + len(conversation.asked)
        said = {turn.id: turn.text for turn in conversation.turns}
        for question in conversation.asked:
            assert [statements[said[place]] for place in question.evidence] == [question.text]
