"""The specification's test vectors, where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.cel_vectors import PASSING_PERCENT_MIN, failure_of, load_vectors, main, vectors_folder

# Wants a backslash in bytes whose literal has none: `b''' ? '''` for ` \? `. The same
# literal as a string, in the same suite, wants what is written.
WRONG = {"bytes_literals/triple_single_quoted_unescaped_punctuation"}

needs_vectors = pytest.mark.skipif(not vectors_folder().is_dir(), reason="the vectors are not here")


@needs_vectors
def test_all_vectors_pass_but_the_wrong_ones() -> None:
    failing = {vector.name: failure for vector in load_vectors(vectors_folder()) if (failure := failure_of(vector))}
    assert failing.keys() <= WRONG, failing


def test_runner_prints_the_total_last_and_fails_below_its_percentage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {"name": "right", "expr": "1 + 1", "want": {"int": "2"}}
    wrong = {"name": "wrong", "expr": "1 + 1", "want": {"uint": "2"}}
    suite = tmp_path / "sums.json"

    suite.write_text(json.dumps([right] * 99 + [wrong]))
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "sums: 99 of 100"
    assert "wrong" in printed[1]
    assert printed[-1] == "cel vectors: 99 of 100 passed (99.0 %)"

    suite.write_text(json.dumps([right] * 98 + [wrong] * 2))
    assert main([str(tmp_path)]) == 1
    assert 98 < PASSING_PERCENT_MIN <= 99


def test_runner_fails_without_vectors(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 1
