"""The SQL of how far compiling is: one row for keys with the same bounds, which the compile under way keeps.

A compile has the row for as long as it renews it, which each of its transactions does. So one that stood still for too
long, and another began, writes nothing any more: what it read may be older than what the other one wrote.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import orjson

from context_service.compiled_pages.model import Audience, CompileProgress
from contextkeep.errors import CompileUnderWay
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Transaction
from service_runtime.sql_files import SqlFile

LEASE = timedelta(seconds=60)

SQL = SqlFile.of(__file__)
_TAKE = SQL["take"]
_KEEP = SQL["keep"]
_SAVE = SQL["save"]
_RELEASE = SQL["release"]


class CompileStates:
    """How far compiling is, of tenants; each time for a compile.

    Args:
        database: Where it is kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, principal: Principal, audience: Audience, compile_id: UUID) -> CompileProgress:
        """Begin a compile.

        Raises:
            CompileUnderWay: another one is.
        """
        rows = await self._database.of(principal).query(_TAKE, _named(principal.tenant_id, audience, compile_id))
        if not rows:
            raise _under_way()
        return CompileProgress(place=rows[0].place, definitions=rows[0].definitions)

    async def keep(self, transaction: Transaction, audience: Audience, compile_id: UUID) -> None:
        """Go on with a compile, which no other one takes the place of until the transaction ends.

        Raises:
            CompileUnderWay: another one did.
        """
        if not await transaction.query(_KEEP, _named(transaction.tenant_id, audience, compile_id)):
            raise _under_way()

    async def save(self, principal: Principal, audience: Audience, compile_id: UUID, reached: CompileProgress) -> None:
        """Say how far a compile is.

        Raises:
            CompileUnderWay: another one took its place.
        """
        named = {
            **_named(principal.tenant_id, audience, compile_id),
            "place": reached.place,
            "definitions": orjson.dumps(reached.definitions).decode(),
        }
        if not await self._database.of(principal).query(_SAVE, named):
            raise _under_way()

    async def release(self, principal: Principal, audience: Audience, compile_id: UUID) -> None:
        """End a compile: another one may begin."""
        await self._database.of(principal).query(_RELEASE, _named(principal.tenant_id, audience, compile_id))


def _named(tenant_id: UUID, audience: Audience, compile_id: UUID) -> dict[str, object]:
    return {"tenant_id": tenant_id, "audience_id": audience.id, "compile_id": compile_id, "lease": LEASE}


def _under_way() -> CompileUnderWay:
    return CompileUnderWay(
        "another compile of keys with these bounds is under way", retry_after_s=LEASE.total_seconds()
    )
