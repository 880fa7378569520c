"""Watches contexts: streams events as they happen, from the positions that a watcher has reached.

The lookout reports the newest position of a context; the watcher then reads the events as its own principal. The caller
keeps its positions: after any restart it continues from them and misses nothing.
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
from context_service.contexts.store.log import Log
from context_service.contexts.store.tasks import TaskRows
from context_service.contexts.store.watch import MARKS
from context_service.kernel.lookout import Kind, Lookout, Nothing
from contextkeep.errors import InvalidArgument
from service_runtime.postgres import Row
from service_runtime.rpc.principal import Principal

_MESSAGES = 100  # the most messages of one query
_CHANGES = 10  # the most changes of one query; the status of a task may be large


Change = Retracted | Context | Task | Artifact  # events that are numbered among the changes of their context


class Mark(NamedTuple):
    """The newest `seq` and change number of a context."""

    seq: int
    change: int
    header_change: int
    is_closed: bool


def _mark(row: Row) -> Mark:
    return Mark(seq=row.last_seq, change=row.last_change, header_change=row.header_change, is_closed=row.is_closed)


_CONTEXT = Kind(MARKS, _mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event, or a heartbeat without one, and the positions from which to continue."""

    what: Message | Change | None
    seq_from: int
    change_after: int


class Watching:
    """Streams the events of contexts to callers.

    Args:
        lookout: Reports the newest positions of contexts.
        log: The messages and headers of the contexts.
        tasks: The tasks of the contexts.
        artifacts: The artifacts of those tasks.
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
        """Yield the events of a context; end when the context is closed and all its events were sent.

        Messages come in the order of their places. After them come the header, tasks and artifacts in their current
        state, and retractions, ordered by the number of the newest change: several changes of one thing are one event.

        Args:
            context_id: The id of the context.
            seq_from: The `seq` of the first message to send; 0 begins with the oldest.
            change_after: The number of the last change that the caller has; later changes are sent.
            until_now: End when all current events were sent.
            principal: The caller; its tenant and bounds limit the rows.
            check: Raises if the caller may no longer watch.

        Raises:
            ContextNotFound: the context does not exist, or was deleted meanwhile.
            TooManyCalls: the limit of watches is reached.
            Unavailable: the process stops, or cannot read the events: watch again from the last positions.
            InvalidArgument: a position is negative.
            Also the errors of `check`.
        """
        for name, value in (("seq_from", seq_from), ("change_after", change_after)):
            if value < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
        with self._lookout.slot(principal):
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
                    async with aclosing(self._events_until(context_id, mark, seq, change, principal)) as events:
                        async for happened in events:
                            yield happened
                    seq, change = max(seq, mark.seq + 1), max(change, mark.change)
                    if mark.is_closed or until_now:
                        return

    async def _events_until(
        self, context_id: UUID, mark: Mark, seq: int, change: int, principal: Principal
    ) -> AsyncGenerator[Happened, None]:
        """Yield the events from two positions on, up to a mark."""
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
            changed = await self._changes(context_id, change, mark, principal)
            for number, what in changed:
                change = number
                yield Happened(what=what, seq_from=seq, change_after=change)
            if not changed:  # all things that changed up to the mark have changed again since, so they come later
                change = mark.change

    async def _changes(
        self, context_id: UUID, after: int, mark: Mark, principal: Principal
    ) -> list[tuple[int, Change]]:
        """Return the changes after a number, up to a mark, in order."""
        which = {"after": after, "upto": mark.change, "count": _CHANGES}
        several: list[Sequence[tuple[int, Change]]] = [
            await read(context_id, principal=principal, **which)
            for read in (self._log.retracted, self._tasks.changed, self._artifacts.changed)
        ]
        last = min([mark.change, *(many[-1][0] for many in several if len(many) == _CHANGES)])
        if mark.header_change > after and (header := await self._log.read(context_id, principal=principal)):
            several.append([(header.header_change, header)])
        return sorted((pair for many in several for pair in many if pair[0] <= last), key=lambda pair: pair[0])
