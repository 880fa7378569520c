"""A generated conversation of two people over months, with facts planted in small talk, and questions about them.

The same seed gives the same conversation. Small talk uses the words of the facts; both people tell facts of the same
form, about others and on other days, so that the speaker and the time decide as often as the content.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from bench.quality.conversations import Asked, Conversation, Turn

ANN, BEN = "Annika", "Bertram"
START = datetime(2025, 1, 6, 18, tzinfo=UTC)
SESSION = 30  # turns

_WHO = ("sister", "brother", "cousin", "neighbour", "boss", "landlord", "teacher", "daughter", "nephew", "dentist")
_PLACES = ("Porto", "Bergen", "Lyon", "Krakow", "Dublin", "Graz", "Turin", "Ghent", "Malmo", "Split")
_THINGS = ("kayak", "piano", "camera", "bicycle", "telescope", "tent", "sofa", "guitar", "lamp", "drone")
_FOODS = ("peanuts", "strawberries", "shrimp", "celery", "mustard", "almonds", "kiwis", "sesame", "oysters", "lupins")
_NAMES = ("Milo", "Nika", "Rufus", "Pepper", "Olive", "Basil", "Juno", "Otto", "Hazel", "Tinka")
_PETS = ("cat", "dog", "parrot", "rabbit", "tortoise", "ferret")
_TALK = (
    "How was your day?",
    "Work was long again, and the bus was late.",
    "I cooked soup and watched the rain.",
    "We should meet at the weekend.",
    "That sounds lovely, tell me more!",
    "My {who} called again, we talked for an hour.",
    "I would love to see {place} one day.",
    "Somebody sells a {thing} down the street.",
    "The {pet} next door is so loud.",
    "No {food} at the market today, can you believe it?",
    "Did you sleep well?",
    "Ha, me too!",
    "I have to go to bed soon.",
)
# Said as one turn, or as an answer to a question of the other one; asked with the teller's name.
_FACTS = (
    ("", "My {who} moved to {place} for a new job.", "Where did {teller}'s {who} move?"),
    (
        "Any plans for the holidays?",
        "Yes, a week in {place}, with my {who}!",
        "Where does {teller} spend the holidays?",
    ),
    ("", "I bought a {thing} from my {who} today.", "What did {teller} buy from the {who}?"),
    (
        "Is there anything that you cannot eat?",
        "Sadly yes: {food}. I had to see a doctor once.",
        "What is {teller} allergic to?",
    ),
    (
        "What do you call it?",
        "{name}! It is the smallest {pet} that I ever saw.",
        "What is the name of {teller}'s {pet}?",
    ),
    ("", "We are going to sell the {thing}; my {who} never used it.", "Why does {teller} sell the {thing}?"),
)


def talk(*, seed: int = 1, turns: int = 20_000, facts: int = 120) -> Conversation:
    """Return a conversation with a number of turns and facts."""
    source = random.Random(seed)
    starts = sorted(source.sample(range(turns // 3), facts))
    planted = {start * 3: number for number, start in enumerate(starts)}
    said: list[Turn] = []
    asked: list[Asked] = []
    forms = [form for form in _FACTS for _ in range(facts // len(_FACTS) + 1)]
    source.shuffle(forms)

    def say(text: str) -> str:
        session, place = divmod(len(said), SESSION)
        said_at = START + timedelta(days=session, minutes=place)
        author = (ANN, BEN)[len(said) % 2]
        said.append(Turn(id=str(len(said)), text=text, session=session, said_at=said_at, author=author))
        return said[-1].id

    def words() -> dict[str, str]:
        choices = {"who": _WHO, "place": _PLACES, "thing": _THINGS, "food": _FOODS, "name": _NAMES, "pet": _PETS}
        return {name: source.choice(of) for name, of in choices.items()}

    while len(said) < turns:
        number = planted.pop(len(said), None)
        if number is None:
            say(source.choice(_TALK).format(**words()))
            continue
        before, fact, question = forms[number]
        filled = words()
        if before:
            say(before)
        else:
            say(source.choice(_TALK).format(**words()))
        evidence = say(fact.format(**filled))
        teller = said[-1].author
        day = f"{said[-1].said_at:%-d %B %Y}"
        asks = question.format(teller=teller, **filled).removesuffix("?")
        for kind, when in (("day", f"on {day}"), ("month", f"in {day.split(' ', 1)[1]}")):
            asked.append(Asked(text=f"{asks}, as told {when}?", kind=kind, evidence=frozenset({evidence})))
    return Conversation(name=f"talk {seed}", turns=said, asked=asked)
