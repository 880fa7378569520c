"""`python -m bench.long_run.priced [STEPS]`: the cost of summaries by a model, compared with the packs of the run.

A scripted model charges by tokens: it gets a request for each segment, as the service makes it, of the real steps,
and answers as much as the lines of the segment are as JSON. Packs are the same for any writer, because a segment has
its cap.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import orjson

from bench.long_run.__main__ import BUDGET_SHARE, WORKLOADS
from bench.long_run.measured import measured
from bench.long_run.ours import Folding
from bench.long_run.prepared import Prepared, Step, prepared
from bench.long_run.workload import STEPS
from context_service.folding.pure.folds import Fold
from context_service.folding.pure.model_segments import STRUCTURED, SegmentSteps, instructions, sources_of, user_prompt
from context_service.folding.pure.summaries import SEGMENT, SEGMENT_TOKENS_MAX, Summary
from context_service.kernel.tokens import TokenCounter
from context_service.profiles.pure.profiles import profile

OUTPUT = 5.0  # price of a token of an answer, where one of a prompt is 1
MODELS = {"none: lines of the originals": 0.0, "a model at a tenth of the price": 0.1, "the model of the run": 1.0}


class Priced(Folding):
    """Folds as a window does, and counts the requests for segments that a model would get."""

    def __init__(self, ready: Prepared, limit: int, count: Callable[[str], int]) -> None:
        super().__init__(ready, limit, count)
        self.segments = self.asked = self.answered = 0

    def _fold(self, step: Step) -> Fold:
        before = {(item.level, item.step_from) for item in self.view.summaries}
        done = super()._fold(step)
        for summary in self.view.summaries:
            if summary.level == SEGMENT and (summary.level, summary.step_from) not in before:
                self._charge(summary)
        return done

    def _charge(self, segment: Summary) -> None:
        """Count the tokens of the request for a segment, and of an answer as long as the segment's lines."""
        workload = self.prepared.workload
        messages = workload.messages[segment.seq_from - 1 : segment.seq_to]
        of = SegmentSteps(
            summary=segment,
            sources=sources_of(messages, segment.kept),
            superseded=(),
            tokens=0,
            tokens_max=SEGMENT_TOKENS_MAX,
            profile=profile(workload.profile),
        )
        lines = [
            {"text": item.unit.text, "refs": [item.unit.ref]} for item in segment.kept if item.unit.text in segment.text
        ]
        self.segments += 1
        self.asked += self.count(instructions("", STRUCTURED)) + self.count(user_prompt(of))
        self.answered += self.count(orjson.dumps({"lines": lines}).decode())


def main() -> None:
    """Run a log through the priced window, and print the cost of its summaries and packs."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    for kind in WORKLOADS:
        ready = prepared(kind(seed=1, steps=steps).workload(), cache(TokenCounter().count), lambda _: None)
        ours = Priced(ready, int(ready.tokens * BUDGET_SHARE), cache(TokenCounter().count))
        packs = measured(ours, ready, every=steps, progress=lambda _: None).cost_a_step
        print(
            f"{kind.name}: {steps:,} steps, {ours.segments} segments; asked {ours.asked:,} tokens, "
            f"answered {ours.answered:,}; packs {packs:,.0f} a step"
        )
        for name, price in MODELS.items():
            summaries = price * (ours.asked + OUTPUT * ours.answered) / steps
            print(f"  {name:32}{summaries:8,.0f} a step for summaries, {1 + summaries / packs:6.3f} of packs alone")


if __name__ == "__main__":
    main()
