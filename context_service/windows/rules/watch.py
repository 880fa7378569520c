"""Streams the changes of a window as they happen, from the position that a watcher has reached.

The lookout is a poller that all watchers of this process share. It only says that a window has changed. Each watcher
then reads the changes itself, with the rights of its principal: the breaks of the prefix with their receipts, then new
entries of the state, then the current window.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from context_service.kernel.lookout import Kind, Lookout, Nothing
from context_service.packing.model import Receipt, StoredEntry
from context_service.windows.model import Window, window_not_found
from context_service.windows.rules.explain import ENTRY_SECTIONS, Accounts
from context_service.windows.store.watch import MARKS
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import InvalidArgument
from service_runtime.postgres import Row
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.packing.room import ViewRows

_RECEIPTS = 10  # how many receipts are read at once; the receipt of a large fold is large
_ENTRIES = 100  # how many entries of the state are read at once


class Mark(NamedTuple):
    """The progress of a window: each change that watchers get changes one of these numbers."""

    epoch: int
    entry_count: int
    reached_seq: int
    updated_at: datetime


def _mark(row: Row) -> Mark:
    return Mark(row.epoch, row.entry_count, row.reached_seq, row.updated_at)


_WINDOW = Kind(MARKS, _mark)


class WatchPosition(NamedTuple):
    """The position of a watcher: the last epoch and the last number of a state entry that it knows."""

    epoch_after: int
    entry_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEvent:
    """A break of the prefix, an entry of the state, the current window, or nothing; and the position after it."""

    what: Receipt | StoredEntry | Window | None
    place: WatchPosition


class WindowWatching:
    """Streams the changes of windows to callers.

    Args:
        lookout: Polls how far the watched windows have come.
        rows: The store of windows.
        views: The store of the windows' receipts and state entries.
        accounts: Leaves out state entries whose messages were retracted.
    """

    def __init__(self, lookout: Lookout, rows: WindowRows, views: ViewRows, accounts: Accounts) -> None:
        self._lookout = lookout
        self._rows = rows
        self._views = views
        self._accounts = accounts

    async def watch(
        self,
        window_id: UUID,
        place: WatchPosition,
        *,
        until_now: bool,
        principal: Principal,
        check: Callable[[], Awaitable[None]],
    ) -> AsyncGenerator[WindowEvent, None]:
        """Yield the changes of a window. The stream ends after the last change of a closed window.

        The changes after `place` come first, and then new ones as they happen; the current window follows them. If
        several changes happen between two polls, all breaks and entries are sent, but the window only once.

        Args:
            window_id: The window to watch.
            place: The changes that the watcher knows already; later ones are sent.
            until_now: End after the changes that exist already.
            principal: The caller; it must be allowed to see the window.
            check: Called at intervals. It raises if the caller may not go on, for example because its key was revoked.

        Raises:
            WindowNotFound: the window does not exist, or was deleted meanwhile.
            TooManyCalls: the limit of watches is reached.
            Unavailable: the process stops, or cannot read the changes: watch again from the last position.
            InvalidArgument: a position is negative.
            Also the errors of `check`.
        """
        for name, value in place._asdict().items():
            if value < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
        principal = principal.without_admin()
        last_window: Window | None = None
        with self._lookout.slot(principal):
            context_id = await self._rows.context_of(window_id, principal=principal)
            marks = self._lookout.marks(_WINDOW, window_id, principal=principal, check=check)
            async with aclosing(marks):
                async for mark in marks:
                    if mark is Nothing.HAPPENED:
                        yield WindowEvent(what=None, place=place)
                        continue
                    if mark is Nothing.IS_THERE:
                        raise window_not_found(window_id)
                    window = await self._rows.header(context_id, window_id, principal=principal)
                    if window is None:
                        raise window_not_found(window_id)
                    async with aclosing(self._since(window, place, principal)) as since:
                        async for happened in since:
                            place = happened.place
                            yield happened
                    place = WatchPosition(
                        max(place.epoch_after, window.epoch), max(place.entry_from, window.entry_count)
                    )
                    if window != last_window:
                        yield WindowEvent(what=window, place=place)
                        last_window = window
                    if window.closed_at or until_now:
                        return

    async def _since(
        self, window: Window, place: WatchPosition, principal: Principal
    ) -> AsyncGenerator[WindowEvent, None]:
        """Yield the breaks and the entries of a window after a position."""
        while place.epoch_after < window.epoch:
            receipts = await self._views.receipts_since(
                window, principal=principal, epoch_after=place.epoch_after, count=_RECEIPTS
            )
            for receipt in receipts:
                place = place._replace(epoch_after=receipt.epoch)
                yield WindowEvent(what=receipt, place=place)
            if len(receipts) < _RECEIPTS:
                break
        while place.entry_from < window.entry_count:
            stored_entries = await self._views.entries_from(
                window, principal=principal, number_from=place.entry_from, count=_ENTRIES
            )
            last = stored_entries[-1].number if len(stored_entries) == _ENTRIES else window.entry_count - 1
            for stored_entry in await self._accounts.said_still(window, stored_entries, principal=principal):
                if stored_entry.entry.section in ENTRY_SECTIONS:
                    place = place._replace(entry_from=stored_entry.number + 1)
                    yield WindowEvent(what=stored_entry, place=place)
            place = place._replace(entry_from=last + 1)
