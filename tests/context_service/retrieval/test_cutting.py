"""Texts cut into passages: nothing lost, nothing too long, at the best place, in linear time."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.document import DOCUMENT
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.pure.cuts import TOKENS_MAX, cut
from tests.cpu import units

MIB = 1024 * 1024
count = TokenCounter().count
TEXTS = st.text() | st.lists(st.sampled_from(["word ", "One. ", "\n", "\n\n", "。", "我有", "😂", ".", " ", "é"])).map(
    "".join
)


def words(text: str) -> int:
    return len(text.split())


def pieces(text: str, count=count, **limits: int) -> list[str]:
    return [text[start:end] for start, end in cut(text, count, **limits)]


@given(TEXTS, st.integers(8, 40))
def test_passages_tile_their_text(text, tokens_max):
    cuts = cut(text, count, tokens_max=tokens_max)

    assert "".join(text[start:end] for start, end in cuts) == text
    assert all(one.end == other.start for one, other in pairwise(cuts))
    assert all(start < end for start, end in cuts)


@given(TEXTS, st.integers(8, 40))
def test_no_passage_has_more_tokens_than_it_may(text, tokens_max):
    assert all(count(piece) <= tokens_max for piece in pieces(text, tokens_max=tokens_max))


def test_a_short_text_is_one_passage_and_is_not_counted():
    assert pieces("One. Two.\n\nThree.", count=lambda text: pytest.fail("counted")) == ["One. Two.\n\nThree."]


def test_an_empty_text_has_no_passage():
    assert pieces("") == []


@pytest.mark.parametrize(
    ("words_max", "text", "passages"),
    [
        # So many words a passage: sentences that fit are together.
        (
            15,
            "In the month of May bees fly as far as they can. They do so early in the morning each day. Home late.",
            [
                "In the month of May bees fly as far as they can. ",
                "They do so early in the morning each day. Home late.",
            ],
        ),
        (
            6,
            "Bees dance in the dark hive.\nWasps do not dance.\nAnts follow one line all day.",
            ["Bees dance in the dark hive.\n", "Wasps do not dance.\n", "Ants follow one line all day."],
        ),
        (
            15,
            "The hive is very quiet, they sleep.\n\nIt rains on all the forty hives. Mice come to all hives in time.",
            [
                "The hive is very quiet, they sleep.\n\n",
                "It rains on all the forty hives. Mice come to all hives in time.",
            ],
        ),
    ],
    ids=["sentences", "lines", "paragraphs"],
)
def test_a_passage_ends_at_the_best_border_it_can_reach(words_max, text, passages):
    assert pieces(text, count=words, tokens_max=words_max) == passages


def test_a_paragraph_is_not_begun_at_the_end_of_a_passage():
    """It ends at the paragraph, though two more sentences would fit."""
    paragraph = "The inspector came at nine and looked at all of the forty hives that stood there. " * 3
    (first, *_) = pieces(paragraph + "\n\n" + paragraph + paragraph, tokens_max=70)

    assert first == paragraph + "\n\n"


def test_a_text_without_borders_is_cut_between_words_and_without_spaces_anywhere():
    assert all(piece.endswith(" ") for piece in pieces("honey " * 500)[:-1])
    assert len(pieces("".join(random.Random(1).choices("0123456789abcdef", k=5000)))) > 5


def test_passages_of_prose_are_well_filled():
    """Short passages would say too little each, and there would be more rows than needed."""
    text = (DOCUMENT.parent / "operations.md").read_text("utf-8")
    lengths = [count(piece) for piece in pieces(text)]

    assert max(lengths) <= TOKENS_MAX
    assert sum(lengths) / len(lengths) > TOKENS_MAX * 0.7


@pytest.mark.parametrize(
    "text",
    [
        "a" * MIB,
        "a. " * (MIB // 3),
        "." * MIB,
        ".'" * (MIB // 2),
        ("." + "'" * 50) * (MIB // 51),
        "。" * (MIB // 3),
        "\n" * MIB,
        "\n " * (MIB // 2),
        "\n" + " " * MIB,
        "😂🏽" * (MIB // 8),
        "我有一只小猫。" * (MIB // 21),
        "\x00" * MIB,
    ],
    ids=lambda text: ascii(text[:4]),
)
def test_no_mebibyte_takes_long(text):
    assert units(lambda: cut(text, count), rounds=1) < 2500
