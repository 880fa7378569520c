"""Hits of all providers as one list: properties, and the cases that other systems get wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.query.model import Hit
from context_service.query.pure import quotations
from context_service.query.pure.fusion import Candidate, Fused, distinctive, fused
from context_service.retrieval.pure.facts import fact_of, look_of
from context_service.retrieval.pure.terms import analyzed
from tests.examples import examples

NOW = datetime(2026, 11, 1, tzinfo=UTC)
QUESTION = "When was the renewal of Acme signed?"


def candidate(
    provider_id: str, source_id: str, snippet: str, *, place: int = 1, trust: int = 1, **said: object
) -> Candidate:
    hit = Hit(**{"source_id": source_id, "title": "Note", "snippet": snippet, **said})  # type: ignore[arg-type]
    return Candidate(provider_id=provider_id, place=place, trust=trust, hit=hit)


def refs(hits: list[Fused]) -> list[str]:
    return [one.best.ref for one in hits]


WORDS = ["acme", "renewal", "signed", "budget", "approved", "not", "later", "40", "41", "Zephyr", "the"]
candidates = st.lists(
    st.builds(
        candidate,
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from("1234"),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
        trust=st.integers(1, 5),
        score=st.none() | st.floats(allow_nan=False),
        as_of=st.none() | st.integers(0, 900).map(lambda days: NOW - timedelta(days=days)),
    ),
    unique_by=lambda one: one.ref,
    max_size=10,
)


@given(candidates, st.randoms(use_true_random=False))
@settings(max_examples=examples(40))
def test_the_order_in_which_providers_answer_changes_nothing(found, random):
    first = fused(QUESTION, found)
    random.shuffle(found)
    assert fused(QUESTION, found) == first


@given(candidates)
@settings(max_examples=examples(40))
def test_each_source_is_in_one_hit_and_scores_are_shares(found):
    hits, scores = fused(QUESTION, found)
    assert sorted(source.ref for one in hits for source in one.sources) == sorted(one.ref for one in found)
    assert all(0.0 <= score <= 1.0 for score in scores.values())
    assert [one.score for one in hits] == sorted((one.score for one in hits), reverse=True)


def test_a_score_of_1234_does_not_win():
    loud = candidate("mcp", "1", "The canteen serves soup.", score=1234.0)
    quiet = candidate("files", "1", "The renewal of Acme was signed in March.", score=0.01)
    hits, _ = fused(QUESTION, [loud, quiet])
    assert refs(hits) == ["files:1", "mcp:1"]


def test_two_sources_with_the_id_1_stay_two():
    hits, _ = fused(
        QUESTION, [candidate("a", "1", "Acme signed in March."), candidate("b", "1", "Acme left in April.")]
    )
    assert refs(hits) == ["a:1", "b:1"]


def test_the_same_fact_is_one_hit_with_both_sources():
    hits, _ = fused(
        QUESTION,
        [
            candidate("a", "1", "The renewal was signed on May 3, 2026 for $1,234."),
            candidate("b", "7", "the Renewal was signed on 2026-05-03 for $1234"),
        ],
    )
    (one,) = hits
    assert [source.ref for source in one.sources] == ["a:1", "b:7"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The budget was approved by Berta", "The budget was approved by Berta, later rejected"),
        ("The budget was approved by Berta", "The budget was not approved by Berta"),
        ("The budget was approved by Berta", "The budget wasn't approved by Berta"),
        ("The price of Acme is 40 euros", "The price of Acme is 41 euros"),
        ("The price of Acme is 1.5 euros", "The price of Acme is 15 euros"),
        ("The balance of Acme is -40 euros", "The balance of Acme is 40 euros"),
        ("Acme pays 40 $ a month", "Acme pays 40 € a month"),
        ("Latency of Acme < 40 ms", "Latency of Acme > 40 ms"),
        ("Acme may cancel before May 3", "Acme may cancel after May 3"),
        ("Acme signed on 2026-05-03", "Acme signed on 2026-03-05"),
        ("Anna pays Ben for Acme", "Ben pays Anna for Acme"),
        ("Acme approved the budget?", "Acme approved the budget"),
        ("合同已经批准了", "合同没有批准了"),
        ("कंपनी ने अनुबंध रोका", "कंपनी ने अनुबंध रोकी"),
        ("Yes.", "Yes."),
    ],
)
def test_what_differs_in_anything_that_matters_stays_two(one, other):
    hits, _ = fused("budget of Acme", [candidate("a", "1", one), candidate("b", "2", other)])
    assert len(hits) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It isn't approved by Acme Corp", "It is not approved by ACME corp."),
        ("They won't renew the Acme contract", "they will not renew Acme contract"),
        ("Acme cannot renew this contract", "Acme can't renew this contract!"),
        ("Signed by Acme on the 3rd of May 2026", "signed by Acme on May 3rd, 2026"),
    ],
)
def test_facts_are_the_same_however_they_are_written(one, other):
    assert fact_of(one) == fact_of(other) != ()
    hits, _ = fused("contract of Acme", [candidate("a", "1", one), candidate("b", "2", other)])
    assert len(hits) == 1


# Writings of one thing each.
WRITINGS = [
    *[
        ("Acme", "ACME", "\uff21cme"),
        ("acme's", "acme\u2019s"),
        ("caf\u00e9", "cafe\u0301"),
        ("re-use", "re use"),
        ("the of", "of"),
    ],
    *[("can't", "cannot", "can not"), ("isn't", "is not"), ("mightn\u2019t", "might not"), ("won't", "will not")],
    *[
        ("shan't", "shall not"),
        ("needn't", "need not"),
        ("5kg", "5 kg", "\uff15 kg"),
        ("1,234", "1234"),
    ],
    *[("3rd of May 2026", "May 3, 2026", "2026-05-03"), ("in May", "in may"), ("1.5", "1.5,"), ("\ufb01rm", "firm")],
    *[
        ("a_b", "a _ b"),
        ("\u5408\u540c\u5df2\u7ecf", "\u5408\u540c\u5df2\u7ecf!"),
        ("x" * 70, "X" * 70),
        ("12:30", "12:30."),
        ("40 %", "40%"),
    ],
]


@given(
    st.lists(st.sampled_from(WRITINGS), min_size=1, max_size=6).flatmap(
        lambda said: st.tuples(*[st.tuples(st.sampled_from(one), st.sampled_from(one)) for one in said])
    )
)
def test_texts_that_say_the_same_look_the_same(pairs):
    """So that what others say need not be known, and what is only written otherwise is one hit."""
    one, other = (" ".join(written[place] for written in pairs) for place in (0, 1))
    if fact_of(one) == fact_of(other):
        assert look_of(one, analyzed(one).terms) == look_of(other, analyzed(other).terms)


@pytest.mark.parametrize("writings", WRITINGS, ids=str)
def test_writings_of_one_thing_are_one_fact(writings):
    """Or the property above would say little."""
    assert len({fact_of(f"{one} of Acme was sold today") for one in writings}) == 1


def test_trust_and_freshness_move_only_what_is_equal():
    text = "The renewal of Acme was signed{}."
    old = candidate("a", "1", text.format(" (a)"), as_of=NOW - timedelta(days=700))
    new = candidate("b", "1", text.format(" (b)"), as_of=NOW)
    trusted = candidate("c", "1", text.format(" (c)"), trust=5, as_of=NOW)
    better = candidate(
        "d", "1", "When: the renewal of Acme was signed in March. Signed!", as_of=NOW - timedelta(days=700)
    )
    worse = candidate("e", "1", "Acme has a canteen.", trust=5, as_of=NOW)
    hits, _ = fused(QUESTION, [worse, old, new, trusted])
    assert refs(hits) == ["c:1", "b:1", "a:1", "e:1"]
    assert refs(fused(QUESTION, [worse, better])[0]) == ["d:1", "e:1"]


def test_meaning_counts_where_there_are_vectors():
    said = candidate("a", "1", "Acme has a canteen.")
    meant = candidate("b", "1", "They put pen to paper in March.")
    assert refs(fused(QUESTION, [said, meant])[0]) == ["a:1", "b:1"]
    hits, scores = fused(QUESTION, [said, meant], cosines={"a:1": 0.0, "b:1": 1.0})
    assert scores["b:1"] > fused(QUESTION, [said, meant])[1]["b:1"]
    assert len(hits) == 2


def test_a_deep_question_asks_for_words_that_the_best_hits_share():
    hits, _ = fused(QUESTION, [candidate("a", "1", "Acme signed with Quill"), candidate("b", "1", "Acme: Quill, pen")])
    assert distinctive(QUESTION, hits)[0] == "quill"


def test_an_answer_quotes_only_what_is_there():
    hits, _ = fused(QUESTION, [candidate("a", "1", "Acme signed.\nIgnore this\n- workspace: OK")])
    answer = quotations.answer(QUESTION, hits)
    assert answer is not None and answer.hit_refs == ("a:1",)
    lines = answer.text.splitlines()
    assert all(line in answer.text for line in ("> Ignore this", "> - workspace: OK"))
    assert not any(line.startswith(("Ignore", "-")) for line in lines)
    assert quotations.answer(QUESTION, []) == quotations.QuotedAnswer(text=quotations.NOTHING, hit_refs=())


def test_an_answer_quotes_the_sentences_that_say_most():
    filler = "The weather was fine and nothing happened at all on that day. " * 20
    hits, _ = fused(QUESTION, [candidate("a", "1", f"{filler}Acme signed the renewal in March. {filler}")])
    answer = quotations.answer(QUESTION, hits)
    assert answer is not None and "Acme signed the renewal in March." in answer.text and len(answer.text) < 700


@given(st.integers(1, 400), candidates)
@settings(max_examples=examples(40))
def test_a_prompt_keeps_to_its_tokens(tokens_max, found):
    def count(text: str) -> int:
        return len(text.split())

    hits, _ = fused(QUESTION, found)
    text, tokens = quotations.prompt_text(hits, tokens_max=tokens_max, count=count)
    assert tokens == count(text) <= tokens_max


def test_a_hit_with_the_identifier_or_alias_of_the_question_comes_before_better_texts():
    """The scorer sees the aliases of a page, which are no part of its text."""
    loud = candidate("files", "1", "Open points of the invoice: what was in the invoice, open.", trust=5)
    invoice = candidate("mcp", "1", "INV-2043: two desks.")
    page = candidate("wiki", "1", "The roof leaks.", aliases=("KD-2210", "Big Q"))

    assert refs(fused("what was in the invoice INV-2043?", [loud, invoice, page])[0])[0] == "mcp:1"
    assert refs(fused("KD-2210 open points", [loud, invoice, page])[0])[0] == "wiki:1"
    assert refs(fused("open points of Big Q", [loud, invoice, page])[0])[0] == "wiki:1"
    assert refs(fused("open points of INV-204", [loud, invoice, page])[0])[0] == "files:1"
