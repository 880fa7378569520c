"""Erasing again: whom a register of the Context Service names, in a graph that was restored from before that.

A line names nobody: it has a hash, which is compared with every id of a user that the graph has. What has its receipt
is done, so doing it again does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from entity_service.app import migrations
from entity_service.rules.erase_owned import OwnedEraser
from entity_service.settings import Settings
from entity_service.store.owned import BEGIN_REPLAYED, KNOWN_ERASURES, LEASE_S, STILL_OPEN, SUBJECTS_IN
from service_runtime.erased import Erased, Replayed, looked_up, read, subjects_in
from service_runtime.postgres import Database, Tenant
from service_runtime.schema import SchemaCheck


async def replay(settings: Settings, path: Path) -> Replayed:
    """Erase whom the lines of a file name and the graph has, for an operator, and stay until it is done.

    Raises:
        InvalidArgument: there is no such file, or a line is malformed.
        Unavailable: Postgres does not answer. So far and no further.
        UnsafeRole: as `app.running`.
    """
    lines = read(path)
    opening = Database.open(
        settings.database,
        others=settings.other_databases,
        connections_max=settings.database_pool_max,
        prepared_statements=settings.database_prepared_statements,
        name="entity-service",
    )
    async with opening as database:
        await SchemaCheck(database, migrations()).ready()
        tenants = await database.tenants(reachable=True)
        done = Replayed(databases_away=database.away)
        for tenant in tenants:
            await _begin(tenant, lines, done)
        eraser = OwnedEraser(database)
        for tenant in tenants:
            ids = [one.erasure_id for one in lines if one.tenant_id == tenant.tenant_id]
            while await tenant.query(STILL_OPEN, (tenant.tenant_id, ids)):
                if await eraser.erase_due():
                    await asyncio.sleep(LEASE_S)  # a replica is at some
    return done


async def _begin(tenant: Tenant, lines: Sequence[Erased], done: Replayed) -> None:
    subjects = partial(subjects_in, statements=SUBJECTS_IN)
    left, whom = await looked_up(tenant, lines, done, known=KNOWN_ERASURES, subjects=subjects)
    for one in left:
        subject = whom.get(one.erasure_id)
        await tenant.query(BEGIN_REPLAYED, {"erasure_id": one.erasure_id, "subject": subject})
        if subject is None:
            done.nobody += 1
        else:
            done.erased += 1
