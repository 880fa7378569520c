"""New blocks of a window: steps that were read, notes on superseded statements, and texts of the service itself."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import NOTE, STEP, NewBlock, StateUpdate, StoredEntry
from context_service.packing.pure.state.task_state import Entry, after, note_of
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.packing.pure.steps.catch_up import PreparedStep
from context_service.windows.model import Window


def text_block(kind: str, step: int, text: str, window: Window) -> NewBlock:
    """Return a block that shows a text of the service after a step. A block with an empty text shows nothing."""
    pieces = text_pieces(text, window.format)
    tokens = tokens_of(pieces, window.format, TokenCounter(window.tokens_family).count)
    return NewBlock(kind=kind, step=step, seq_from=0, seq_to=0, tokens=tokens, pieces=pieces)


def new_blocks(
    window: Window, steps: Sequence[PreparedStep], stored_entries: Sequence[StoredEntry]
) -> tuple[list[NewBlock], StateUpdate]:
    """Return the blocks of new steps, with notes on the entries that they supersede, and the changes of the state.

    Args:
        window: The window, before these steps are appended.
        steps: The new steps, in order.
        stored_entries: The entries that the steps may supersede.
    """
    numbers = {id(entry.entry): entry.number for entry in stored_entries}
    entries = [entry.entry for entry in stored_entries]
    blocks: list[NewBlock] = []
    update = StateUpdate([], {})
    for step, prepared_step in enumerate(steps, window.step_count + 1):
        blocks.append(_step_block(step, prepared_step))
        before, (entries, superseded) = entries, after(entries, prepared_step.entries)
        now = {id(entry) for entry in entries}
        at_once = [old for old, _ in superseded if id(old) not in numbers]  # the step itself said otherwise later
        for entry in [*at_once, *entries]:
            if id(entry) not in numbers:
                numbers[id(entry)] = window.entry_count + len(update.new)
                update.new.append(entry)
        superseded_entries: list[Entry] = [entry for entry in [*before, *at_once] if id(entry) not in now]
        update.ended.update((numbers[id(entry)], prepared_step.block.seq_from) for entry in superseded_entries)
        if superseded:
            blocks.append(text_block(NOTE, step, note_of(superseded), window))
    return blocks, update


def _step_block(step: int, prepared_step: PreparedStep) -> NewBlock:
    """Return the block that stores a step with its mask and with the lines, names and tools that folds need."""
    block, mask = prepared_step.block, prepared_step.mask
    return NewBlock(
        kind=STEP,
        step=step,
        seq_from=block.seq_from,
        seq_to=block.seq_to,
        tokens=block.tokens,
        pieces=block.pieces,
        is_error=prepared_step.is_error,
        masked=(mask.pieces, mask.tokens) if mask else None,
        units=prepared_step.units,
        names=prepared_step.names,
        tools=prepared_step.tools,
        later=prepared_step.later,
        speaker=prepared_step.speaker,
        said=prepared_step.said,
        files=block.files,
        masked_files=mask.files if mask else block.files,
    )
