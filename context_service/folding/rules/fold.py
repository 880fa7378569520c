"""Fold, PrepareFold and CommitFold: fold a window now, or prepare a fold and commit it later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.folding.pure.model_segments import WISH_CHARS_MAX
from context_service.folding.pure.plan import PlannedFold, receipt_of
from context_service.folding.pure.prepare import Prepared, committed, prepare_fold
from context_service.folding.rules.model_segments import Writing
from context_service.folding.rules.plan_fold import FoldPlanning
from context_service.folding.rules.write_fold import FoldWriting
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.packing.model import Receipt
from context_service.windows.model import Window
from contextkeep.errors import FoldNoProgress, FoldNotPrepared, FoldStale
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request
from service_runtime.values.checks import check_text

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, ViewRows


class Folding:
    """Folds windows; each call acts for its principal.

    Args:
        views: The stored parts of windows, and their prepared folds.
        writer_locks: Locks by window: in this process, one call at a time writes a window.
        catching_up: Reads the new messages of the log into a window.
        planning: Computes the changes of a fold.
        writing: Writes the changes of a fold.
        segments: Lets a model write the segments of prepared folds, or None if there is no model.
    """

    def __init__(
        self,
        views: ViewRows,
        *,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        planning: FoldPlanning,
        writing: FoldWriting,
        segments: Writing | None = None,
    ) -> None:
        self._views = views
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._planning = planning
        self._writing = writing
        self._segments = segments

    async def fold(
        self,
        window_id: UUID,
        *,
        principal: Principal,
        dry_run: bool,
        reason: str = "requested",
        instructions: str = "",
    ) -> Receipt:
        """Fold a window now, or return the receipt that a fold would have.

        With instructions, a model writes the segments if the service has a model for them.

        Args:
            window_id: The window to fold.
            principal: The caller; it must be allowed to see the window.
            dry_run: Return the receipt, and write nothing.
            reason: The reason for the receipt.
            instructions: Words that say what the fold must keep first; empty if there is nothing special.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            FoldNoProgress: there is nothing to fold.
            InvalidArgument: the instructions are malformed.
            LimitExceeded: the instructions are too long.
            Aborted: other calls wrote to the window at the same time, and no attempt succeeded.
        """
        principal = principal.without_admin()
        check_text("instructions", instructions, chars_max=WISH_CHARS_MAX)
        by_model = bool(instructions and self._segments and not dry_run)
        if by_model:
            await self.prepare(window_id, principal=principal, instructions=instructions)

        async def fold_now() -> Receipt:
            caught_up = await self._catching_up.window(window_id, principal)
            prepared_fold = None
            if by_model:
                prepared_fold, epoch = await self._views.prepared_fold(caught_up.window, principal=principal)
                if epoch != caught_up.window.epoch:  # another call folded the window meanwhile
                    prepared_fold = None
            planned_fold = await self._planning.plan(caught_up, principal, prepared_fold, instructions=instructions)
            _check_progress(planned_fold)
            return (
                receipt_of(planned_fold, reason)
                if dry_run
                else await self._writing.write(planned_fold, reason, principal)
            )

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(fold_now, what="the window")

    async def prepare(
        self,
        window_id: UUID,
        *,
        principal: Principal,
        expected_epoch: int | None = None,
        instructions: str = "",
    ) -> tuple[Receipt, int]:
        """Prepare a fold and store it until it is committed.

        Args:
            window_id: The window to fold.
            principal: The caller; it must be allowed to see the window.
            expected_epoch: Refuse the call if the window has another epoch; None accepts any.
            instructions: Words that say what the fold must keep first; empty if there is nothing special.

        Returns:
            The receipt that the fold would have now, and the epoch in which it can be committed.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            FoldStale: the window has another epoch than `expected_epoch`.
            FoldNoProgress: there is nothing to fold.
            InvalidArgument: the instructions are malformed.
            LimitExceeded: the instructions are too long.
            Aborted: other calls wrote to the window at the same time, and no attempt succeeded.
        """
        principal = principal.without_admin()
        check_text("instructions", instructions, chars_max=WISH_CHARS_MAX)

        async def stored_fold() -> tuple[PlannedFold, Prepared]:
            caught_up = await self._catching_up.window(window_id, principal)
            _check_epoch(caught_up.window, expected_epoch)
            planned_fold = await self._planning.plan(caught_up, principal, instructions=instructions)
            _check_progress(planned_fold)
            fold = prepare_fold(planned_fold.before, planned_fold.fold, last_seq=caught_up.window.reached_seq)
            if not await self._views.prepare(caught_up.window, fold, principal=principal):
                raise RowsChanged
            return planned_fold, fold

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            planned_fold, fold = await until_written(stored_fold, what="the window")
        planned_fold = replace(planned_fold, prepared_seq=fold.last_seq)
        if self._segments:  # the lock is released, so that other calls can pack the window while a model writes
            planned_fold = await self._with_model_segments(planned_fold, fold, self._segments, instructions, principal)
        return receipt_of(planned_fold, "prepared"), planned_fold.caught_up.window.epoch

    async def commit(
        self, window_id: UUID, *, principal: Principal, request: Request | None, expected_epoch: int | None = None
    ) -> Receipt:
        """Commit the prepared fold, with the state as it is now, and return the receipt.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            FoldNotPrepared: no fold was prepared.
            FoldStale: the window has another epoch than `expected_epoch`, or than the prepared fold.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls wrote to the window at the same time, and no attempt succeeded.
        """
        principal = principal.without_admin()

        async def commit_fold() -> Receipt:
            caught_up = await self._catching_up.window(window_id, principal)
            _check_epoch(caught_up.window, expected_epoch)
            fold, epoch = await self._views.prepared_fold(caught_up.window, principal=principal)
            if epoch is None:
                raise FoldNotPrepared("the window has no prepared fold; call PrepareFold first")
            if epoch <= caught_up.window.epoch:
                _check_epoch(caught_up.window, epoch)
            if not fold or epoch > caught_up.window.epoch:  # another call has changed the window since it was read
                raise RowsChanged
            planned_fold = await self._planning.plan(caught_up, principal, fold)
            return await self._writing.write_prepared(planned_fold, principal, request)

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(commit_fold, what="the window")

    async def _with_model_segments(
        self, planned_fold: PlannedFold, fold: Prepared, segments: Writing, instructions: str, principal: Principal
    ) -> PlannedFold:
        """Return a prepared fold with the segments that a model wrote, if it wrote any."""
        view = planned_fold.fold.view
        better = await segments.write_segments(
            planned_fold.caught_up.window,
            planned_fold.before,
            fold,
            state_tokens=view.state + sum(block.tokens for block in view.last_words),
            wish=instructions,
            principal=principal,
        )
        if better is None:
            return planned_fold
        fold_by_model = committed(planned_fold.before, better, state_tokens=view.state, last_words=view.last_words)
        return replace(planned_fold, fold=fold_by_model)


def _check_epoch(window: Window, expected: int | None) -> None:
    """Refuse a call for another epoch of a window.

    Raises:
        FoldStale: the window has another epoch.
    """
    if expected is not None and expected != window.epoch:
        raise FoldStale(
            f"the window is at epoch {window.epoch}, not {expected}; prepare another fold", epoch=window.epoch
        )


def _check_progress(planned_fold: PlannedFold) -> None:
    """Refuse a fold that changes nothing.

    Raises:
        FoldNoProgress: the fold changes nothing.
    """
    if not planned_fold.fold.changes:
        raise FoldNoProgress("the window has nothing left to fold; go on without a fold")
