"""Identifiers of a question come first: passages that have exactly this identifier stand before all others."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.identifiers import NamedIn, named_first
from tests.context_service.retrieval.test_ranking import ranking, seqs, talk
from tests.examples import examples

# Lines with many words of the questions below, and none of the identifiers.
OTHERS = [
    "What was in the order that was in the invoice, and what was in the error?",
    "The order was an order for the order desk.",
    "The error says what the error was in the last order.",
    "In 2024 we had what was in 2023.",
    "Die Bestellung von gestern war eine Bestellung.",
    "La facture de la facture est une facture.",
    "We moved the standup to 10am, a 24-hour notice.",
    "Nothing else happened that week.",
]


def named(text: str) -> list[str]:
    question = AnalyzedQuery.of(text)
    return [question.terms[identifier.whole] for identifier in question.identifiers]


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("INV-2043 has two desks.", "what was in INV-2043?"),
        ("Two desks belong to inv2043.", "what was in INV-2043?"),
        ("It is 10-4471-B that waits.", "the order 10-4471-B, what was in the order?"),
        ("E0382 means a moved value.", "error E0382, what was the error?"),
        ("QX_7741_B ist unterwegs.", "Wo ist die Bestellung QX_7741_B von gestern, die Bestellung?"),
        ("FA-00815 reste ouverte.", "la facture FA-00815, la facture ?"),
        ("Seen in build 3.11.4 only.", "the error in 3.11.4, what was the error?"),
        ("It went to DE89 3704 0044 0532 0130 00.", "what was the order to DE89370400440532013000?"),
        ("Rückruf: +49 30 5550-1234.", "Bestellung von +493055501234, die Bestellung?"),
        ("Job 550e8400-e29b-41d4-a716-446655440000 hangs.", "error of 550E8400-E29B-41D4-A716-446655440000"),
        ("max_open_files is low.", "what was the error with max_open_files in the order?"),
    ],
)
@pytest.mark.parametrize("place", [0, 4, 8])
def test_the_passage_with_the_identifier_is_first_wherever_it_stands(line: str, question: str, place: int):
    lines = [*OTHERS[:place], line, *OTHERS[place:]]
    assert seqs(ranking(talk([[text] for text in lines]), question))[0] == place


@pytest.mark.parametrize(
    "text",
    [
        "what happened in 2024",
        "at 10am or 21:30, a 24-hour wait",
        "5km and 20mg for 30 people",
        "on 2024-03-05 and 07.11.2025",
        "1,250,000 users paid 3.50 each",
        "mid-2023 and the B of plan B",
        "the well-known e-mail of Anne-Marie",
        "HTTP 404 and 50% of 1/2",
    ],
)
def test_years_amounts_times_and_days_are_no_identifiers(text: str):
    assert named(text) == []


@pytest.mark.parametrize("longer", ["INV-20431", "INV-2043-A", "XINV-2043", "INV-2044", "INV-204"])
def test_a_longer_or_shorter_identifier_does_not_win(longer: str):
    lines = [*OTHERS, f"{longer} has two desks.", "What was in it: the invoice INV-2043, unpaid."]
    found = seqs(ranking(talk([[text] for text in lines]), "what was in INV-2043?"))
    assert found[0] == len(OTHERS) + 1


def test_an_identifier_in_half_of_the_passages_changes_nothing():
    """All that is said of one project names it, so the name says nothing about the question."""
    lines = [f"KD-2210: note {number}" for number in range(8)] + [f"Note {number}" for number in range(7)]
    lines.append("The open points are the lift and the roof.")
    found = seqs(ranking(talk([[text] for text in lines]), "open points KD-2210"))
    assert found[0] == 15


def test_the_reply_to_a_question_with_the_identifier_comes_before_other_passages():
    lines = ["user: Any news of INV-2043?", "assistant: Paid on Monday.", *OTHERS]
    assert set(seqs(ranking(talk([lines]), "what was in the order, any news of INV-2043?"))[:2]) == {0, 1}


def test_scores_fall_though_an_identifier_is_first():
    lines = [*OTHERS, "INV-2043 has two desks."]
    found = ranking(talk([[text] for text in lines]), "what was in the order, what was in the error INV-2043?")
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True) and found[0].row.seq == len(OTHERS)


CODES = st.from_regex(r"[A-Z]{2,4}-[1-9][0-9]{3,6}", fullmatch=True)


@given(CODES, CODES, st.text(string.ascii_letters + " -?", max_size=30))
@settings(max_examples=examples(40))
def test_a_code_is_named_in_any_sentence_and_only_the_code(code: str, other: str, sentence: str):
    whole = code.replace("-", "").casefold()
    assert whole in named(f"{sentence} {code} {sentence}")
    if other != code:
        assert other.replace("-", "").casefold() not in named(f"{sentence} {code}")


@pytest.mark.parametrize(
    ("alias", "question", "is_named"),
    [
        ("Road Runner", "When does road runner pay?", True),
        ("Road Runner", "Which road has a runner?", False),
        ("KD-2210", "kd-2210 open points", True),
        ("The", "Where is the key?", False),
        ("Ćwikła", "kto to cwikla", True),
        ("A", "plan a", False),
        ("Acme", "Acmeist poets", False),
        ("東京支店", "東京支店の電話番号は?", True),
    ],
)
def test_an_alias_is_named_by_all_its_words_together(alias: str, question: str, is_named: bool):
    assert (alias in NamedIn(question)) is is_named


def test_items_with_a_named_alias_are_first_and_others_keep_their_order():
    pages = [("a", []), ("b", ["Big Blue"]), ("c", ["Blue"]), ("d", ["Red"])]
    assert [name for name, _ in named_first("who leads Big Blue?", pages, lambda page: page[1])] == list("bcad")
