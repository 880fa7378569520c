"""All tenants, for work in the background, which no caller asked for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from uuid import UUID

from service_runtime.auth.keys import NoSuchTenant
from service_runtime.background_work import background
from service_runtime.background_work.due_work import Queue
from service_runtime.postgres import Database, Tenant
from service_runtime.statements.sql_files import SqlFile

_log = logging.getLogger("rounds")

LOOKS_S = 0.25  # seconds of a round for looking at tenants without work; more if the work takes longer
LOOK_AGAIN_S = 1.0  # seconds between two rounds without work, while a step still runs
FAILED_S = 30.0  # seconds until the next step of a tenant whose step failed

SQL = SqlFile.of(__file__)
_NAMED = SQL["named"]

Step = Callable[[Tenant], Awaitable[tuple[int, bool]]]


class Rounds:
    """A fair queue of background work: a step of each tenant in turn, round after round.

    Each round goes through the tenants in the same order, so work that arrives waits for at most one step of each other
    tenant, however much these have queued. Polling tenants without work takes no more time than the work of the
    round before, or `LOOKS_S`: with very many tenants, a round skips some of them, and the next one looks at those.

    Args:
        database: The database whose tenants take turns.
        step: Does a bounded amount of a tenant's work; returns how much it did, and whether there is more.
        at_once: Largest number of steps at once, each of another tenant.
        ends_at: Errors of a step that all other steps would get, too: they end the run.
        queue: The queue of the work, if it has one: then only tenants with due work take turns.
    """

    def __init__(
        self,
        database: Database,
        step: Step,
        *,
        at_once: int = 1,
        ends_at: type[Exception] | tuple[type[Exception], ...] = (),
        queue: Queue | None = None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._step = step
        self._at_once = at_once
        self._ends_at = ends_at
        self._first_after = UUID(int=0)  # the tenant whose step ended the last run: the next one begins after it

    async def run(self, among: Callable[[], Awaitable[Sequence[Tenant]]] | None = None) -> int:
        """Do rounds until one finds nothing to do; return how much was done.

        Args:
            among: Returns the tenants of each round; without it a round takes those with due work, or all tenants.

        Raises:
            Unavailable: Postgres does not answer.
            Exception: the first one that a step of a tenant raised, once the others are served; or one of `ends_at`.
        """
        if among is None and self._queue is not None:
            among = partial(self._queue.tenants, self._database)
        run = _Run(self, among or partial(self._database.tenants, reachable=True))
        tasks = [asyncio.create_task(run.work()) for _ in range(self._at_once)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if run.error is not None:
            raise run.error
        return run.done

    async def keep_running(self, run: Callable[[], Awaitable[int]], *, interval_s: float) -> None:
        """Repeat runs until cancelled; while the queue has no due work, all queues together poll by one statement.

        Args:
            run: Does one run, and returns how much it did.
            interval_s: Seconds from the end of one run to the start of the next.
        """
        await background.repeating(run, interval_s=interval_s, wait=partial(self.wait, interval_s))

    async def wait(self, pause_s: float) -> None:
        """Return when the queue has due work, or at once if there is no queue.

        Args:
            pause_s: Longest pause between two polls.

        Raises:
            Unavailable: Postgres does not answer.
        """
        if self._queue is not None:
            await self._queue.wait(self._database, pause_s=pause_s)


class _Run:
    """One run of rounds."""

    def __init__(self, rounds: Rounds, among: Callable[[], Awaitable[Sequence[Tenant]]]) -> None:
        """Begin a run; its first round starts after the tenant that the rounds before ended with."""
        self.done = 0
        self.error: Exception | None = None
        self._rounds = rounds
        self._among = among
        self._first_after = rounds._first_after
        self._coming: deque[Tenant] = deque()  # in this round
        self._skipped: list[Tenant] = []
        self._busy: dict[UUID, Tenant] = {}  # had more after their last step
        self._working: set[UUID] = set()
        self._failed: dict[UUID, float] = {}  # until when they are left out
        self._has_looked = False
        self._worked_s = self._looked_s = 0.0  # in this round
        self._looks_s = LOOKS_S  # seconds that this round may look
        self._choosing = asyncio.Lock()
        self._step_ended = asyncio.Event()

    async def work(self) -> None:
        """Do one step after the other."""
        while True:
            async with self._choosing:
                tenant = await self._next()
            if tenant is None:
                return
            began = time.monotonic()
            done, more = 0, False
            try:
                done, more = await self._rounds._step(tenant)
            except self._rounds._ends_at:
                self._rounds._first_after = tenant.tenant_id
                raise
            except Exception as error:
                _log.warning(
                    "step for a tenant failed", extra={"tenant_id": str(tenant.tenant_id), "error": repr(error)}
                )
                self.error = self.error or error
                self._failed[tenant.tenant_id] = began + FAILED_S
            finally:
                self._working.discard(tenant.tenant_id)
                self._step_ended.set()
            self.done += done
            if more:
                self._busy[tenant.tenant_id] = tenant
            if done or more:
                self._worked_s += time.monotonic() - began
            else:
                self._looked_s += time.monotonic() - began

    async def _next(self) -> Tenant | None:
        """Return the tenant whose step is next, or None if nothing is left to do."""
        while True:
            while self._coming:
                tenant = self._coming.popleft()
                if tenant.tenant_id in self._busy or not self._busy or self._looked_s <= self._looks_s:
                    self._busy.pop(tenant.tenant_id, None)
                    self._working.add(tenant.tenant_id)
                    return tenant
                self._skipped.append(tenant)
            if self._has_looked and not self._skipped and not self._busy:
                # Work that arrives meanwhile does not wait for the end of a step that takes long.
                if self._working:
                    self._step_ended.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_AGAIN_S):
                            await self._step_ended.wait()
                if not self._working and not self._busy:
                    return None
            await self._begin_round()

    async def _begin_round(self) -> None:
        """Choose the tenants of the next round, in the order of their ids.

        The tenants are those that the last round skipped and those that had more to do; or, if it skipped none, all
        tenants without a step under way and without a recent failure.
        """
        self._looks_s = max(self._worked_s, LOOKS_S)
        self._worked_s = self._looked_s = 0.0
        if self._skipped:
            tenants = [*self._skipped, *self._busy.values()]
            self._skipped = []
        else:
            self._has_looked = True
            now = time.monotonic()
            self._failed = {tenant_id: until for tenant_id, until in self._failed.items() if until > now}
            left_out = self._working | self._failed.keys()
            tenants = [tenant for tenant in await self._among() if tenant.tenant_id not in left_out]
            there = {tenant.tenant_id for tenant in tenants}
            self._busy = {tenant_id: tenant for tenant_id, tenant in self._busy.items() if tenant_id in there}
        self._coming = deque(
            sorted(tenants, key=lambda candidate: (candidate.tenant_id <= self._first_after, candidate.tenant_id))
        )


async def tenant_named(database: Database, name: str) -> Tenant:
    """Return the tenant with a name, for background work.

    Raises:
        NoSuchTenant: no tenant has this name.
    """
    for row in await database.untenanted(_NAMED, (name,)):
        return database.tenant(row.id)
    raise NoSuchTenant(f"there is no tenant {name!r}; `tenants list` shows them")
