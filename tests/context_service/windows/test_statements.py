"""The labelled sentences of strangers stay what they are: many, of many languages, with labels that occur in them."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.statements import FOLDER, HALVES, KINDS, items

FILES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
SPANS = {"rules": ("rule",), "decisions": ("choice", "reason"), "next_steps": ("step",)}


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_at_least_300_items_and_a_fifth_is_not_in_english(name: str):
    labelled = list(items(name))
    assert len(labelled) >= 300
    assert sum(item["lang"] != "en" for item in labelled) >= 0.19 * len(labelled)
    assert {item["domain"] for item in labelled} == {"support", "coding", "data", "operations", "private"}
    halves = Counter(item["half"] for item in labelled)
    assert min(halves[half] for half in HALVES) >= 0.4 * len(labelled)


@pytest.mark.parametrize("name", FILES)
def test_labels_occur_in_their_texts(name: str):
    for item in items(name):
        for label in SPANS.get(name, ()):
            assert item.get(label, "") in item["text"]
        if name == "values":
            assert item["old"] in item["first"]
            assert item["new"] in item["later"]
        if name == "errors":
            assert item["error_line"] in item["output"]


def test_every_file_is_measured():
    assert {name for name, _, _ in KINDS.values()} == set(FILES)
