"""How others fill a model's prompt within the same budget. Each is one class; add yours to `RIVALS`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import orjson

from bench.long_run.prepared import Prepared, Step
from bench.long_run.strategies import Clearing, Shown, SlidingByHalves, Strategy

_SENTENCE = re.compile(r"(?<=[.!?])\s")


class KeepingUsers(SlidingByHalves):
    """User messages that slid out stay in front of the window, up to a third of the limit, as in Codex."""

    name = "all user messages, then a sliding window"
    users_share = 1 / 3

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        self._kept: list[Shown] = []

    def after(self, step: Step) -> Sequence[Shown]:
        """Add a step; if the pack is too large, drop the oldest steps to half of the limit, and keep user messages."""
        self.add(Shown(step.number, step.made.block.tokens, step.made.block))
        if self._tokens > self.limit:
            while self._tokens > self.limit // 2 and len(self._seen) > 1:
                oldest = self._seen.popleft()
                number = oldest.key
                if isinstance(number, int) and self.prepared.steps[number - 1].made.role == "user":
                    self._kept.append(oldest)
                else:
                    self._tokens -= oldest.tokens
                    continue
                while sum(kept.tokens for kept in self._kept) > self.users_share * self.limit:
                    self._tokens -= self._kept.pop(0).tokens
        return [self.head, *self._kept, *self._seen]


class Summarising(Strategy):
    """At the limit, all but the last ten steps become a summary, as in summarising sessions of agent frameworks.

    The model is scripted: it takes the first sentence of each message, newest first, and says who spoke. A real model
    writes better; this one shows what the plumbing keeps.
    """

    name = "a summary at the limit, by a scripted model"
    keep_steps, summary_share = 10, 0.1

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        self._steps: list[Step] = []
        self._lines: list[str] = []
        self._summary: Shown | None = None

    def after(self, step: Step) -> Sequence[Shown]:
        self._steps.append(step)
        if self._tokens() > self.limit and len(self._steps) > self.keep_steps:
            old, self._steps = self._steps[: -self.keep_steps], self._steps[-self.keep_steps :]
            self._lines += [line for past in old if (line := _first_sentence(past))]
            self._summary = self._summarised()
        while self._tokens() > self.limit and len(self._steps) > 1:
            self._steps.pop(0)
        shown = [self.head, *([self._summary] if self._summary else [])]
        return shown + [Shown(kept.number, kept.made.block.tokens, kept.made.block) for kept in self._steps]

    def _tokens(self) -> int:
        summary = self._summary.tokens if self._summary else 0
        return self.head.tokens + summary + sum(kept.made.block.tokens for kept in self._steps)

    def _summarised(self) -> Shown:
        """Return the newest sentences that fit into the summary's share of the limit, and forget the older ones."""
        kept: list[str] = []
        tokens = 0
        for line in reversed(self._lines):
            tokens += self.count(line) + 1
            if tokens > self.summary_share * self.limit:
                break
            kept.append(line)
        self._lines = kept[::-1]
        text = "\n".join(self._lines)
        return Shown(("summary", text), self.count(text), text)


def _first_sentence(step: Step) -> str:
    if not step.said:
        return ""
    message = orjson.loads(step.made.block.pieces[0].json)
    speaker = f"{message['role']} {message.get('name', '')}".strip()
    return f"{speaker}: {_SENTENCE.split(step.said)[0]}"


RIVALS: Sequence[type[Strategy]] = (SlidingByHalves, Clearing, KeepingUsers, Summarising)
