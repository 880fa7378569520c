"""`python -m bench.long_run.switched [STEPS]`: learning, prefetch and packing by provider, each off and on.

On both logs, by the rules that the service runs. Learning counts what two runs of other seeds fold away, and which of
the facts that were planted one would have had to look up; of the same log, and of the other one. What counts is held
out: another seed. Packing by provider is priced as Anthropic's cache has it, which looks back by blocks: with the steps
of the log, and with twelve of them in one, as an agent has them that calls tools side by side.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from statistics import fmean

from bench.long_run.__main__ import BUDGET_SHARE, WORKLOADS
from bench.long_run.measured import READ, WRITTEN, Measured, answers, measured
from bench.long_run.ours import Folding
from bench.long_run.prepared import Prepared, Step, prepared
from bench.long_run.strategies import Shown
from context_service.folding.pure.folds import Fold
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.texts import prefetch
from context_service.packing.pure.texts.units import kinds_in, said_in
from context_service.profiles.pure.lookups import Counts, Learned, count_lookup, count_removed, learned
from context_service.profiles.pure.profiles import profile
from context_service.windows.pure.models import LOOK_BACK_BLOCKS

STEPS = 1_500
LEARNED_SEEDS, HELD_OUT = (11, 12), 1
PROBED = ("decision", "error", "question", "artifact")
LIMIT = 71_000  # of a pack, where steps are priced: as in a run of 10,000
SIDE_BY_SIDE = 12  # steps whose calls are made at once
LOOK_BACK = LOOK_BACK_BLOCKS[Format.ANTHROPIC]


class Counting(Folding):
    """A window that counts what it folds away."""

    def __init__(self, ready: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(ready, limit, count)
        self._profile = profile(ready.workload.profile)
        self.counts = Counts()

    def _fold(self, step: Step) -> Fold:
        before = self.view
        done = super()._fold(step)
        steps = {block.step for block in before.blocks if block.number in done.masked}
        tools = [[use.name for use in self.prepared.steps[number - 1].made.tools] for number in steps]
        self.counts = self.counts.plus(count_removed(before, done, tools, self._profile))
        return done


class Prefetching(Folding):
    """A window that also recalls passages that were last used together with the step's things."""

    def __init__(self, ready: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(ready, limit, count)
        self._last: deque[frozenset[str]] = deque(maxlen=prefetch.STEPS)

    def after(self, step: Step) -> Sequence[Shown]:
        self._last.append(step.made.names)
        return super().after(step)

    def _recall(self, step: Step) -> None:
        """Recall as a window does; after a user's message, also recall passages about the things of the last steps."""
        super()._recall(step)
        if step.made.role != "user" or not self.view.summaries:
            return
        found = self.prepared.index.recalled(
            " ".join(prefetch.at_hand([], self._last)),
            tokens_max=min(prefetch.TOKENS_MAX, self.limit // prefetch.TOKENS_SHARE),
            seq_to=self._seq,
            known_from=self.view.blocks[0].seq_from,
        )
        if found:
            self._append("\n".join(["[Recalled]", *(item.quoted for item in sorted(found))]), step)


def looked_up(figures: Measured, ready: Prepared) -> Counts:
    """Return the counts if each fact that no pack showed is looked up once."""
    rules, counts = profile(ready.workload.profile), Counts()
    messages = {message.seq: message for message in ready.workload.messages}
    for probe in {probe for sample in figures.samples for kind in PROBED for probe in sample.missing(kind)}:
        texts = [item for item in said_in(messages[probe.seq]) if answers(item.text, probe.needle)]
        counts = counts.plus(count_lookup(kinds_in(texts, rules), [], rules))
    return counts


def by_provider(ours: Folding, *, at_once: int) -> tuple[float, float, int]:
    """Return the cost of a pack by Anthropic's cache, without and with packing for it, and most blocks of a step."""
    costs, widest = [0.0, 0.0], 0
    before: list[Shown] = []
    wide = 0
    for step in ours.prepared.steps:
        pack = ours.after(step)
        wide += 1 + 2 * sum(use.calls for use in step.made.tools)
        if step.number % at_once:
            continue
        pairs = zip(pack, before, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, pairs))
        read = sum(item.tokens for item in pack[:same])
        front = sum(1 for _ in takewhile(lambda one: not isinstance(one.key, tuple), pack))  # head, summaries, state
        nearer = sum(item.tokens for item in pack[: min(same, front)])  # to the place after the state
        tokens = sum(item.tokens for item in pack)
        for number, held in enumerate((nearer if wide > LOOK_BACK else read, read)):
            costs[number] += READ * held + WRITTEN * (tokens - held)
        widest, wide, before = max(widest, wide), 0, list(pack)
    packs = len(ours.prepared.steps) // at_once
    return costs[0] / packs, costs[1] / packs, widest


def main() -> None:
    """Measure both logs with each switch off and on, and print the figures."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    count = cache(TokenCounter().count)

    def ready_of(kind: type, seed: int, what: Learned | None = None) -> Prepared:
        return prepared(kind(seed=seed, steps=steps).workload(), count, lambda _: None, learned=what)

    def limit_of(ready: Prepared) -> int:
        return int(ready.tokens * BUDGET_SHARE)

    def run(make: Callable[..., Folding], ready: Prepared) -> tuple[Measured, Folding]:
        ours = make(ready, limit_of(ready), count)
        return measured(ours, ready, every=max(steps // 5, 1), progress=lambda _: None), ours

    taught: dict[type, Learned] = {}
    for kind in WORKLOADS:
        counts = Counts()
        for seed in LEARNED_SEEDS:
            ready = ready_of(kind, seed)
            figures, ours = run(Counting, ready)
            assert isinstance(ours, Counting)
            counts = counts.plus(ours.counts).plus(looked_up(figures, ready))
        taught[kind] = learned(counts)
        moved = ", ".join(f"{name} {factor:.2f}" for name, factor in taught[kind].lines.items())
        print(f"learned of {kind.name}: {moved}", flush=True)
    for kind in WORKLOADS:
        other = next(workload for workload in WORKLOADS if workload is not kind)
        plain = ready_of(kind, HELD_OUT)
        for name, make, ready in (
            ("as it is", Folding, plain),
            ("learned of this log", Folding, ready_of(kind, HELD_OUT, taught[kind])),
            ("learned of the other", Folding, ready_of(kind, HELD_OUT, taught[other])),
            ("prefetch", Prefetching, plain),
        ):
            figures, _ = run(make, ready)
            shown = fmean(sample.share() for sample in figures.samples)
            kinds = " ".join(f"{of} {fmean(one.share(kinds=[of]) for one in figures.samples):.3f}" for of in PROBED)
            print(
                f"{kind.name:12}{name:22} shown {shown:.3f} ({kinds})  cost {figures.cost_a_step:,.0f}  "
                f"prefix {figures.prefix:.3f}",
                flush=True,
            )
        for at_once in (1, SIDE_BY_SIDE):
            off, on, widest = by_provider(Folding(plain, LIMIT, count), at_once=at_once)
            print(
                f"{kind.name:12}{f'by provider, {at_once} at once':22} cost {off:,.0f} without, {on:,.0f} with; "
                f"{widest} blocks at most, and {LOOK_BACK} are looked back",
                flush=True,
            )


if __name__ == "__main__":
    main()
