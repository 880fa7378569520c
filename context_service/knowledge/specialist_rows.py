"""The SQL of specialists: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from service_runtime.auth import Principal
from service_runtime.postgres import Database, Row, Transaction

_COLUMNS = """specialist_id, display_name, instructions, node_ids, steps_max, is_default, version, created_at,
    updated_at, updated_by"""
_LIST = f"""
SELECT {_COLUMNS} FROM context.specialist WHERE tenant_id = %(tenant_id)s AND specialist_id > %(after)s
ORDER BY specialist_id LIMIT %(count)s
"""  # noqa: S608
_PUT = f"""
INSERT INTO context.specialist
    (tenant_id, specialist_id, display_name, instructions, node_ids, steps_max, is_default, updated_by)
VALUES (%(tenant_id)s, %(specialist_id)s, %(display_name)s, %(instructions)s, %(node_ids)s::uuid[], %(steps_max)s,
    %(is_default)s, %(by)s)
ON CONFLICT (tenant_id, specialist_id) DO UPDATE SET display_name = EXCLUDED.display_name,
    instructions = EXCLUDED.instructions, node_ids = EXCLUDED.node_ids, steps_max = EXCLUDED.steps_max,
    is_default = EXCLUDED.is_default, updated_by = EXCLUDED.updated_by, updated_at = now(),
    version = context.specialist.version + 1
RETURNING {_COLUMNS}
"""  # noqa: S608
_COUNT = "SELECT count(*) AS specialists FROM context.specialist WHERE tenant_id = %s"
# One of a tenant at a time counts, and puts.
_COUNTING = "SELECT pg_advisory_xact_lock(hashtextextended('context.specialist ' || %s::text, 0))"
_DELETE = "DELETE FROM context.specialist WHERE tenant_id = %s AND specialist_id = %s RETURNING specialist_id"


class SpecialistRows:
    """The specialists of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, principal: Principal, *, after: str, count: int) -> Sequence[Row]:
        """Return specialists by their ids, from behind `after` on."""
        door = self._database.of(principal)
        return await door.query(_LIST, {"tenant_id": door.tenant_id, "after": after, "count": count})

    async def put(self, transaction: Transaction, specialist_id: str, **said: Any) -> tuple[Row, int]:
        """Write a specialist; return its row, and how many there are now."""
        await transaction.query(_COUNTING, (transaction.tenant_id,))
        named = {"tenant_id": transaction.tenant_id, "specialist_id": specialist_id}
        (row,) = await transaction.query(_PUT, {**named, **said})
        return row, (await transaction.query(_COUNT, (transaction.tenant_id,)))[0].specialists

    async def delete(self, transaction: Transaction, specialist_id: str) -> bool:
        """Remove a specialist, and say whether there was one."""
        return bool(await transaction.query(_DELETE, (transaction.tenant_id, specialist_id)))
