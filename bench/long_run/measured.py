"""The value of a strategy's packs: their cost, their cached share, and the facts in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from bench.long_run.prepared import Prepared
from bench.long_run.strategies import Shown, Strategy
from bench.long_run.workload import Probe

READ, WRITTEN, PLAIN = 0.1, 1.25, 1.0  # prices of a token: from a cache, into it, past it
ALWAYS = ("constraint", "value")  # kinds that every pack has to have
SAVINGS_AT = (50, 100, 200, 1_000, 10_000)
ASKED_AT = (100, 1_000)  # and at the end


@dataclass
class Sample:
    """Which probes a pack answers, of those that hold: `shown` by the pack alone, `asked` with what a question adds."""

    step: int
    probes: Sequence[Probe]
    shown: frozenset[int]
    asked: frozenset[int] | None = None

    def share(self, *, asked: bool = False, kinds: Iterable[str] = ()) -> float:
        """Return the share of the probes, of some kinds, or of all."""
        kinds = frozenset(kinds)
        of = [number for number, item in enumerate(self.probes) if not kinds or item.kind in kinds]
        found = self.shown if not asked else self.shown | (self.asked or frozenset())
        return sum(number in found for number in of) / len(of) if of else 1.0

    def missing(self, kind: str, *, asked: bool = False) -> list[Probe]:
        """Return the probes of a kind that are not answered."""
        found = self.shown if not asked else self.shown | (self.asked or frozenset())
        return [item for number, item in enumerate(self.probes) if item.kind == kind and number not in found]


@dataclass
class Account:
    """What the packs of a strategy cost.

    Attributes:
        over: Packs over the limit.
        tokens: The tokens of all packs.
        covered: Those of them in the prefix that the pack before has, too.
        cost: The tokens at base price.
    """

    name: str
    steps: int = 0
    over: int = 0
    tokens: int = 0
    covered: int = 0
    cost: float = 0.0
    _keys: list[Hashable] = field(default_factory=list)  # of the last pack

    def add(self, strategy: Strategy, pack: Sequence[Shown]) -> int:
        """Count the next pack, and return its tokens."""
        keys = [part.key for part in pack]
        tokens = sum(part.tokens for part in pack)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(keys, self._keys, strict=False)))
        covered = sum(part.tokens for part in pack[:same])
        self.steps += 1
        self.over += tokens > strategy.limit
        self.tokens += tokens
        self.covered += covered
        self.cost += READ * covered + (WRITTEN if strategy.is_cached else PLAIN) * (tokens - covered)
        self._keys = keys
        return tokens

    @property
    def prefix(self) -> float:
        """Return the share of all tokens that a cache holds."""
        return self.covered / self.tokens

    @property
    def cost_a_step(self) -> float:
        """Return tokens at base price."""
        return self.cost / self.steps


@dataclass
class Measured(Account):
    """The figures of a strategy over a workload."""

    savings: dict[int, float] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def always(self, kind: str) -> float:
        """Return the share of the probes of a kind that are in the packs of all samples."""
        held = [
            (sample.share(kinds=[kind]), sum(probe.kind == kind for probe in sample.probes)) for sample in self.samples
        ]
        return sum(share * count for share, count in held) / (sum(count for _, count in held) or 1)


def measured(strategy: Strategy, prepared: Prepared, *, every: int, progress: Callable[[float], None]) -> Measured:
    """Run a workload through a strategy, and return the figures.

    Args:
        strategy: A strategy that has seen no step yet.
        prepared: The workload, with its steps and its index.
        every: Steps between two packs that are searched for probes. Cost and prefix count all packs.
        progress: Called with the share that is done.
    """
    figures = Measured(name=strategy.name)
    raw = prepared.head.tokens
    last = len(prepared.steps)
    for step in prepared.steps:
        pack = strategy.after(step)
        raw += step.made.block.tokens
        tokens = figures.add(strategy, pack)
        if step.number in SAVINGS_AT or step.number == last:
            figures.savings[step.number] = 1 - tokens / raw
        if step.number % every == 0 or step.number in ASKED_AT or step.number == last:
            is_asked = step.number in ASKED_AT or step.number == last
            figures.samples.append(sampled(strategy, pack, prepared, step.number, is_asked=is_asked))
        if step.number % 50 == 0:
            progress(step.number / last)
    return figures


def sampled(strategy: Strategy, pack: Sequence[Shown], prepared: Prepared, step: int, *, is_asked: bool) -> Sample:
    """Look for the probes that hold after a step."""
    seq = prepared.steps[step - 1].made.block.seq_to
    probes = [probe for probe in prepared.workload.probes if probe.holds(seq)]
    text = "\n".join(item.text for item in pack)
    shown = frozenset(number for number, item in enumerate(probes) if answers(text, item.needle))
    asked = None
    if is_asked:
        others = [number for number in range(len(probes)) if number not in shown]
        asked = frozenset(
            number for number in others if answers(strategy.answering(probes[number].question), probes[number].needle)
        )
    return Sample(step=step, probes=probes, shown=shown, asked=asked)


def answers(text: str, needle: Sequence[str]) -> bool:
    """Say whether a line of a text has all of a needle."""
    rarest = max(needle, key=len)
    at = text.find(rarest)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start : end if end >= 0 else len(text)]
        if all(item in line for item in needle):
            return True
        at = text.find(rarest, end) if end >= 0 else -1
    return False
