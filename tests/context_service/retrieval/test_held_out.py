"""The corpora that ranking is measured on, and how weights are learned without one of them."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from bench.quality.advice import advice
from bench.quality.cases import NAMES, Case, cases, interval, vector
from bench.quality.held_out import calibrated, learned, left_out, lesson, scored
from bench.quality.office import facts, office
from context_service.retrieval.profiles import DEFAULT
from context_service.retrieval.pure.calibration import Evidence
from context_service.retrieval.pure.terms import findable_terms


def case(features: dict[str, list[float]], evidence: set[int]) -> Case:
    """Return a question whose candidates have some features, a message each."""
    count = len(next(iter(features.values())))
    columns = [features.get(name, [0.0] * count) for name in NAMES]
    return Case(
        conversation="one",
        kind="",
        profile=DEFAULT,
        features=np.array(columns).T,
        seqs=np.arange(count),
        evidence=frozenset(evidence),
        by_bm25=[],
        by_cosine=[],
        scope=Evidence(coverage=1.0, information=1.0, size=2.0),
    )


def test_each_fact_of_office_talk_is_asked_with_its_words_and_without():
    assert len(facts()) == len(set(facts())) == 200
    for said, mild, hard in facts():
        assert not set(findable_terms(said)) & set(findable_terms(hard)), (said, hard)
        assert set(findable_terms(said)) & set(findable_terms(mild)), (said, mild)


@pytest.mark.parametrize("turns", [600, 5_000])
def test_office_talk_holds_each_fact_once(turns):
    talk = office(turns=turns)
    texts = [turn.text for turn in talk.turns]

    assert len(texts) == turns
    assert all(texts.count(said) == 1 for said, _, _ in facts())
    assert talk == office(turns=turns) != office(seed=2, turns=turns)


def test_an_assistant_talks_long_and_the_user_says_what_is_asked():
    conversations = advice()
    for one in conversations:
        turns = {turn.id: turn for turn in one.turns}
        lengths = {
            role: fmean(len(turn.text) for turn in one.turns if turn.role == role) for role in ("user", "assistant")
        }
        assert lengths["assistant"] > 10 * lengths["user"]
        assert all(asked.evidence for asked in one.asked)
        assert all(turns[id].role == "user" for asked in one.asked for id in asked.evidence)


def test_weights_are_learned_from_what_tells_evidence_apart():
    """`turn` tells, `sess` misleads, `nb` is the same for all, and `user` was left out."""
    source = np.random.default_rng(1)
    examples = []
    for _ in range(30):
        noise = source.random(8).tolist()
        examples.append(case({"turn": [1.0, *[0.2] * 7], "sess": [0.0, *noise[1:]], "nb": [0.5] * 8}, {0}))

    weights = dict(zip(NAMES, learned(lesson({"some": examples}, DEFAULT), ["turn", "sess", "nb"]), strict=True))
    assert weights["turn"] > 0.5 > -0.1 > weights["sess"]
    assert abs(weights["nb"]) < 0.01
    assert weights["user"] == 0.0


def test_each_corpus_counts_the_same_whatever_its_size():
    """A thousand questions of one corpus do not outvote ten of another."""
    many = [case({"turn": [1.0, 0.0], "sess": [0.0, 1.0]}, {0})] * 300
    few = [case({"turn": [1.0, 0.0], "sess": [0.0, 1.0]}, {1})] * 3

    weights = learned(lesson({"many": many, "few": few}, DEFAULT), ["turn", "sess"])
    assert weights == pytest.approx(0.0, abs=0.01)


def test_a_corpus_is_left_out_in_all_its_sizes():
    all_of = {name: [] for name in ("office", "office, 5,000", "talk")}
    assert left_out(all_of, "office, 5,000").keys() == left_out(all_of, "office").keys() == {"talk"}


def test_a_calibration_returns_how_often_passages_are_evidence():
    """One question of four has its answer in the first place, and none has it later."""
    corpus = [case({"turn": [1.0, 0.5]}, {0} if number % 4 == 0 else {9}) for number in range(200)]
    parameters = calibrated([(one, 1.0) for one in scored(corpus, {DEFAULT: vector({"turn": 1.0})})], size=-0.5)

    constants = (parameters["bias"], parameters["coverage"], parameters["information"], 2 * parameters["size"])
    assert 1 / (1 + np.exp(-sum(constants) - parameters["sum"])) == pytest.approx(0.25, abs=0.02)


def test_a_message_is_found_once_and_a_question_that_nothing_answers_has_no_evidence(tmp_path):
    talk = office(turns=220)
    found = cases("office", [talk], ["Where did we bury the treasure?"], folder=tmp_path, with_model=False)
    again = cases("office", [talk], ["Where did we bury the treasure?"], folder=tmp_path, with_model=False)

    assert [one.kind for one in found].count("never") == 1
    assert not [one for one in found if one.kind == "never" and one.evidence]
    for one, other in zip(found, again, strict=True):
        ranking = one.ranked(vector({"turn": 1.0}))
        assert ranking == other.ranked(vector({"turn": 1.0}))
        assert len(ranking) == len(set(ranking))


def test_an_interval_narrows_with_the_root_of_the_questions():
    few, many = interval([0.0, 1.0] * 50), interval([0.0, 1.0] * 800)
    assert few == pytest.approx(0.098, abs=0.015)
    assert many == pytest.approx(few / 4, rel=0.15)
