"""Sentences are cut where a reader would cut them, in ten languages."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.sentences import language_of, sentences_of
from context_service.packing.pure.state.task_state import sentences
from tests import cpu

STATEMENTS = Path(__file__).parents[2] / "cases" / "statements"


@pytest.mark.parametrize(
    "whole",
    [
        ["Please do not phone Prof. Lindqvist before noon, he teaches.", "Mr. Osei must not be copied on quotes."],
        ["The fee is 2.75 CHF per order.", "The quota is 1.5 TB per team."],
        ['He wrote "Stop. Now. I mean it." and left.', "So we stopped."],
        ["Use v1.2.3 of lib/foo.py, e.g. from the mirror.", "Don't touch setup.cfg."],
        ["I told J. K. Brown vs. Miller Corp. was settled.", "File it."],
        ["Is that right?", "Yes!", "Then go on."],
        ["ok done.", "now the next one.", "please use tabs"],
        ["Bitte rufen Sie Fr. Dr. Keller erst nach 14 Uhr an.", "Sie hat vormittags Sprechstunde."],
        ["Am 3. Oktober ist zu.", "Danach bzw. ab dem 4. wieder auf."],
        ["Le tarif est de 2,75 € env. par commande.", "Cf. la note p. 12."],
        ["El Sr. Ortega firma los contratos.", "La reunión es a las 10."],
        ["Il dott. Bianchi arriva alle 9.", "La sig.ra Neri non c'è."],
        ["Г. Иванов придёт в 10 ч. утра.", "Не опаздывайте."],
        ["لا تتصل بالدكتور قبل الظهر.", "هل فهمت؟"],
    ],
)
def test_abbreviations_numbers_and_quotations_end_no_sentence(whole):
    assert sentences_of(" ".join(whole)) == whole


def test_scripts_without_blanks_are_cut_at_their_own_signs():
    assert sentences_of("会議は三時です。遅れないでください。") == ["会議は三時です。", "遅れないでください。"]


def test_a_line_end_ends_a_sentence():
    assert sentences_of("keep it short\nno emojis\n\n  thanks") == ["keep it short", "no emojis", "thanks"]


def test_labelled_rules_and_questions_are_whole_sentences():
    """The labels are by people: a rule within a longer message begins and ends where they say that it does."""
    items = [
        (item["text"], item[kind])
        for kind in ("rule", "question")
        for line in (STATEMENTS / f"{kind}s.jsonl").read_text("utf-8").splitlines()
        if (item := json.loads(line)).get("kind") == kind and item[kind] != item["text"]
    ]
    cut_wrong = [text for text, label in items if not _is_made_of_whole_sentences(label, sentences_of(text))]
    assert len(items) > 150
    assert len(cut_wrong) <= 3, cut_wrong


def _is_made_of_whole_sentences(label: str, found: list[str]) -> bool:
    def without_ends(text: str) -> str:
        return "".join(text.split()).rstrip('.!?"。\uff01\uff1f')

    runs = ("".join(found[start:end]) for start in range(len(found)) for end in range(start + 1, len(found) + 1))
    return without_ends(label) in map(without_ends, runs)


@given(text=st.text(max_size=300) | st.text("ab.!?\"'«»。\n (", max_size=300))
def test_no_character_but_blanks_is_lost(text):
    found = sentences_of(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence in text for sentence in found)


def test_lone_surrogates_stay_where_they_are():
    assert sentences_of("One \ud800 here. Two there.") == ["One \ud800 here.", "Two there."]


def test_a_list_item_is_a_statement_without_its_number():
    assert [sentence.text for sentence in sentences("Rules:\n1. Mr. Osei signs.\n2. No emojis")] == [
        "Rules:",
        "Mr. Osei signs.",
        "No emojis",
    ]


@pytest.mark.parametrize("part", ["«a. ", '"a. ', ".", "x", "e.g. "])
def test_time_grows_with_the_length_of_a_text(part):
    """The library's own time grows with the square of a line full of quotation marks; pieces bound it."""
    text = part * (200_000 // len(part))
    assert cpu.units(lambda: sentences_of(text)) < 800  # 200 where it was chosen, and 8,000 in one piece


def test_a_short_text_counts_as_english():
    assert language_of("Dr. No") == "en"
    assert language_of("Das ist nicht für die Kunden, bitte.") == "de"
