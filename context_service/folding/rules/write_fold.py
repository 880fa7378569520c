"""Writing folds: lock the window, check that it is unchanged since the planning, write the fold, and count it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_service.checkpoints.model import BY_FOLD
from context_service.contexts.room import Log
from context_service.folding.pure.plan import PlannedFold, receipt_of
from context_service.packing.model import BY_MODEL, Receipt
from context_service.packing.pure.steps.blocks import text_pieces
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged
from service_runtime.statements.requests import Request, Requests

if TYPE_CHECKING:
    from context_service.checkpoints.room import CheckpointRows
    from context_service.packing.room import ViewRows
    from context_service.profiles.room import Learning
    from context_service.windows.room import Telemetry, WindowRows

_COUNTING = 40  # the cost of counting for each block of a fold, in bytes of JSON parsing


class FoldWriting:
    """Writes folds; each call acts for its principal.

    Args:
        rows: The SQL statements on windows.
        views: The SQL statements on the blocks, summaries and state of windows.
        log: The contexts of the windows.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        checkpoints: The checkpoints of windows: a window makes one before a fold.
        telemetry: Counts folds for the metrics.
        learning: Counts the lines that folds remove, for windows that learn.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        *,
        log: Log,
        requests: Requests,
        checkpoints: CheckpointRows,
        telemetry: Telemetry,
        learning: Learning,
    ) -> None:
        self._rows = rows
        self._views = views
        self._log = log
        self._requests = requests
        self._checkpoints = checkpoints
        self._telemetry = telemetry
        self._learning = learning

    async def write(self, planned_fold: PlannedFold, reason: str, principal: Principal) -> Receipt:
        """Write a fold, and return its receipt.

        Raises:
            RowsChanged: the window changed meanwhile.
        """
        window, receipt = planned_fold.caught_up.window, receipt_of(planned_fold, reason)

        async def work(transaction: Transaction) -> None:
            await self._lock(transaction, window)
            await self._write(transaction, planned_fold, receipt)

        await self._log.of(principal, window.context_id).transaction(work)
        await self._count(planned_fold, reason, principal)
        return receipt

    async def write_prepared(self, planned_fold: PlannedFold, principal: Principal, request: Request | None) -> Receipt:
        """Write a prepared fold, and return its receipt. A repeated request gets the receipt of the first one.

        Raises:
            RowsChanged: the window changed meanwhile.
        """
        window, receipt = planned_fold.caught_up.window, receipt_of(planned_fold, "prepared")

        async def work(transaction: Transaction) -> Receipt:
            locked = await self._lock(transaction, window)
            await self._write(transaction, planned_fold, receipt)
            return await self._views.receipt(transaction, locked, receipt.epoch)

        write = self._requests.once(request, work, about_id=window.context_id)
        is_written = await self._log.of(principal, window.context_id).transaction(write)
        await self._count(planned_fold, receipt.reason, principal)
        return is_written

    async def _lock(self, transaction: Transaction, window: Window) -> Window:
        """Lock a window until the end of the transaction.

        Raises:
            RowsChanged: the window is not as it was when the fold was planned.
        """
        locked = await self._rows.lock(transaction, window.context_id, window.window_id)
        if locked is None or not _is_same(locked, window):
            raise RowsChanged
        return locked

    async def _write(self, transaction: Transaction, planned_fold: PlannedFold, receipt: Receipt) -> None:
        """Write the fold of a locked window."""
        window, fold = planned_fold.caught_up.window, planned_fold.fold
        before, now = planned_fold.before.rows, fold.view.rows
        to = window.format
        if window.config.checkpoint_steps:
            await self._checkpoints.make(transaction, window, reason=BY_FOLD)
        if planned_fold.state_update.new:
            await self._views.add(
                transaction,
                window,
                [],
                entries=planned_fold.state_update.new,
                ended=planned_fold.state_update.ended,
                reached_seq=window.reached_seq,
                source=BY_MODEL,
            )
        await self._views.write_fold(
            transaction,
            window,
            masked_numbers=sorted(fold.masked),
            removed_numbers=sorted(fold.merged | fold.dropped),
            cut_step=fold.cut,
            merged_to=len(fold.merged),
            merged_tokens=sum(block.tokens for block in planned_fold.before.blocks if block.number in fold.merged),
            removed_summaries=[summary for summary in before if summary not in now],
            new_summaries=[(summary, text_pieces(summary.text, to)) for summary in now if summary not in before],
            state=(
                planned_fold.state,
                text_pieces(planned_fold.state, to),
                fold.view.state,
            ),
            receipt=receipt,
        )
        await self._checkpoints.prune(transaction, window)

    async def _count(self, planned_fold: PlannedFold, reason: str, principal: Principal) -> None:
        """Count a written fold for the metrics, and its lines for windows that learn."""
        window = planned_fold.caught_up.window
        self._telemetry.count_break(reason, profile=window.profile)
        size = _COUNTING * (
            len(planned_fold.before.blocks) + len(planned_fold.before.summaries) + len(planned_fold.fold.worth)
        )
        await beside_the_loop(size, self._telemetry.count_fold, planned_fold.before, planned_fold.fold)
        await self._learning.count_fold(window, planned_fold.before, planned_fold.fold, principal=principal)


def _is_same(locked: Window, window: Window) -> bool:
    """Return whether a locked window is unchanged since the fold was planned."""
    names = ("epoch", "block_count", "reached_seq", "retracted_count", "entry_count", "config_json", "token_limit")
    return not locked.closed_at and all(getattr(locked, name) == getattr(window, name) for name in names)
