"""The cost of packs with a vendor's prompt cache. Values in, values out.

The cache has the prefix that a pack shares with the earlier pack; the vendor writes the rest to the cache. So the pack
after a step of d tokens, which follow T tokens, costs `read T + write d`. A fold (a compaction) to A tokens, of which
the first K stay the same, costs `read K + write (A - K)`. The model assumes one pack after each step and a cache that
never expires. `bench/long_run` uses the same model, with prices of 0.1 and 1.25 of a token without a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_service.usage.pure.prices import DEFAULT, Prices

MILLION = 1_000_000


class Cost(NamedTuple):
    """The tokens of prompts: those that were read from a vendor's cache, and those that were written to it."""

    read: int = 0
    written: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.read + self.written

    @property
    def base_tokens(self) -> float:
        """The number of tokens without a cache that would cost the same, at the default prices."""
        return self.read * DEFAULT.cache_read + self.written * DEFAULT.cache_write

    def price(self, prices: Prices) -> float:
        """Return the cost in money, at prices of a million tokens."""
        return (self.read * prices.cache_read + self.written * prices.cache_write) / MILLION

    def plus(self, other: Cost, times: int = 1) -> Cost:
        """Return the sum of this cost and `times` the other one."""
        return Cost(self.read + times * other.read, self.written + times * other.written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a prompt grows and shrinks, in tokens.

    Attributes:
        tokens: The tokens that the prompt has now.
        step: The tokens that each step adds; above 0.
        high: The tokens above which the prompt is folded.
        folded: The tokens that the prompt has after a fold.
        kept: The first tokens of the prompt, which a fold leaves unchanged.
    """

    tokens: int
    step: int
    high: int
    folded: int
    kept: int

    @property
    def fold(self) -> Cost:
        """The cost of the first pack after a fold."""
        cached = min(self.kept, self.folded)
        return Cost(cached, self.folded - cached)


class Ahead(NamedTuple):
    """The cost of the packs of some steps, and the number of folds among them."""

    cost: Cost
    folds: int


def ahead(steps: int, shape: Shape) -> Ahead:
    """Return the cost of the packs of the next steps.

    The sum is computed by a formula and not step by step, so that 100,000 steps take no longer than one.
    """
    first = min(max((shape.high - shape.tokens) // shape.step, 0), steps)
    cost, more_steps = _grown(shape.tokens, shape.step, first), steps - first
    between = max((shape.high - shape.folded) // shape.step, 0)
    folds = -(-more_steps // (between + 1))
    if folds:
        cycle = shape.fold.plus(_grown(shape.folded, shape.step, between))
        rest = more_steps - (folds - 1) * (between + 1) - 1
        cost = cost.plus(cycle, folds - 1).plus(shape.fold).plus(_grown(shape.folded, shape.step, rest))
    return Ahead(cost, folds)


def _grown(tokens: int, step: int, count: int) -> Cost:
    """Return the cost of `count` packs without a fold: the first reads `tokens`, and each adds `step` tokens."""
    return Cost(count * tokens + step * count * (count - 1) // 2, count * step)


class Break(NamedTuple):
    """A break of a window's prefix, as the cost needs it."""

    reason: str
    step: int  # the number of steps that the window had
    before: int  # the tokens of the pack before the break
    after: int  # the tokens of the pack after it
    kept: int  # the first tokens of the pack, which stay the same
    left_out: int = 0  # the number of steps that a rollback removed


def until_now(breaks: Sequence[Break], *, steps: int, tokens: int) -> Cost:
    """Return the cost of all packs of a window so far, if it was packed once after each step.

    Args:
        breaks: The breaks of the window's prefix, oldest first.
        steps: The number of steps that it has now.
        tokens: The tokens that the window shows now.
    """
    total, last = Cost(), Cost()
    step, tokens_now = 0, 0
    for change in breaks:
        grown, last = _between(step, tokens_now, change.step, change.before, last)
        cached = min(change.kept, change.after, last.tokens)
        total, last = total.plus(grown).plus(last, -1), Cost(cached, change.after - cached)
        total = total.plus(last)  # the pack after the break replaces the last pack before it
        step, tokens_now = change.step - change.left_out, change.after
    grown, _ = _between(step, tokens_now, steps, tokens, last)
    return total.plus(grown)


def _between(step: int, tokens: int, step_to: int, shown_to: int, last: Cost) -> tuple[Cost, Cost]:
    """Return the cost of the packs between two breaks, each a step longer, and the cost of the last pack."""
    count, grown = step_to - step, max(shown_to - tokens, 0)
    if count <= 0:
        return Cost(), last
    each = grown / count
    cached_tokens = round(count * tokens + each * count * (count - 1) / 2)
    return Cost(cached_tokens, grown), Cost(round(tokens + grown - each), round(each))
