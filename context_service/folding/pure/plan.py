"""Planning a fold (one compaction of a window): decide what happens to each part, and compute the state and receipt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from context_service.folding.pure.clearing import kept_steps
from context_service.folding.pure.folds import (
    CLOSE_STEPS,
    NOTHING_KEPT,
    CutStep,
    FileRules,
    Fold,
    FoldableBlock,
    View,
    fold,
    newest_of,
    room_of_newest,
)
from context_service.folding.pure.last_words import SHARE, LastWords, Plan
from context_service.folding.pure.prepare import Prepared, committed
from context_service.folding.pure.restored_files import TITLE, FileContent, file_utterances
from context_service.folding.pure.summaries import CONVERSATION, FILES, LAST_WORDS, SEGMENT, Summary
from context_service.folding.pure.utterances import utterances_of
from context_service.kernel.files.limits import NO_FILES
from context_service.kernel.files.models import media_model
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import (
    BY_MODEL,
    NO_STATE_UPDATE,
    FoldAccount,
    FoldSummary,
    Receipt,
    StateUpdate,
    StoredEntry,
)
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, limits_of
from context_service.packing.pure.body.front import NOTE_TOKENS
from context_service.packing.pure.state.task_state import Entry, RenderedState, StateChange, changes, render_state
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.packing.pure.steps.forms import shared_roles, with_speaker_name, without_reasoning
from context_service.packing.pure.steps.grades import fit_step
from context_service.packing.pure.steps.step import Step
from context_service.packing.pure.texts.quotation import NOTICE
from context_service.packing.pure.texts.units import Unit
from context_service.profiles.pure.profiles import IMAGES_KEEP_LAST, Clearing, Profile
from context_service.usage.pure.endings import Endings
from context_service.usage.pure.prices import pays_after
from context_service.windows.model import Window
from context_service.windows.pure.models import binds_reasoning


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldInputs:
    """The inputs of a fold: the stored parts of a window, and the known facts about them.

    Attributes:
        summaries: Digests and segments, the blocks of the conversation zone, and the blocks after the state.
        state_text: The text of the state, as the last fold wrote it.
        endings: The recorded outcomes of steps.
        blocks: The steps, and the notes and recalled passages after them.
        entries: The current entries of the state.
        worth: The importance of lines, if an extension scored them.
        prepared: The prepared fold to commit; None plans a new one.
        clearing_of: Returns the profile's rules for clearing the calls of a tool; None if the profile has none.
        state_update: Entries that a model found in the steps, and the entries that they end.
        instructions: The caller's instructions for this fold; lines that concern them are kept first.
        assistant_plan: The newest call of a planning tool in the blocks, or None if they have none.
        images_keep_last: The profile's number of pictures in results of tools that folds keep.
        restored_files: The files that were edited last, if the window shows them again after a fold.
    """

    blocks: Sequence[FoldableBlock]
    summaries: Sequence[Summary]
    entries: Sequence[StoredEntry]
    state_text: str
    endings: Endings
    worth: Mapping[Unit, float] = field(default_factory=dict)
    prepared: Prepared | None = None
    clearing_of: Callable[[str], Clearing] | None = None
    state_update: StateUpdate = NO_STATE_UPDATE
    instructions: str = ""
    assistant_plan: Plan | None = None
    images_keep_last: int = IMAGES_KEEP_LAST
    restored_files: Sequence[FileContent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFold:
    """A fold that is computed and not yet written.

    Attributes:
        caught_up: The window, with its log read to the end.
        before: The parts of the window before the fold.
        fold: The changes of the fold.
        state: The new text of the state.
        state_left_out: The number of entries that have no room in this text.
        state_added: The entries that the text has and the earlier text had not.
        state_removed: The entries that the earlier text had and this one has not.
        prepared_seq: The last message that the window had read when the fold was prepared; 0 if it was not prepared.
        state_update: The entries that a model found in the steps, and the entries that they end.
    """

    caught_up: CaughtUpWindow
    before: View
    fold: Fold
    state: str
    state_left_out: int
    state_added: Sequence[StateChange]
    state_removed: Sequence[StateChange]
    prepared_seq: int = 0
    state_update: StateUpdate = NO_STATE_UPDATE

    @property
    def saved_share(self) -> float:
        """The share of the window's tokens that the fold removes, from 0 to 1."""
        return 1 - self.fold.view.tokens / self.before.tokens if self.fold.changes else 0.0

    @property
    def tokens(self) -> int:
        """The tokens of a pack after the fold."""
        return self.fold.view.tokens + self.caught_up.waiting_tokens

    @property
    def to_cut(self) -> FoldableBlock | None:
        """The newest step if the folded window is still too large with the whole step, else None."""
        return newest_of(self.fold.view) if self.tokens > limits_of(self.caught_up.window).high else None


