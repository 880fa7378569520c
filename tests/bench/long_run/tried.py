"""`python -m tests.bench.long_run.tried [STEPS]`: learning and prefetch, each on and off, on both logs.

Learning moves the weights of kinds of lines within a fifth, by how often lines of a kind were asked for when they were
out of sight, in runs with other seeds: of the same log, and of the other one. Prefetch recalls, behind what a user
says, what the things of the last ten steps were last used with, too. What counts is held out: another seed.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean

from context_service.tokens import TokenCounter
from tests.bench.long_run.__main__ import BUDGET_SHARE, WORKLOADS
from tests.bench.long_run.measured import Measured, answers, measured
from tests.bench.long_run.ours import Folding
from tests.bench.long_run.prepared import Prepared, Step, prepared
from tests.bench.long_run.strategies import Shown

STEPS = 3_000
LEARNED_SEEDS, HELD_OUT = (11, 12), 1
BOUND = 0.2  # by which a weight moves at most
NAMES, NAMES_TOKENS = 8, 500
PROBED = ("decision", "error", "question", "artifact")


class Learning(Folding):
    """A window whose profile has other weights."""

    def __init__(
        self, ready: Prepared, limit: int, count: Callable[[str], int], factors: Mapping[str, float] | None = None
    ) -> None:
        super().__init__(ready, limit, count)
        self._factors = factors or {}

    def after(self, step: Step) -> Sequence[Shown]:
        units = tuple(
            replace(one, weight=min(one.weight * self._factors.get(one.kind, 1.0), 1.0)) for one in step.made.units
        )
        return super().after(replace(step, made=replace(step.made, units=units)))


class Prefetching(Folding):
    """A window that recalls what the things at hand were last used with."""

    def __init__(self, ready: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(ready, limit, count)
        self._at_hand: deque[frozenset[str]] = deque(maxlen=10)

    def after(self, step: Step) -> Sequence[Shown]:
        self._at_hand.append(step.made.names)
        return super().after(step)

    def _recall(self, step: Step) -> None:
        super()._recall(step)
        if step.made.role != "user" or not self.view.summaries:
            return
        often = Counter(name for names in self._at_hand for name in names)
        asked = " ".join(name for name, _ in often.most_common(NAMES))
        first = self.view.blocks[0].seq_from
        found = self.prepared.index.recalled(asked, tokens_max=NAMES_TOKENS, seq_to=self._seq, known_from=first)
        if found:
            self._append("\n".join(["[Recalled]", *(one.text for one in sorted(found))]), step)


def learned(runs: list[tuple[Measured, Prepared]]) -> dict[str, float]:
    """Return by what kinds of lines move, from how often they were asked for out of sight: counts, and no text."""
    missed: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for figures, ready in runs:
        units = [unit for step in ready.steps for unit in step.made.units]
        seen.update(unit.kind for unit in units)
        for probe in {probe for sample in figures.samples for kind in PROBED for probe in sample.missing(kind)}:
            kinds = {unit.kind for unit in units if unit.seq == probe.seq and answers(unit.text, probe.needle)}
            missed.update(kinds)
    shares = {kind: missed[kind] / count for kind, count in seen.items()}
    most = max(shares.values(), default=0.0) or 1.0
    return {kind: 1 - BOUND + 2 * BOUND * share / most for kind, share in shares.items()}


def main() -> None:
    """Measure, and print."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    count = cache(TokenCounter().count)

    @cache
    def ready_of(kind: type, seed: int) -> Prepared:
        return prepared(kind(seed=seed, steps=steps).workload(), count, lambda _: None)

    def run(make: Callable[[Prepared, int], Folding], ready: Prepared) -> Measured:
        ours = make(ready, int(ready.tokens * BUDGET_SHARE))
        return measured(ours, ready, every=steps // 5, progress=lambda _: None)

    factors = {}
    for kind in WORKLOADS:
        ready = [ready_of(kind, seed) for seed in LEARNED_SEEDS]
        factors[kind] = learned([(run(lambda one, limit: Folding(one, limit, count), one), one) for one in ready])
        moved = ", ".join(f"{name} {factor:.2f}" for name, factor in sorted(factors[kind].items()))
        print(f"learned of {kind.name}: {moved}")
    for kind in WORKLOADS:
        other = next(one for one in WORKLOADS if one is not kind)
        makes = {
            "as it is": lambda one, limit: Folding(one, limit, count),
            "learned of this log": lambda one, limit, by=factors[kind]: Learning(one, limit, count, by),
            "learned of the other": lambda one, limit, by=factors[other]: Learning(one, limit, count, by),
            "prefetch": lambda one, limit: Prefetching(one, limit, count),
        }
        for name, make in makes.items():
            figures = run(make, ready_of(kind, HELD_OUT))
            shown = fmean(one.share() for one in figures.samples)
            kinds = " ".join(
                f"{of} {sum(one.share(kinds=[of]) for one in figures.samples) / len(figures.samples):.3f}"
                for of in PROBED
            )
            print(
                f"{kind.name:12}{name:22} shown {shown:.3f} ({kinds})  cost {figures.cost_a_step:,.0f}  "
                f"prefix {figures.prefix:.3f}"
            )


if __name__ == "__main__":
    main()
