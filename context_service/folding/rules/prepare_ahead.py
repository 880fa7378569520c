"""Folds that a model prepares in the background, before packs need them.

A pack that comes near its high mark queues its window, and never waits for the model. The worker takes turns by tenant:
one window each, a few at a time. It plans the fold by rules, lets a model write the summaries, and stores the result
with the window. The next pack that folds takes it if it is there by then, still valid, and enough.

A model that fails delays the work, and rules fold meanwhile. Any number of replicas may run the worker: a window is
claimed by one of them, and a fold that a model has already prepared is not prepared again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.folding.pure.plan import PlannedFold
from context_service.folding.pure.prepare import Prepared, prepare_fold
from context_service.folding.pure.summaries import BY_RULES, Summary
from context_service.folding.rules.model_segments import Writing
from context_service.folding.rules.plan_fold import FoldPlanning
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.packing.model import Pack
from context_service.packing.pure.body.caught_up_window import half_way
from context_service.windows.pure.config import NO_MODEL
from contextkeep.errors import ContextKeepError, WindowClosed, WindowNotFound
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, ViewRows
    from context_service.windows.room import WindowQueue

TOPIC = "fold"
STEPS_AHEAD = 5  # a fold is prepared when the window is estimated to reach its high mark in so many steps
INTERVAL_S = 1.0
AT_ONCE = 4  # folds in preparation in this process, each of another tenant
ATTEMPTS_MAX = 5  # then the fold is left to the rules; the next epoch queues the window again
DELAY_S = 5.0  # before the second attempt; doubled after each


class Outcome(StrEnum):
    """What became of a queued window."""

    PREPARED = "prepared"
    REFUSED = "refused"  # the model failed, or no line of it was accepted
    NOT_NEEDED = "not_needed"  # folded or closed meanwhile, prepared already, or models are switched off


async def queue_fold(queue: WindowQueue, pack: Pack, *, principal: Principal) -> None:
    """Queue the window of a pack if it folds soon; once in each epoch, as far as this process remembers."""
    window = pack.window
    is_near = pack.fold_eta_steps <= STEPS_AHEAD and pack.zones.all > half_way(window)
    if is_near and not pack.is_catching_up and window.config.summarization_model != NO_MODEL:
        await queue.put(window, window.epoch, principal=principal)


class PreparingAhead:
    """The worker; each fold is prepared as the owner of its window.

    Args:
        database: The database that has the queue.
        queue: The queued windows.
        views: The stored parts of windows, and their prepared folds.
        writer_locks: Locks by window: in this process, one call at a time writes a window.
        catching_up: Reads the new messages of the log into a window.
        planning: Computes the changes of a fold.
        segments: Lets a model write the summaries.
        metrics: The registry of the server's metrics.
    """

    def __init__(
        self,
        database: Database,
        queue: WindowQueue,
        views: ViewRows,
        *,
        writer_locks: KeyedLocks,
        catching_up: CatchingUp,
        planning: FoldPlanning,
        segments: Writing,
        metrics: Metrics,
    ) -> None:
        self._queue = queue
        self._views = views
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._planning = planning
        self._segments = segments
        self._rounds = Rounds(database, self._prepare_one, at_once=AT_ONCE, queue=queue.outbox.queue)
        self._counted = metrics.counter(
            "contextkeep_folds_ahead", "Folds that a model was to prepare in the background", outcome=tuple(Outcome)
        )

    async def keep_preparing(self) -> None:
        """Prepare queued folds until cancelled."""
        await self._rounds.keep_running(self.prepare_due, interval_s=INTERVAL_S)

    async def prepare_due(self) -> int:
        """Prepare the folds that are due, one of each tenant in turn; return their number.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _prepare_one(self, tenant: Tenant) -> tuple[int, bool]:
        """Prepare the fold of one due window of a tenant; return 1 if there was one, and whether there may be more."""
        async with self._queue.outbox.claimed(tenant, count_max=1) as claimed:
            for item in claimed:
                await self._prepare(tenant, item)
        return len(claimed), bool(claimed)

    async def _prepare(self, tenant: Tenant, item: QueuedItem) -> None:
        """Prepare the fold of a claimed window; if that fails, try again later."""
        again_in_s, failed_by = None, ""
        try:
            outcome = await self._outcome(tenant, item)
        except ContextKeepError as error:  # such as a database that does not answer, or calls that write all the time
            outcome, failed_by = Outcome.REFUSED, str(error)
        self._counted(outcome=outcome)
        if outcome is Outcome.REFUSED and item.attempts < ATTEMPTS_MAX:
            again_in_s = DELAY_S * 2.0 ** (item.attempts - 1)
        why = failed_by or "the model wrote no summary"
        await self._queue.outbox.settle(tenant, item, again_in_s=again_in_s, error=why)

    async def _outcome(self, tenant: Tenant, item: QueuedItem) -> Outcome:
        """Let a model prepare the fold of a window, if one is due.

        Raises:
            WindowBehind, Aborted, Unavailable: it can be tried again.
        """
        window_id = item.subject_id
        owner = await self._queue.owner_of(tenant, window_id)
        if owner is None:
            return Outcome.NOT_NEEDED
        principal = Principal(tenant_id=tenant.tenant_id, subject="folds", scopes=frozenset(), user_id=owner)
        attempt = partial(self._planned, window_id, principal, is_retry=item.attempts > 1)
        try:
            async with self._writer_locks.hold((tenant.tenant_id, window_id)):
                planned = await until_written(attempt, what="the window")
        except (WindowNotFound, WindowClosed):
            return Outcome.NOT_NEEDED
        if planned is None:
            return Outcome.NOT_NEEDED
        fold, stored = planned
        written = await self._segments.write_segments(
            fold.caught_up.window, fold.before, stored, state_tokens=fold.fold.view.state, principal=principal
        )
        if written is None:
            return Outcome.NOT_NEEDED
        return Outcome.PREPARED if _is_by_model(written.made) else Outcome.REFUSED

    async def _planned(
        self, window_id: UUID, principal: Principal, *, is_retry: bool
    ) -> tuple[PlannedFold, Prepared] | None:
        """Plan and store the next fold of a window by rules; None if none is due, or one is prepared already.

        Raises:
            RowsChanged: another call wrote to the window meanwhile.
        """
        caught_up = await self._catching_up.window(window_id, principal)
        window = caught_up.window
        if caught_up.tokens <= half_way(window) or not await self._segments.may_ask(window, principal=principal):
            return None
        known, epoch = await self._views.prepared_fold(window, principal=principal)
        # A fold that a caller has prepared stays; one by rules alone may be of an attempt that failed.
        if known and epoch == window.epoch and (not is_retry or _is_by_model(known.made)):
            return None
        planned = await self._planning.plan(caught_up, principal)
        if not planned.fold.changes:
            return None
        fold = prepare_fold(planned.before, planned.fold, last_seq=window.reached_seq)
        if not await self._views.prepare(window, fold, principal=principal):
            raise RowsChanged
        return planned, fold


def _is_by_model(summaries: Sequence[Summary]) -> bool:
    return any(summary.method != BY_RULES for summary in summaries)
