"""Pack: the messages for the next call of a model.

The work happens in this order: catch up with the log (`catch_up`), tell the model about callers' changes of the state
(`append_blocks`), fold (compact the window) if the pack is too large or the vendor's cache is cold (`folding`), recall
passages after the last step (`recall_after_step`), lay out zones and bytes (`pure.lay_out`), ask the middleware
(`ask_middleware`), count the tokens (`spend_tokens`). After a write that changes the earlier parts of the pack, the
attempt ends with `RowsChanged`, and the next attempt begins with the window as it is then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from context_service.contexts.room import Log
from context_service.folding.pure.plan import PlannedFold
from context_service.folding.pure.summaries import BY_RULES
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.tokens import calibrated
from context_service.packing.model import Pack, Prefix, RecallRequest
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, half_way, is_cold, limits_of
from context_service.packing.pure.body.lay_out import pack_of
from context_service.packing.pure.costs import HASHING
from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.ask_middleware import ask_middleware
from context_service.packing.rules.catch_up import CatchingUp, FarBehind
from context_service.packing.rules.newest_steps import BEHIND_MAX, NewestSteps
from context_service.packing.rules.notice import notice_for, waits_for_notice
from context_service.packing.rules.plugins import Middleware
from context_service.packing.rules.recall_after_step import StepRecalling
from context_service.packing.rules.spend_tokens import spend_tokens
from context_service.packing.rules.window_bodies import WindowBodies
from context_service.packing.store.views import ViewRows
from context_service.windows.model import WindowSnapshot
from context_service.working_memory.room import FileContents, StoredFile
from contextkeep.errors import BudgetTooSmall
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.values.copying import fields_of

if TYPE_CHECKING:
    from context_service.folding.room import FoldPlanning, FoldWriting
    from context_service.windows.room import Telemetry, WindowQueue, WindowRows

_QUEUED_AGAIN_S = 30.0  # a window that is still far behind is queued again, should its item have been lost
_SAVED_SHARE_MIN = 0.25  # a fold that saves a smaller share of the tokens is not worth it if only the cache is cold
_NO_PREFIX = Prefix("", 0)


class QueueFold(Protocol):
    """The interface of the queue of windows that fold soon; it never fails."""

    async def __call__(self, pack: Pack, *, principal: Principal) -> None:
        """Queue the window of a pack if it folds soon."""


class Packing:
    """Packs windows; each call acts for its principal.

    Args:
        rows: The store of windows.
        views: The store of prepared folds.
        log: The contexts that the windows belong to.
        writer_locks: Lets one writer of a window run at a time in this process.
        catching_up: Reads the logs of windows to their ends.
        appending: Appends recalled passages and notes.
        planning: Decides what folds change.
        folding: Writes planned folds.
        recalling: Recalls passages after a step.
        telemetry: Counts packs and refusals, for metrics.
        bodies: Reads the bodies of windows.
        contents: Finds the stored files of packs.
        middleware: An extension that decides about packs, or None if there is none.
        queue_fold: Queues a window that folds soon, so that a model prepares the fold; None without a model.
        newest: Packs the newest steps of a window that is far behind its log.
        behind: The queue of such windows, which read their logs in the background.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        *,
        log: Log,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        appending: Appending,
        planning: FoldPlanning,
        folding: FoldWriting,
        recalling: StepRecalling,
        telemetry: Telemetry,
        bodies: WindowBodies,
        contents: FileContents,
        middleware: Middleware | None = None,
        queue_fold: QueueFold | None = None,
        newest: NewestSteps,
        behind: WindowQueue,
    ) -> None:
        self._newest = newest
        self._behind = behind
        self._queue_fold = queue_fold
        self._rows = rows
        self._views = views
        self._log = log
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._appending = appending
        self._planning = planning
        self._folding = folding
        self._recalling = recalling
        self._telemetry = telemetry
        self._bodies = bodies
        self._contents = contents
        self._middleware = middleware

    async def pack(
        self,
        window_id: UUID,
        *,
        principal: Principal,
        recalls: bool = True,
        prefix: Prefix = _NO_PREFIX,
        request: RecallRequest | None = None,
        is_inline: bool = False,
    ) -> Pack:
        """Return the messages for the next call of the model.

        The window first reads its log to the end, and folds if it has become too large.

        Args:
            window_id: The window to pack.
            principal: The caller; it must be allowed to see the window.
            recalls: Append recalled passages if the last step calls for them.
            prefix: The first bytes of the last pack. The answer leaves them out if this pack begins with them.
            request: A recall that the caller wants even if the last step calls for none. It is done once.
            is_inline: The bytes of files will be inserted into the answer.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            BudgetTooSmall: the parts before the steps and the last step without its texts exceed the window's limit.
            TokensSpent: with this pack the window, or its run, would exceed its limit of tokens.
            AnswerTooLarge: the pack does not fit one answer.
            PackVetoed: the middleware refused the pack.
            Aborted: other calls wrote to the window at the same time, and no attempt succeeded.
        """
        principal = principal.without_admin()
        key = principal.tenant_id, window_id
        with self._telemetry.refusals():
            async with self._writer_locks.hold(key):  # another replica may still write: `until_written` retries then
                attempt = partial(
                    self._attempt,
                    window_id,
                    principal,
                    recalls=recalls,
                    prefix=prefix,
                    request=request,
                    inline=is_inline,
                )
                pack = await until_written(attempt, what="the window")
        self._telemetry.count_pack(key, pack.window.epoch, fields_of(pack.zones), profile=pack.window.profile)
        if self._queue_fold:
            await self._queue_fold(pack, principal=principal)
        return pack

    async def _attempt(
        self,
        window_id: UUID,
        principal: Principal,
        *,
        recalls: bool,
        prefix: Prefix,
        request: RecallRequest | None,
        inline: bool,
    ) -> Pack:
        """Pack a window, unless it must first be folded, or a note must be appended to it.

        Raises:
            RowsChanged: this call (to fold the window or append a note) or another call wrote to it: try again.
        """
        try:
            # A middleware must see packs as they are stored, so with one the call reads the whole log.
            unread_max = math.inf if self._middleware else BEHIND_MAX
            caught_up = await self._catching_up.window(window_id, principal, packs=True, unread_max=unread_max)
        except FarBehind as far:
            if newest := await self._newest_steps(far.snapshot, principal):
                cost = HASHING * len(newest.body.body)
                pack = await beside_the_loop(cost, pack_of, newest, prefix, is_inline=inline)
                stored = await self._stored_files(pack, principal)
                if all(file.working_memory_id in stored for file in pack.files):
                    return await self._spent(replace(_with_facts(pack, stored), is_catching_up=True), principal)
            caught_up = await self._catching_up.window(window_id, principal, packs=True)
        # No note may be put into a step that waits, because vendors require results right after their calls.
        if caught_up.window.has_untold and not caught_up.waiting:
            await self._appending.note_on_patches(caught_up.window, principal)
            raise RowsChanged
        caught_up = await self._folded_if_due(caught_up, principal)
        if caught_up.counts_as_packed:
            await self._rows.mark_packed(caught_up.window, last_seq=caught_up.last_seq, principal=principal)
        if recalls and (block := await self._recalling.block(caught_up, principal, request)):
            caught_up = replace(caught_up, body=await self._appending.block(caught_up, block, principal))
        pack = await self._laid_out(caught_up, prefix, principal, inline=inline)
        if notice := notice_for(caught_up, pack):
            await self._appending.block(caught_up, notice, principal)
            raise RowsChanged
        if self._middleware and not pack.is_waiting:
            pack = await ask_middleware(self._middleware, self._appending, caught_up, pack, principal)
        return await self._spent(pack, principal)

    async def _spent(self, pack: Pack, principal: Principal) -> Pack:
        """Return a pack after its tokens are counted, if the window or its run has a limit for all packs."""
        is_counted = pack.window.config.total_tokens_max or pack.window.is_of_run
        return await spend_tokens(self._rows, self._log, pack, principal) if is_counted else pack

    async def _newest_steps(self, snapshot: WindowSnapshot, principal: Principal) -> CaughtUpWindow | None:
        """Queue a window that is far behind its log, and return it with its newest steps; None if they do not fit."""
        await self._behind.put(snapshot.window, int(time.monotonic() // _QUEUED_AGAIN_S), principal=principal)
        return await self._newest.window(snapshot, principal)

    async def _laid_out(self, caught_up: CaughtUpWindow, prefix: Prefix, principal: Principal, *, inline: bool) -> Pack:
        """Lay out the pack of a window. A file that can no longer be read becomes a line of text.

        Raises:
            AnswerTooLarge: the pack does not fit one answer.
            RowsChanged: another call changed the window meanwhile.
        """
        cost = HASHING * len(caught_up.body.body)
        pack = await beside_the_loop(cost, pack_of, caught_up, prefix, is_inline=inline)
        stored = await self._stored_files(pack, principal)
        if missing := {file.working_memory_id for file in pack.files} - stored.keys():
            shown = await self._bodies.without_files(caught_up, missing, principal)
            pack = await beside_the_loop(cost, pack_of, shown, prefix, is_inline=inline)
        return _with_facts(pack, stored)

    async def _stored_files(self, pack: Pack, principal: Principal) -> Mapping[str, StoredFile]:
        """Return the stored files of a pack, by the ids of their records."""
        record_ids = {file.working_memory_id for file in pack.files}
        return await self._contents.files_of(record_ids, principal=principal, context_id=pack.window.context_id)

    async def _folded_if_due(self, caught_up: CaughtUpWindow, principal: Principal) -> CaughtUpWindow:
        """Fold a window that is over its high mark, or whose cache is cold; return it if it needs no fold.

        Raises:
            BudgetTooSmall: the parts before the steps and the last step without its texts exceed the window's limit.
            RowsChanged: the window was folded, or another call wrote to it.
        """
        window = caught_up.window
        if caught_up.tokens > limits_of(window).high or caught_up.is_over_files:
            if waits_for_notice(caught_up) and not caught_up.is_over_files:
                return caught_up
            planned_fold = None if caught_up.is_over_files else await self._prepared_by_model(caught_up, principal)
            planned_fold = planned_fold or await self._planning.plan(caught_up, principal)
            caught_up = planned_fold.caught_up  # the plan has taken the token factor of the newest bills
            is_over = caught_up.tokens > limits_of(caught_up.window).high
            if is_over or caught_up.is_over_files:
                _check_room(planned_fold)
                if planned_fold.fold.changes:
                    await self._folding.write(planned_fold, "high_mark" if is_over else "files", principal)
                    raise RowsChanged
        elif not caught_up.waiting and is_cold(caught_up) and caught_up.tokens > half_way(window):
            planned_fold = await self._planning.plan(caught_up, principal)
            if planned_fold.saved_share >= _SAVED_SHARE_MIN:
                await self._folding.write(planned_fold, "cache_cold", principal)
                raise RowsChanged
        return caught_up

    async def _prepared_by_model(self, caught_up: CaughtUpWindow, principal: Principal) -> PlannedFold | None:
        """Return the prepared fold of a window if a model wrote summaries for it and it saves enough; otherwise None.

        This calls no model. A fold that only rules prepared is not used, because rules choose better now that they know
        the newest steps.
        """
        fold, epoch = await self._views.prepared_fold(caught_up.window, principal=principal)
        if fold is None or epoch != caught_up.window.epoch or all(summary.method == BY_RULES for summary in fold.made):
            return None
        planned_fold = await self._planning.plan(caught_up, principal, fold)
        return planned_fold if planned_fold.tokens <= limits_of(planned_fold.caught_up.window).high else None


def _with_facts(pack: Pack, stored: Mapping[str, StoredFile]) -> Pack:
    """Return a pack whose files have the facts of their stored bytes."""
    if not pack.files:
        return pack
    facts = {record_id: stored_file.file for record_id, stored_file in stored.items()}
    return replace(
        pack,
        files=[
            file._replace(
                sha256=facts[file.working_memory_id].sha256, size_bytes=facts[file.working_memory_id].size_bytes
            )
            for file in pack.files
        ],
    )


def _check_room(planned_fold: PlannedFold) -> None:
    """Refuse a pack that is larger than the limit of the window even after a fold.

    Raises:
        BudgetTooSmall: the pack is larger than the limit.
    """
    window = planned_fold.caught_up.window
    tokens = planned_fold.tokens if planned_fold.fold.changes else planned_fold.caught_up.tokens
    if tokens > window.counted_limit:
        least = calibrated(tokens, window.token_factor)
        raise BudgetTooSmall(
            f"the fixed parts do not fit: prompt, pins, state, summaries and the last step without its texts have "
            f"{least} tokens; the limit is {window.token_limit}",
            least=least,
            token_limit=window.token_limit,
        )
