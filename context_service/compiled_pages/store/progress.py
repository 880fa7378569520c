"""The SQL of the progress of compiling: one row for all keys with the same bounds, which the running compile holds.

A compile holds the row by a lease, which each of its transactions renews. If it stood still for too long and another
compile began, it cannot write any more, because its data may be older than the data of the other compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import orjson

from context_service.compiled_pages.model import Audience, CompileProgress, LastCompile
from contextkeep.errors import CompileUnderWay
from service_runtime.postgres import Database, Transaction, json_rows
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

LEASE = timedelta(seconds=60)

SQL = SqlFile.of(__file__)
_TAKE = SQL["take"]
_KEEP = SQL["keep"]
_SAVE = SQL["save"]
_RELEASE = SQL["release"]
_LAST = SQL["last"]
_CONCERNS = SQL["concerns"]


class CompileStates:
    """The SQL statements on the progress of compiles.

    Args:
        database: The database that holds the progress.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, principal: Principal, audience: Audience, compile_id: UUID) -> CompileProgress:
        """Begin a compile.

        Raises:
            CompileUnderWay: another compile of this audience is running.
        """
        rows = await self._database.of(principal).query(_TAKE, _parameters(principal.tenant_id, audience, compile_id))
        if not rows:
            raise _under_way()
        return CompileProgress(place=rows[0].place, definitions=rows[0].definitions)

    async def keep(self, transaction: Transaction, audience: Audience, compile_id: UUID) -> None:
        """Renew the lease of a compile; no other compile can begin until the transaction ends.

        Raises:
            CompileUnderWay: another compile has taken over.
        """
        if not await transaction.query(_KEEP, _parameters(transaction.tenant_id, audience, compile_id)):
            raise _under_way()

    async def save(self, principal: Principal, audience: Audience, compile_id: UUID, reached: CompileProgress) -> None:
        """Store how far a compile has come.

        Raises:
            CompileUnderWay: another compile has taken over.
        """
        parameters = {
            **_parameters(principal.tenant_id, audience, compile_id),
            "place": reached.place,
            "definitions": orjson.dumps(reached.definitions).decode(),
        }
        if not await self._database.of(principal).query(_SAVE, parameters):
            raise _under_way()

    async def last(self, principal: Principal) -> LastCompile | None:
        """Return how far the last compile of keys with the caller's bounds has come; None if there was none."""
        rows = await self._database.of(principal).query(_LAST, {"audience_id": Audience.of(principal).id})
        return LastCompile(place=rows[0].place, compiled_at=rows[0].compiled_at) if rows else None

    async def concerns_pages(self, principal: Principal, touched: Mapping[str, int], types: Sequence[str]) -> bool:
        """Return whether changes of nodes, or new nodes of some types, change pages that the caller sees.

        Args:
            principal: The caller.
            touched: The bits of what changed, by the node's id.
            types: The types of the changed nodes.
        """
        changes = json_rows({"node_id": node_id, "bits": bits} for node_id, bits in touched.items())
        rows = await self._database.of(principal).query(_CONCERNS, {"touched": changes, "types": list(types)})
        return bool(rows[0].concerns)

    async def release(self, principal: Principal, audience: Audience, compile_id: UUID) -> None:
        """End the lease of a compile, so that another one may begin."""
        await self._database.of(principal).query(_RELEASE, _parameters(principal.tenant_id, audience, compile_id))


def _parameters(tenant_id: UUID, audience: Audience, compile_id: UUID) -> dict[str, object]:
    return {"tenant_id": tenant_id, "audience_id": audience.id, "compile_id": compile_id, "lease": LEASE}


def _under_way() -> CompileUnderWay:
    return CompileUnderWay(
        "another compile of keys with these bounds is under way", retry_after_s=LEASE.total_seconds()
    )
