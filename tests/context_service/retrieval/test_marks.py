"""Marks of a text: what ranking looks at beside its terms."""

from __future__ import annotations

import pytest

from context_service.retrieval.pure.marks import NUMBER, PLACE, QUESTION, TIME, marks_of
from tests.cpu import units

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("", 0),
        ("The bees came back.", 0),
        ("Did they?", QUESTION),
        ("蜂はどこですか\uff1f", QUESTION),
        ("They came back on Friday.", TIME),
        ("last week", TIME),
        ("A DAY AGO", TIME),
        ("at 10", TIME | NUMBER),
        ("forty hives", NUMBER),
        ("We met in Paris.", PLACE),
        ("we met in may", 0),
        ("Near Kew, twice", PLACE | NUMBER),
        ("someday, seconds, weekly", 0),
    ],
)
def test_a_text_has_the_marks_of_what_is_in_it(text, marks):
    assert marks_of(text) == marks
    assert marks_of(f"{text} \u00e9") == marks  # ASCII is looked through otherwise


def test_marks_fit_a_small_number():
    """They are a smallint of the row."""
    assert marks_of("In Kew? On Monday, 7.") < 2**15


@pytest.mark.parametrize("text", ["in " * (MIB // 3), "in" + " " * MIB, "a" * MIB, "tomorro " * (MIB // 8)])
def test_no_mebibyte_takes_long(text):
    assert units(lambda: marks_of(text), rounds=1) < 1500
