"""Catching up: a window reads its log up to the end, and folds (compacts itself) on the way if it becomes too large.

Work that takes CPU is done before the window is locked, and is written only if the window has not changed meanwhile:
of two concurrent calls one writes, and the other retries. Each transaction leaves the window consistent, so a process
that is killed loses at most the last one.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, is_cold, limits_of
from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.read_log import LogReading, ReadMessages
from context_service.packing.rules.rebuild import Rebuilding
from context_service.packing.rules.window_bodies import WindowBodies
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window, WindowSnapshot, window_not_found
from contextkeep.errors import WindowBehind, WindowClosed
from service_runtime.rpc.calls import remaining_s
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged

if TYPE_CHECKING:
    from context_service.folding.room import FoldPlanning, FoldWriting
    from context_service.windows.room import WindowRows

# The most seconds that one round of reading takes, including a fold. A call with less time left begins no new round.
READING_S_MAX = 2.0


class FarBehind(Exception):
    """Raised for a window that has too many unread messages for the call. It never reaches a caller."""

    def __init__(self, snapshot: WindowSnapshot) -> None:
        super().__init__("the window is far behind its log")
        self.snapshot = snapshot


class CatchingUp:
    """Brings windows up to date with their logs; each call acts for its principal.

    Callers must hold the lock of the window's writers.

    Args:
        rows: The store of windows.
        views: The store of the windows' parts and state.
        reading: Reads the next steps of a log.
        rebuilding: Rebuilds windows after messages were retracted.
        appending: Appends the steps that were read.
        bodies: Reads and caches the bodies of windows.
        planning: Decides what folds change.
        folding: Writes planned folds.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        *,
        reading: LogReading,
        rebuilding: Rebuilding,
        appending: Appending,
        bodies: WindowBodies,
        planning: FoldPlanning,
        folding: FoldWriting,
    ) -> None:
        self._rows = rows
        self._views = views
        self._reading = reading
        self._rebuilding = rebuilding
        self._appending = appending
        self._bodies = bodies
        self._planning = planning
        self._folding = folding

    async def read(self, window_id: UUID, *, principal: Principal) -> Window:
        """Read a window's log to its end, and return the window.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            RowsChanged: another call wrote to the window meanwhile.
        """
        return (await self.window(window_id, principal)).window

    async def window(
        self,
        window_id: UUID,
        principal: Principal,
        *,
        packs: bool = False,
        for_s: float = math.inf,
        unread_max: float = math.inf,
    ) -> CaughtUpWindow:
        """Read a window's log to its end, and return the window with its body.

        A window with many unread messages reads one step or `MESSAGES_AT_ONCE` messages in each transaction. It folds
        between them, so that its blocks never exceed its high mark by much.

        Args:
            window_id: The window to bring up to date.
            principal: The caller; it must be allowed to see the window.
            packs: The window is packed next. The time of the pack is written with the steps, unless the vendor's cache
                is cold: then the window may need a fold, and until the fold is written, all other calls (on another
                replica, or after a crash) must also see that the cache is cold.
            for_s: The seconds after which no new round of reading begins.
            unread_max: The most unread messages that this call reads.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read the whole log; its progress is kept.
            RowsChanged: another call wrote to the window meanwhile.
            FarBehind: the log has more unread messages than `unread_max`; nothing was read.
        """
        reached_first, until = None, time.monotonic() + for_s
        while True:
            snapshot = await self._snapshot(window_id, principal)
            if snapshot.retracted_count != snapshot.window.retracted_count:
                await self._rebuilding.rebuild(snapshot, principal)
                continue
            if snapshot.last_seq - snapshot.window.reached_seq > unread_max:
                raise FarBehind(snapshot)
            reached_first = snapshot.window.reached_seq if reached_first is None else reached_first
            _check_time(snapshot, reached_first, left_s=until - time.monotonic())
            read_messages = await self._reading.read(snapshot, principal)
            snapshot = await self._append(snapshot, read_messages, principal, packs=packs)
            window = snapshot.window
            high = limits_of(window).high
            if not read_messages.is_end and await self._views.tokens(window, principal=principal) <= high:
                continue
            caught_up = CaughtUpWindow(
                window=window,
                body=await self._bodies.read(window, principal),
                waiting=read_messages.steps.waiting if read_messages.steps and read_messages.is_end else None,
                last_seq=snapshot.last_seq,
                packed_seq=snapshot.packed_seq,
                idle_s=snapshot.idle_s,
            )
            if read_messages.is_end:
                return caught_up
            await self._fold_on_the_way(caught_up, principal)

    async def _snapshot(self, window_id: UUID, principal: Principal) -> WindowSnapshot:
        """Read a window and the end of its log.

        Raises:
            WindowNotFound: the window does not exist, or the principal may not see it.
            WindowClosed: the window is closed.
        """
        snapshot = await self._rows.snapshot(window_id, principal=principal)
        if snapshot is None:
            raise window_not_found(window_id)
        if snapshot.window.closed_at:
            self._bodies.forget(window_id, principal)
            raise WindowClosed("the window is closed; open another one", window_id=window_id)
        return snapshot

    async def _append(
        self, snapshot: WindowSnapshot, read_messages: ReadMessages, principal: Principal, *, packs: bool
    ) -> WindowSnapshot:
        """Append the steps that were read, and return the snapshot of the window with them.

        Args:
            snapshot: The window and the end of its log.
            read_messages: The steps of the log that the window has not got yet.
            principal: The caller.
            packs: As in `window`.
        """
        window, last_seq, steps = snapshot.window, snapshot.last_seq, read_messages.steps
        if steps is None or steps.reached_seq == window.reached_seq:
            return snapshot
        # Only a window that has the whole log, and whose cache is warm, notes its pack together with the steps.
        is_packed = packs and read_messages.is_end and not steps.waiting and not is_cold(snapshot)
        window = await self._appending.steps(window, steps, principal, packed_seq=last_seq if is_packed else None)
        if is_packed:
            return snapshot._replace(window=window, packed_seq=last_seq, idle_s=0.0)
        return snapshot._replace(window=window)

    async def _fold_on_the_way(self, caught_up: CaughtUpWindow, principal: Principal) -> None:
        """Fold a window that has not read all of its log yet. If another call wrote to it, the next round sees that."""
        with suppress(RowsChanged):
            planned_fold = await self._planning.plan(caught_up, principal, cuts=False)
            if planned_fold.fold.changes:
                await self._folding.write(planned_fold, "high_mark", principal)


def _check_time(snapshot: WindowSnapshot, reached_first: int, *, left_s: float) -> None:
    """Stop the reading if the call has made progress and has little time left.

    Raises:
        WindowBehind: the log has more messages, and the remaining time is not enough for another round.
    """
    reached_seq, last_seq = snapshot.window.reached_seq, snapshot.last_seq
    if reached_first < reached_seq < last_seq and (left_s < 0 or remaining_s() < READING_S_MAX):
        raise WindowBehind(
            f"the window has read {reached_seq} of the {last_seq} messages of its context; call again",
            reached_seq=reached_seq,
            last_seq=last_seq,
        )
