"""Watching: what happens in a context, told as it happens, from the places on that a watcher has reached.

One poller of a process asks each tenant whose contexts are watched how far these are: numbers of headers, in one
statement, however many watch. Who is told that there is more reads it with its own eyes, behind its own walls. A
watcher keeps its places: after a restart of whatever it goes on with them, and nothing is missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from context_service.contexts.artifact_rows import ArtifactRows
from context_service.contexts.log import ALIVE, Log
from context_service.contexts.messaging import not_found
from context_service.contexts.model import Artifact, Context, Message, Retracted, Task
from context_service.contexts.task_rows import TaskRows
from contextkeep.errors import ContextKeepError, InvalidArgument, Unavailable
from service_runtime.auth import Principal
from service_runtime.places import Place, Places
from service_runtime.postgres import Across, Database, Row

_log = logging.getLogger("watching")

POLL_S = 0.2  # from one look to the next
SILENT_S = 15.0  # then a watcher hears that nothing happens: what is silent for longer looks broken
CHECK_S = 5.0  # from one look at the watcher's credential to the next
_MESSAGES = 100  # that are read at once
_CHANGES = 10  # a status may be large

_MARKS = Across(
    sql=f"""
        SELECT context_id, last_seq, last_change, header_change, closed_at IS NOT NULL AS is_closed
        FROM context.context
        WHERE tenant_id = %s AND context_id = ANY (%s) AND {ALIVE}
    """,  # noqa: S608
    contexts=True,
    subjects=True,
    why="it tells watchers that there is more, and nothing of it: they read it behind their own walls",
)


Change = Retracted | Context | Task | Artifact  # what has a number of its context's changes


class Mark(NamedTuple):
    """How far a context is."""

    seq: int
    change: int
    header_change: int
    is_closed: bool
    is_gone: bool


_GONE = Mark(seq=0, change=0, header_change=0, is_closed=False, is_gone=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened, or nothing for a while; and the places from which on there is more."""

    what: Message | Change | None
    seq_from: int
    change_after: int


