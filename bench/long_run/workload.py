"""A log of an agent that works for weeks, with facts planted in it, and questions about them.

The same seed gives the same log. Planted facts stand among as many lines of the same form about other things, so that
each is found by its content and not by its form; people say it in many forms, some of them plainer than any rule
expects.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product

import orjson

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, ToolCall, ToolResult

STEPS = 10_000
# How many of each kind are planted in a number of steps. A value is set two to four times; questions ask for its
# current value; half of the questions are answered, and asked for no longer.
PLANTED = {
    "constraint": 70,
    "value": 70,
    "decision": 150,
    "error": 150,
    "noise": 150,
    "question": 120,
    "artifact": 100,
}
LEAST = 3  # of a kind, in however short a log
_USER_EVERY = 40  # steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A fact, and a question that asks for it in words.

    Attributes:
        kind: The key in `PLANTED` of the kind of fact.
        seq: Number of the message after which it is known.
        needle: Texts that one line must contain, all of them, to answer the question.
        question: The question that it answers, in words.
        until_seq: Number of the message after which it does not hold any longer; None if it still holds.
    """

    kind: str
    seq: int
    needle: tuple[str, ...]
    question: str
    until_seq: int | None = None

    def holds(self, seq: int) -> bool:
        """Return whether the fact is known after a message, and still holds."""
        return self.seq <= seq and (self.until_seq is None or seq < self.until_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A log, and the questions about it."""

    name: str
    profile: str
    system_prompt: str
    goal: str
    messages: Sequence[Message]
    probes: Sequence[Probe]


def message_at(at: datetime, seq: int, role: str, content: str, *parts: Part, name: str = "") -> Message:
    """Return a message of a log, written and said at one time."""
    return Message(
        message_id=f"m{seq}",
        seq=seq,
        role=role,
        content=content,
        parts=parts,
        name=name,
        agent_id="",
        metadata_json="",
        created_at=at,
        said_at=at,
        tokens=0,
        task_id=None,
        reference_task_ids=(),
    )


class Log(ABC):
    """A log while it is made: the actions of an agent, and the planted facts.

    Args:
        seed: Seed of all random choices.
        steps: Number of the log's steps.
    """

    name: str
    profile: str
    system_prompt: str
    goal: str
    begins = datetime(2026, 3, 2, 8, tzinfo=UTC)
    pause_s: int  # between two messages, on average

    def __init__(self, *, seed: int, steps: int) -> None:
        self.random = random.Random(seed)
        self.messages: list[Message] = []
        self.probes: list[Probe] = []
        self._steps, self._made = steps, 0
        self._now = self.begins
        self._due: dict[int, list[Callable[[], None]]] = defaultdict(list)
        self._values: dict[int, int] = {}  # which probe says what a value is now
        self._facts: list[str] = []  # lines that stand in the middle of the next long output
        self._subjects = {kind: iter(self._shuffled_subjects()) for kind in PLANTED}

    # What a kind of log says in its own words.

    @abstractmethod
    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return things and their aspects: at most one question asks for each pair."""

    @abstractmethod
    def work(self) -> None:
        """Do a step, or a few, that say nothing that anybody asks for."""

    @abstractmethod
    def wish(self) -> str:
        """Return what a user says now and then."""

    @abstractmethod
    def constraint(self, thing: str, aspect: str) -> tuple[str, str]:
        """Return a rule as a user says it, and a question for it."""

    @abstractmethod
    def value(self, thing: str, aspect: str, number: int) -> tuple[Sequence[str], str, str]:
        """Return statements that something is set to a number, first and later; its name; a question."""

    @abstractmethod
    def decision(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        """Return a decision with its reason, its needle, and a question."""

    @abstractmethod
    def error(self, thing: str, aspect: str) -> tuple[Callable[[], None], str, tuple[str, ...], str]:
        """Return a cause of an error, a later statement of the remedy, its needle, and a question."""

    @abstractmethod
    def noise(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        """Return a line of a tool's output that no message mentions, its needle, and a question."""

    @abstractmethod
    def question(self, thing: str, aspect: str) -> tuple[str, str, tuple[str, ...], str]:
        """Return an open question, its answer, the needle, and a text that asks for it."""

    @abstractmethod
    def artifact(self, thing: str, aspect: str) -> tuple[Callable[[], None], tuple[str, ...], str]:
        """Return a function that makes a file, the needle, and a question."""

    # How it is made.

    def workload(self) -> Workload:
        """Make the log, and return it."""
        self._plan()
        wishes = 0
        for step in range(self._steps):
            for begin in self._due.get(step, ()):  # work of several steps delays the next
                begin()
            if self._made >= wishes * _USER_EVERY:
                self.say("user", self.wish())
                wishes += 1
            while self._made <= step:
                self.work()
        return Workload(
            name=self.name,
            profile=self.profile,
            system_prompt=self.system_prompt,
            goal=self.goal,
            messages=self.messages,
            probes=self.probes,
        )

    def say(self, role: str, text: str) -> int:
        """Add a message, and return its `seq`."""
        self._made += 1
        return self._add(role, text)

    def run(
        self, name: str, arguments: dict[str, object], output: str, *, said: str = "", is_error: bool = False
    ) -> int:
        """Add a call with its result, and return the `seq` of the result."""
        self._made += 1
        call = ToolCall(id=f"c{len(self.messages)}", name=name, arguments_json=orjson.dumps(arguments).decode())
        self._add("assistant", said, Part(tool_call=call))
        result = ToolResult(tool_call_id=call.id, content_json=orjson.dumps(output).decode(), is_error=is_error)
        return self._add("tool", "", Part(tool_result=result))

    def long(self, lines: Sequence[str]) -> str:
        """Return a long output, with the planted facts that wait for an output in its middle half."""
        made = list(lines)
        for fact in self._facts:
            made.insert(self.random.randrange(len(made) // 4, max(3 * len(made) // 4, 1) + 1), fact)
        self._facts.clear()
        return "\n".join(made)

    def amid(self, sentence: str, before: Sequence[str], behind: Sequence[str]) -> str:
        """Return a sentence alone, or with other sentences before and after it."""
        return " ".join(
            [
                *self.random.sample(before, self.random.randrange(2)),
                sentence,
                *self.random.sample(behind, self.random.randrange(2)),
            ]
        )

    def _shuffled_subjects(self) -> list[tuple[str, str]]:
        pairs = list(product(*self.subjects()))
        self.random.shuffle(pairs)
        return pairs

    def _plan(self) -> None:
        """Plan the facts of each kind, in proportion to the number of steps."""
        plans = {
            "constraint": self._plan_constraint,
            "value": self._plan_value,
            "decision": self._plan_decision,
            "error": self._plan_error,
            "noise": self._plan_noise,
            "question": self._plan_question,
            "artifact": self._plan_artifact,
        }
        for kind, plan in plans.items():
            for _ in range(max(PLANTED[kind] * self._steps // STEPS, LEAST)):
                plan(*next(self._subjects[kind]))

    def _at(self, do: Callable[[], None], *, behind: int = 0, within: int | None = None) -> int:
        """Schedule something at a later step, and return the step."""
        last = self._steps - 20
        behind = min(behind, last)
        step = behind + self.random.randrange(min(within or last, last - behind) + 1)
        self._due[step].append(do)
        return step

    def _probe(self, kind: str, seq: int, needle: tuple[str, ...], question: str) -> int:
        self.probes.append(Probe(kind=kind, seq=seq, needle=needle, question=question))
        return len(self.probes) - 1

    def _ends(self, number: int, seq: int) -> None:
        self.probes[number] = replace(self.probes[number], until_seq=seq)

    def _plan_constraint(self, thing: str, aspect: str) -> None:
        rule, question = self.constraint(thing, aspect)

        def begin() -> None:
            seq = self.say("user", self.amid(rule, self.before, self.behind))
            self._probe("constraint", seq, (rule,), question)

        self._at(begin)

    before: Sequence[str] = ("One more thing.", "Thanks, that looks good.", "I talked to the others this morning.")
    behind: Sequence[str] = ("Carry on.", "That is all for now.", "Tell me when you are through.")

    def _plan_value(self, thing: str, aspect: str) -> None:
        numbers = self.random.sample(range(1_001, 9_999), self.random.randrange(2, 5))
        steps = sorted(self.random.randrange(self._steps - 20) for _ in numbers)
        last: list[int] = []
        for count, (number, step) in enumerate(zip(numbers, steps, strict=True)):
            self._due[step].append(self._setting(thing, aspect, number, count, last))

    def _setting(self, thing: str, aspect: str, number: int, count: int, last: list[int]) -> Callable[[], None]:
        """Return the action that states a value; it ends the probe of the value before, and adds its own."""
        forms, name, question = self.value(thing, aspect, number)

        def begin() -> None:
            sentence = self.random.choice(forms if count else forms[:2])
            seq = self.say(
                self.random.choice(("user", "user", "assistant")), self.amid(sentence, self.before, self.behind)
            )
            if last:
                self._ends(last.pop(), seq)
            last.append(self._probe("value", seq, (name, str(number)), question))

        return begin

    def _plan_decision(self, thing: str, aspect: str) -> None:
        said, needle, question = self.decision(thing, aspect)

        def begin() -> None:
            self._probe("decision", self.say(self.random.choice(("user", "assistant")), said), needle, question)

        self._at(begin)

    def _plan_error(self, thing: str, aspect: str) -> None:
        fail, helped, needle, question = self.error(thing, aspect)
        step = self._at(fail)

        def resolve() -> None:
            self._probe("error", self.say("assistant", helped), needle, question)

        self._due[step + self.random.randrange(1, 12)].append(resolve)

    def _plan_noise(self, thing: str, aspect: str) -> None:
        line, needle, question = self.noise(thing, aspect)

        def begin() -> None:
            self._facts.append(line)
            while self._facts:
                self.work()
            self._probe("noise", self.messages[-1].seq, needle, question)

        self._at(begin)

    def _plan_question(self, thing: str, aspect: str) -> None:
        """Plan the step at which the assistant asks a question and, for half of them, the one with the answer."""
        open_question, answer, needle, question = self.question(thing, aspect)
        is_answered = self.random.random() < 0.5
        numbers: list[int] = []

        def begin() -> None:
            numbers.append(self._probe("question", self.say("assistant", open_question), needle, question))

        def end() -> None:
            self._ends(numbers[0], self.say(self.random.choice(("user", "assistant")), answer))

        step = self._at(begin)
        if is_answered:
            self._at(end, behind=step + 1, within=400)

    def _plan_artifact(self, thing: str, aspect: str) -> None:
        make, needle, question = self.artifact(thing, aspect)

        def begin() -> None:
            make()
            self._probe("artifact", self.messages[-1].seq, needle, question)

        self._at(begin)

    def _add(self, role: str, content: str, *parts: Part) -> int:
        """Append a message to the log, some time after the last one, and return its `seq`."""
        seq = len(self.messages) + 1
        self._now += timedelta(seconds=self.random.randrange(1, 2 * self.pause_s))
        self.messages.append(message_at(self._now, seq, role, content, *parts))
        return seq

    @property
    def now(self) -> datetime:
        """The time of the log."""
        return self._now

    def clock(self) -> Iterator[str]:
        """Yield times as logs have them, from now on backwards to one that is earlier, each a little later."""
        at = self._now - timedelta(minutes=30)
        while True:
            at += timedelta(milliseconds=self.random.randrange(3, 2_000))
            yield f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
