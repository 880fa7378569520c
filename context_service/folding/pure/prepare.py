"""Folds that are worked out ahead of need, and done later. Values in, values out.

What takes time is to choose lines of many steps. Which steps are masked and merged, and what their summaries say, holds
as long as the epoch, whatever is appended meanwhile: that stays verbatim behind them. The state does not: it is written
when the fold is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context_service.folding.pure.folds import Fold, View
from context_service.folding.pure.summaries import Summary
from context_service.packing.pure.task_state import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What becomes of a window's blocks and summaries.

    Attributes:
        last_seq: How far the window had read.
        masked: Numbers of the blocks that will be masked.
        dropped: Of those that will be seen no more: what was appended.
        merged: Of the steps that will be in summaries.
        gone: Level and first step of the summaries that others will take the place of.
        made: Those others, and new ones.
        rules: Sentences on it.
        worth: See `Fold`.
        entries: Of the state, that a model found in the steps.
    """

    last_seq: int
    masked: Sequence[int]
    dropped: Sequence[int]
    merged: Sequence[int]
    gone: Sequence[tuple[int, int]]
    made: Sequence[Summary]
    rules: Sequence[str]
    worth: Sequence[tuple[float, bool]]
    entries: Sequence[Entry] = ()


def prepared(before: View, done: Fold, *, last_seq: int) -> Prepared:
    """Return the part of a fold that is stored until the fold is committed."""
    old, new = before.summaries, done.view.summaries
    return Prepared(
        last_seq=last_seq,
        masked=sorted(done.masked),
        dropped=sorted(done.dropped),
        merged=sorted(done.merged),
        gone=[_place(summary) for summary in old if summary not in new],
        made=[summary for summary in new if summary not in old],
        rules=done.rules,
        worth=done.worth,
    )


def committed(view: View, fold: Prepared, *, state_tokens: int) -> Fold:
    """Return a prepared fold, applied to a view that may have more blocks since.

    Args:
        view: A view of the same epoch.
        fold: The prepared fold.
        state_tokens: The tokens of the state that is written with it.
    """
    gone, masked, unseen = set(fold.gone), frozenset(fold.masked), {*fold.dropped, *fold.merged}
    summaries = [*(summary for summary in view.summaries if _place(summary) not in gone), *fold.made]
    blocks = [
        replace(block, tokens=block.masked_tokens, is_masked=True) if block.number in masked else block
        for block in view.blocks
        if block.number not in unseen
    ]
    now = View(
        head=view.head,
        summaries=tuple(sorted(summaries, key=lambda one: one.step_from)),
        state=state_tokens,
        blocks=tuple(blocks),
    )
    return Fold(
        view=now,
        masked=masked,
        dropped=frozenset(fold.dropped),
        merged=frozenset(fold.merged),
        rules=tuple(fold.rules),
        worth=tuple(fold.worth),
    )


def _place(summary: Summary) -> tuple[int, int]:
    return summary.level, summary.step_from