def with_cut(planned_fold: PlannedFold, step: Step, profile: Profile) -> PlannedFold:
    """Return a fold with its newest step cut to the room that the fold leaves, if that makes the step smaller.

    Args:
        planned_fold: The fold without the cut.
        step: The newest step, read from the log.
        profile: The compression profile, which says which lines of the step matter.
    """
    window, view = planned_fold.caught_up.window, planned_fold.fold.view
    newest = newest_of(view)
    room = room_of_newest(view, limits_of(window), waiting=planned_fold.caught_up.waiting_tokens)
    count = TokenCounter(window.tokens_family).count
    step = with_speaker_name(step, window.format) if step.turn.role in shared_roles(window.speakers) else step
    step = without_reasoning(step) if binds_reasoning(window.model, window.format) else step
    short_block = fit_step(step, room, to=window.format, profile=profile, count=count)
    if newest is None or short_block.tokens >= newest.tokens:
        return planned_fold
    cut_step = CutStep(newest.number, short_block.pieces, short_block.tokens)
    return replace(planned_fold, fold=planned_fold.fold.with_cut(cut_step, number=window.block_count))


def plan(caught_up: CaughtUpWindow, inputs: FoldInputs) -> PlannedFold:
    """Decide which blocks of a window become summaries, and write the new text of its state."""
    window, count = caught_up.window, TokenCounter(caught_up.window.tokens_family).count

    def cost(text: str) -> int:
        return tokens_of(text_pieces(text, window.format), window.format, count)

    state, text = _state_text(window, inputs, count)
    state_tokens = cost(text) if text else 0
    before = View(
        head=window.head_tokens + window.pins_tokens + NOTE_TOKENS,
        conversation=tuple(row for row in inputs.summaries if row.level == CONVERSATION),
        summaries=tuple(row for row in inputs.summaries if row.level > CONVERSATION),
        state=window.state_tokens,
        last_words=tuple(row for row in inputs.summaries if row.level <= LAST_WORDS),
        blocks=tuple(inputs.blocks),
    )
    last_words = _last_words(window, inputs, before, count, cost)
    if inputs.prepared:
        blocks = [words.block(masked=inputs.prepared.masked, merged=inputs.prepared.merged) for words in last_words]
        result = committed(before, inputs.prepared, state_tokens=state_tokens, last_words=list(chain(*blocks)))
    else:
        result = fold(
            before,
            limits_of(window),
            state_tokens=state_tokens,
            goal=window.goal,
            wish=inputs.instructions,
            count=count,
            cost=cost,
            weights=window.config.weights,
            endings=inputs.endings,
            own=inputs.worth,
            is_close=window.step_count - window.folded_step < CLOSE_STEPS,
            waiting=caught_up.waiting_tokens,
            last_words=last_words,
            files=FileRules(
                media_model(window.model, window.format).limits,
                inputs.images_keep_last,
                caught_up.waiting.files if caught_up.waiting else NO_FILES,
            ),
            keeps=kept_steps(before.blocks, inputs.clearing_of, limit=window.counted_limit)
            if inputs.clearing_of
            else NOTHING_KEPT,
        )
    added, removed = changes(inputs.state_text, text)
    return PlannedFold(
        caught_up=caught_up,
        before=before,
        fold=result,
        state=text,
        state_left_out=state.left_out,
        state_added=added,
        state_removed=removed,
        prepared_seq=inputs.prepared.last_seq if inputs.prepared else 0,
        state_update=inputs.state_update,
    )


