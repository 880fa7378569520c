"""Ranking: each feature by hand, an order that is total and the same each time, and what fits into a prompt."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.quality.conversations import Conversation, Turn
from bench.quality.in_memory import Index
from context_service.retrieval.profiles import BadProfile, Profile, parsed, profile, profile_names
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.budget import Item, within_budget
from context_service.retrieval.pure.features import FEATURES, Candidates, feature
from context_service.retrieval.pure.ranking import Ranked, at_once, ranked
from context_service.retrieval.pure.terms import terms_of
from context_service.retrieval.rules.search import chosen_profile
from tests.case_files import cases
from tests.cpu import units
from tests.examples import examples

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
WORDS = ["bees", "wasps", "ants", "honey", "hive", "why?", "yesterday", "forty", "at Kew", "bob", "the"]
SAID = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1, max_size=5), max_size=4
)
ASKED = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
MODES = pytest.mark.parametrize("name", profile_names())


def talk(sessions: list[list[str]], dates: list[Any] = ()) -> Conversation:
    """Return a conversation; a turn is "author: text", "assistant: text", or "> " and a tool's result."""
    turns = []
    for number, session in enumerate(sessions):
        begins = datetime.combine(dates[number], time(9), UTC) if dates else START + timedelta(days=number)
        for line in session:
            author, _, text = line.removeprefix("> ").rpartition(": ")
            kind, role = ("tool_result", "tool") if line.startswith("> ") else ("text", "user")
            if author in ("user", "assistant"):
                author, role = "", author
            turns.append(
                Turn(
                    id=str(len(turns) + 1),
                    text=text,
                    session=number,
                    said_at=begins + timedelta(minutes=len(turns)),
                    author=author,
                    role=role,
                    kind=kind,
                )
            )
    return Conversation(name="talk", turns=turns)


def ranking(conversation: Conversation, asked: str, name: str = "default", **options: Any) -> list[Ranked]:
    question = AnalyzedQuery.of(asked)
    return ranked(question, Index(conversation).matching(question), profile(name), **options)


def seqs(found: list[Ranked]) -> list[int]:
    return [one.row.seq for one in found]


@pytest.mark.parametrize(
    "case",
    cases("ranking", keys=["said", "dates", "question", "feature"], answers=["value"], needed=["said", "feature"]),
)
def test_a_feature_is_what_is_worked_out_by_hand(case):
    index, question = Index(talk(case["said"], case.get("dates", []))), AnalyzedQuery.of(case["question"])
    candidates = at_once(Candidates.read(question, index.matching(question), {}))
    values = at_once(feature(case["feature"], candidates))

    found: list[object] = [None] * sum(map(len, case["said"]))
    for row, value in zip(candidates.rows, values, strict=True):
        found[row.seq] = pytest.approx(value, abs=1e-4)
    assert case["value"] == found


def test_every_feature_has_cases():
    tried = {
        case.values[0]["feature"]
        for case in cases("ranking", keys=["said", "dates", "question", "feature"], answers=["value"])
    }

    assert tried | {"nbp", "cos", "cosw"} == FEATURES.keys()


@MODES
def test_an_answer_that_repeats_no_word_of_the_question_is_a_candidate(name):
    conversation = talk([["ann: Where did you see the bees?", "bob: Near Kew."], ["ann: Good morning!", "bob: Hello."]])

    found = ranking(conversation, "Where were the bees?", name)
    assert sorted(seqs(found)) == [0, 1]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (["ann: bees", "bob: wasps"], "conversation"),
        (["user: bees", "assistant: bees"], "default"),
        (["ann: bees", "> bees"], "default"),
        ([], "default"),
    ],
    ids=["people", "an assistant", "tools", "nobody"],
)
def test_who_speaks_chooses_the_profile(said, name):
    assert chosen_profile(Index(talk([said])).matching(AnalyzedQuery.of("bees")).rows) == name


