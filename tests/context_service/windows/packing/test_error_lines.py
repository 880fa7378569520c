"""The lines of an output that name its error: a fast search decides which lines are looked at closely."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.packing.pure.state import error_lines
from context_service.packing.pure.state.error_lines import error_line, has_error
from tests.examples import examples

PATTERNS = [error_lines._NAMED, error_lines._LABELLED, error_lines._FAILS]
WORDS = [
    *(
        "ERROR",
        "erreur",
        "błąd",
        "エラー",
        "错误",
        "ошибка",
        "خطأ",
        "ValueError",
        "IOException",
        "E1234",
        "E   ",
        "Exit",
        "level=fatal",
    ),
    *(
        "can't",
        "échec",
        "введено",
        "nicht",
        "violates",
        "odmowa",
        "失败",
        "できません",
        "timed out",
        "read-only",
        '"s":"E"',
        "jam",
    ),
    *(" ", ": ", "=", "[", ")", "\n", "x", "7", "the", "ſ", "İ"),
]


@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=8))
@settings(max_examples=examples(150))
def test_each_line_that_a_pattern_knows_is_looked_at(words: list[str]):
    for line in "".join(words).splitlines():
        if any(pattern.is_in(line) for pattern in PATTERNS):
            assert error_lines._HINT.is_in(line.encode(errors="replace"))


@pytest.mark.parametrize("word", sorted(set(re.findall(r"[^\W\d_]{3,}", error_lines._FAILURES + error_lines._LABELS))))
def test_each_word_of_the_patterns_is_in_the_fast_search(word: str):
    line = f"x {word}: y"
    known = any(pattern.is_in(line) for pattern in PATTERNS)

    assert not known or error_lines._HINT.is_in(line.encode())


def test_an_error_in_a_long_output_is_found_and_a_calm_output_has_none():
    calm = "\n".join(f"row {n} of the ledger is written" for n in range(150))

    assert not has_error(calm)
    assert error_line(calm) == ""
    assert (
        error_line(f"{calm}\nMissingPortError: no port called Varna\n{calm}")
        == "MissingPortError: no port called Varna"
    )


LINE_PATTERNS = [pattern for pattern in vars(error_lines).values() if isinstance(pattern, error_lines._LinePattern)]
SIGNS = [
    "0 errors",
    "3 failed,",
    "exit code 1",
    "Traceback (",
    'File "a.py"',
    "at f(",
    "build failed]",
    "\t",
    "\x1f",
    "\x0b",
    "ſ",
    "$",
]
LINE_WORDS = st.sampled_from(WORDS + SIGNS)


@settings(max_examples=examples(150))
@given(line=st.lists(LINE_WORDS | st.text(max_size=3), max_size=8).map(" ".join))
def test_lines_of_ascii_are_read_as_all_others_are(line: str):
    """RE2 reads lines of ASCII, and `re` all others: the two must agree."""
    for part in line.splitlines():
        for pattern in LINE_PATTERNS:
            assert pattern.is_in(part) == bool(pattern._any.search(part))
