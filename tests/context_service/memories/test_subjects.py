"""What a statement without a key is about: precise forms in several languages, and silence everywhere else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.memories.model import MemoryInput, MemoryKind
from context_service.memories.pure.subjects import subject_of

SAID_AT = datetime(2026, 11, 28, 9, tzinfo=UTC)


def about(text: str, **fields: object) -> str:
    return subject_of(MemoryInput(text=text, **fields), said_at=SAID_AT)[0].removeprefix("rule: ")


@pytest.mark.parametrize(
    "same",
    [
        [
            "I live in Bergen.",
            "I moved from Bergen to Oslo in May",
            "I've relocated to Cork",
            "I'm based in New York now",
        ],
        ["Ich wohne in Köln.", "Ich bin im Mai von Köln nach Berlin gezogen.", "J'habite à Lyon depuis 2021."],
        ["Vivo en Madrid desde abril.", "Mi sono trasferita a Milano", "Jeg bor i Bergen", "Я живу в Москве"],
        ["Ada lives in Paris.", "Ada has moved to Rome."],
        [
            "Kim's manager is Ola.",
            "The manager of Kim is now Per Hansen",
            "Kim's new boss is Ana",
            "Kims Chefin ist Frau Lund",
        ],
        ["My phone number is +47 900 00 000", "Mi número de teléfono es 600 123 456"],
        ["My favourite colour is green", "My favourite colour is now dark blue"],
        ["I work at Acme Corp", "I joined Globex in June 2025 as a designer", "Trabajo en Telefónica desde 2020"],
        ["My parking spot is B12.", "Our parking spot is now C3"],
    ],
)
def test_statements_of_one_thing_have_one_subject(same: list[str]):
    found = {about(text) for text in same}
    assert len(found) == 1
    assert found != {""}


@pytest.mark.parametrize(
    "text",
    [
        "Ada lives with a cat.",
        "I live in a small flat.",
        "I live in Oslo on weekends",
        "I lived in Oslo until 2019",
        "I might move to Oslo",
        "Should I move to Oslo?",
        "Kim's manager is Norwegian.",
        "My boss is allergic to nuts",
        "My boss said my phone number is wrong",
        "Mein Chef ist Arzt.",
        "My doctor is on vacation",
        "My manager is not Ola",
        "My budget is tight",
        "My office is closed on Mondays",
        "Ich bin nach Hause gegangen",
        "Ada likes tea.",
        "I work for free.",
    ],
)
def test_what_does_not_surely_say_one_thing_has_no_subject(text: str):
    """A wrong subject would end a memory that still holds."""
    assert about(text) == ""


def test_a_town_and_its_country_do_not_end_each_other():
    assert about("I live in Oslo") != about("I live in Norway") != ""


def test_persons_and_kinds_are_kept_apart():
    assert len({about("Kim's manager is Ola"), about("Bo's manager is Ola"), about("My manager is Ola Berg")}) == 3
    assert about("I live in Oslo", kind=MemoryKind.EXPERIENCE) == ""
    assert about("I live in Oslo", key="home") == "key: home"


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("I moved from Bergen to Oslo in May", (2026, 5, 1)),
        ("I moved to Oslo in December", (2025, 12, 1)),
        ("I have moved to Oslo since March 2024.", (2024, 3, 1)),
        ("My boss is Per Hansen since 3 March 2026.", (2026, 3, 3)),
        ("Ich bin im Mai von Köln nach Berlin gezogen.", (2026, 5, 1)),
        ("Vivo en Madrid desde abril.", (2026, 4, 1)),
        ("J'habite à Lyon depuis 2021.", (2021, 1, 1)),
    ],
)
def test_a_statement_holds_since_the_day_that_it_names(text: str, since: tuple[int, int, int]):
    assert subject_of(MemoryInput(text=text), said_at=SAID_AT)[1] == datetime(*since, tzinfo=UTC)


def test_a_statement_without_a_day_names_no_time():
    assert subject_of(MemoryInput(text="I live in Oslo"), said_at=SAID_AT)[1] is None


@given(st.text(max_size=300))
def test_any_text_has_at_most_one_subject_and_no_error(text: str):
    subject, since = subject_of(MemoryInput(text=text), said_at=SAID_AT)
    assert not since or subject
