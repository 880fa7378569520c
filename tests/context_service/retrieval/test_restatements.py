"""Newer statements of the same thing: which passages they replace, and which they leave alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.retrieval.pure.claims import Said, claims_of
from context_service.retrieval.pure.restatements import replaced
from tests.cpu import units
from tests.examples import examples

PAIRS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "restatements.yaml").read_text("utf-8"))


def said(*lines: str) -> list[Said]:
    """Return lines as messages of one session; "assistant: " and a name such as "Ann: " say who speaks."""
    passages = []
    for number, line in enumerate(lines):
        author, _, text = line.rpartition(": ") if re.match(r"(?:[A-Z][a-z]{2}|assistant): ", line) else ("", "", line)
        role = "assistant" if author == "assistant" else "user"
        answers = (0, number - 1) if role == "assistant" else None
        name = "" if role == "assistant" else author
        passages.append(Said(number, 0, role, name, text, (0, number), answers))
    return passages


def replaced_in(*lines: str) -> dict[int, int]:
    return {older[0]: newer[0] for older, newer in replaced(said(*lines)).items()}


@pytest.mark.parametrize("pair", PAIRS["newer"], ids=lambda pair: pair[1][:40])
def test_the_same_thing_with_another_value_is_replaced(pair: list[str]):
    assert replaced_in(*pair) == {0: 1}


@pytest.mark.parametrize("pair", PAIRS["apart"], ids=lambda pair: pair[1][:40])
def test_what_holds_next_to_another_statement_is_not_replaced(pair: list[str]):
    assert replaced_in(*pair) == {}


def test_a_chain_ends_at_its_newest_statement():
    lines = ["My desk is 12.", "My desk is 17 now.", "Lunch?", "They moved us, so my desk is now 31."]
    assert replaced_in(*lines) == {0: 3, 1: 3}


def test_answers_of_the_newest_time_replace_those_before():
    lines = [
        "Where is my parcel?",
        "assistant: It left Hamburg.",
        "Where is my parcel now?",
        "assistant: In Lyon.",
        "Thanks.",
        "Where's my parcel?",
        "assistant: At your neighbour's.",
    ]
    assert replaced_in(*lines) == {0: 5, 2: 5, 1: 6, 3: 6}


def test_an_answer_holds_as_long_as_the_newest_question_has_none():
    lines = ["Where is my parcel?", "assistant: It left Hamburg.", "Where is my parcel now?"]
    assert replaced_in(*lines) == {0: 2}


def test_a_thing_that_has_several_values_at_once_has_none_that_replaces():
    lines = ["The base case is 1.", "The base case is 0.", "The base case is 1.", "The base case is 0."]
    assert replaced_in(*lines) == {}
    assert replaced_in("The port is 80. The port is 81.", "The port is 82.") == {}


def test_what_the_assistant_calls_yours_is_what_the_user_calls_mine():
    assert replaced_in("My refund is 120 euros.", "assistant: Your refund is now 95 euros.") == {0: 1}
    assert replaced_in("assistant: My name is Robin.", "My name is Kim.") == {}


@given(st.lists(st.sampled_from([line for pairs in PAIRS.values() for pair in pairs for line in pair]), max_size=8))
@settings(max_examples=examples(40))
def test_only_newer_passages_replace_and_nothing_replaces_the_newest(lines: list[str]):
    by = replaced_in(*lines)
    assert all(older < newer for older, newer in by.items())
    assert not by.keys() & set(by.values())


@given(st.text(max_size=300))
@settings(max_examples=examples(40))
def test_any_text_is_read(text: str):
    list(claims_of(Said(1, 0, "user", "", text, None, None)))


@pytest.mark.parametrize(
    "text", ["my a is 1, " * 400, "the the the is is " * 300, "From now on " * 400, "." * 4000, "a, " * 2000]
)
def test_reading_takes_time_in_proportion_to_the_text(text: str):
    passages = [said_of for number in range(10) for said_of in [Said(number, 0, "user", "", text, None, None)]]
    assert units(lambda: replaced(passages)) < 200
