"""`make bench-handover`: can an agent that takes over answer twelve questions from the pack alone?

`python -m bench.handover [--story coding] [--share 40] [--steps N] [--seed N] [--packs FOLDER] [--json] [--save]`.
Three stories of 3,200 steps, packs of 1/40 and 1/130 of their tokens, asked at steps 200, 1,000 and 3,200. `--packs`
writes the packs and the questions as text, for readers who know nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean

import orjson

from bench.document import save
from bench.handover.analysis import Analysis
from bench.handover.coding import Coding
from bench.handover.rivals import RIVALS
from bench.handover.scoring import Score, scored
from bench.handover.story import QUESTIONS, STEPS, Story, Told
from bench.handover.support import Support
from bench.long_run.measured import Account
from bench.long_run.ours import Folding
from bench.long_run.prepared import Prepared, prepared
from bench.long_run.strategies import Shown, Strategy
from bench.progress import Progress
from context_service.kernel.tokens import TokenCounter

STORIES: Sequence[type[Story]] = (Coding, Support, Analysis)
SHARES = (40, 130)
ASKED_AT = (200, 1_000, STEPS)
_HEADER = f"{'':46}{'answered':>9}{'present':>9}{'stale':>7}{'lifted':>7}{'orders':>7}{'prefix':>8}{'cost':>9}"


@dataclass
class Row(Account):
    """The figures of one strategy over one story."""

    scores: list[Score] = field(default_factory=list)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="bench.handover", description=__doc__)
    parser.add_argument("--story", choices=[kind.name for kind in STORIES], help="only this one")
    parser.add_argument("--share", type=int, choices=SHARES, help="only packs of this part of the log")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each story")
    parser.add_argument("--seed", type=int, default=1, help="of the stories")
    parser.add_argument("--packs", type=Path, help="a folder for packs and questions as text")
    parser.add_argument("--json", action="store_true", help="print one JSON document, and no table")
    parser.add_argument("--save", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    documents, printed = list[dict[str, object]](), list[str]()

    def say(line: str) -> None:
        printed.append(line)
        if not options.json:
            print(line, flush=True)

    with Progress() as progress:
        for kind in STORIES:
            if options.story not in (None, kind.name):
                continue
            progress.begins(f"{kind.name}: steps and index")
            told = kind(seed=options.seed, steps=options.steps).tell()
            ready = prepared(told.workload, TokenCounter().count, progress.shows)
            for share in SHARES if options.share is None else (options.share,):
                limit = ready.tokens // share
                progress.ends()
                say(f"{kind.name}: {len(ready.steps):,} steps, {ready.tokens:,} tokens; 1/{share} is {limit:,}")
                say(_HEADER)
                strategies: Sequence[type[Strategy]] = (*RIVALS, Folding)
                for strategy in strategies:
                    progress.begins(f"{kind.name}, 1/{share}: {strategy.name}")
                    ours = strategy(ready, limit, cache(TokenCounter().count))
                    row = run(ours, ready, told, options.packs, progress.shows)
                    documents.append(_document(kind.name, share, row))
                    progress.ends()
                    say(_line(row))
    if options.json:
        print(orjson.dumps(documents, option=orjson.OPT_INDENT_2).decode())
    if options.save:
        save("bench-handover", printed)


def run(strategy: Strategy, ready: Prepared, told: Told, folder: Path | None, progress: Callable[[float], None]) -> Row:
    """Run a story through a strategy, and score the packs of the steps in `ASKED_AT`."""
    row = Row(name=strategy.name)
    asked_at = {min(step, len(ready.steps)) for step in ASKED_AT}
    for step in ready.steps:
        pack = strategy.after(step)
        row.add(strategy, pack)
        if step.number in asked_at:
            row.scores.append(scored(strategy, pack, told, step.number, step.made.block.seq_to))
            if folder:
                _write(folder, strategy, pack, told, step.number)
        progress(step.number / len(ready.steps))
    return row


def _write(folder: Path, strategy: Strategy, pack: Sequence[Shown], told: Told, step: int) -> None:
    name = strategy.name.split(":")[0].split(",")[0].replace(" ", "-")
    path = folder / f"{told.workload.name}-{strategy.limit}-{step}-{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    questions = "\n".join(f"{number}. {text}" for number, text in enumerate(QUESTIONS.values(), 1))
    path.write_text("\n\n".join(part.text for part in pack) + f"\n\n# Questions\n\n{questions}\n")


def _line(row: Row) -> str:
    last = row.scores[-1]
    answered, present = fmean(score.mean for score in row.scores), fmean(score.mean_present for score in row.scores)
    return (
        f"{row.name:46}{answered:>9.2f}{present:>9.2f}{last.stale:>7}{last.lifted:>7}{last.orders:>7}"
        f"{row.prefix:>8.3f}{row.cost_a_step:>9,.0f}" + (f"  {row.over} over budget" if row.over else "")
    )


def _document(story: str, share: int, row: Row) -> dict[str, object]:
    """Return a row of the table as the JSON that `--json` prints."""
    return {
        "story": story,
        "share": share,
        "strategy": row.name,
        "over": row.over,
        "prefix": row.prefix,
        "cost_a_step": row.cost_a_step,
        "scores": [
            {
                "step": score.step,
                "answered": score.mean,
                "present": score.mean_present,
                "stale": score.stale,
                "lifted": score.lifted,
                "orders": score.orders,
                "answered_by_question": score.answered,
                "present_by_question": score.present,
            }
            for score in row.scores
        ],
    }


if __name__ == "__main__":
    main()