@MODES
def test_what_has_no_word_of_the_question_and_stands_beside_none_is_none(name):
    """Of a small scope all rows are read: a question of another scope must find nothing in this one."""
    conversation = talk([["ann: bees"], ["ann: ants?", "ann: yesterday"], ["ann: moths", "> bees", "bob: 7"]])

    assert sorted(seqs(ranking(conversation, "When did you see the bees, Ann of 7?", name))) == [0, 1, 2, 3, 4, 5]
    assert sorted(seqs(ranking(conversation, "bees", name))) == [0, 4]
    assert ranking(conversation, "boats", name) == []


@MODES
@given(said=SAID, asked=ASKED, seed=st.randoms(use_true_random=False))
@settings(max_examples=examples(40))
def test_the_order_of_rows_changes_nothing(name, said, asked, seed):
    question = AnalyzedQuery.of(asked)
    matching = Index(talk([[f"ann: {text}" for text in session] for session in said])).matching(question)
    rows = list(matching.rows)
    seed.shuffle(rows)
    shuffled = replace(matching, rows=rows)

    assert ranked(question, shuffled, profile(name)) == ranked(question, matching, profile(name))


@MODES
@given(said=SAID, asked=ASKED)
@settings(max_examples=examples(40))
def test_the_order_is_that_of_the_sums_and_scores_are_probabilities_that_fall(name, said, asked):
    found = ranking(talk([[f"bob: {text}" for text in session] for session in said]), asked, name)

    assert len(set(seqs(found))) == len(found)
    sums = [round(sum(one.features.values()), 9) for one in found]
    assert sums == sorted(sums, reverse=True)
    assert all(0 < one.score < 1 for one in found)
    assert all(one.score > other.score for one, other in pairwise(found))


@given(said=SAID, asked=ASKED, limit=st.integers(0, 5))
@settings(max_examples=examples(40))
def test_fewer_are_the_first_of_all(said, asked, limit):
    conversation = talk([[f"ann: {text}" for text in session] for session in said])
    assert ranking(conversation, asked, limit=limit) == ranking(conversation, asked)[:limit]


def test_of_equal_ones_what_was_said_first_is_first():
    conversation = talk([["ann: bees"]] * 5 + [["ann: ants"]] * 5)
    assert [one.row.seq for one in ranking(conversation, "bees")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "the of and",
        "a",
        "?",
        "'; DROP TABLE passage; --",
        "bees & wasps | !ants:* <-> ",
        "bees " * 2000,
        " ".join(f"word{number}" for number in range(2000)),
        "\x00\ud800",
        "in May " * 1500,
        "99999-99-99 2026-13-45 in February 30",
        "我有一只小猫吗",
    ],
    ids=lambda text: ascii(text[:12]),
)
@MODES
def test_any_question_is_answered_and_soon(asked, name):
    conversation = talk([["ann: bees", "bob: wasps of May"], ["ann: ants", "> word7"]])
    question = AnalyzedQuery.of(asked)
    matching = Index(conversation).matching(question)

    assert units(lambda: ranked(AnalyzedQuery.of(asked), matching, profile(name)), rounds=1) < 250


@pytest.mark.parametrize("name", ["ann", "the", "", "'", "ann: bob", "a" * 1000])
def test_an_author_may_have_any_name(name):
    turns = [Turn(id="1", text="bees", session=0, said_at=START, author=name)]
    assert len(ranking(Conversation(name="one", turns=turns), f"{name} bees")) == 1


def test_terms_that_were_left_out_of_the_search_count_as_common_as_they_are():
    """Rows that have only a common term are not read, so counting them would make it rare."""
    conversation = talk([[f"ann: hive {number} bees" if number % 2 else f"ann: hive {number}"] for number in range(60)])
    question = AnalyzedQuery.of("which hive has number 7 and bees")
    whole = Index(conversation).matching(question)
    part = Index(conversation, read_whole=10).matching(question)

    assert len(part.rows) < len(whole.rows)
    assert seqs(ranked(question, part, profile("default")))[0] == seqs(ranked(question, whole, profile("default")))[0]


