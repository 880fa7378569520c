"""All tenants, for work in the background, which no caller asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from service_runtime.keys import NoSuchTenant
from service_runtime.postgres import Database, Tenant

_NAMED = "SELECT id FROM access.tenant WHERE name = %s"


async def in_turns(database: Database, work: Callable[[Tenant], Awaitable[tuple[int, bool]]]) -> int:
    """Do what is due of all tenants, some of each in turn: none waits for all of another. Return how much it was.

    Args:
        database: Of the tenants.
        work: Does some of one's, and returns how much, and whether there is more.

    Raises:
        Unavailable: Postgres does not answer.
    """
    done = 0
    busy = await database.tenants(reachable=True)
    while busy:
        still_busy = []
        for tenant in busy:
            count, more = await work(tenant)
            done += count
            if more:
                still_busy.append(tenant)
        busy = still_busy
    return done


async def tenant_named(database: Database, name: str) -> Tenant:
    """Return what works on the tenant with a name.

    Raises:
        NoSuchTenant: there is none.
    """
    for row in await database.untenanted(_NAMED, (name,)):
        return database.tenant(row.id)
    raise NoSuchTenant(f"there is no tenant {name!r}; `tenants list` shows them")
