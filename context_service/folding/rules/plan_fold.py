"""Planning folds: read the inputs, then work out the fold off the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from context_service.folding.pure.folds import FoldableBlock
from context_service.folding.pure.last_words import Plan
from context_service.folding.pure.model_state import not_known
from context_service.folding.pure.plan import FoldInputs, PlannedFold, plan, stated_at, with_cut
from context_service.folding.pure.prepare import Prepared
from context_service.folding.pure.restored_files import FileContent, FileSearch, edited_last
from context_service.folding.pure.utterances import newest_planning
from context_service.packing.model import NO_STATE_UPDATE, StateUpdate, StoredEntry
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow
from context_service.packing.pure.costs import RENDERING, size_of
from context_service.packing.pure.state.task_state import Entry, after
from context_service.profiles.pure.profiles import Profile
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged

if TYPE_CHECKING:
    from context_service.packing.room import Scoring, StepReading, ViewRows
    from context_service.profiles.room import OwnProfiles
    from context_service.usage.room import EndingRows, UsageRows

# The cost for each token of the window, in bytes of JSON parsing: of a new fold, and of a prepared fold.
_FOLDING = 200
_COMMITTING = 10
_SEARCHED_MESSAGES = 2_000  # the most messages that are searched for the contents of files, the newest


class FoldPlanning:
    """Plans folds; each call acts for its principal.

    Args:
        views: The SQL statements on the blocks, summaries and state of windows.
        usage: The token factors that were learned from bills of vendors.
        endings: The SQL statements on the recorded outcomes of steps.
        steps: Reads steps that a fold needs whole: the step that it cuts, and the newest plan.
        profiles: The compression profiles of windows.
        scoring: An extension that scores lines, or None if there is none.
    """

    def __init__(
        self,
        views: ViewRows,
        *,
        usage: UsageRows,
        endings: EndingRows,
        steps: StepReading,
        profiles: OwnProfiles,
        scoring: Scoring | None = None,
    ) -> None:
        self._views = views
        self._usage = usage
        self._endings = endings
        self._steps = steps
        self._profiles = profiles
        self._scoring = scoring

    async def plan(
        self,
        caught_up: CaughtUpWindow,
        principal: Principal,
        prepared_fold: Prepared | None = None,
        *,
        cuts: bool = True,
        instructions: str = "",
    ) -> PlannedFold:
        """Return the fold of a window, computed with the newest token factor (the ratio of billed to counted tokens).

        Args:
            caught_up: The window after it has read its log.
            principal: The caller; its tenant and bounds limit the rows.
            prepared_fold: The prepared fold to commit; None plans a new one.
            cuts: Cut the newest step if it does not fit. False if more steps of the log follow it.
            instructions: The caller's instructions about what this fold must keep.

        Raises:
            RowsChanged: the window changed meanwhile.
        """
        factor = await self._usage.factor(caught_up.window, principal=principal)
        caught_up = replace(caught_up, window=replace(caught_up.window, token_factor=factor))
        inputs = replace(await self._inputs(caught_up.window, principal, prepared_fold), instructions=instructions)
        work = (_COMMITTING if prepared_fold else _FOLDING) * caught_up.tokens
        planned_fold = await beside_the_loop(work, plan, caught_up, inputs)
        if planned_fold.before.tokens + caught_up.waiting_tokens != caught_up.tokens:
            raise RowsChanged
        return await self._with_cut(planned_fold, principal) if planned_fold.to_cut and cuts else planned_fold

    async def _with_cut(self, planned_fold: PlannedFold, principal: Principal) -> PlannedFold:
        """Return a fold with its newest step cut to the room that the fold leaves.

        Raises:
            RowsChanged: a message of the step was retracted meanwhile.
        """
        window, block = planned_fold.caught_up.window, planned_fold.to_cut
        assert block is not None
        step, size = await self._steps.step(window, block.seq_from, block.seq_to, principal)
        if step is None:
            raise RowsChanged
        profile = await self._profiles.of(window.profile, principal=principal)
        return await self._profiles.beside(profile, principal, RENDERING * size, with_cut, planned_fold, step, profile)

    async def _inputs(self, window: Window, principal: Principal, prepared_fold: Prepared | None) -> FoldInputs:
        """Read the inputs of a fold: blocks, summaries, state, recorded outcomes, and the scores of an extension.

        For a prepared fold the lines of blocks are not read, because they are chosen already. A window that learns
        reads them all the same, to count them.
        """
        with_units = prepared_fold is None or window.config.learning
        blocks = await self._views.blocks(window, principal=principal, with_units=with_units)
        summaries = await self._views.summaries(window, principal=principal)
        entries = await self._views.entries(window, principal=principal)
        state_text = await self._views.state_text(window, principal=principal)
        endings = await self._endings.read(window, principal=principal)
        worth = await self._scoring.worth(blocks, summaries) if self._scoring and prepared_fold is None else {}
        new_entries = prepared_fold.entries if prepared_fold else ()
        update = await self._update(window, entries, new_entries, principal) if new_entries else NO_STATE_UPDATE
        profile = await self._profiles.of(window.profile, principal=principal)
        return FoldInputs(
            blocks=blocks,
            summaries=summaries,
            entries=entries,
            state_text=state_text,
            endings=endings,
            worth=worth,
            prepared=prepared_fold,
            clearing_of=profile.clearing_of if profile.clearing else None,
            images_keep_last=profile.images_keep_last,
            state_update=update,
            assistant_plan=await self._plan_in(blocks, window, profile, principal),
            restored_files=await self._files(window, entries, principal) if window.config.restore_files_share else (),
        )

    async def _files(
        self, window: Window, entries: Sequence[StoredEntry], principal: Principal
    ) -> Sequence[FileContent]:
        """Return the newest full content of the files that were edited last."""
        search = FileSearch(edited_last([entry.entry for entry in entries]))
        left = _SEARCHED_MESSAGES
        async for messages in self._steps.newest_first(window, principal):
            await beside_the_loop(size_of(messages), search.look, messages)
            left -= len(messages)
            if not search.missing or left <= 0:
                break
        return search.contents

    async def _plan_in(
        self, blocks: Sequence[FoldableBlock], window: Window, profile: Profile, principal: Principal
    ) -> Plan | None:
        """Return the newest call of a planning tool in the blocks of a window, or None if there is none.

        Raises:
            RowsChanged: a message of the step was retracted meanwhile.
        """
        block = newest_planning(blocks, profile.planning_tools)
        if block is None:
            return None
        step, _ = await self._steps.step(window, block.seq_from, block.seq_to, principal)
        if step is None:
            raise RowsChanged
        call = next(call for call in reversed(step.turn.calls) if call.call.name in profile.planning_tools)
        return Plan(
            number=block.number,
            tool=call.call.name,
            arguments_json=call.call.arguments_json,
            ref=step.call_refs[call.id],
            is_lost_in_mask=profile.clearing_of(call.call.name).clear_inputs,
        )

    async def _update(
        self, window: Window, stored_entries: Sequence[StoredEntry], entries: Sequence[Entry], principal: Principal
    ) -> StateUpdate:
        """Return the entries that a model found and the state does not have, and the entries that they end."""
        superseded_entries = await self._views.superseded(window, {entry.seq for entry in entries}, principal=principal)
        current = [entry.entry for entry in stored_entries]
        new = not_known(entries, [*current, *(replacement.old for replacement in superseded_entries)])
        now, superseded = after(sorted(current, key=stated_at), new)
        holds = {id(entry) for entry in now}
        new = [entry for entry in new if id(entry) in holds]  # without those that a later statement has replaced
        numbers = {id(entry.entry): entry.number for entry in stored_entries}
        return StateUpdate(new, {numbers[id(old)]: by.seq for old, by in superseded if id(old) in numbers})
