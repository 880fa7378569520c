"""Outcomes of steps that callers record: ranges of steps, each with a score. Values in, values out.

Without a recorded outcome, a fold knows only whether a tool call of the step failed. A recorded score has priority when
a fold (a compaction of a window) chooses the lines that it keeps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import orjson

RANGES_MAX = 1_000  # the most ranges of a window; then the ranges of the oldest steps are dropped


class Ending(NamedTuple):
    """How a range of consecutive steps ended, as a score from 0 (worst) to 1 (best)."""

    step_from: int
    step_to: int
    score: float


@dataclass(frozen=True, slots=True)
class Endings:
    """The outcomes of a window's steps, in the order of the steps; a step has at most one."""

    ranges: tuple[Ending, ...] = ()

    def of(self, step: int) -> float | None:
        """Return the outcome of a step, or None if none was recorded."""
        at = bisect_right(self.ranges, step, key=lambda ending: ending.step_from) - 1
        return self.ranges[at].score if at >= 0 and step <= self.ranges[at].step_to else None

    def with_one(self, ending: Ending) -> Endings:
        """Return the outcomes with a new one, which replaces earlier outcomes of the same steps."""
        others = []
        for span in self.ranges:
            if span.step_from < ending.step_from:
                others.append(span._replace(step_to=min(span.step_to, ending.step_from - 1)))
            if span.step_to > ending.step_to:
                others.append(span._replace(step_from=max(span.step_from, ending.step_to + 1)))
        return Endings(tuple(_join(sorted([*others, ending]))[-RANGES_MAX:]))

    def up_to(self, step: int) -> Endings:
        """Return only the outcomes up to a step, because later steps were rolled back or are read again."""
        first = [span._replace(step_to=min(span.step_to, step)) for span in self.ranges if span.step_from <= step]
        return Endings(tuple(first))


NOTHING = Endings()


def endings_json(endings: Endings) -> str:
    """Return outcomes in their stored form."""
    return orjson.dumps([tuple(span) for span in endings.ranges]).decode()


@lru_cache(maxsize=256)
def parse_endings(text: str) -> Endings:
    """Return the outcomes that `endings_json` wrote."""
    return Endings(tuple(Ending(*row) for row in orjson.loads(text)))


def _join(ranges: Sequence[Ending]) -> list[Ending]:
    """Join adjacent ranges that have the same score."""
    ranges_joined: list[Ending] = []
    for span in ranges:
        if ranges_joined and ranges_joined[-1].score == span.score and ranges_joined[-1].step_to + 1 == span.step_from:
            ranges_joined[-1] = ranges_joined[-1]._replace(step_to=span.step_to)
        else:
            ranges_joined.append(span)
    return ranges_joined
