"""Calibrated scores: probabilities that keep the order, and thresholds below which nothing is recalled."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.quality.agent_log import agent_log
from bench.quality.conversations import Conversation
from bench.quality.in_memory import Index
from context_service.kernel.courtesies import asks_nothing
from context_service.retrieval.profiles import profile, profile_names
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.calibration import Evidence, probabilities, relevant_count
from context_service.retrieval.pure.ranking import Ranked, ranked
from tests.examples import examples

SUMS = st.lists(st.floats(-50, 50), max_size=20).map(lambda sums: sorted(sums, reverse=True))
SHARES = st.floats(0, 1)
EVIDENCE = st.builds(Evidence, coverage=SHARES, information=st.floats(0, 64), size=st.floats(0, 2.5))


@pytest.fixture(scope="module")
def log() -> Conversation:
    return agent_log(seed=11, tasks=20)


def found(conversation: Conversation, text: str, name: str = "default") -> list[Ranked]:
    question = AnalyzedQuery.of(text)
    return ranked(question, Index(conversation).matching(question), profile(name), with_features=False)


@pytest.mark.parametrize("name", profile_names())
@given(sums=SUMS, evidence=EVIDENCE)
@settings(max_examples=examples(40))
def test_a_score_is_a_probability_and_keeps_the_order(name, sums, evidence):
    for parameters in (profile(name).words_calibration, profile(name).meaning_calibration):
        scores = probabilities(parameters, evidence, sums)
        assert len(scores) == len(sums)
        assert all(0 < score < 1 for score in scores)
        assert all(one >= other for one, other in pairwise(scores))


@pytest.mark.parametrize("name", profile_names())
@given(sums=SUMS.filter(bool), evidence=EVIDENCE, more=st.floats(0, 1))
@settings(max_examples=examples(40))
def test_a_question_that_is_covered_better_has_no_lower_scores(name, sums, evidence, more):
    better = Evidence(
        coverage=min(1.0, evidence.coverage + more), information=evidence.information + more, size=evidence.size
    )
    parameters = profile(name).words_calibration
    assert probabilities(parameters, better, sums)[0] >= probabilities(parameters, evidence, sums)[0]


@given(
    scores=st.lists(SHARES, max_size=20).map(lambda scores: sorted(scores, reverse=True)),
    score_min=SHARES,
    by_meaning=st.booleans(),
)
@settings(max_examples=examples(40))
def test_a_threshold_keeps_exactly_the_scores_from_it_on(scores, score_min, by_meaning):
    count = relevant_count(scores, score_min, by_meaning=by_meaning)
    assert all(score >= score_min for score in scores[:count])
    assert all(score < score_min for score in scores[count:])


@pytest.mark.parametrize(
    ("scores", "by_words", "by_meaning"),
    [
        ([], 0, 0),
        ([0.04], 0, 0),
        ([0.11, 0.1], 0, 1),
        ([0.13, 0.12], 1, 1),
        ([0.2, 0.1], 2, 1),
        ([0.4, 0.1, 0.004], 2, 2),
    ],
)
def test_by_default_an_improbable_best_passage_is_not_recalled_and_a_doubtful_one_alone(scores, by_words, by_meaning):
    assert relevant_count(scores, None, by_meaning=False) == by_words
    assert relevant_count(scores, None, by_meaning=True) == by_meaning


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that's all for today!",
        "ok",
        "Good morning",
        "Danke, das war alles.",
        "Merci beaucoup, bonne journée !",
        "gracias, hasta luego",
        "Grazie mille!",
        "спасибо",
        "谢谢",
        "👍",
        "Good night, talk to you tomorrow.",
    ],
)
def test_a_greeting_or_thanks_asks_nothing_and_all_its_scores_are_0(text, log):
    greeting = replace(log.turns[0], id="greeting", text=text)
    conversation = Conversation(name="greeted", turns=[greeting, *log.turns[1:20]])

    assert asks_nothing(text)
    results = found(conversation, text)
    assert [item.score for item in results] == [0.0] * len(results)
    assert relevant_count([item.score for item in results], None, by_meaning=False) == 0


@pytest.mark.parametrize(
    "text",
    ["team", "tomorrow", "the day", "What is all this?", "ok, but who pays?", "thanks to whom?", "7", "C++", "?"],
)
def test_a_text_that_may_ask_something_is_no_courtesy(text):
    assert not asks_nothing(text)


def test_most_questions_about_something_that_nobody_mentioned_recall_at_most_one_passage(log):
    """90 % of them; in docs/benchmarks.md are the figures of larger corpora."""
    asked = [
        "What is the capital of France?",
        "Which tyre pressure did the mechanic recommend?",
        "When is the appointment with the glaciologist?",
        "Who won the chess olympiad?",
        "Where did we bury the treasure?",
        "How do I descale the espresso machine?",
        "Which vaccine did the vet give the llama?",
        "Wann fährt die Fähre nach Gotland?",
        "Quel est le mot de passe du chalet ?",
        "¿Quién escribió la ópera?",
    ]
    counts = [relevant_count([item.score for item in found(log, text)], None, by_meaning=False) for text in asked]
    assert sum(count <= 1 for count in counts) >= 9


def test_the_answers_of_questions_stay_among_the_recalled(log):
    """The default threshold costs at most .02 of R@10."""
    lost = total = 0
    for asked in log.asked:
        results = found(log, asked.text)[:10]
        count = relevant_count([item.score for item in results], None, by_meaning=False)
        ids = [log.turns[item.row.seq].id for item in results]
        lost += len(asked.evidence & set(ids)) - len(asked.evidence & set(ids[:count]))
        total += len(asked.evidence)
    assert lost <= 0.02 * total
