"""How good the answers of a searcher are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean

from bench.quality.conversations import Asked, Conversation, Searcher, Turn
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.pure.budget import Item, within_budget
from context_service.retrieval.pure.terms import findable_terms

PLACES = (5, 10, 20)
BUDGETS = (500, 1_000, 2_000)  # tokens
ITEMS_MAX = 100  # in a budget: its tokens are what counts

HEADER = f"{'':34}{'R@5':>6}{'R@10':>6}{'R@20':>6}{'nDCG':>6}   evidence in 500, 1,000, 2,000 tokens"


@dataclass
class Figures:
    """Shares of the evidence.

    Among the first 5, 10 and 20, and among those that fit into 500, 1,000 and 2,000 tokens.
    """

    recall: list[list[float]] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)  # nDCG of the first 10: all evidence is worth the same
    fits: list[list[float]] = field(default_factory=list)

    @property
    def recall_at_10(self) -> float:
        """The figure that the targets limit."""
        return fmean(item[1] for item in self.recall)

    def line(self, name: str) -> str:
        """Return a row of the table."""
        recall = "".join(f"{fmean(one[at] for one in self.recall):6.3f}" for at in range(len(PLACES)))
        fits = " ".join(f"{fmean(one[at] for one in self.fits):.3f}" for at in range(len(BUDGETS)))
        return f"{name:34}{recall}{fmean(self.gain):6.3f}   {fits}"


def figures(searcher: Searcher, conversations: Sequence[Conversation]) -> dict[str, Figures]:
    """Return the figures of all questions (""), and of those of each kind."""
    found: dict[str, Figures] = {"": Figures()}
    count = TokenCounter().count
    for conversation in conversations:
        ask = searcher(conversation)
        turns = {turn.id: turn for turn in conversation.turns}
        item = cache(lambda id, turns=turns: _item(turns[id], count))
        for asked in conversation.asked:
            ids = ask(asked.text)
            for entry in (found[""], found.setdefault(asked.kind, Figures())):
                entry.recall.append([_share(asked, ids[:place]) for place in PLACES])
                entry.gain.append(_gain(asked, ids))
                entry.fits.append([_share(asked, _packed([item(id) for id in ids], ids, budget)) for budget in BUDGETS])
    return found


def _packed(items: Sequence[Item], ids: Sequence[str], tokens_max: int) -> list[str]:
    return [ids[number] for number in within_budget(items, tokens_max=tokens_max, items_max=ITEMS_MAX)]


def _item(turn: Turn, count: Callable[[str], int]) -> Item:
    """Return the item that the message takes in a prompt, with its tokens."""
    line = f"[{turn.said_at:%Y-%m-%d}] {turn.indexed}"
    return Item(count(line), turn.kind == "tool_result", findable_terms(turn.text))


def _share(asked: Asked, ids: Sequence[str]) -> float:
    return len(asked.evidence.intersection(ids)) / len(asked.evidence)


def _gain(asked: Asked, ids: Sequence[str], places: int = 10) -> float:
    worth = [1 / math.log2(place + 2) for place in range(places)]
    best = sum(worth[: len(asked.evidence)])
    return sum(item for item, found in zip(worth, ids, strict=False) if found in asked.evidence) / best
