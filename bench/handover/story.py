"""A long run of an agent, told with the facts that its successor must know.

A story has one task, people who speak, and thousands of steps of work between. Each fact belongs to one of twelve
questions, and holds from one message to another: a value until it is set again, a rule until the user lifts it. The
same seed gives the same story.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import orjson

from bench.long_run.workload import Workload, message_at
from context_service.contexts.model import Message
from context_service.kernel.parts import Part, ToolCall, ToolResult

T = TypeVar("T")

STEPS = 3_200
QUESTIONS = {
    "task": "What is the task?",
    "acceptance": "When is it done? Name the acceptance criteria.",
    "values": "What are the current values of the things that were set?",
    "rules": "Which rules are in force?",
    "lifted": "Which rules were lifted?",
    "decisions": "What was decided, and why?",
    "failed": "What was tried and failed, and why?",
    "files": "Which files or documents were changed last?",
    "open": "Which questions are open?",
    "people": "Who takes part, and what is each person responsible for?",
    "last": "What was the last result?",
    "next": "What is the next step?",
}
COUNTS = {"values": 14, "rules": 18, "decisions": 16, "failed": 14, "open": 14, "people": 6}  # in `STEPS` steps
LEAST = 3  # of each kind, in however short a story
LIFTED_SHARE, ANSWERED_SHARE = 0.8, 0.5
FILES_SHOWN = 4
_SUBTASK_EVERY, _PLAN_EVERY, _CHECK_EVERY, _CHAT_EVERY = 400, 90, 25, 35  # steps
_QUIET_END = 12  # steps in which nothing new is planted


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """A person or a program that speaks: its role, and its name if it has one."""

    role: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.role} {self.name}".strip()


ASSISTANT = Speaker(role="assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One right answer to a question.

    Attributes:
        question: The key in `QUESTIONS` of the question that it answers.
        speaker: The person or program that stated it.
        needles: Texts that the answer contains, all of them.
        seq: Number of the message that states it.
        stale: Earlier statements that contradict it: each a set of texts that stand in one line.
        until_seq: The message after which it holds no longer; None if it holds to the end.
    """

    question: str
    speaker: Speaker
    needles: tuple[str, ...]
    seq: int
    stale: tuple[tuple[str, ...], ...] = ()
    until_seq: int | None = None

    def holds(self, seq: int) -> bool:
        """Return whether the fact is known after a message, and still true."""
        return self.seq <= seq and (self.until_seq is None or seq < self.until_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A story: the log, its facts, and sentences of tools that give orders."""

    workload: Workload
    facts: Sequence[Fact]
    tool_orders: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule in the user's words, a text that only it contains, and the sentence that lifts it."""

    sentence: str
    needle: str
    lifting: str
    lifting_needle: str


class Story(ABC):
    """Tell a run. A subclass has the words of its domain.

    Args:
        seed: Seed of all random choices.
        steps: Number of the run's steps.
    """

    name: str
    profile: str
    system_prompt: str
    people: Sequence[tuple[str, str]]  # name and responsibility; the first is the user who gives the task
    begins = datetime(2026, 5, 4, 7, 30, tzinfo=UTC)

    def __init__(self, *, seed: int, steps: int = STEPS) -> None:
        self.random = random.Random(f"{self.name} {seed}")
        self._steps, self._step = steps, 0
        self._now = self.begins
        self._messages: list[Message] = []
        self._facts: list[Fact] = []
        self._orders: list[str] = []
        self._planned: dict[int, list[Callable[[], None]]] = defaultdict(list)
        self._current: dict[str, list[int]] = defaultdict(list)  # facts that a later one of the kind replaces
        self.owner = Speaker(role="user", name=self.people[0][0])

    # The words of a domain.

    @abstractmethod
    def task(self) -> tuple[str, Sequence[str], Sequence[str]]:
        """Return the first message, the needles of the task, and a needle of each acceptance criterion."""

    @abstractmethod
    def subtask(self, number: int) -> tuple[str, Sequence[str], Sequence[str]]:
        """Return a smaller task that comes up later: message, needles, and a needle of each acceptance criterion."""

    @abstractmethod
    def values(self) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
        """Return things that people set: a name, three values, and sentences with `{v}`, the first for the start."""

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Return the rules of the user, some with a sentence that lifts them."""

    @abstractmethod
    def decisions(self) -> Sequence[tuple[str, str, str]]:
        """Return decisions in the words of the assistant or the user: sentence, needle of the choice, of the reason."""

    @abstractmethod
    def attempts(self) -> Sequence[tuple[str, str, str, str]]:
        """Return attempts: announcement, output of the failure, conclusion, needle of the conclusion."""

    @abstractmethod
    def open_questions(self) -> Sequence[tuple[str, str, str]]:
        """Return questions: sentence, needle, answer."""

    @abstractmethod
    def introduction(self, name: str, responsibility: str) -> str:
        """Return how the user introduces a person."""

    @abstractmethod
    def chat(self) -> str:
        """Return small talk of a person."""

    @abstractmethod
    def plan(self) -> tuple[str, str]:
        """Return what the assistant says about its next step, and a needle of it."""

    @abstractmethod
    def check(self) -> tuple[str, dict[str, object], str, str]:
        """Return a check: tool, arguments, output, and the needle of its result."""

    @abstractmethod
    def edit(self) -> tuple[str, dict[str, object], str, str]:
        """Return a change of a file or document: tool, arguments, output, and its name."""

    @abstractmethod
    def work(self) -> tuple[str, str, dict[str, object], str]:
        """Return a step that matters to no question: words of the assistant, tool, arguments, output."""

    @abstractmethod
    def tool_order(self) -> str:
        """Return a sentence in a tool's output that reads like an order to the agent."""

    # The telling.

    def tell(self) -> Told:
        """Tell the whole story."""
        self._open()
        self._plan_all()
        while self._step < self._steps:
            self._next()
        workload = Workload(
            name=self.name,
            profile=self.profile,
            system_prompt=self.system_prompt,
            goal="",
            messages=self._messages,
            probes=(),
        )
        return Told(workload=workload, facts=self._facts, tool_orders=self._orders)

    def _open(self) -> None:
        text, needles, criteria = self.task()
        seq = self._say(self.owner, text)
        self._facts.append(Fact(question="task", speaker=self.owner, needles=tuple(needles), seq=seq))
        self._facts += [
            Fact(question="acceptance", speaker=self.owner, needles=(criterion,), seq=seq) for criterion in criteria
        ]

    def _plan_all(self) -> None:
        """Plan the steps of everything that answers a question, of smaller tasks, and of plans, checks and chat."""
        self._spread(self.values(), "values", self._plan_value)
        self._spread(self.rules(), "rules", self._plan_rule)
        self._spread(self.decisions(), "decisions", self._plan_decision)
        self._spread(self.attempts(), "failed", self._plan_attempt)
        self._spread(self.open_questions(), "open", self._plan_question)
        self._spread(self.people[1:], "people", self._plan_person)
        for number, step in enumerate(range(_SUBTASK_EVERY // 2, self._steps, _SUBTASK_EVERY)):
            self._planned[step].append(partial(self._give_subtask, number))
        for every, do in ((_PLAN_EVERY, self._say_plan), (_CHECK_EVERY, self._run_check), (_CHAT_EVERY, self._chat)):
            for step in range(every, self._steps, every):
                self._planned[step + self.random.randrange(5)].append(do)

    def _spread(self, things: Sequence[T], kind: str, plan: Callable[[T], None]) -> None:
        count = max(COUNTS[kind] * self._steps // STEPS, LEAST)
        for thing in self.random.sample(list(things), min(count, len(things))):
            plan(thing)

    def _at(self, do: Callable[[], None], *, after: int = 0) -> int:
        """Plan something for a random step, and return the step. Half of what is planned comes in the first third."""
        last = self._steps - _QUIET_END
        if after >= last:
            return last
        share = self.random.random() ** 1.7
        step = after + 1 + int(share * (last - after - 1))
        self._planned[step].append(do)
        return step

    def _next(self) -> None:
        """Do the next step: the actions that are planned for it, or else an edit or other work."""
        planned = self._planned.pop(self._step, [])
        for do in planned:
            do()
        if planned:
            self._step += 1
            return
        if self.random.random() < 0.18:
            tool, arguments, output, name = self.edit()
            seq = self._call(tool, arguments, output)
            self._replace("files", Fact(question="files", speaker=ASSISTANT, needles=(name,), seq=seq), FILES_SHOWN)
        else:
            words, tool, arguments, output = self.work()
            if self.random.random() < 0.02:
                order = self.tool_order()
                self._orders.append(order)
                lines = output.split("\n")
                lines.insert(len(lines) // 2, order)
                output = "\n".join(lines)
            self._call(tool, arguments, output, words=words)
        self._step += 1

    def _replace(self, kind: str, fact: Fact, keep: int) -> None:
        """Add a fact, and end the oldest of its kind when there are more than `keep`."""
        numbers = self._current[kind]
        same = [number for number in numbers if self._facts[number].needles == fact.needles]
        for number in same:
            self._end(number, fact.seq)
            numbers.remove(number)
        self._facts.append(fact)
        numbers.append(len(self._facts) - 1)
        if len(numbers) > keep:
            self._end(numbers.pop(0), fact.seq)

    def _end(self, number: int, seq: int) -> None:
        self._facts[number] = replace(self._facts[number], until_seq=seq)

    def _give_subtask(self, number: int) -> None:
        text, needles, criteria = self.subtask(number)
        seq = self._say(self.owner, text)
        self._replace("task", Fact(question="task", speaker=self.owner, needles=tuple(needles), seq=seq), 1)
        for place, needle in enumerate(criteria):
            self._replace(
                f"acceptance {place}", Fact(question="acceptance", speaker=self.owner, needles=(needle,), seq=seq), 1
            )

    def _plan_value(self, thing: tuple[str, Sequence[str], Sequence[str]]) -> None:
        """Plan the steps at which the owner sets a thing to its values; each value makes the one before stale."""
        name, values, forms = thing
        steps = sorted(self.random.randrange(1, self._steps - _QUIET_END) for _ in values)
        sentences: list[tuple[str, ...]] = []

        def setting(place: int, value: str) -> Callable[[], None]:
            def say() -> None:
                form = forms[min(place, len(forms) - 1)] if place < 2 else self.random.choice(forms[1:])
                seq = self._say(self.owner, form.format(v=value, was=values[max(place - 1, 0)]))
                fact = Fact(question="values", speaker=self.owner, needles=(value,), seq=seq, stale=tuple(sentences))
                self._replace(f"value {name}", fact, 1)
                sentences.append((name, value))

            return say

        for place, (value, step) in enumerate(zip(values, steps, strict=True)):
            self._planned[step].append(setting(place, value))

    def _plan_rule(self, rule: Rule) -> None:
        """Plan the step at which the user states a rule and, for some rules, a later one at which the user lifts it."""
        numbers: list[int] = []

        def state() -> None:
            seq = self._say(self.owner, rule.sentence)
            self._facts.append(Fact(question="rules", speaker=self.owner, needles=(rule.needle,), seq=seq))
            numbers.append(len(self._facts) - 1)

        def lift() -> None:
            seq = self._say(self.owner, rule.lifting)
            self._end(numbers[0], seq)
            self._facts.append(
                Fact(
                    question="lifted",
                    speaker=self.owner,
                    needles=(rule.lifting_needle,),
                    seq=seq,
                    stale=((rule.needle,),),
                )
            )

        step = self._at(state)
        if rule.lifting and self.random.random() < LIFTED_SHARE and step < self._steps - 2 * _QUIET_END:
            self._at(lift, after=step)

    def _plan_decision(self, decision: tuple[str, str, str]) -> None:
        sentence, choice, reason = decision
        speaker = self.random.choice((ASSISTANT, ASSISTANT, self.owner))

        def say() -> None:
            seq = self._say(speaker, sentence)
            self._facts.append(Fact(question="decisions", speaker=speaker, needles=(choice, reason), seq=seq))

        self._at(say)

    def _plan_attempt(self, attempt: tuple[str, str, str, str]) -> None:
        announcement, output, conclusion, needle = attempt

        def fail() -> None:
            tool, arguments, _, _ = self.check()
            self._call(tool, arguments, output, words=announcement, is_error=True)
            seq = self._say(ASSISTANT, conclusion)
            self._facts.append(Fact(question="failed", speaker=ASSISTANT, needles=(needle,), seq=seq))

        self._at(fail)

    def _plan_question(self, question: tuple[str, str, str]) -> None:
        """Plan the step at which the assistant asks a question and, for some, the one at which the owner answers."""
        sentence, needle, answer = question
        numbers: list[int] = []

        def ask() -> None:
            seq = self._say(ASSISTANT, sentence)
            self._facts.append(Fact(question="open", speaker=ASSISTANT, needles=(needle,), seq=seq))
            numbers.append(len(self._facts) - 1)

        def close() -> None:
            self._end(numbers[0], self._say(self.owner, answer))

        step = self._at(ask)
        if self.random.random() < ANSWERED_SHARE and step < self._steps - 2 * _QUIET_END:
            self._planned[min(step + self.random.randrange(1, 60), self._steps - _QUIET_END)].append(close)

    def _plan_person(self, person: tuple[str, str]) -> None:
        name, responsibility = person

        def introduce() -> None:
            seq = self._say(self.owner, self.introduction(name, responsibility))
            self._facts.append(Fact(question="people", speaker=self.owner, needles=(name, responsibility), seq=seq))

        self._at(introduce)

    def _say_plan(self) -> None:
        sentence, needle = self.plan()
        seq = self._say(ASSISTANT, sentence)
        self._replace("next", Fact(question="next", speaker=ASSISTANT, needles=(needle,), seq=seq), 1)

    def _run_check(self) -> None:
        tool, arguments, output, needle = self.check()
        seq = self._call(tool, arguments, output)
        speaker = Speaker(role="tool", name=tool)
        self._replace("last", Fact(question="last", speaker=speaker, needles=(needle,), seq=seq), 1)

    def _chat(self) -> None:
        name, _ = self.random.choice(self.people)
        self._say(Speaker(role="user", name=name), self.chat())

    def _say(self, speaker: Speaker, text: str) -> int:
        return self._add(speaker, text)

    def _call(
        self, tool: str, arguments: dict[str, object], output: str, *, words: str = "", is_error: bool = False
    ) -> int:
        call = ToolCall(id=f"call_{len(self._messages)}", name=tool, arguments_json=orjson.dumps(arguments).decode())
        self._add(ASSISTANT, words, Part(tool_call=call))
        result = ToolResult(tool_call_id=call.id, content_json=orjson.dumps(output).decode(), is_error=is_error)
        return self._add(Speaker(role="tool"), "", Part(tool_result=result))

    def _add(self, speaker: Speaker, content: str, *parts: Part) -> int:
        """Append a message of a speaker to the log, some seconds after the last one, and return its `seq`."""
        seq = len(self._messages) + 1
        self._now += timedelta(seconds=self.random.randrange(5, 90))
        self._messages.append(message_at(self._now, seq, speaker.role, content, *parts, name=speaker.name))
        return seq
