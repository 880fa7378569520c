"""`make bench-recall`: whether what is recalled holds the answer.

`python -m tests.bench.quality [LOCOMO] [--save]`. LOCOMO: a folder with conversations of LoCoMo, which is not part of
this project; without it generated ones alone are measured. Profiles through the running services, by words alone;
BM25 of turns, and weights that are learned, by the rules in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO, TextIOBase
from pathlib import Path
from typing import TextIO

from context_service.retrieval.profiles import Profile, profile, profile_names
from contextkeep import ContextClient
from tests.bench.document import save
from tests.bench.quality.agent_log import agent_log
from tests.bench.quality.conversations import Conversation
from tests.bench.quality.figures import HEADER, figures
from tests.bench.quality.in_memory import by_bm25, searcher
from tests.bench.quality.learning import examples, learned
from tests.bench.quality.locomo import conversations
from tests.bench.quality.over_services import Contexts
from tests.bench.quality.talk import talk
from tests.bench.stack import running

# R@10 of words on LoCoMo, the seven conversations that no weight was set on.
TARGETS = {"default": 0.78, "conversation": 0.81}


def main() -> None:
    """Measure, print; exit with 1 if a target is missed."""
    folders = [Path(argument) for argument in sys.argv[1:] if argument != "--save"]
    locomo = [one for folder in folders for one in conversations(folder)]
    printed = StringIO()
    with (
        redirect_stdout(_Both(sys.stdout, printed)),
        running() as (stack, _),
        ContextClient(stack.context_address) as client,
    ):
        missed = measured(locomo, Contexts(client))
    if "--save" in sys.argv[1:]:
        save("bench-recall", printed.getvalue().strip("\n").splitlines())
    if missed:
        sys.exit(f"missed a target: {', '.join(missed)}")


def measured(locomo: Sequence[Conversation], contexts: Contexts) -> list[str]:
    """Print all figures, and return which targets are missed."""
    sets = {"LoCoMo": locomo, "agents": [agent_log(seed=seed) for seed in (3, 4)], "talk": [talk()]}
    recalls = {of: table(of, those, contexts) for of, those in sets.items() if those}
    if not locomo:
        return []
    missed = [name for name, target in TARGETS.items() if recalls["LoCoMo"][name] < target]
    if len(locomo) > 1 and leave_one_out(locomo, profile("conversation")) < TARGETS["conversation"]:
        missed.append("left out")
    return missed


class _Both(TextIOBase):
    """Writes to two files."""

    def __init__(self, *files: TextIO) -> None:
        self._files = files

    def write(self, text: str) -> int:
        return max(file.write(text) for file in self._files)

    def flush(self) -> None:
        for file in self._files:
            file.flush()


def table(of: str, conversations: Sequence[Conversation], contexts: Contexts) -> dict[str, float]:
    """Print a table, and return R@10 of each searcher."""
    turns, asked = sum(len(one.turns) for one in conversations), sum(len(one.asked) for one in conversations)
    print(f"\n{of}: {turns:,} turns, {asked:,} questions\n{HEADER}")
    recalls = {}
    for name, search in {"bm25": by_bm25, **{name: contexts.searcher(name) for name in profile_names()}}.items():
        found = figures(search, conversations)
        recalls[name] = found[""].recall_at_10
        for kind in sorted(found):
            print(found[kind].line(f"  {kind}" if kind else name), flush=True)
    return recalls


def leave_one_out(conversations: Sequence[Conversation], start: Profile) -> float:
    """Print and return R@10 of weights that are learned on the other conversations: what fits those only shows here."""
    features = list(start.words)
    lessons = [examples(one, features, profile("default")) for one in conversations]
    print("\nweights learned on the others, R@10 of the one left out")
    right = count = 0.0
    for number, left_out in enumerate(conversations):
        others = [one for other, lesson in enumerate(lessons) if other != number for one in lesson]
        weights = learned(others, features, {})
        found = figures(searcher(Profile(name="learned", words=weights, with_meaning={})), [left_out])[""]
        print(f"{left_out.name:34}{found.recall_at_10:12.3f}", flush=True)
        right, count = right + found.recall_at_10 * len(left_out.asked), count + len(left_out.asked)
    print(f"{'all':34}{right / count:12.3f}")
    return right / count


if __name__ == "__main__":
    main()
