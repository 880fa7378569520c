"""Erasing again: whom a register names, in a database that was restored from before that.

A line names nobody: it has a hash, which is compared with every id of a user that the database has. What has its
receipt is done, so doing it again does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from context_service.erasure import store as rows
from context_service.erasure.rules import holds
from context_service.erasure.rules.subjects import LEASE_S, SubjectEraser, begin
from service_runtime.erased import Erased, Replayed, looked_up, subjects_in
from service_runtime.postgres import Database, Tenant

_OPERATOR = "operator"


class Replaying:
    """Erases again, and stays until it is done.

    Args:
        database: The one that was restored.
        eraser: Removes.
        settle: Does what others do behind that where services run.
    """

    def __init__(self, database: Database, eraser: SubjectEraser, *, settle: Callable[[], Awaitable[object]]) -> None:
        self._database = database
        self._eraser = eraser
        self._settle = settle

    async def run(self, lines: Sequence[Erased]) -> Replayed:
        """Erase whom lines name and the database has, but for what a hold forbids, and return what came of them.

        Raises:
            Unavailable: Postgres or the place of the blobs does not answer. So far and no further.
        """
        tenants = await self._database.tenants(reachable=True)
        done = Replayed(databases_away=self._database.away)
        for tenant in tenants:
            await self._of_tenant(tenant, lines, done)
        return done

    async def _of_tenant(self, tenant: Tenant, lines: Sequence[Erased], done: Replayed) -> None:
        left, whom = await looked_up(tenant, lines, done, known=rows.KNOWN, subjects=_subjects)
        if not left:
            return
        begun = []
        for one in left:
            subject = whom.get(one.erasure_id)
            if subject is None:
                done.nobody += 1
            elif await holds.against(tenant, subject):
                done.held.append(str(one.erasure_id))
                continue
            else:
                work = partial(begin, subject=subject, requested_by=_OPERATOR, erasure_id=one.erasure_id)
                await tenant.transaction(work)
                done.erased += 1
            begun.append(one)
        named = {"erasure_ids": [one.erasure_id for one in begun]}
        while True:
            await self._eraser.erase_tenant(tenant)
            await self._settle()
            if not await tenant.query(rows.STILL_OPEN, named):
                break
            await asyncio.sleep(LEASE_S)  # of some, a replica removes the rest
        for one in begun:  # of nobody, and of somebody who was erased twice
            said = (tenant.tenant_id, one.erasure_id, one.subject_sha256, _OPERATOR)
            await tenant.query(rows.KEEP_RECEIPT, said)


async def _subjects(tenant: Tenant) -> AsyncIterator[set[str]]:
    async for subjects in subjects_in(tenant, rows.SUBJECTS_IN):
        yield subjects
    for door in {tenant, tenant.at_home()}:  # keys are at home, calls of administrators here
        yield {row.subject for row in await door.query(rows.SUBJECTS_OF_KEYS, (tenant.tenant_id,) * 2)}
