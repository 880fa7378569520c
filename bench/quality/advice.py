"""Long conversations of a user with an assistant who answers at length: advice, lists and code about a project.

The questions are about the user's messages: choices, values and their changes, wishes for all later answers,
preferences, days, and statements that contradict earlier ones. The assistant's answers repeat their words, and are
fifteen times as long. `advice.yaml` has the subjects; the same seed gives the same conversations.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from bench.quality.conversations import Asked, Conversation, Turn

EXCHANGES = 150  # of a conversation: a message of the user and its answer
SESSION = 15  # exchanges of a session

_START = datetime(2025, 3, 3, 9, tzinfo=UTC)
_OPENINGS = (
    "I'm back with my {subject}.",
    "Work kept me busy all week, but now I have an hour for the {subject}.",
    "My partner keeps asking how the {subject} is coming along, so let's move on.",
    "I feel a bit lost with the {part} at the moment.",
    "I read three articles about {part} and they all say something else.",
    "Quick one about {part}.",
    "Since we talked about {other}, I have thought more about {part}.",
    "A friend who did the same last year laughed at my {part}.",
)
_WORRIES = (
    "I'm a {job} and have never done anything like it, so please be patient with me.",
    "What worries me most is that {other} depends on it.",
    "I only have evenings for it, and I get tired quickly.",
    "It would be good if we could connect it with {other} later.",
    "Money is not endless, as you know.",
    "My sister says that I overthink it, and she may be right.",
    "I tried something similar years ago and gave up after two weeks.",
    "If it fails I would rather know early.",
)
_REQUESTS = (
    "Can you help me with a plan for {part}?",
    "How would you go about {part}?",
    "What are the usual mistakes with {part}?",
    "Could you list the steps for {part} in detail?",
    "What should I look at first?",
    "Can you explain how {part} and {other} fit together?",
    "Please give me a few options for {part}, with their drawbacks.",
    "Could you review what I have for {part} so far?",
)
_JOBS = (
    "nurse",
    "bus driver",
    "translator",
    "retired teacher",
    "carpenter",
    "librarian",
    "sound engineer",
    "pharmacist",
)
_VALUES = (
    "For {part} I count on {number} {unit}.",
    "I've worked it out: {number} {unit} for {part}.",
    "The plan says {number} {unit} when it comes to {part}.",
    "{number} {unit} is what I have put down for {part}.",
)
_CHANGES = (
    "Forget the old number: {part} is at {number} {unit} now.",
    "I had to raise {part} to {number} {unit} after what happened yesterday.",
    "We ended up with {number} {unit} for {part} instead.",
    "Small correction about {part}, it has become {number} {unit}.",
)
_CHOICES = (
    "I went with {choice} for {part} in the end.",
    "For {part} it will be {choice}, my family knows already.",
    "About {part}: {choice} it is.",
    "I ordered {choice} for {part} this morning.",
)
_RULES = (
    "Always {wish} when I ask about {part}.",
    "From now on, whenever {part} comes up, {wish}.",
    "Please {wish} every time we discuss {part}.",
    "One thing for all your answers on {part}: {wish}.",
    "If I ask anything about {part} again, {wish}.",
)
_WISHES = (
    "name the price of each thing",
    "put the risks first",
    "say how long it takes",
    "use metric units",
    "mention the exact version",
    "keep it below ten lines",
    "add an example with numbers",
    "tell me the source of each claim",
    "suggest a cheaper way as well",
    "leave out anything with plastic",
)
_PREFERENCES = (
    "I like {choice} better than {rejected} for {part}, it just suits how I live.",
    "With {part}, I'd rather have {choice} than {rejected}, even if it is slower.",
    "{rejected} is not for me when it comes to {part}; {choice} feels right.",
    "I prefer {choice} over {rejected} for {part}, because I can fix it myself.",
)
_DAYS = (
    "{part} has to be finished by {day}.",
    "I want to be through with {part} on {day}.",
    "{day} is the day on which {part} gets done.",
)
_DID, _NEVER = (
    ("I spent the whole Sunday on {part} and got the first half done.", "I finally started on {part} yesterday."),
    ("I have never touched {part} myself, by the way.", "So far I haven't done a single thing for {part}."),
)
_INTROS = (
    "That's a great step for your {subject}! With {part} in mind, here is a structured way to go about it.",
    "Good question. Getting {part} right early makes {other} much easier later. Here is a detailed overview.",
    "Let's break {part} down into manageable pieces, so that your {subject} stays on track.",
    "Thanks for the details. Based on what you say about {part}, I would look at the following points.",
)
_HEADINGS = (
    "Define your goals",
    "Assess what you have",
    "Compare the options",
    "Plan your budget",
    "Prepare a schedule",
    "Avoid common mistakes",
    "Test on a small scale",
    "Track your progress",
    "Involve others",
    "Keep it maintainable",
    "Next steps",
    "Measure the results",
)
_POINTS = (
    "**Start small**: Begin with one section of {part} and extend it once {other} is settled.",
    "**Choice of method**: {Choice} is popular for {part}, while {another} may be the better fit if time is short.",
    "**Numbers**: Plan for roughly {number} {unit}, and keep a reserve of ten percent for surprises.",
    "**Dependencies**: Check how {part} affects {other} before you commit to anything.",
    "**Documentation**: Write down each decision about {part}, so that you can review it at the end of the month.",
    "**Timing**: Set aside two evenings for {part}; most people underestimate how long it takes.",
    "**Quality**: Do not save in the wrong place; {choice} pays off over the years.",
    "**Feedback**: Ask a friend with experience in {other} to have a look at your plan.",
    "**Flexibility**: If {choice} does not work out, {another} remains an option for your {subject}.",
    "**Checklist**: Make a list for {part} and tick off each point, always one at a time.",
    "**Preferences**: Consider whether you prefer comfort or cost when you decide about {part}.",
    "**Review**: Every time you change {part}, check {other} and the overall schedule again.",
)
_CODE = '''```python
def check_{name}(value: int, limit: int = {number}) -> bool:
    """Return whether the {part} stays below its limit of {unit}."""
    if value > limit:
        raise ValueError("{part} exceeds the limit")
    return True

for item in load("{name}.json"):
    check_{name}(item["value"])
```'''
_ENDS = (
    "By following these steps you will have {part} under control, and your {subject} will benefit from it. Would you"
    " like to look at {other} next?",
    "Feel free to share more about {part} or {other}, and I will adapt the plan.",
    "Let me know how it goes with {part}! If you have questions about {other}, just ask.",
)
_ASKS_VALUE = (
    "How many {unit} did I plan for {part}?",
    "What number of {unit} did I mention for {part}?",
    "Which figure did I give you for {part}?",
)
_ASKS_NEWEST = ("What is the current number of {unit} for {part}?", "How many {unit} are there for {part} by now?")
_ASKS_CHOICE = ("What did I decide on for {part}?", "Which option did I take for {part} in the end?")
_ASKS_ADVICE = (
    "How should I go about {part}?",
    "I'm thinking about {part} again. What would you suggest?",
    "Can you give me some advice on {part}?",
    "What is a good way to handle {part} in my situation?",
)


@dataclass
class _Conversation:
    """A conversation that is being made."""

    subject: str
    parts: dict[str, dict[str, Any]]
    source: random.Random
    turns: list[Turn] = field(default_factory=list)
    said: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))  # ids by kind and part

    def fill(self) -> None:
        """Say all facts, one an exchange, among exchanges without any."""
        parts = list(self.parts)
        facts = [(kind, part) for part in parts for kind in ("value", "choice")]
        for kind, count in (("change", 4), ("rule", 3), ("preference", 3), ("day", 4), ("did", 3)):
            facts += [(kind, part) for part in self.source.sample(parts, count)]
        self.source.shuffle(facts)
        facts.sort(key=lambda fact: fact[0] == "change")  # a change comes after the value
        nevers = [("never", part) for kind, part in facts if kind == "did"]
        facts += nevers
        places = sorted(self.source.sample(range(EXCHANGES), len(facts)))
        planned = dict(zip(places, facts, strict=True))
        for place in range(EXCHANGES):
            kind, part = planned.get(place, ("", self.source.choice(parts)))
            self._exchange(kind, part)

    def _exchange(self, kind: str, part: str) -> None:
        words = self._words(part)
        fact = self._fact(kind, words)
        sentences = [
            self._one_of(_OPENINGS, words),
            self._one_of(_WORRIES, words),
            self._one_of(_REQUESTS, words),
        ]
        if fact:
            sentences.insert(self.source.randrange(len(sentences)), fact)
        id = self._say("user", " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences))
        self.said[kind, part].append(id)
        self.said["", part] += [] if kind == "" else [id]
        self._say("assistant", self._answer(part))

    def _fact(self, kind: str, words: dict[str, Any]) -> str:
        texts = {
            "value": _VALUES,
            "change": _CHANGES,
            "choice": _CHOICES,
            "rule": _RULES,
            "preference": _PREFERENCES,
            "day": _DAYS,
            "did": _DID,
            "never": _NEVER,
        }
        return self._one_of(texts[kind], words) if kind else ""

    def _answer(self, part: str) -> str:
        """Return an answer of the assistant: five to seven sections of two to four points, and sometimes code."""
        lines = [self._one_of(_INTROS, self._words(part)), ""]
        for number, heading in enumerate(self.source.sample(_HEADINGS, self.source.randint(5, 7)), 1):
            lines.append(f"### {number}. {heading}")
            points = self.source.sample(_POINTS, self.source.randint(3, 5))
            lines += [f"- {point.format(**self._words(part))}" for point in points]
            lines.append("")
        if self.source.random() < 0.3:
            lines += [self._one_of((_CODE,), self._words(part)), ""]
        return "\n".join([*lines, self._one_of(_ENDS, self._words(part))])

    def _words(self, part: str) -> dict[str, Any]:
        choice, another, rejected = self.source.sample(self.parts[part]["choices"], 3)
        other = self.source.choice([other for other in self.parts if other != part])
        day = _START + timedelta(days=self.source.randrange(60, 300))
        return {
            "subject": self.subject,
            "part": part,
            "other": other,
            "choice": choice,
            "Choice": choice[0].upper() + choice[1:],
            "another": another,
            "rejected": rejected,
            "unit": self.parts[part]["unit"],
            "number": self.source.randrange(3, 900),
            "name": part.replace(" ", "_").replace("'", ""),
            "day": f"{day:%-d %B}",
            "wish": self.source.choice(_WISHES),
            "job": self.source.choice(_JOBS),
        }

    def _one_of(self, texts: tuple[str, ...], words: dict[str, Any]) -> str:
        return self.source.choice(texts).format(**words)

    def _say(self, role: str, text: str) -> str:
        number = len(self.turns)
        session = number // (2 * SESSION)
        said_at = _START + timedelta(days=5 * session, minutes=number)
        self.turns.append(Turn(id=str(number), text=text, session=session, said_at=said_at, role=role))
        return self.turns[-1].id

    def asked(self) -> list[Asked]:
        """Return all questions."""
        return [*self._about_parts(), *self._about_several()]

    def _about_parts(self) -> list[Asked]:
        """Return the questions about one part each."""
        asked = []
        for part in self.parts:
            words = self._words(part)
            value, change = self.said["value", part], self.said["change", part]
            asked.append(_asked("update" if change else "value", self._value_question(words, change), value + change))
            asked.append(_asked("choice", self._one_of(_ASKS_CHOICE, words), self.said["choice", part]))
            for kind in ("rule", "preference"):
                if evidence := self.said[kind, part]:
                    asked.append(_asked(kind, self._one_of(_ASKS_ADVICE, words), evidence))
            if did := self.said["did", part]:
                asked.append(_asked("contradiction", f"Have I ever worked on {part}?", did + self.said["never", part]))
        return asked

    def _value_question(self, words: dict[str, Any], change: list[str]) -> str:
        return self._one_of(_ASKS_NEWEST if change else _ASKS_VALUE, words)

    def _about_several(self) -> list[Asked]:
        """Return the questions about several parts, or all messages about one."""
        days = [(part, ids) for (kind, part), ids in self.said.items() if kind == "day" and ids]
        asked = []
        for (first, one), (second, other) in zip(days[::2], days[1::2], strict=False):
            text = f"How many days lie between the end of {first} and the end of {second}?"
            asked.append(_asked("days", text, one + other))
        parts = self.source.sample(list(self.parts), 6)
        for first, second in zip(parts[::2], parts[1::2], strict=True):
            text = f"Taking {first} and {second} together, which numbers did I give you?"
            asked.append(_asked("several", text, self.said["value", first] + self.said["value", second]))
        for part in self.source.sample(list(self.parts), 2):
            told = self.said["", part]
            asked.append(_asked("summary", f"Can you sum up how my plans for {part} developed?", told))
        first_told = [self.said["", part][0] for part in self.parts]
        text = f"In which order did I bring up the different parts of my {self.subject}? Name ten."
        return [*asked, _asked("order", text, first_told)]


def _asked(kind: str, text: str, evidence: list[str]) -> Asked:
    return Asked(text=text, kind=kind, evidence=frozenset(evidence))


def advice(*, seed: int = 1) -> list[Conversation]:
    """Return a conversation for each subject."""
    subjects = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    conversations = []
    for number, subject in enumerate(subjects):
        made = _Conversation(subject["subject"], subject["parts"], random.Random(seed * 100 + number))
        made.fill()
        conversations.append(Conversation(name=f"advice {made.subject}", turns=made.turns, asked=made.asked()))
    return conversations
