"""Whether a reflection begins with the answer: direct questions about a user with 20 and with 200 memories.

`python -m bench.quality.reflection`. Every memory names the same person, as memories that programs phrase do, so the
name tells nothing. The others are about other things in the life of that person, and share words with the questions.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from context_service.commands import dev
from contextkeep import AsyncContextClient, new_id

RIGHT_MIN = 19  # of 20 questions

# Each memory with a question that it answers.
ANSWERED = (
    ("Kim's manager is Ola Nordby.", "Who is Kim's manager?"),
    ("Kim takes the train from Drammen to work at 7:12.", "Which train does Kim take to work?"),
    ("Kim is allergic to shellfish.", "What is Kim allergic to?"),
    ("Kim's daughter Ronja goes to school in Asker.", "Where does Kim's daughter go to school?"),
    ("Kim's parking spot is B12 on level two.", "Which parking spot does Kim have?"),
    ("Kim plays the cello in an amateur orchestra.", "What instrument does Kim play in the orchestra?"),
    ("Kim drives a red Volvo V60.", "What car does Kim drive?"),
    ("Kim wants invoices as PDF on the first of each month.", "How does Kim want invoices?"),
    ("Kim broke the left wrist while skiing in Hemsedal.", "Where did Kim break the wrist?"),
    ("Kim's budget for the kitchen is 120,000 kroner.", "What is Kim's budget for the kitchen?"),
    ("Kim speaks Spanish because of a year in Valencia.", "Why does Kim speak Spanish?"),
    ("Kim's dog is called Bamse.", "What is the name of Kim's dog, what is it called?"),
    ("Kim meets the tax adviser on 14 March.", "When does Kim meet the tax adviser?"),
    ("Kim cancelled the gym membership in August.", "When was Kim's gym membership cancelled?"),
    ("Kims Zahnärztin heißt Frau Dr. Lindqvist.", "Wie heißt Kims Zahnärztin?"),
    ("Kim trinkt morgens nur grünen Tee.", "Was trinkt Kim morgens?"),
    ("Le code postal de Kim est 69003.", "Quel est le code postal de Kim ?"),
    ("Kim prefiere los asientos de ventanilla en el avión.", "¿Qué asientos prefiere Kim en el avión?"),
    ("Kim bruker hørselvern på jobb i verkstedet.", "Hva bruker Kim på jobb i verkstedet?"),
    ("Kim ha studiato architettura a Bologna.", "Dove ha studiato architettura Kim?"),
)
_VERBS = ("likes", "once tried", "wrote a note about", "asked for advice on", "read an article about")
_THINGS = (
    *("sailing boats", "sourdough bread", "garden sheds", "old radios", "night buses", "city museums", "wool socks"),
    *("train stations in Japan", "school plays", "dog shows", "red paint", "budget airlines", "kitchen lamps"),
    *("tax forms of other countries", "gym shoes", "Spanish films", "orchestra seats", "parking apps", "work chairs"),
    *("green houses", "invoice software", "left-handed scissors", "cello cases", "skiing holidays", "March weather"),
    *("window frames", "car washes", "Volvo trucks", "shellfish farms", "manager training", "name badges"),
    *("architecture magazines", "postal history", "August storms", "wrist watches", "level crossings"),
)
OTHERS = [f"Kim {verb} {thing}." for verb, thing in itertools.product(_VERBS, _THINGS)]


def memories_of(count: int) -> list[str]:
    """Return the memories of a user: all that answer a question, and others among them."""
    answers = [text for text, _ in ANSWERED]
    others = OTHERS[: count - len(answers)]
    step = max(1, len(others) // len(answers))
    mixed: list[str] = []
    for number, text in enumerate(answers):
        mixed += [*others[number * step : (number + 1) * step], text]
    return [*mixed, *others[len(answers) * step :]]


async def right_of(client: AsyncContextClient, texts: Sequence[str]) -> list[str]:
    """Retain memories of a new user, and return the questions whose reflection does not begin with the answer."""
    user = new_id()
    for text in texts:
        await client.memories.retain(text, subject_user_id=user)
    wrong = []
    for answer, question in ANSWERED:
        reflection = await client.memories.reflect(question, subject_user_id=user)
        if not reflection.statement.startswith(answer):
            wrong.append(f"{question} {reflection.statement.splitlines()[:1]}")
    return wrong


async def measured(services: dev.Stack) -> bool:
    """Print how many reflections begin with the answer, and say whether they are enough."""
    is_enough = True
    async with AsyncContextClient(services.context_address, timeout_s=60) as client:
        for count in (len(ANSWERED), 200):
            wrong = await right_of(client, memories_of(count))
            right = len(ANSWERED) - len(wrong)
            print(f"{count} memories: {right} of {len(ANSWERED)} reflections begin with the answer", *wrong, sep="\n  ")
            is_enough = is_enough and right >= RIGHT_MIN
    return is_enough


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, dev.stack(Path(name), keep=False) as stack:
        is_met = asyncio.run(measured(stack))
    sys.exit(not is_met)
