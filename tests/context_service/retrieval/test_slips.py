"""Words that a scope does not have: which of its own may be meant, in the rules and in the database."""

from __future__ import annotations

import asyncio
import string
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure import slips
from context_service.retrieval.pure.slips import (
    RELATIVES_MAX,
    Vocabulary,
    is_tried,
    one_slip_away,
    relatives,
    similar_words,
    slips_between,
)
from context_service.retrieval.pure.terms import terms_of
from context_service.retrieval.rules import candidates
from context_service.retrieval.store import passages as passages_module
from context_service.retrieval.store.passages import Passages
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.calls import in_slices
from service_runtime.rpc.fair_queue import SLICE_S
from tests.conftest import PRINCIPAL, Urls

WORDS = st.text(string.ascii_lowercase, min_size=4, max_size=12)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("complant", "complaint"),
        ("complaiint", "complaint"),
        ("compliant", "complaint"),
        ("conplaint", "complaint"),
        ("kpayment", "payment"),
        ("entreprenuers", "entrepreneurs"),
        ("conference", "conferense"),
        ("config", "configure"),
        ("mentorship", "mentors"),
        ("5f3a9c1", "5f3a9c1be0"),
        ("жалаба", "жалоба"),
    ],
)
def test_a_slip_or_an_ending_is_forgiven(word: str, other: str):
    assert relatives(word, Vocabulary(["unlike", other, "another"])) == [other]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("june", "tune"),  # another word, not a slip
        ("4712", "4713"),
        ("e4712x", "e4713x"),
        ("port", "portability"),  # a small part of it
        ("payment", "statement"),
        ("cat", "cats"),  # too short to say anything
    ],
)
def test_another_word_is_another_word(word: str, other: str):
    assert not is_tried(word) or relatives(word, Vocabulary([other])) == []


def test_the_fewest_slips_count_and_then_prefixes():
    assert relatives("mentoring", Vocabulary(["menturing", "menturong", "mentor"])) == ["menturing", "mentor"]


@given(word=WORDS, place=st.integers(0, 11), letter=st.sampled_from(string.ascii_lowercase))
def test_whatever_one_slip_made_of_a_word_leads_back_to_it(word: str, place: int, letter: str):
    place %= len(word)
    for made in (
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place + 1 : place + 2] + word[place] + word[place + 2 :],
    ):
        assert word in {*one_slip_away(made), made}


@given(word=WORDS.filter(is_tried), vocabulary=st.sets(WORDS))
def test_there_are_a_few_and_all_are_of_the_vocabulary(word: str, vocabulary: set[str]):
    found = relatives(word, Vocabulary(sorted(vocabulary)))

    assert len(found) <= RELATIVES_MAX
    assert vocabulary.issuperset(found)


def textbook_slips(one: str, other: str) -> int:
    """Optimal string alignment, cell by cell."""
    cells = {(row, -1): row + 1 for row in range(-1, len(one))} | {
        (-1, column): column + 1 for column in range(-1, len(other))
    }
    for row, column in product(range(len(one)), range(len(other))):
        cells[row, column] = min(
            cells[row - 1, column] + 1,
            cells[row, column - 1] + 1,
            cells[row - 1, column - 1] + (one[row] != other[column]),
        )
        if row and column and (one[row], one[row - 1]) == (other[column - 1], other[column]):
            cells[row, column] = min(cells[row, column], cells[row - 2, column - 2] + 1)
    return cells[len(one) - 1, len(other) - 1]


@given(one=st.text("ab", max_size=8), other=st.text("abc", max_size=8), slips_max=st.integers(0, 3))
def test_slips_are_counted_as_the_textbook_counts_them(one: str, other: str, slips_max: int):
    assert slips_between(one, other, slips_max) == min(textbook_slips(one, other), slips_max + 1)


async def test_a_call_that_has_ended_compares_no_further_word(monkeypatch: pytest.MonkeyPatch):
    compared: list[str] = []

    def compare(word: str, _: Vocabulary) -> None:
        compared.append(word)
        comparing.cancel()
        time.sleep(SLICE_S)

    monkeypatch.setattr(slips, "relatives", compare)
    comparing = asyncio.create_task(in_slices(similar_words(["complant", "headche"], Vocabulary())))

    with pytest.raises(asyncio.CancelledError):
        await comparing
    assert compared == ["complant"]


