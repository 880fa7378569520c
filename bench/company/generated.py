"""A company of a seed: customers, and what nine sources know of them, each fact planted in one that is known.

There are two questions for each fact: one with a word of the fact besides the name of the customer, and one with
none, since a user does not know how it was written down. Each source also says something of each customer that
answers no question, and uses words of questions while it does so. Some facts are stated twice, by two sources; some
second statements say the opposite.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from context_service.mcp_servers.pure import provider_id_of

CRM, TICKETS, FILES, TALK, WIKI, MEMORY = "crm", "tickets", "workspace", "context", "wiki", "memory"
GRAPH, DOCUMENTS = "brain", "knowledge-base"
SERVER, TOOL = "catalogue", "search"  # of an MCP server
CATALOGUE = provider_id_of(SERVER, TOOL)
SOURCES = (CRM, TICKETS, FILES, TALK, WIKI, MEMORY, GRAPH, DOCUMENTS, CATALOGUE)
CUSTOMERS = 30  # of a company

_TODAY = datetime(2026, 9, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence, and where it stands."""

    source: str  # one of `SOURCES`
    about: str  # a customer, or a process of the company, whose facts belong together
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and its right answers."""

    text: str
    kind: str  # "a word", "no word" (that it shares with the answer)
    planted: str  # "once", "twice" (two sources say it), "against" (two sources contradict each other)
    answers: tuple[Fact, ...]  # any is right; of "against" all have to be shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """The planted facts of a company, and the questions about them."""

    facts: tuple[Fact, ...]  # those that answer nothing, too
    questions: tuple[Question, ...]


# A source, what it says, and two ways to ask: with a word of it, and without any. {c}: the customer.
_FACTS = (
    (CRM, "{p} is the account manager of {c}.", "Which manager has {c}?", "Who on our side looks after {c}?"),
    (CRM, "{c} employs {n} people at its site in {t}.", "How many are employed by {c}?", "How large is {c}?"),
    (CRM, "The buyer at {c} is called {p}.", "Who is buyer there, at {c}?", "Which person purchases for {c}?"),
    (
        FILES,
        "Either party may terminate the agreement with {c} giving {n} days of notice.",
        "What notice must {c} give?",
        "How can we get out of the contract with {c}?",
    ),
    (
        FILES,
        "The annual fee of {c} amounts to EUR {n},000, due in January.",
        "What is the fee for {c}?",
        "What does {c} pay us per year?",
    ),
    (
        FILES,
        "Liability towards {c} is capped at EUR {n},000.",
        "Where does our liability for {c} end?",
        "What is the most that we can owe {c} for damages?",
    ),
    (
        FILES,
        "Support for {c} is provided on working days from {h} o'clock.",
        "At what hours does {c} get support?",
        "When can {c} reach our helpdesk?",
    ),
    (
        TALK,
        "We promised {c} that the {m} module goes live on {d}.",
        "What have we promised {c}?",
        "What did we commit to hand over to {c}?",
    ),
    (
        TALK,
        "{p} of {c} asked for the invoices to be split by plant.",
        "How are invoices for {c} to be sent?",
        "How does {c} want to be billed?",
    ),
    (
        TALK,
        "{c} will decide about the extension after its board meets on {d}.",
        "When is the board of {c}?",
        "When do we hear from {c} on renewing?",
    ),
    (
        TICKETS,
        "{c}: export of reports fails with error {n} since the upgrade.",
        "Which error has {c}?",
        "What trouble has {c} with downloads?",
    ),
    (
        TICKETS,
        "{c}: users are logged out after {n} minutes.",
        "After how many minutes is somebody at {c} out?",
        "Why do the people of {c} have to sign in so often?",
    ),
    (WIKI, "Deliveries to {c} go through the depot in {t}.", "Which depot has {c}?", "From where do we ship to {c}?"),
    (
        WIKI,
        "Discounts for {c} above {n} percent need the consent of {p}.",
        "Who has a say in discounts of {c}?",
        "Who approves a price cut for {c}?",
    ),
    (MEMORY, "I prefer to ring {c} on {w} mornings.", "On which mornings is {c} in?", "When do I like to phone {c}?"),
    (
        MEMORY,
        "At {c} a workshop on site convinced {p}, slides did not.",
        "Where did a workshop help, at {c}?",
        "What worked for me when pitching to {c}?",
    ),
    (
        GRAPH,
        "The opportunity {m} licences for {c} is worth EUR {n},000.",
        "Which opportunity is there at {c}?",
        "What could we sell next to {c}?",
    ),
    (
        GRAPH,
        "We owe {c} {n} scanners until {d}.",
        "How many scanners are for {c}?",
        "Which delivery to {c} is outstanding?",
    ),
    (
        DOCUMENTS,
        "Machines at {c} are under warranty for {n} days after installation.",
        "How long is the warranty of {c}?",
        "Until when do we repair for {c} free of charge?",
    ),
    (
        DOCUMENTS,
        "Returned parts from {c} are inspected in {t}, and nowhere else.",
        "Where are parts of {c} inspected?",
        "To which place does {c} send back goods?",
    ),
    (CATALOGUE, "{c} buys from price list {n}.", "Which list has {c}?", "At which rates do we invoice {c}?"),
    (
        CATALOGUE,
        "Article numbers of {c} begin with {n}-.",
        "With what do the numbers of {c} begin?",
        "How are products labelled for {c}?",
    ),
)
# What answers no question.
_NOISE = (
    (CRM, "The record of {c} was checked for duplicates, and its address in {t} confirmed."),
    (CRM, "{c} was added to the mailing list about how we ship and bill."),
    (FILES, "This annex to the papers of {c} repeats the definitions of the framework, without changes."),
    (FILES, "The minutes with {c} list those present: {p}, and two colleagues who look after logistics."),
    (TALK, "Thanks, {c} received the slides, and has nothing to add at this time."),
    (TALK, "The people of {c} said hello, and asked how the trip to {t} went."),
    (TICKETS, "{c}: a password was reset for {p}, closed without trouble."),
    (TICKETS, "{c}: question about the price list was answered by a link to the handbook."),
    (WIKI, "The page of {c} is kept by the sales team, who meet each {w}."),
    (GRAPH, "The opportunity of {c} was moved to another owner, {p}, without a change of plan."),
    (DOCUMENTS, "This page of the manual for {c} is left blank; the next one repeats the table of contents."),
    (CATALOGUE, "The entry of {c} was copied from the old catalogue, free of charge and without a change."),
    (MEMORY, "Dinner with {p} of {c} was pleasant, we talked about {t} for most of it."),
)
_PEOPLE = (
    *("Berta Quill", "Anton Reiss", "Carla Mott", "Dimitri Volk", "Esra Tan", "Fabio Rust", "Gerda Lind", "Hugo Stamm"),
    *(
        "Ines Palme",
        "Jakob Thorn",
        "Karin Oster",
        "Liam Frost",
        "Mona Adler",
        "Nils Brandt",
        "Olga Sorel",
        "Pavel Kerr",
    ),
)
_TOWNS = ("Graz", "Lyon", "Porto", "Malmo", "Turin", "Ghent", "Krakow", "Basel", "Bristol", "Seville")
_MODULES = ("payroll", "inventory", "planning", "scanning", "forecast")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_FIRST = ("Alder", "Boreal", "Cobalt", "Dorado", "Ember", "Falcon", "Granite", "Harbor", "Indigo", "Juniper", "Kestrel")
_SECOND = ("Foods", "Marine", "Optics", "Paper", "Steel", "Textiles", "Tools", "Trading", "Works", "Yachts")


def company(seed: int, *, customers: int = CUSTOMERS) -> Company:
    """Return the company of a seed; the same seed gives the same company."""
    random_ = random.Random(seed)
    names = random_.sample([f"{first} {second}" for first in _FIRST for second in _SECOND], customers)
    facts: list[Fact] = []
    questions: list[Question] = []
    for name in names:
        for source, said, near, far in _FACTS:
            fact = _fact(random_, source, said, name)
            planted, answers = "once", [fact]
            other = random_.choice([item for item in SOURCES if item != source])
            chance = random_.random()
            if chance < 0.08:
                planted = "twice"
                answers.append(Fact(source=other, about=name, text=fact.text, said_at=_day(random_)))
            elif chance < 0.16:
                planted = "against"
                text = _fact(random_, source, said, name).text
                while text == fact.text:
                    text = _fact(random_, source, said, name).text
                answers.append(Fact(source=other, about=name, text=text, said_at=_day(random_)))
            facts += answers
            questions += [
                Question(text=asked.format(c=name), kind=kind, planted=planted, answers=tuple(answers))
                for kind, asked in (("a word", near), ("no word", far))
            ]
        facts += [_fact(random_, source, said, name) for source, said in _NOISE]
    random_.shuffle(facts)
    return Company(facts=tuple(facts), questions=tuple(questions))


def by_document(facts: Sequence[Fact], source: str) -> dict[str, list[Fact]]:
    """Return the statements of a source by their subjects."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.source == source:
            found.setdefault(fact.about, []).append(fact)
    return found


def _fact(random_: random.Random, source: str, said: str, customer: str) -> Fact:
    """Return a fact of a customer from a template, with random people, days and numbers in its slots."""
    text = said.format(
        c=customer,
        p=random_.choice(_PEOPLE),
        t=random_.choice(_TOWNS),
        m=random_.choice(_MODULES),
        w=random_.choice(_WEEKDAYS),
        d=(_TODAY + timedelta(days=random_.randrange(400))).date().isoformat(),
        n=random_.randrange(15, 900),
        h=random_.randrange(6, 11),
    )
    return Fact(source=source, about=customer, text=text, said_at=_day(random_))


def _day(random_: random.Random) -> datetime:
    return _TODAY - timedelta(days=random_.randrange(1, 500))
