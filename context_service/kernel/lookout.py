"""Polling for watchers: one poll of the process serves all of its watchers.

Each tenant that has watchers is polled with one statement for each kind of watched thing. The results are *marks*:
numbers and times that show the progress of a thing. A watcher whose mark changed reads the rows itself, with its own
rights.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar
from uuid import UUID

from contextkeep.errors import ContextKeepError, Unavailable
from service_runtime.postgres import Across, Database, Row
from service_runtime.rpc.admission import CallSlot, CallSlots
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("lookout")

POLL_S = 0.2  # seconds between two polls
SILENT_S = 15.0  # after this time without a change a watcher gets a sign of life, because a silent stream looks broken
LOOK_S_MAX = 5.0  # the timeout for the poll of one tenant, because the watchers of all other tenants wait meanwhile
CHECK_S = 5.0  # seconds between two checks of the watcher's credential

_M = TypeVar("_M")


@dataclass(frozen=True, slots=True, eq=False)
class Kind(Generic[_M]):
    """A kind of watched things, such as contexts.

    Attributes:
        statement: The SQL that takes a tenant and ids, and returns a row for each id that exists, with its
            `watched_id`.
        mark: Returns the progress in such a row, as a value to compare.
    """

    statement: Across
    mark: Callable[[Row], _M]


class Nothing(Enum):
    """Signals to a watcher that are not marks."""

    HAPPENED = "for a while"
    IS_THERE = "any more"


_Key = tuple[UUID, Kind[Any], UUID]


class Lookout:
    """Tells watchers when the things that they watch have made progress.

    Args:
        database: The database that holds the watched things.
        slots: The limit on concurrent watches, also for each tenant.
    """

    def __init__(self, database: Database, *, slots: CallSlots) -> None:
        self._database = database
        self._slots = slots
        self._watchers: Counter[_Key] = Counter()
        self._marks: dict[_Key, Any] = {}
        self._begun = self._done = 0  # looks
        self._looked = asyncio.Event()  # set, and another one taken, after each look
        self._failures: dict[UUID, ContextKeepError] = {}  # by tenant, because each tenant is in one database
        self._failure: ContextKeepError | None = None
        self._is_ending = False

    def end(self) -> None:
        """End all watches, because the process stops."""
        self._is_ending = True
        self._wake()

    async def keep_looking(self) -> None:
        """Poll the watched things until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self._look()
                self._failure = None
            except Exception:
                _log.exception("watching failed")
                self._failure = Unavailable("nothing can be watched at present")
            self._wake()

    @contextmanager
    def slot(self, principal: Principal) -> Iterator[None]:
        """Hold one of the limited slots of watches during the block.

        Raises:
            TooManyCalls: all slots are in use.
        """
        slot = CallSlot(self._slots)
        try:
            slot.take()
            slot.belongs_to(principal)
            yield
        finally:
            slot.give_back()

    async def marks(
        self, kind: Kind[_M], watched_id: UUID, *, principal: Principal, check: Callable[[], Awaitable[None]]
    ) -> AsyncGenerator[_M | Nothing, None]:
        """Yield the mark of a thing: now, and whenever it has changed; it never ends by itself.

        The caller checks first that the watcher may see the thing.

        Args:
            kind: The kind of the watched thing.
            watched_id: The id of the watched thing.
            principal: The caller that watches; its tenant limits the rows.
            check: Awaited regularly; raises an error if the caller may no longer watch.

        Raises:
            Unavailable: the process stops, or cannot poll.
            ContextKeepError: an error of `check`.
        """
        key = principal.tenant_id, kind, watched_id
        last_mark: _M | Nothing = Nothing.HAPPENED
        first_look = self._begun + 1  # marks of earlier polls may be old
        loop = asyncio.get_running_loop()
        said_at = checked_at = loop.time()
        self._watchers[key] += 1
        try:
            while True:
                if loop.time() - checked_at >= CHECK_S:
                    await check()
                    checked_at = loop.time()
                mark = self._marks.get(key, last_mark)
                if mark == last_mark or self._done < first_look:
                    if loop.time() - said_at >= SILENT_S:
                        yield Nothing.HAPPENED
                        said_at = loop.time()
                    await self._next_look(principal.tenant_id)
                else:
                    yield mark
                    last_mark, said_at = mark, loop.time()
        finally:
            self._watchers[key] -= 1
            if not self._watchers[key]:
                del self._watchers[key]
                self._marks.pop(key, None)

    async def _look(self) -> None:
        """Poll all watched things once, and store their marks.

        If the database of a tenant does not answer in time, its watchers get the error; the other tenants are polled
        all the same.
        """
        self._begun = number = self._begun + 1
        watched: dict[tuple[UUID, Kind[Any]], list[UUID]] = {}
        for tenant_id, kind, watched_id in self._watchers:
            watched.setdefault((tenant_id, kind), []).append(watched_id)
        failures: dict[UUID, ContextKeepError] = {}
        self._failures = failures
        for (tenant_id, kind), watched_ids in watched.items():
            if tenant_id in failures:
                continue
            try:
                async with asyncio.timeout(LOOK_S_MAX):
                    rows = await self._database.tenant(tenant_id).query(kind.statement, (tenant_id, watched_ids))
            except TimeoutError:
                failures[tenant_id] = Unavailable("the database does not answer", dependency="postgres")
                continue
            except ContextKeepError as error:
                failures[tenant_id] = error  # each of its watchers gets it, and may watch again
                continue
            marks = {row.watched_id: kind.mark(row) for row in rows}
            for watched_id in watched_ids:
                if (key := (tenant_id, kind, watched_id)) in self._watchers:
                    self._marks[key] = marks.get(watched_id, Nothing.IS_THERE)
        self._done = number

    async def _next_look(self, tenant_id: UUID) -> None:
        """Wait until the next query for changes has ended.

        Raises:
            Unavailable: the service stops, or the query failed.
        """
        looked = self._looked
        if not self._is_ending:
            await looked.wait()
        if self._is_ending:
            raise Unavailable("the service is stopping; watch again from the last position that you read")
        if failure := self._failures.get(tenant_id) or self._failure:
            raise failure

    def _wake(self) -> None:
        looked, self._looked = self._looked, asyncio.Event()
        looked.set()