def test_meaning_brings_what_has_no_word_of_the_question():
    question = AnalyzedQuery.of("insects")
    conversation = talk([["ann: bees"], ["ann: boats"], ["ann: insects?"]])
    index = Index(conversation)
    matching = index.matching(AnalyzedQuery.of("bees boats insects"))
    rows = [row._replace(found=[]) if row.seq < 2 else row._replace(found=[(1, 0)]) for row in matching.rows]
    nearest = replace(matching, rows=rows)

    cosines = {(0, 0): (0.9, 0.8), (1, 0): (0.1, 0.1)}
    found = ranked(question, nearest, profile("default"), cosines=cosines)
    assert seqs(found).index(0) < seqs(found).index(1)
    assert found[0].features.keys() >= {"cos", "cosw"}


@MODES
def test_a_passage_that_shares_one_word_of_many_does_not_come_before_the_one_that_means_the_question(name):
    conversation = talk([["ann: a project plan"], ["ann: no money is left"], ["ann: hello there"]])
    question = AnalyzedQuery.of("Which project runs out of funds soon, sadly?")
    cosines = {(0, 0): (0.4, 0.4), (1, 0): (0.5, 0.5), (2, 0): (0.1, 0.1)}

    found = ranked(question, Index(conversation).matching(question), profile(name), cosines=cosines)
    assert seqs(found)[0] == 1


@MODES
def test_words_count_fully_for_a_passage_that_has_no_vector_yet(name):
    conversation = talk([["ann: a project plan"], ["ann: no money is left"], ["ann: hello there"]])
    question = AnalyzedQuery.of("Which project runs out of funds soon, sadly?")
    by_words = ranked(question, Index(conversation).matching(question), profile(name))
    found = ranked(
        question,
        Index(conversation).matching(question),
        profile(name),
        cosines={(1, 0): (0.5, 0.5), (2, 0): (0.1, 0.1)},
    )

    (of_words,) = (one.features["turn"] for one in by_words if one.row.seq == 0)
    assert next(one.features["turn"] for one in found if one.row.seq == 0) == of_words > 0


@MODES
def test_a_passage_without_a_vector_that_has_the_whole_question_comes_before_one_that_is_only_similar(name):
    """A message that was sent a moment ago has no vector yet."""
    conversation = talk(
        [["ann: patient Ada, a cough at night"], ["ann: hello"], ["ann: the ward of the patient is W7"]]
    )
    question = AnalyzedQuery.of("What is the ward of the patient?")
    cosines = {(0, 0): (0.5, 0.5), (1, 0): (0.1, 0.1)}

    found = ranked(question, Index(conversation).matching(question), profile(name), cosines=cosines)
    assert seqs(found)[0] == 2


@MODES
def test_meaning_counts_less_where_words_find_the_whole_question(name):
    """The same similarities must not push a passage down that says what was asked, word for word."""
    conversation = talk([["ann: the red kayak leaks"], ["ann: a boat"], ["ann: the kayak"]])
    cosines = {(0, 0): (0.3, 0.3), (1, 0): (0.9, 0.9), (2, 0): (0.5, 0.5)}
    shares = []
    for asked in ("red kayak leaks", "kayak lawn mower engine"):
        question = AnalyzedQuery.of(asked)
        found = ranked(question, Index(conversation).matching(question), profile(name), cosines=cosines)
        shares.append(max(one.features["cos"] for one in found))

    assert shares[0] < shares[1] / 2


def test_to_rank_a_scope_of_600_takes_a_few_milliseconds():
    """3.4 ms for the default on the machine of `tests/cpu.py`; the profile of conversations looks at more."""
    source = random.Random(1)
    words = [f"word{number}" for number in range(400)]
    sessions = [[f"ann: {' '.join(source.choices(words, k=12))} bees" for _ in range(30)] for _ in range(20)]
    index = Index(talk(sessions))
    question = AnalyzedQuery.of("word1 word2 word3 word4 bees word5")
    matching = index.matching(question)
    assert len(matching.rows) == 600

    assert units(lambda: ranked(question, matching, profile("default")), rounds=5) < 20
    assert units(lambda: ranked(question, matching, profile("conversation")), rounds=5) < 40


