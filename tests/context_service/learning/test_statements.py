"""What the rules learn from conversations, and what they must not."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality.statements import figures_of, labelled
from context_service.learning.model import Statement, StatementKind, Utterance
from context_service.learning.pure.credentials import names_credential
from context_service.learning.pure.statements import STATEMENTS_OF_MESSAGE_MAX, statements_of, takes_back

FOLDER = Path(__file__).parent


def conversation(*texts: str) -> list[Utterance]:
    """Return utterances; a text that begins with `A: ` is the assistant's."""
    return [
        Utterance(
            seq=seq,
            is_user=not text.startswith("A: "),
            text=text.removeprefix("A: "),
            said_at=datetime(2026, 6, 1, tzinfo=UTC),
        )
        for seq, text in enumerate(texts, 1)
    ]


def learned(*texts: str) -> list[str]:
    return [statement.text for statement in statements_of(conversation(*texts))]


@pytest.mark.parametrize("name", ["tuning", "held_out"])
def test_rules_are_precise_on_labelled_messages(name):
    """A wrong memory is worse than none: at least nine of ten are right, and a third of all statements is found."""
    figures = figures_of(labelled(FOLDER / f"{name}.txt"))
    assert figures.precision >= 0.9, figures.wrong
    assert figures.recall >= 0.35, figures.missed
    assert figures.of_kind >= 0.9 * figures.right


def test_a_statement_is_a_clause_of_the_message_with_its_kind_and_place():
    assert statements_of(conversation("ok", "Hi, I live in Tromsø, so it takes a week. Is that normal?")) == [
        Statement(kind=StatementKind.FACT, text="I live in Tromsø.", seq=2, said_at=datetime(2026, 6, 1, tzinfo=UTC))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "My boss says he is allergic.",
        "My boss says I am allergic to work.",
        "Am I allergic to nuts?",
        "If I lived in Rome, I would sell my car.",
        "I'm a dolphin, haha. I live in the sea.",
        'The sign reads "I live in Rome and I hate cats."',
        "> I live in Rome and I hate cats.",
        "Here is his mail:\nI live in Rome.\nI hate cats.",
        "Translate: I live in Rome.",
        "```\nI live in Rome.\n```",
        "Pretend I'm a vegetarian and suggest a menu.",
        "I think I live in zone 3.",
        "I used to live in Rome.",
        "I love it, and I hate that.",
        '{"note": "I live in Rome"}',
    ],
)
def test_words_that_do_not_state_something_about_the_user_teach_nothing(text):
    assert learned(text) == []


def test_a_statement_of_the_assistant_counts_when_the_user_confirms_it():
    assert learned("A: Thanks! So you live in Porto and have two cats?", "Yes, exactly.")
    assert learned("A: Are you vegetarian?", "yes") == ["I'm vegetarian."]


@pytest.mark.parametrize("reply", ["No.", "Yes, but in Braga.", "Why do you ask?", "hm", "Yes? Who says so?"])
def test_a_statement_of_the_assistant_does_not_count_unconfirmed(reply):
    assert learned("A: So you live in Porto.", reply) == []


def test_a_statement_of_the_assistant_about_itself_is_none_of_the_user():
    assert learned("A: I live in the cloud and I love poetry.", "Yes, exactly.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Please forget that.",
        "Don't remember that, please",
        "just kidding",
        "Vergiss das bitte!",
        "Oublie ça.",
        "忘れてください",
    ],
)
def test_what_a_user_takes_back_is_not_learned(text):
    assert takes_back(text)
    assert learned("I live in Rome.", "A: Noted.", text) == []
    assert learned("I live in Rome.", "A: Noted.", "I hate olives.", "A: Ok.", text) == ["I live in Rome."]


@pytest.mark.parametrize(
    "text",
    [
        "My phone number is 12, my password is tulip.",
        "My address is sk-live-9f8a7b6c5d4e3f2a1b0c.",
        "My name is Ann and my card is 4111 1111 1111 1111.",
        "My number is DE89 3704 0044 0532 0130 00.",
        "My new number is 078-05-1120.",
        "I work at Zq81hTT09ffLw2ee73.",
    ],
)
def test_a_sentence_with_a_credential_teaches_nothing(text):
    assert learned(text) == []


def test_a_number_that_is_no_account_is_no_credential():
    assert not names_credential("My phone number is +44 20 7946 0958.")
    assert learned("My phone number is +44 20 7946 0958.")


def test_a_long_message_teaches_nothing_because_most_of_it_may_be_quoted():
    assert learned("I live in Rome. " * 200) == []


STATEMENTS = st.sampled_from(["I live in Rome", "I hate olives", "Ich wohne in Köln", "my name is Bo", "I'm deaf"])
NOISE = st.text(max_size=40) | st.sampled_from(
    ["?", " and ", ", so ", '"', "\n> ", ": ", " if ", "4111 1111 1111 1111"]
)


@given(st.lists(STATEMENTS | NOISE, max_size=12))
def test_every_statement_has_only_words_of_its_message(texts):
    """Nothing is invented: a statement can be checked against its source, word by word."""
    message = "".join(texts)
    statements = learned(message)
    assert len(statements) <= STATEMENTS_OF_MESSAGE_MAX
    words = set(re.findall(r"\w+", message.translate({0x2019: "'"}).casefold()))
    for text in statements:
        assert set(re.findall(r"\w+", text.casefold())) <= words
        assert not names_credential(text)