class Watching:
    """Tells callers what happens in contexts.

    Args:
        database: Where they are.
        log: Their messages.
        tasks: Their tasks.
        artifacts: What these make.
        places: Of watches: how many there may be, and whose.
    """

    def __init__(
        self, database: Database, *, log: Log, tasks: TaskRows, artifacts: ArtifactRows, places: Places
    ) -> None:
        self._database = database
        self._log = log
        self._tasks = tasks
        self._artifacts = artifacts
        self._places = places
        self._watchers: Counter[tuple[UUID, UUID]] = Counter()
        self._marks: dict[tuple[UUID, UUID], Mark] = {}
        self._begun = self._done = 0  # looks
        self._looked = asyncio.Event()  # set, and another one taken, after each look
        self._failure: ContextKeepError | None = None
        self._is_ending = False

    def end(self) -> None:
        """Let all watches end: the process stops."""
        self._is_ending = True
        self._wake()

    async def keep_looking(self) -> None:
        """Look how far contexts are that somebody watches, until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self._look()
                self._failure = None
            except ContextKeepError as error:
                self._failure = error  # each watcher is told, and comes again
            except Exception:
                _log.exception("watching failed")
                self._failure = Unavailable("contexts cannot be watched at present")
            self._wake()

    async def watch(
        self,
        context_id: UUID,
        *,
        seq_from: int,
        change_after: int,
        until_now: bool,
        principal: Principal,
        check: Callable[[], Awaitable[None]],
    ) -> AsyncGenerator[Happened, None]:
        """Yield what happens in a context; it ends when the context is closed and all is told.

        Messages come by their places. Of the header, tasks and artifacts comes what they are now, by the number of
        their newest change: of several changes meanwhile, the last. What is taken back comes in the same order, behind
        the messages.

        Args:
            context_id: Which.
            seq_from: The first message; 0: from the first on.
            change_after: Behind which change.
            until_now: End when all is told that is there.
            principal: Who watches.
            check: Raises if the caller may not go on.

        Raises:
            ContextNotFound: there is none, or none any more.
            TooManyCalls: there are as many watches as there may be.
            Unavailable: the process stops, or cannot see: watch again from where it was.
            InvalidArgument: a place is negative; and the errors of `check`.
        """
        for name, value in (("seq_from", seq_from), ("change_after", change_after)):
            if value < 0:
                raise InvalidArgument(f"{name} is negative", field=name)
        place, key = Place(self._places), (principal.tenant_id, context_id)
        try:
            place.take()
            place.belongs_to(principal)
            if await self._log.read(context_id, principal=principal) is None:
                raise not_found(context_id)
            self._watchers[key] += 1
            try:
                seq = max(seq_from, 1)
                async with aclosing(self._told(key, seq, change_after, until_now, principal, check)) as told:
                    async for happened in told:
                        yield happened
            finally:
                self._watchers[key] -= 1
                if not self._watchers[key]:
                    del self._watchers[key]
                    self._marks.pop(key, None)
        finally:
            place.give_back()

    async def _told(
        self,
        key: tuple[UUID, UUID],
        seq: int,
        change: int,
        until_now: bool,
        principal: Principal,
        check: Callable[[], Awaitable[None]],
    ) -> AsyncGenerator[Happened, None]:
        context_id, told, first_look = key[1], None, self._begun + 1  # what was seen before may be old
        loop = asyncio.get_running_loop()
        said_at = checked_at = loop.time()
        while True:
            if loop.time() - checked_at >= CHECK_S:
                await check()
                checked_at = loop.time()
            mark = self._marks.get(key)
            if mark is None or mark == told or self._done < first_look:
                if loop.time() - said_at >= SILENT_S:
                    yield Happened(what=None, seq_from=seq, change_after=change)
                    said_at = loop.time()
                await self._next_look()
                continue
            if mark.is_gone:
                raise not_found(context_id)
            while seq <= mark.seq:
                messages = await self._log.page(
                    context_id, principal=principal, seq_from=seq, seq_to=mark.seq, count=_MESSAGES, newest_first=False
                )
                if messages is None:
                    raise not_found(context_id)
                for message in messages:
                    seq = message.seq + 1
                    yield Happened(what=message, seq_from=seq, change_after=change)
                if not messages:  # the rest is retracted
                    seq = mark.seq + 1
            while change < mark.change:
                changed = await self._changed(context_id, change, mark, principal)
                for number, what in changed:
                    change = number
                    yield Happened(what=what, seq_from=seq, change_after=change)
                if not changed:  # what changed then has changed again since
                    change = mark.change
            said_at = loop.time()
            told = mark
            if mark.is_closed or until_now:
                return

    async def _changed(
        self, context_id: UUID, after: int, mark: Mark, principal: Principal
    ) -> list[tuple[int, Change]]:
        """Return what changed behind a number, up to a mark, in order; all of it was there before this is asked."""
        which = {"after": after, "upto": mark.change, "count": _CHANGES}
        several: list[Sequence[tuple[int, Change]]] = [
            await read(context_id, principal=principal, **which)
            for read in (self._log.retracted, self._tasks.changed, self._artifacts.changed)
        ]
        last = min([mark.change, *(many[-1][0] for many in several if len(many) == _CHANGES)])
        if mark.header_change > after and (header := await self._log.read(context_id, principal=principal)):
            several.append([(header.header_change, header)])
        return sorted((one for many in several for one in many if one[0] <= last), key=lambda one: one[0])

    async def _look(self) -> None:
        self._begun = number = self._begun + 1
        watched: dict[UUID, list[UUID]] = {}
        for tenant_id, context_id in self._watchers:
            watched.setdefault(tenant_id, []).append(context_id)
        for tenant_id, context_ids in watched.items():
            rows = await self._database.tenant(tenant_id).query(_MARKS, (tenant_id, context_ids))
            found = {row.context_id: _mark(row) for row in rows}
            for context_id in context_ids:
                if (tenant_id, context_id) in self._watchers:
                    self._marks[tenant_id, context_id] = found.get(context_id, _GONE)
        self._done = number

    async def _next_look(self) -> None:
        looked = self._looked
        if not self._is_ending:
            await looked.wait()
        if self._is_ending:
            raise Unavailable("the service stops; watch again from where you were")
        if self._failure:
            raise self._failure

    def _wake(self) -> None:
        looked, self._looked = self._looked, asyncio.Event()
        looked.set()


def _mark(row: Row) -> Mark:
    return Mark(
        seq=row.last_seq,
        change=row.last_change,
        header_change=row.header_change,
        is_closed=row.is_closed,
        is_gone=False,
    )