def test_profiles_come_with_the_service():
    assert profile_names() == ("conversation", "default")
    with pytest.raises(KeyError):
        profile("../default")


PARAMETERS = {"bias": 0.0, "sum": 1.0, "place": 1.0, "coverage": 1.0, "information": 1.0, "size": 0.0}


def form(**changed: Any) -> dict[str, Any]:
    """Return a profile as its file has it."""
    calibration = {"words": PARAMETERS, "with_meaning": PARAMETERS}
    return {"words": {"turn": 1}, "with_meaning": {"turn": 1}, "calibration": calibration, **changed}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (None, "must have `words`, `with_meaning` and `calibration`"),
        ({"words": {"turn": 1}}, "must have `words`, `with_meaning` and `calibration`"),
        (form(more=1), "nothing else"),
        (form(words={}), "must name features"),
        (form(words={"turns": 1}), "no feature 'turns'"),
        (form(words={"cos": 1}), "need vectors"),
        (form(words={"turn": "1"}), "must be a finite number"),
        (form(words={"turn": True}), "must be a finite number"),
        (form(words={"turn": math.nan}), "must be a finite number"),
        (form(calibration={"words": PARAMETERS}), "must have `words` and `with_meaning`"),
        (form(calibration={"words": {"bias": 0}, "with_meaning": PARAMETERS}), "must have bias, sum"),
        (
            form(calibration={"words": PARAMETERS | {"bias": "0"}, "with_meaning": PARAMETERS}),
            "must be a finite number",
        ),
        (form(calibration={"words": PARAMETERS | {"place": -1}, "with_meaning": PARAMETERS}), "must not be negative"),
    ],
)
def test_a_profile_that_is_not_of_the_form_is_refused(said, why):
    with pytest.raises(BadProfile, match=why):
        parsed("mine", said)


def test_a_profile_has_weights_in_the_order_of_its_file():
    assert parsed("mine", form(words={"turn": 1, "nb": -2}, with_meaning={"cos": 0.5})) == Profile(
        name="mine",
        words={"turn": 1.0, "nb": -2.0},
        with_meaning={"cos": 0.5},
        words_calibration=PARAMETERS,
        meaning_calibration=PARAMETERS,
    )


def item(tokens: int = 10, text: str = "", *, is_result: bool = False) -> Item:
    return Item(tokens, is_result, terms_of(text))


@given(
    st.lists(st.builds(Item, st.integers(1, 50), st.booleans(), st.lists(st.sampled_from(WORDS), max_size=8))),
    st.integers(0, 200),
    st.integers(1, 10),
)
def test_what_goes_in_is_within_the_budget(items, tokens_max, items_max):
    taken = within_budget(items, tokens_max=tokens_max, items_max=items_max)

    assert taken == sorted(set(taken))
    assert sum(items[one].tokens for one in taken) <= tokens_max
    assert len(taken) <= items_max
    assert sum(items[one].is_result for one in taken) <= max(items_max // 3, 1)


def test_a_shorter_one_goes_in_where_a_longer_one_does_not_fit():
    assert within_budget([item(60), item(50), item(40)], tokens_max=100, items_max=20) == [0, 2]


def test_nothing_goes_in_twice():
    same = "The bees of the third hive came back early in the morning of a cold day"
    items = [
        item(text=same),
        item(text=same.upper()),
        item(text=same + " today"),
        item(text=same + " 7"),
        item(text="Yes"),
    ]
    assert within_budget(items, tokens_max=1000, items_max=20) == [0, 3, 4]


def test_another_number_is_another_fact():
    line = "the service of the northern office in the harbour district listens on port {} for all internal callers"
    assert within_budget([item(text=line.format(5001)), item(text=line.format(5002))], tokens_max=99, items_max=9) == [
        0,
        1,
    ]


def test_results_of_tools_leave_room_for_what_was_said():
    items = [item(text=f"result {number}", is_result=True) for number in range(10)] + [item(text="said")]
    assert within_budget(items, tokens_max=1000, items_max=9) == [0, 1, 2, 10]
