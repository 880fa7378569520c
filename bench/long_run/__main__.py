"""`make bench-window`: a window of 1/134 of a log of 10,000 steps, compared with other strategies.

`python -m bench.long_run [--steps N] [--budget TOKENS] [--seed N] [--json] [--save]`. The rules of windows run in
memory, without a store and without a model. A target that is missed makes it exit with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from statistics import fmean, quantiles

import orjson

from bench.document import save
from bench.long_run.coding import Coding
from bench.long_run.measured import ALWAYS, Measured, measured
from bench.long_run.operations import Operations
from bench.long_run.ours import Folding
from bench.long_run.prepared import Prepared, prepared
from bench.long_run.strategies import RIVALS, SlidingByHalves
from bench.long_run.workload import PLANTED, STEPS, Log
from bench.progress import Progress
from context_service.kernel.tokens import TokenCounter

WORKLOADS: Sequence[type[Log]] = (Coding, Operations)
BUDGET_SHARE = 1 / 134  # of the log
SAMPLES = 10  # times that probes are looked for

PREFIX, COST, SHOWN, ASKED, SAVED, FOLD_S, KEPT = 0.95, 1.2, 0.45, 0.95, 0.90, 0.250, 0.10  # targets
_WIDTH = 48
_HEADER = (
    f"{'':{_WIDTH}}{'over':>5}{'prefix':>8}{'cost':>8}{'rules':>7}{'values':>8}{'shown':>7}{'asked':>7}"
    "   saved at 50, 100, 200, 1,000, 10,000 steps"
)


def main() -> None:
    """Measure, print; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="bench.long_run", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each log")
    parser.add_argument("--budget", type=int, default=0, help="tokens of a pack; by default 1/134 of the log")
    parser.add_argument("--seed", type=int, default=1, help="of the logs")
    parser.add_argument("--json", action="store_true", help="print one JSON document, and no table")
    parser.add_argument("--save", action="store_true", help="put the table into docs/benchmarks.md")
    asked = parser.parse_args()
    printed: list[str] = []

    def say(line: str) -> None:
        printed.append(line)
        if not asked.json:
            print(line, flush=True)

    documents, missed = [], []
    for kind in WORKLOADS:
        with Progress() as progress:
            workload = kind(seed=asked.seed, steps=asked.steps).workload()
            progress.begins(f"{kind.name}: steps and index")
            count = cache(TokenCounter().count)
            ready = prepared(workload, TokenCounter().count, progress.shows)
            limit = asked.budget or int(ready.tokens * BUDGET_SHARE)
            say(
                f"{workload.name}: {len(ready.steps):,} steps, {ready.tokens:,} tokens, {len(workload.probes)} probes; "
                f"budget {limit:,}"
            )
            say(_HEADER)
            rows, ours = [], Folding(ready, limit, count)
            for strategy in [*(rival(ready, limit, count) for rival in RIVALS), ours]:
                progress.begins(f"{kind.name}: {strategy.name}")
                rows.append(measured(strategy, ready, every=max(asked.steps // SAMPLES, 1), progress=progress.shows))
                progress.ends()
                say(_line(rows[-1]))
        for line in _of_ours(rows[-1], ours):
            say(line)
        if lacks := _missed(rows, ours):
            say(f"  MISSED: {'; '.join(lacks)}")
        missed += [f"{workload.name}: {lack}" for lack in lacks]
        say("")
        documents.append(_document(ready, limit, rows, ours, lacks))
    if asked.json:
        print(orjson.dumps(documents, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())
    if asked.save:
        save("bench-window", "\n".join(printed).strip("\n").splitlines())
    if missed:
        sys.exit(1)


def _line(one: Measured) -> str:
    last = one.samples[-1]
    rules, values = (one.always(kind) for kind in ALWAYS)
    saved = " ".join(f"{share:.2f}" for share in one.savings.values())
    return (
        f"{one.name:{_WIDTH}}{one.over:>5}{one.prefix:>8.3f}{one.cost_a_step:>8,.0f}{rules:>7.2f}{values:>8.2f}"
        f"{last.share():>7.2f}{last.share(asked=True):>7.2f}   {saved}"
    )


def _of_ours(one: Measured, ours: Folding) -> list[str]:
    """Return further lines about our window: shares by kind of fact, and the cost of folds."""
    last, began = one.samples[-1], one.samples[0]
    kinds = ", ".join(
        f"{kind} {last.share(kinds=[kind]):.2f} and {last.share(asked=True, kinds=[kind]):.2f}" for kind in PLANTED
    )
    return [
        f"  shown and asked: {kinds}",
        f"  asked at step {began.step}: {began.share(asked=True):.3f}, at the end: {last.share(asked=True):.3f}; "
        f"a pack has {one.tokens / one.steps:,.0f} tokens",
        f"  folds: {len(ours.folded.cpu_s)}, ms of CPU each: mean {fmean(ours.folded.cpu_s) * 1000:.1f}, "
        f"p95 {_p95(ours.folded.cpu_s) * 1000:.1f}"
        if ours.folded.cpu_s
        else "  folds: none",
    ]


def _missed(rows: Sequence[Measured], ours: Folding) -> list[str]:
    """Return the targets that our window misses."""
    one = rows[-1]
    sliding = next(row for row in rows if row.name == SlidingByHalves.name)
    last, began = one.samples[-1], one.samples[0]
    checks = {
        f"{one.over} packs over budget": one.over == 0,
        f"prefix {one.prefix:.3f} < {PREFIX}": one.prefix >= PREFIX,
        f"cost {one.cost_a_step / sliding.cost_a_step:.2f} of sliding by halves > {COST}": one.cost_a_step
        <= COST * sliding.cost_a_step,
        **{f"{kind}s {one.always(kind):.3f} < 1": one.always(kind) == 1 for kind in ALWAYS},
        f"shown {last.share():.3f} < {SHOWN}": last.share() >= SHOWN,
        f"asked {last.share(asked=True):.3f} < {ASKED}": last.share(asked=True) >= ASKED,
        f"asked at the end more than {KEPT} below step {began.step}": began.share(asked=True) - last.share(asked=True)
        <= KEPT,
        f"saved {one.savings[last.step]:.2f} < {SAVED}": one.savings[last.step] >= SAVED,
        f"fold p95 {_p95(ours.folded.cpu_s) * 1000:.0f} ms > {FOLD_S * 1000:.0f}": _p95(ours.folded.cpu_s) <= FOLD_S,
    }
    return [name for name, is_held in checks.items() if not is_held]


def _document(
    ready: Prepared, limit: int, rows: Sequence[Measured], ours: Folding, lacks: Sequence[str]
) -> dict[str, object]:
    """Return all figures as the JSON that `--json` prints."""
    return {
        "workload": ready.workload.name,
        "steps": len(ready.steps),
        "tokens": ready.tokens,
        "budget": limit,
        "probes": len(ready.workload.probes),
        "strategies": [
            {
                "name": row.name,
                "over": row.over,
                "prefix": row.prefix,
                "cost_a_step": row.cost_a_step,
                **{f"{kind}s": row.always(kind) for kind in ALWAYS},
                "saved": row.savings,
                "samples": [
                    {
                        "step": sample.step,
                        "probes": len(sample.probes),
                        "shown": sample.share(),
                        "asked": None if sample.asked is None else sample.share(asked=True),
                        "shown_by_kind": {kind: sample.share(kinds=[kind]) for kind in PLANTED},
                    }
                    for sample in row.samples
                ],
            }
            for row in rows
        ],
        "folds": len(ours.folded.cpu_s),
        "fold_p95_s": _p95(ours.folded.cpu_s),
        "missed": list(lacks),
    }


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1] if len(values) > 1 else sum(values)


if __name__ == "__main__":
    main()
