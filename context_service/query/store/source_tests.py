"""The SQL of stored tests of queries. Only administrators see them, and they see those of all users of the tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from service_runtime.postgres import Across, Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied, fields_of

KEPT_MAX = 200  # only the newest tests of a tenant are kept

_WHY = "an administrator tests the sources of the tenant, for any of its users"


def _of_all(sql: str) -> Across:
    return Across(sql=sql, subjects=True, why=_WHY)


SQL = SqlFile.of(__file__, kept_max=KEPT_MAX)
_INSERT = _of_all(SQL["insert"])
_READ = _of_all(SQL["read"])
_PAGE = _of_all(SQL["page"])
_DELETE = _of_all(SQL["delete"])
_LAST = _of_all(SQL["last"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTest:
    """A stored test of a query.

    Attributes:
        owner_user_id: The user for whom it ran; empty if there was none.
        outcome: The results of the providers, as JSON.
        question: The request of the query, serialized.
        answer: The whole answer, in bytes; empty in lists.
    """

    test_id: UUID
    created_at: datetime | None = None
    replay_of: UUID | None = None
    context_ids: Sequence[UUID] = ()
    owner_user_id: str
    created_by: str
    label: str
    warnings: Sequence[str]
    outcome: Mapping[str, Any]
    question: bytes
    answer: bytes
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


class SourceTestRows:
    """The stored tests of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, test: SourceTest, *, principal: Principal) -> SourceTest:
        """Store a test; if the tenant has too many, delete its oldest one."""
        parameters = {
            **fields_of(test),
            "context_ids": list(test.context_ids),
            "warnings": list(test.warnings),
            "outcome": orjson.dumps(test.outcome).decode(),
        }
        (row,) = await self._query(_INSERT, principal, **parameters)
        return _test(row)

    async def read(self, test_id: UUID, *, principal: Principal) -> SourceTest | None:
        """Return a test with its answer, or None if there is none."""
        rows = await self._query(_READ, principal, test_id=test_id)
        return _test(rows[0]) if rows else None

    async def page(self, *, before: tuple[datetime, UUID] | None, count: int, principal: Principal) -> list[SourceTest]:
        """Return tests without their answers, the newest first."""
        at, test_id = before or (None, None)
        rows = await self._query(_PAGE, principal, before_at=at, before_id=test_id, count=count)
        return [_test(row) for row in rows]

    async def delete(self, test_id: UUID, *, principal: Principal) -> bool:
        """Delete a test, and say whether it existed."""
        return bool(await self._query(_DELETE, principal, test_id=test_id))

    async def last(self, *, principal: Principal) -> list[tuple[Mapping[str, Any], datetime]]:
        """Return the last result of each provider, and its time."""
        return [(row.provider, row.created_at) for row in await self._query(_LAST, principal)]

    async def _query(self, statement: Across, principal: Principal, **parameters: object) -> list[Row]:
        tenant = self._database.of(principal)
        return await tenant.query(statement, {**parameters})


def _test(row: Row) -> SourceTest:
    return copied(SourceTest, row, question=bytes(row.question), answer=bytes(row.answer), context_ids=())
