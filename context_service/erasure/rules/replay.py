"""Erases again, in a database that was restored from an older backup, the subjects of a register.

A line of the register has a hash instead of a name; the hash is compared with every user id in the database. An erasure
that has its receipt is done, so a replay is idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from context_service.erasure.rules import holds
from context_service.erasure.rules.subjects import LEASE_S, SubjectEraser, begin
from context_service.erasure.store import erasures as rows
from service_runtime.erasure.erased import Erased, Replayed, looked_up, subjects_in
from service_runtime.postgres import Database, Tenant

_OPERATOR = "operator"


class Replaying:
    """Erases the subjects of a register again, and waits until that is done.

    Args:
        database: The restored database.
        eraser: Does the erasures.
        settle: Awaited after each pass: does the follow-up work that the running services would do.
    """

    def __init__(self, database: Database, eraser: SubjectEraser, *, settle: Callable[[], Awaitable[object]]) -> None:
        self._database = database
        self._eraser = eraser
        self._settle = settle

    async def run(self, lines: Sequence[Erased]) -> Replayed:
        """Erase the subjects of lines that the database has, except those under a hold, and return the results.

        Raises:
            Unavailable: Postgres or the blob provider does not answer. Run it again for the rest.
        """
        tenants = await self._database.tenants(reachable=True)
        done = Replayed(databases_away=self._database.away)
        for tenant in tenants:
            await self._of_tenant(tenant, lines, done)
        return done

    async def _of_tenant(self, tenant: Tenant, lines: Sequence[Erased], done: Replayed) -> None:
        """Erase the subjects of a tenant's register lines, wait until that is done, and write the missing receipts.

        Subjects under a hold are left out, and counted in `done`. A replica may be doing one of the erasures: then this
        polls until its row is gone.
        """
        left, whom = await looked_up(tenant, lines, done, known=rows.KNOWN, subjects=_subjects)
        if not left:
            return
        begun = []
        for line in left:
            subject = whom.get(line.erasure_id)
            if subject is None:
                done.nobody += 1
            elif await holds.against(tenant, subject):
                done.held.append(str(line.erasure_id))
                continue
            else:
                work = partial(begin, subject=subject, requested_by=_OPERATOR, erasure_id=line.erasure_id)
                await tenant.transaction(work)
                done.erased += 1
            begun.append(line)
        parameters = {"erasure_ids": [line.erasure_id for line in begun]}
        while True:
            await self._eraser.erase_tenant(tenant)
            await self._settle()
            if not await tenant.query(rows.STILL_OPEN, parameters):
                break
            await asyncio.sleep(LEASE_S)  # a replica is removing the rest
        for line in begun:  # also for lines that match no user, and for a subject that was erased twice
            receipt = (tenant.tenant_id, line.erasure_id, line.subject_sha256, _OPERATOR)
            await tenant.query(rows.KEEP_RECEIPT, receipt)


async def _subjects(tenant: Tenant) -> AsyncIterator[set[str]]:
    """Yield the subjects that the rows of a tenant name, some at a time."""
    async for subjects in subjects_in(tenant, rows.SUBJECTS_IN):
        yield subjects
    # Keys are in the home database, and logs of administrators' calls are in the database of the tenant.
    for tenant_rows in {tenant, tenant.at_home()}:
        yield {row.subject for row in await tenant_rows.query(rows.SUBJECTS_OF_KEYS, (tenant.tenant_id,) * 2)}
