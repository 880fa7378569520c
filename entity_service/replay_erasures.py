"""Repeat the erasures of the Context Service's register in a graph that was restored from an older backup.

A line of the register has no name of a user but a hash, which is compared with the id of every user of the graph. An
erasure with a receipt in the database is done, so a repeat does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from entity_service.room import migrations
from entity_service.rules.erase_owned import OwnedEraser
from entity_service.settings import Settings
from entity_service.store.owned import BEGIN_REPLAYED, KNOWN_ERASURES, LEASE_S, STILL_OPEN, SUBJECTS_IN
from service_runtime.databases.schema import SchemaCheck
from service_runtime.erasure.erased import Erased, Replayed, looked_up, read, subjects_in
from service_runtime.postgres import Database, Tenant


async def replay(settings: Settings, path: Path) -> Replayed:
    """Erase the users of the graph whom the lines of a file name, and return when that is done.

    Raises:
        InvalidArgument: there is no such file, or a line is malformed.
        Unavailable: Postgres does not answer. The erasures that were begun are completed by the service.
        UnsafeRole: the database role could bypass row-level security.
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
            ids = [line.erasure_id for line in lines if line.tenant_id == tenant.tenant_id]
            while await tenant.query(STILL_OPEN, (tenant.tenant_id, ids)):
                if await eraser.erase_due():
                    await asyncio.sleep(LEASE_S)  # a replica of the service works on some of them
    return done


async def _begin(tenant: Tenant, lines: Sequence[Erased], done: Replayed) -> None:
    """Begin the erasures of a tenant that have no receipt, and count them in `done`."""
    subjects = partial(subjects_in, statements=SUBJECTS_IN)
    left, whom = await looked_up(tenant, lines, done, known=KNOWN_ERASURES, subjects=subjects)
    for line in left:
        subject = whom.get(line.erasure_id)
        await tenant.query(BEGIN_REPLAYED, {"erasure_id": line.erasure_id, "subject": subject})
        if subject is None:
            done.nobody += 1
        else:
            done.erased += 1