@pytest.fixture
async def passages(urls: Urls) -> AsyncIterator[Passages]:
    async with Database.open(urls.service, connections_max=1, name="slips") as database:
        yield Passages(database)


async def written(passages: Passages, *texts: str, author: str = "") -> PassageScope:
    scope = PassageScope.of_context(uuid.uuid4())
    given = [
        Passage(
            seq=seq,
            ordinal=0,
            session=1,
            text=text,
            terms=terms_of(text),
            kind="text",
            said_at=datetime.now(UTC),
            author=author,
        )
        for seq, text in enumerate(texts, start=1)
    ]

    async def work(transaction: Transaction) -> None:
        await passages.put(transaction, scope, Audience(ancestors=(scope.id,)), given)

    await passages._database.of(PRINCIPAL, context_id=scope.context_id).transaction(work)
    return scope


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "by terms"])
async def test_a_word_with_a_slip_finds_what_has_the_word_without(
    passages: Passages, is_whole: bool, monkeypatch: pytest.MonkeyPatch
):
    if not is_whole:
        monkeypatch.setattr(passages_module, "READ_WHOLE", 2)
    scope = await written(passages, "Her complaint is a headache.", *(f"Talk of nothing {n}." for n in range(20)))

    question, matching = await candidates.query_and_rows(passages, PRINCIPAL, scope, "What was the complant?")

    assert [row.seq for row in matching.rows if row.found] == [1]
    assert question.terms == ["complaint"]
    assert question.text == "What was the complant?"


async def test_a_slip_is_forgiven_beside_a_word_that_is_nearly_everywhere(
    passages: Passages, monkeypatch: pytest.MonkeyPatch
):
    """More have that word than are read, and the one with the slip is there all the same."""
    monkeypatch.setattr(passages_module, "READ_WHOLE", 2)
    monkeypatch.setattr(passages_module, "FOUND_MAX", 5)
    scope = await written(passages, "A complaint, talk of it.", *(f"Talk of nothing {n}." for n in range(20)))

    _, matching = await candidates.query_and_rows(passages, PRINCIPAL, scope, "complant talk")

    assert 1 in [row.seq for row in matching.rows if len(row.found) == 2]


async def test_a_word_that_is_there_is_what_it_is(passages: Passages):
    scope = await written(passages, "The stone is red.", "The store is open.", "A stony road.")

    question, matching = await candidates.query_and_rows(passages, PRINCIPAL, scope, "stone")

    assert question.terms == ["stone"]
    assert [row.seq for row in matching.rows if row.found] == [1]


async def test_the_name_of_who_speaks_stands_for_itself(passages: Passages):
    scope = await written(passages, "The anika shop is closed.", author="Annika")

    question, _ = await candidates.query_and_rows(passages, PRINCIPAL, scope, "What did Annika say?")

    assert question.terms[0] == "annika"


async def test_words_of_another_scope_stand_for_none_of_this_one(passages: Passages):
    await written(passages, "The password is swordfish.")
    scope = await written(passages, "Nothing is said of it.")

    question, matching = await candidates.query_and_rows(passages, PRINCIPAL, scope, "swordfihs")

    assert question.terms == ["swordfih"]
    assert not any(row.found for row in matching.rows)


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "by terms"])
async def test_words_are_those_of_the_scope_as_it_is_now(
    passages: Passages, is_whole: bool, monkeypatch: pytest.MonkeyPatch
):
    """They are kept between questions: what was said since is among them, what was removed is not."""
    if not is_whole:
        monkeypatch.setattr(passages_module, "READ_WHOLE", 0)
    scope = await written(passages, "Nothing yet.")

    async def terms(text: str) -> list[str]:
        return list((await candidates.query_and_rows(passages, PRINCIPAL, scope, text))[0].terms)

    assert await terms("complant") == ["complant"]
    said = Passage(
        seq=2,
        ordinal=0,
        session=1,
        text="A complaint.",
        terms=terms_of("A complaint."),
        kind="text",
        said_at=datetime.now(UTC),
    )
    at = passages._database.of(PRINCIPAL, context_id=scope.context_id)
    await at.transaction(lambda one: passages.put(one, scope, Audience(ancestors=(scope.id,)), [said]))
    assert await terms("complant") == ["complaint"]
    await at.transaction(lambda one: passages.remove(one, scope, [2]))
    assert await terms("complant") == ["complant"]
    monkeypatch.setattr(passages_module, "LIKES_S", 0.0)
    assert await terms("complant") == ["complant"]
