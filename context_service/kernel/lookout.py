"""The lookout: how far things are that somebody watches, asked for all watchers of a process at once.

It looks at each tenant whose things are watched, in one statement a kind, however many watch. Marks are numbers and
times: who is told that there is more reads it with its own eyes, behind its own walls.
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
from service_runtime.auth import Principal
from service_runtime.places import CallSlot, Places
from service_runtime.postgres import Across, Database, Row

_log = logging.getLogger("lookout")

POLL_S = 0.2  # from one look to the next
SILENT_S = 15.0  # then a watcher hears that nothing happens: what is silent for longer looks broken
LOOK_S_MAX = 5.0  # that one tenant's database may take: the watchers of all others wait as long
CHECK_S = 5.0  # from one look at the watcher's credential to the next

_M = TypeVar("_M")


@dataclass(frozen=True, slots=True, eq=False)
class Kind(Generic[_M]):
    """A kind of what is watched.

    Attributes:
        statement: Takes a tenant and ids, and gives a row for each of those that are there, with its `watched_id`.
        mark: Returns of such a row how far it is: what compares.
    """

    statement: Across
    mark: Callable[[Row], _M]


class Nothing(Enum):
    """What a watcher hears that is no mark."""

    HAPPENED = "for a while"
    IS_THERE = "any more"


_Key = tuple[UUID, Kind[Any], UUID]


class Lookout:
    """Tells watchers how far what they watch is.

    Args:
        database: Where it is.
        places: Of watches: how many there may be, and whose.
    """

    def __init__(self, database: Database, *, places: Places) -> None:
        self._database = database
        self._places = places
        self._watchers: Counter[_Key] = Counter()
        self._marks: dict[_Key, Any] = {}
        self._begun = self._done = 0  # looks
        self._looked = asyncio.Event()  # set, and another one taken, after each look
        self._failures: dict[UUID, ContextKeepError] = {}  # by tenant: each lives in a database
        self._failure: ContextKeepError | None = None
        self._is_ending = False

    def end(self) -> None:
        """Let all watches end: the process stops."""
        self._is_ending = True
        self._wake()

    async def keep_looking(self) -> None:
        """Look how far things are that somebody watches, until cancelled."""
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
    def place(self, principal: Principal) -> Iterator[None]:
        """Hold one of the places of watches for the block.

        Raises:
            TooManyCalls: there are as many watches as there may be.
        """
        place = CallSlot(self._places)
        try:
            place.take()
            place.belongs_to(principal)
            yield
        finally:
            place.give_back()

    async def marks(
        self, kind: Kind[_M], watched_id: UUID, *, principal: Principal, check: Callable[[], Awaitable[None]]
    ) -> AsyncGenerator[_M | Nothing, None]:
        """Yield how far something is: now, and whenever it is another mark than was told last; it never ends.

        What a watcher may see it finds out itself, first.

        Args:
            kind: Of what.
            watched_id: Which.
            principal: Who watches.
            check: Raises if the caller may not go on.

        Raises:
            Unavailable: the process stops, or cannot see.
            ContextKeepError: those of `check`.
        """
        key = principal.tenant_id, kind, watched_id
        told: _M | Nothing = Nothing.HAPPENED
        first_look = self._begun + 1  # what was seen before may be old
        loop = asyncio.get_running_loop()
        said_at = checked_at = loop.time()
        self._watchers[key] += 1
        try:
            while True:
                if loop.time() - checked_at >= CHECK_S:
                    await check()
                    checked_at = loop.time()
                mark = self._marks.get(key, told)
                if mark == told or self._done < first_look:
                    if loop.time() - said_at >= SILENT_S:
                        yield Nothing.HAPPENED
                        said_at = loop.time()
                    await self._next_look(principal.tenant_id)
                else:
                    yield mark
                    told, said_at = mark, loop.time()
        finally:
            self._watchers[key] -= 1
            if not self._watchers[key]:
                del self._watchers[key]
                self._marks.pop(key, None)

    async def _look(self) -> None:
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
                failures[tenant_id] = error  # each of its watchers is told, and comes again
                continue
            found = {row.watched_id: kind.mark(row) for row in rows}
            for watched_id in watched_ids:
                if (key := (tenant_id, kind, watched_id)) in self._watchers:
                    self._marks[key] = found.get(watched_id, Nothing.IS_THERE)
        self._done = number

    async def _next_look(self, tenant_id: UUID) -> None:
        looked = self._looked
        if not self._is_ending:
            await looked.wait()
        if self._is_ending:
            raise Unavailable("the service stops; watch again from where you were")
        if failure := self._failures.get(tenant_id) or self._failure:
            raise failure

    def _wake(self) -> None:
        looked, self._looked = self._looked, asyncio.Event()
        looked.set()