def _last_words(
    window: Window, inputs: FoldInputs, before: View, count: Callable[[str], int], cost: Callable[[str], int]
) -> list[LastWords]:
    """Return the candidates for the blocks after the state: the assistant's last words, and files."""
    utterances = utterances_of(inputs.blocks, before.last_words, inputs.assistant_plan)
    statements = LastWords(utterances, tokens_max=math.floor(SHARE * window.counted_limit), count=count, cost=cost)
    if not inputs.restored_files:
        return [statements]
    files = LastWords(
        file_utterances(inputs.restored_files, inputs.blocks),
        tokens_max=limits_of(window).files,
        count=count,
        cost=cost,
        level=FILES,
        title=f"{TITLE}\n{NOTICE}",
    )
    return [files, statements]


def receipt_of(planned_fold: PlannedFold, reason: str) -> Receipt:
    """Return the receipt of a fold."""
    window, now = planned_fold.caught_up.window, planned_fold.fold.view
    removed_tokens = planned_fold.before.tokens - now.tokens
    zone, kept_tokens = _first_change(planned_fold.before, now)
    after = planned_fold.before.tokens - kept_tokens
    # If the vendor has no cached prompt, all of it is sent again anyway, and it is shorter after the fold.
    pays_after_steps = 0 if reason == "cache_cold" else pays_after(after, removed_tokens, window.config.prices)
    return Receipt(
        epoch=window.epoch + 1,
        reason=reason,
        last_seq=window.reached_seq,
        step=window.step_count,
        tokens_before=planned_fold.before.tokens,
        tokens_after=now.tokens,
        account=FoldAccount(
            rules=planned_fold.fold.rules,
            masked_steps=sorted(
                block.step for block in planned_fold.before.blocks if block.number in planned_fold.fold.masked
            ),
            merged_steps=len(planned_fold.fold.merged),
            dropped_blocks=len(planned_fold.fold.dropped),
            summaries=_new_summaries(planned_fold.before, now),
            state_tokens=now.state,
            state_left_out=planned_fold.state_left_out,
            state_added=planned_fold.state_added,
            state_removed=planned_fold.state_removed,
            first_change=zone,
            tokens_kept=kept_tokens,
            written_again=max(after - removed_tokens, 0),
            pays_after_steps=pays_after_steps,
            token_factor=window.token_factor,
            prepared_seq=planned_fold.prepared_seq,
        ),
    )


def stated_at(entry: Entry) -> tuple[int, bool]:
    """Return the sort key of an entry: its `seq`. An entry that a caller set comes after those of the same message."""
    return entry.seq, not entry.ref


def _state_text(window: Window, inputs: FoldInputs, count: Callable[[str], int]) -> tuple[RenderedState, str]:
    """Render the state, and return it both without and with its title."""
    update = inputs.state_update
    entries = [stored_entry.entry for stored_entry in inputs.entries if stored_entry.number not in update.ended]
    # A model finds statements later than rules do, so the stored order is not the order in which they were made.
    if update.new or any(stored_entry.source == BY_MODEL for stored_entry in inputs.entries):
        entries = sorted([*entries, *update.new], key=stated_at)
    state = render_state(entries, tokens_max=limits_of(window).state, count=count)
    return state, f"[State of the work after step {window.step_count}]\n{state.text}" if state.text else ""


def _new_summaries(before: View, now: View) -> list[FoldSummary]:
    """Return the summaries that the fold made, as the receipt lists them."""
    ids_before = set(map(id, before.summaries))
    return [
        FoldSummary(
            summary.level,
            summary.step_from,
            summary.step_to,
            summary.seq_from,
            summary.seq_to,
            summary.tokens,
            summary.method,
            summary.verdict,
        )
        for summary in now.summaries
        if id(summary) not in ids_before
    ]


def _first_change(before: View, now: View) -> tuple[str, int]:
    """Return the first zone of the prompt that a fold changes, and the number of tokens before the change."""
    tokens = before.head
    for old, new in zip_longest(before.conversation, now.conversation):
        if old != new:
            return "conversation", tokens
        tokens += old.tokens
    for old, new in zip(before.summaries, now.summaries, strict=False):
        if old != new:
            return ("digests" if old.level > SEGMENT else "segments"), tokens
        tokens += old.tokens
    return "state", tokens
