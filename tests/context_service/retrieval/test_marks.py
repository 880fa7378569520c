"""Marks of a text: what ranking looks at beside its terms."""

from __future__ import annotations

import pytest

from context_service.retrieval.pure.marks import (
    DAY_AGO,
    MONTH_AHEAD,
    NUMBER,
    PLACE,
    PREFERENCE,
    QUESTION,
    RULE,
    TIME,
    WEEK_AGO,
    YEAR_AGO,
    marks_of,
)
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
        ("last week", TIME | WEEK_AGO),
        ("Yesterday I left, and next month I will be back.", TIME | DAY_AGO | MONTH_AHEAD),
        ("We married last spring.", TIME | YEAR_AGO),
        ("Always name the price when I ask for offers.", RULE),
        ("Thanks! From now on, please answer briefly.", RULE),
        ("Whenever I send you a draft, check its commas.", RULE),
        ("She always asks for more.", 0),
        ("I never saw it, and I never ask.", 0),
        ("I prefer trains to planes.", PREFERENCE),
        ("We would much rather stay.", PREFERENCE),
        ("My favourite tea is green.", PREFERENCE),
        ("It looks like rain.", 0),
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
    everything = (
        "In Kew? Yesterday, last week, last month, last year, tomorrow, next month. I prefer 7. Always ask when I ask."
    )
    assert marks_of(everything) == 2**12 - 1


@pytest.mark.parametrize(
    "text",
    [
        "in " * (MIB // 3),
        "\n" * MIB,
        "i " * (MIB // 2),
        "last " * (MIB // 5),
        "in" + " " * MIB,
        "a" * MIB,
        "tomorro " * (MIB // 8),
    ],
)
def test_no_mebibyte_takes_long(text):
    assert units(lambda: marks_of(text), rounds=1) < 1500
