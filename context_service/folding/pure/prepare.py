"""Folds that are prepared before they are needed, and committed later.

A fold (one compaction of a window) needs most of its time to choose lines from many steps. This choice stays valid
until the next epoch, that is, until the prefix of the packs breaks: blocks that are appended meanwhile stay verbatim
after the folded ones. The state and the assistant's last words may change meanwhile, so their texts are written when
the fold is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context_service.folding.pure.folds import Fold, View
from context_service.folding.pure.summaries import CONVERSATION, LAST_WORDS, Summary
from context_service.packing.pure.state.task_state import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prepared fold: the changes of a window's blocks and summaries.

    Attributes:
        last_seq: The `seq` of the last message that the window had read.
        masked: The numbers of the blocks to mask.
        dropped: The numbers of the appended blocks to drop.
        merged: The numbers of the steps to merge into summaries.
        gone: The level and first step of each summary that is merged into another, or rewritten.
        made: The new summaries, including those that replace others, and the new blocks of the conversation zone.
        rules: Sentences for the receipt that say which rules the fold applied.
        worth: The importance of the lines of merged steps; see `Fold.worth`.
        entries: The state entries that a model found in the steps.
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


def prepare_fold(before: View, fold: Fold, *, last_seq: int) -> Prepared:
    """Return the part of a fold that is stored until the fold is committed.

    Args:
        before: The window before the fold.
        fold: The fold.
        last_seq: The `seq` of the last message that the window had read.
    """
    old, new = ([row for row in view.rows if row.level > LAST_WORDS] for view in (before, fold.view))
    return Prepared(
        last_seq=last_seq,
        masked=sorted(fold.masked),
        dropped=sorted(fold.dropped),
        merged=sorted(fold.merged),
        gone=[_place(summary) for summary in old if summary not in new],
        made=[summary for summary in new if summary not in old],
        rules=fold.rules,
        worth=fold.worth,
    )


def committed(view: View, fold: Prepared, *, state_tokens: int, last_words: Sequence[Summary] = ()) -> Fold:
    """Return a prepared fold, applied to a view that may have more blocks now.

    Args:
        view: The current view, of the same epoch as the prepared fold.
        fold: The prepared fold, from `prepare_fold`.
        state_tokens: The tokens of the state text that the fold writes.
        last_words: The block with the assistant's last words that the fold writes, if there is one.
    """
    removed_ranges, masked_numbers, unseen = set(fold.gone), frozenset(fold.masked), {*fold.dropped, *fold.merged}
    rows = [*(summary for summary in view.rows if _place(summary) not in removed_ranges), *fold.made]
    rows.sort(key=lambda summary_row: summary_row.step_from)
    blocks = [
        replace(block, tokens=block.masked_tokens, is_masked=True) if block.number in masked_numbers else block
        for block in view.blocks
        if block.number not in unseen
    ]
    now = View(
        head=view.head,
        conversation=tuple(row for row in rows if row.level == CONVERSATION),
        summaries=tuple(row for row in rows if row.level > CONVERSATION),
        state=state_tokens,
        last_words=tuple(last_words),
        blocks=tuple(blocks),
    )
    return Fold(
        view=now,
        masked=masked_numbers,
        dropped=frozenset(fold.dropped),
        merged=frozenset(fold.merged),
        rules=tuple(fold.rules),
        worth=tuple(fold.worth),
    )


def _place(summary: Summary) -> tuple[int, int]:
    """Return the level and the first step of a summary, which identify it in a window."""
    return summary.level, summary.step_from
