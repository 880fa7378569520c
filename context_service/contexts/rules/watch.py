"""Watching: what happens in a context, told as it happens, from the places on that a watcher has reached.

The lookout says how far a context is; what there is then a watcher reads with its own eyes, behind its own walls. It
keeps its places: after a restart of whatever it goes on with them, and nothing is missed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from context_service.contexts.model import Artifact, Context, Message, Retracted, Task
from context_service.contexts.rules.messages import not_found
from context_service.contexts.store.artifacts import ArtifactRows
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.contexts.store.log import Log
from context_service.contexts.store.tasks import TaskRows
from context_service.kernel.lookout import Kind, Lookout, Nothing
from contextkeep.errors import InvalidArgument
from service_runtime.auth import Principal
from service_runtime.postgres import Across, Row
from service_runtime.sql_files import SqlFile

_MESSAGES = 100  # that are read at once
_CHANGES = 10  # a status may be large

SQL = SqlFile.of(__file__, log=LOG_SQL)
_MARKS = Across(
    sql=SQL["marks"],
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


def _mark(row: Row) -> Mark:
    return Mark(seq=row.last_seq, change=row.last_change, header_change=row.header_change, is_closed=row.is_closed)


_CONTEXT = Kind(_MARKS, _mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened, or nothing for a while; and the places from which on there is more."""

    what: Message | Change | None
    seq_from: int
    change_after: int


class Watching:
    """Tells callers what happens in contexts.

    Args:
        lookout: Says how far they are.
        log: Their messages.
        tasks: Their tasks.
        artifacts: What these make.
    """

    def __init__(self, lookout: Lookout, *, log: Log, tasks: TaskRows, artifacts: ArtifactRows) -> None:
        self._lookout = lookout
        self._log = log
        self._tasks = tasks
        self._artifacts = artifacts

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
        with self._lookout.place(principal):
            if await self._log.read(context_id, principal=principal) is None:
                raise not_found(context_id)
            seq, change = max(seq_from, 1), change_after
            marks = self._lookout.marks(_CONTEXT, context_id, principal=principal, check=check)
            async with aclosing(marks):
                async for mark in marks:
                    if mark is Nothing.HAPPENED:
                        yield Happened(what=None, seq_from=seq, change_after=change)
                        continue
                    if mark is Nothing.IS_THERE:
                        raise not_found(context_id)
                    async with aclosing(self._told(context_id, mark, seq, change, principal)) as told:
                        async for happened in told:
                            yield happened
                    seq, change = max(seq, mark.seq + 1), max(change, mark.change)
                    if mark.is_closed or until_now:
                        return

    async def _told(
        self, context_id: UUID, mark: Mark, seq: int, change: int, principal: Principal
    ) -> AsyncGenerator[Happened, None]:
        """Yield what there is from two places on, up to a mark."""
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
