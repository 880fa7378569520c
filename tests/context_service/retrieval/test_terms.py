"""The terms of a text: the same for what is written and what is asked, in any script, at a bounded cost."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.retrieval.pure.terms import (
    MASK_BITS,
    STOP_WORDS,
    WORD_CHARS_MAX,
    analyzed,
    asked_terms,
    asked_words,
    findable_terms,
    mask,
    masks,
    terms_of,
)
from tests.cpu import units

MIB = 1024 * 1024
SCOPE, OTHER = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running, runner's RAN", ["run", "runner", "ran"]),
        ("I don't, we’re, she'll", []),
        ("/srv/app/main_loop.py:42", ["srv", "app", "main", "loop", "py", "42", "mainlooppi", "mainloop"]),
        ("".join(map(chr, range(128))), ["0123456789", *2 * ["abcdefghijklmnopqrstuvwxyz"], "~3456789"]),
        ("", []),
        (" \t\r\n\x00\x07\u2028", []),
        ("one\x00two\x1bthree", ["two", "three"]),
        ("\ud800broken\udfff", ["broken"]),
        ("Die Straße, ÉCOLE", ["die", "strass", "ecol", "école"]),
        ("cafe\u0301 café", ["cafe", "cafe", "café"]),
        ("ＡＢＣ ﬁne", ["abc", "fine"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("می\u200cخواهم", ["ميخواهم"]),
        ("🎂 at 10", ["🎂", "10"]),
        ("❤️ ❤", ["❤", "❤"]),
        ("東京", ["東", "東京", "京"]),
        ("タワー", ["タワ", "ワー"]),
        ("ｶﾞｷﾞ", ["ガギ"]),
        ("한국 ABC", ["한", "한국", "국", "abc"]),
        ("水", ["水"]),
        ("の", ["の"]),
    ],
)
def test_a_term_is_a_word_of_any_script_in_its_stem(text, terms):
    assert findable_terms(text) == terms


@pytest.mark.parametrize(("question", "text"), [("猫", "我有一只小猫"), ("小猫呢", "小猫"), ("ไทย", "ภาษาไทยง่าย")])
def test_letters_without_spaces_are_found_within_a_sentence(question, text):
    assert set(asked_terms(question)) & set(findable_terms(text))


def test_a_question_asks_for_pairs_where_there_are_any():
    """Single letters are common: asked for beside each pair they would find half of a scope."""
    assert asked_terms("我有猫") == ["我有", "有猫"]


@given(st.text())
def test_what_is_asked_in_the_words_of_a_text_finds_it(text):
    assert set(asked_terms(text)) <= set(findable_terms(text))


@given(st.text(), st.sampled_from([" ", "\n", "\t", ". ", "\x00"]), st.text())
def test_terms_of_two_texts_are_those_of_each(one, between, other):
    """So passages may be cut at spaces and nothing is found in one more or less."""
    whole = analyzed(one + between + other)

    assert whole.terms == analyzed(one).terms + analyzed(other).terms
    assert {*analyzed(one).forms, *analyzed(other).forms} <= set(whole.forms)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_form_in_which_letters_are_stored_does_not_matter(text):
    assert analyzed(unicodedata.normalize("NFD", text)) == analyzed(unicodedata.normalize("NFC", text))


@given(st.text(), st.uuids())
def test_a_term_is_short_and_its_number_fits(text, scope):
    terms = findable_terms(text)

    assert all(0 < len(term) <= WORD_CHARS_MAX for term in terms)
    assert masks(scope, terms) == [mask(scope, term) for term in terms]
    assert all(0 <= number < 2**MASK_BITS <= 2**31 for number in masks(scope, terms))


def test_the_same_term_has_another_number_in_another_scope():
    assert mask(SCOPE, "bee") != mask(OTHER, "bee")


def test_the_numbers_of_terms_stay_what_they_are():
    """They are stored: other numbers would find nothing of what is there."""
    assert [mask(SCOPE, "bee"), mask(SCOPE, "東京"), mask(OTHER, "bee")] == [365616, 340191, 180147]


@pytest.mark.parametrize("word", ["word{}", "{}", "{:08}", "E{:05x}", "id-{:b}"])
def test_numbers_are_spread_evenly(word: str):
    """A scope of 20,000 words shares few numbers with itself, and none with another scope more often than chance.

    Nor do words that differ in a digit: the numbers of a log are told apart as its words are.
    """
    words = [word.format(number) for number in range(20_000)]
    one, other = set(masks(SCOPE, words)), set(masks(OTHER, words))

    expected = len(words) ** 2 / 2**MASK_BITS
    assert len(words) - len(one) < expected
    assert len(one & other) < 2 * expected


def test_stop_words_are_words_as_they_are_read():
    assert 150 <= len(STOP_WORDS) <= 200
    assert all(word.isascii() and word == word.lower() and terms_of(word) == [] for word in STOP_WORDS)


def test_threads_get_the_same_terms():
    """A stemmer works in a buffer: shared between threads it would give the stems of another's words."""
    texts = [f"running {number} boxes happily {'x' * number}ing" for number in range(200)] * 20
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(terms_of, texts)) == [terms_of(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "a" * MIB,
        "b " * (MIB // 2),
        "é" * (MIB // 2),
        "a" + "\u0300\u0327" * (MIB // 4),
        ("a" + "\u0300\u0327" * 14) * (MIB // 57),
        "\u0e38\u0e48" * (MIB // 6),
        "\ufdfa" * (MIB // 3),
        "㌖" * (MIB // 3),
        "我有一只小猫" * (MIB // 18),
        "🎉" * (MIB // 4),
        "1 " * (MIB // 2) + "x",
        "aB" * (MIB // 2),
        "a-" * (MIB // 2),
        "1.2.3.4/5-6-2024 " * (MIB // 17),
        "DE89 3704 0044 0532 " * (MIB // 20),
        "5 March 2024 " * (MIB // 13),
    ],
    ids=[
        "letter",
        "words",
        "accents",
        "marks",
        "marks to the limit",
        "paired marks",
        "sentences",
        "squared words",
        "chinese",
        "emoji",
        "numbers",
        "parts",
        "hyphens",
        "points",
        "accounts",
        "dates",
    ],
)
def test_no_mebibyte_takes_longer_than_others(text):
    """Normalising sorts a row of marks in the square of its length, and a sentence may be one sign."""
    terms_of("é")
    assert units(lambda: analyzed(text), rounds=1) < 10_000  # 3000 at most; by the square, millions


def test_no_mark_lies_behind_those_that_are_looked_for():
    """What is outside would part words: only what chooses how a letter looks may be, which is taken out."""
    behind = [chr(code) for code in range(0x1F000, sys.maxunicode) if unicodedata.category(chr(code))[0] == "M"]

    assert terms_of("a" + "".join(behind) + "b") == ["ab"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Wie heißt der Hund?", ["heisst", "hund"]),
        ("Où est mon colis ?", ["coli"]),
        ("¿Dónde está mi paquete?", ["paquet"]),
        ("Dove sono le chiavi?", ["chiavi"]),
        ("Onde está a chave?", ["chave"]),
        ("Waar is de sleutel?", ["sleutel"]),
        ("Gdzie jest mój klucz?", ["klucz"]),
        ("Var är nyckeln till bilen?", ["nyckeln", "bilen"]),
        ("Hvor er nøglen?", ["noglen"]),
        ("Missä on avain?", ["avain"]),
        ("Kde je můj klíč?", ["klic"]),
        ("Где мой ключ?", ["ключ"]),
    ],
)
def test_a_query_is_asked_without_the_stop_words_of_its_language(query: str, words: list[str]):
    assert [word.term for word in asked_words(query)] == words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("what did he die of", ["die"]),
        ("der", ["der"]),
        ("Who is on the team of Das Boot?", ["team", "das", "boot"]),
        ("Was ist das?", ["ist", "das"]),
        ("the status of la casa", ["status", "la", "casa"]),
    ],
)
def test_words_that_are_stop_words_of_another_language_are_asked(query: str, words: list[str]):
    """In English, "die" is such a word, and a query of stop words alone has nothing else to ask."""
    assert [word.term for word in asked_words(query)] == words
