"""All tenants, for work in the background, which no caller asked for."""

from __future__ import annotations

from service_runtime.postgres import Database, Tenant

_TENANTS = "SELECT id FROM access.tenant ORDER BY id"


async def all_tenants(database: Database) -> list[Tenant]:
    """Return what works on each tenant, in the order of their ids."""
    return [database.tenant(row.id) for row in await database.untenanted(_TENANTS)]
