"""How others fill a model's prompt at each step of a long run, within the same budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from bench.long_run.prepared import Prepared, Step, text_of
from context_service.folding.pure.importance import HALF_LIFE_STEPS, ImportanceInputs, Weights, importance, shares_of
from context_service.folding.pure.summaries import SEGMENT, Scored, Summary, summary
from context_service.packing.pure.steps.blocks import Block


class Shown(NamedTuple):
    """A part of a pack; parts with the same key have the same bytes, so that a cache can hold them."""

    key: Hashable
    tokens: int
    of: Block | str

    @property
    def text(self) -> str:
        """The text that a model reads."""
        return self.of if isinstance(self.of, str) else text_of(self.of)


class Strategy(ABC):
    """Returns the part of the log that a model sees after each step.

    Args:
        prepared: The workload, with its steps and its index.
        limit: Most tokens that a pack may have.
        count: Returns the number of tokens of a text.
    """

    name: str
    is_cached = (
        True  # whether a pack is written to the vendor's cache: one that changes each time would pay for nothing
    )

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        self.prepared, self.limit, self.count = prepared, limit, count
        self.head = Shown("head", prepared.head.tokens, prepared.head)

    @abstractmethod
    def after(self, step: Step) -> Sequence[Shown]:
        """Return the pack after the next step."""

    def is_state(self, shown: Shown) -> bool:
        """Return whether a part of a pack is the state: statements that it presents as true now."""
        return False

    def answering(self, question: str) -> str:
        """Return the passages that are read in addition to the last pack for a question."""
        return ""


class Sliding(Strategy):
    """The newest steps that fit."""

    name = "sliding window, each step"

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        self._seen: deque[Shown] = deque()
        self._tokens = self.head.tokens

    def after(self, step: Step) -> Sequence[Shown]:
        self.add(Shown(step.number, step.made.block.tokens, step.made.block))
        self.slide(self.limit)
        return [self.head, *self._seen]

    def add(self, one: Shown) -> None:
        """Append a step."""
        self._seen.append(one)
        self._tokens += one.tokens

    def slide(self, low: int) -> None:
        """If there are too many tokens, leave out the oldest steps until they fit."""
        if self._tokens > self.limit:
            while (self._tokens > low and len(self._seen) > 1) or self._tokens > self.limit:
                self._tokens -= self._seen.popleft().tokens


class SlidingByHalves(Sliding):
    """The newest steps; when the pack is full, half of it is dropped, so that the vendor's cache holds in between."""

    name = "sliding window, half at a time"

    def after(self, step: Step) -> Sequence[Shown]:
        self.add(Shown(step.number, step.made.block.tokens, step.made.block))
        self.slide(self.limit // 2)
        return [self.head, *self._seen]


class Masking(Sliding):
    """The newest steps that fit: the last ten whole, and those before them masked."""

    name = "all but the last ten masked, then sliding"
    keep_last = 10

    def after(self, step: Step) -> Sequence[Shown]:
        self.add(Shown(step.number, step.made.block.tokens, step.made.block))
        if len(self._seen) > self.keep_last:
            old = self._seen[-self.keep_last - 1]
            made = self.prepared.steps[old.key - 1].made if isinstance(old.key, int) else None
            if made and made.mask:
                self._tokens += made.mask.tokens - old.tokens
                self._seen[-self.keep_last - 1] = Shown(("masked", old.key), made.mask.tokens, made.mask)
        self.slide(self.limit)
        return [self.head, *self._seen]


class Clearing(Strategy):
    """Clears all results but the last three at two thirds of the limit; at the limit, all becomes one summary.

    Vendors do this on their side, too; but here the summary is made of excerpts.
    """

    name = "results cleared at .67, a summary at the limit"
    keep_results, keep_steps = 3, 10
    summary_tokens = 4_000

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        self._steps: list[tuple[Step, bool]] = []  # and whether it is cleared
        self._summary: Summary | None = None

    def after(self, step: Step) -> Sequence[Shown]:
        """Add a step, clear results and summarise as the limits demand, and return the pack."""
        self._steps.append((step, False))
        if self._tokens() > 0.67 * self.limit:
            with_results = [
                number for number, (item, _) in enumerate(self._steps) if item.cleared.tokens != item.made.block.tokens
            ]
            for number in with_results[: -self.keep_results]:
                self._steps[number] = (self._steps[number][0], True)
        if self._tokens() > self.limit and len(self._steps) > self.keep_steps:
            self._summarize()
        while self._tokens() > self.limit and not all(is_cleared for _, is_cleared in self._steps):
            largest = max(
                range(len(self._steps)),
                key=lambda one: self._steps[one][0].made.block.tokens * (not self._steps[one][1]),
            )
            self._steps[largest] = (self._steps[largest][0], True)
        shown = [self.head]
        if self._summary:
            shown.append(Shown(self._summary.text, self._summary.tokens, self._summary.text))
        return shown + [
            Shown((item.number, is_cleared), block.tokens, block)
            for item, is_cleared in self._steps
            for block in [item.cleared if is_cleared else item.made.block]
        ]

    def _tokens(self) -> int:
        return (
            self.head.tokens
            + (self._summary.tokens if self._summary else 0)
            + sum((item.cleared if is_cleared else item.made.block).tokens for item, is_cleared in self._steps)
        )

    def _summarize(self) -> None:
        """Replace all but the last steps, and the summary before, with one summary of excerpts."""
        old, self._steps = self._steps[: -self.keep_steps], self._steps[-self.keep_steps :]
        units = [
            Scored(unit=unit, step=item.number, is_error=item.made.is_error)
            for item, _ in old
            for unit in item.made.units
        ]
        before = self._summary
        self._summary = summary(
            before.level + 1 if before else SEGMENT + 1,
            steps=(1, old[-1][0].number),
            seqs=(1, old[-1][0].made.block.seq_to),
            units=[*(before.kept if before else ()), *units],
            tokens_max=min(self.summary_tokens, self.limit // 10),
            inputs=ImportanceInputs(
                step=old[-1][0].number, goal_terms=shares_of(self.prepared.workload.goal, ()), mentions={}
            ),
            weights=Weights(),
            count=self.count,
        )


class Ranking(Strategy):
    """The packing of a paper: .40 hot by recency, .35 warm by importance, .25 cold by relevance, ranked at each step.

    Warm are masked steps; cold are passages that are found by the last message of a user, or by a question.
    """

    name = "by recency, importance and relevance, each step"
    is_cached = False
    shares = (0.40, 0.35, 0.25)
    _RECENT = 12 * HALF_LIFE_STEPS  # steps after which recency has no effect any more

    def __init__(self, prepared: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(prepared, limit, count)
        room = limit - self.head.tokens
        self._hot, self._warm, self._cold = (int(share * room) for share in self.shares)
        self._worth: list[float] = []  # of each step, without recency
        self._best_old: list[tuple[float, int]] = []
        self._relevant: list[Shown] = []
        self._seq = 0
        self._weights = Weights(recency=0.0)
        self._seen = ImportanceInputs(step=0, goal_terms=shares_of(prepared.workload.goal, ()), mentions={})
        self._goal = prepared.workload.goal

    def after(self, step: Step) -> Sequence[Shown]:
        """Add a step, rank all earlier ones again, and return the pack: its warm, its cold and its hot part."""
        now, made = step.number, step.made
        self._seq = made.block.seq_to
        is_error = made.is_error
        self._worth.append(
            max(
                (
                    importance(unit, step=now, is_error=is_error, inputs=self._seen, weights=self._weights)
                    for unit in made.units
                ),
                default=0.0,
            )
        )
        if now > self._RECENT:
            old = now - self._RECENT
            insort(self._best_old, (-self._worth[old - 1], old))
            del self._best_old[2_000:]
        if made.role == "user":
            self._goal = step.said
        if made.role == "user" or now % 10 == 0:
            self._relevant = self._found(self._goal)
        hot, tokens = [], 0
        for number in range(now, 0, -1):
            block = self.prepared.steps[number - 1].made.block
            if tokens + block.tokens > self._hot:
                break
            tokens += block.tokens
            hot.append(Shown(number, block.tokens, block))
        first = now - len(hot) + 1
        recent = range(max(now - self._RECENT + 1, 1), first)
        scored = [(-self._worth[item - 1] - 0.25 * 0.5 ** ((now - item) / HALF_LIFE_STEPS), item) for item in recent]
        warm, tokens = [], 0
        for _, number in sorted(self._best_old[:500] + scored):
            made = self.prepared.steps[number - 1].made
            block = made.mask or made.block
            if tokens + block.tokens <= self._warm and number < first:
                tokens += block.tokens
                warm.append(Shown(("warm", number), block.tokens, block))
            if tokens > 0.98 * self._warm:
                break
        return [self.head, *warm, *self._relevant, *reversed(hot)]

    def answering(self, question: str) -> str:
        return "\n".join(item.text for item in self._found(question))

    def _found(self, text: str) -> list[Shown]:
        found = self.prepared.index.recalled(text, tokens_max=self._cold, seq_to=self._seq)
        return [Shown(("cold", item.seq, item.text), item.tokens, item.text) for item in found]


RIVALS: Sequence[type[Strategy]] = (Sliding, SlidingByHalves, Masking, Clearing, Ranking)
