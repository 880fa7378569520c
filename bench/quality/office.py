"""Office talk: 200 facts among other talk of the same people, asked in the same words and in others.

`office.txt` has a statement, a question with words of it, and a question without any in each line. The other messages
are generated: the same people talk about work with words of the questions ("project", "meeting", "customer").
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.quality.conversations import Asked, Conversation, Turn

PEOPLE = ("Agnes", "Bruno", "Carla", "Deniz", "Erik", "Farah", "Goran", "Hanna", "Ivo", "Jelena", "Karim", "Linnea")
SESSION = 40  # messages of a day

_START = datetime(2025, 2, 3, 8, tzinfo=UTC)
_WHO = (
    "the customer",
    "the supplier",
    "legal",
    "finance",
    "the team",
    "support",
    "the boss",
    "our partner",
    "the agency",
    "marketing",
)
_WHAT = (
    "the offer",
    "the budget",
    "the report",
    "the contract",
    "the release",
    "the slides",
    "the invoice",
    "the schedule",
    "the prototype",
    "the roadmap",
    "the ticket",
    "the website",
    "the order",
    "the training",
    "the survey",
    "the database",
)
_WHERE = (
    "in the kitchen",
    "on the third floor",
    "in the meeting room",
    "at the entrance",
    "in the canteen",
    "in the other office",
)
_WHEN = (
    "today",
    "tomorrow",
    "on Monday",
    "after lunch",
    "this week",
    "next month",
    "on Thursday",
    "before the holidays",
)
_STATE = ("late", "done", "almost ready", "too long", "better than expected", "a mess", "on hold", "fine by me")
_TALK = (
    "Good morning, who is in {when}?",
    "Has anybody seen {what}? I need it {when}.",
    "{Who} asked about {what} again.",
    "I will send {what} to {who} {when}.",
    "{What} is {state}, as always.",
    "Can we talk about {what} {where} {when}?",
    "Thanks, that helps a lot.",
    "I think {who} should decide about {what}.",
    "Sorry, I was on the phone with {who}.",
    "The meeting about {what} went well, {who} was happy.",
    "Do you know why {what} is {state}?",
    "No idea, ask {name}, who wrote most of {what}.",
    "{name} and I will look at {what} {when}.",
    "How long does {what} take from here on?",
    "We should have started with {what} much earlier.",
    "Lunch {when}? I know a new place.",
    "{Who} wants to see {what} {when}.",
    "I put my comments into {what}, please read them {when}.",
    "Which version of {what} does {who} have?",
    "Let us not discuss {what} {where}, too many people listen.",
    "I am out {when}, {name} has the details of {what}.",
    "The project needs more people, or {what} will be {state}.",
    "Who is responsible for {what} now?",
    "I left {what} {where} for {name}.",
    "{name}, could you call {who} {when}?",
    "It rains again, and I forgot my jacket {where}.",
    "My train was late, so I missed the part about {what}.",
    "Great work on {what}, {name}!",
    "Are we allowed to show {what} to {who}?",
    "We got no answer from {who} about {what} yet.",
    "There is cake {where}, {name} has a birthday.",
    "The numbers in {what} do not add up, can {who} check?",
    "Next time {who} should tell us before {what} changes.",
    "I made a copy of {what}, just in case.",
    "Ok, then {when}.",
    "What happened to {what}? Yesterday it was {state}.",
    "Somebody from {who} waits {where}.",
    "For me {what} is {state}.",
    "We lost half a day with {what}.",
    "Is there still coffee {where}?",
)

Fact = tuple[str, str, str]  # a statement, a question with its words, and one without


def facts() -> list[Fact]:
    """Return all facts."""
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    return [(said, mild, hard) for said, mild, hard in (line.split(" | ") for line in lines)]


def office(*, seed: int = 1, turns: int = 600) -> Conversation:
    """Return a conversation with a number of messages, among them all facts. The same seed gives the same one."""
    source = random.Random(seed)
    planted = facts()
    texts = [said for said, _, _ in planted]
    texts += [_small_talk(source) for _ in range(turns - len(texts))]
    source.shuffle(texts)
    said = [
        Turn(
            id=str(place),
            text=text,
            session=place // SESSION,
            said_at=_START + timedelta(days=place // SESSION, minutes=12 * (place % SESSION)),
            author=source.choice(PEOPLE),
        )
        for place, text in enumerate(texts)
    ]
    return Conversation(name=f"office {seed}, {turns:,} messages", turns=said, asked=_questions(planted, texts))


def _questions(planted: Sequence[Fact], texts: Sequence[str]) -> list[Asked]:
    """Return both questions of each fact."""
    places = {text: str(place) for place, text in enumerate(texts)}
    return [
        Asked(text=question, kind=kind, evidence=frozenset({places[said]}))
        for said, mild, hard in planted
        for kind, question in (("mild", mild), ("hard", hard))
    ]


def _small_talk(source: random.Random) -> str:
    """Return a message of office talk that states none of the facts: one or two sentences."""
    return " ".join(_sentence(source) for _ in range(source.choice((1, 1, 2))))


def _sentence(source: random.Random) -> str:
    who, what = source.choice(_WHO), source.choice(_WHAT)
    return source.choice(_TALK).format(
        who=who,
        Who=who[0].upper() + who[1:],
        what=what,
        What=what[0].upper() + what[1:],
        where=source.choice(_WHERE),
        when=source.choice(_WHEN),
        state=source.choice(_STATE),
        name=source.choice(PEOPLE),
    )
