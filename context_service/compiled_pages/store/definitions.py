"""The SQL of definitions: a row for each version.

Writers of a tenant's definitions take turns with a lock of its own, because before the first definition there is no row
to lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import TypeAdapter

from context_service.compiled_pages.pure.definition import VERSIONS_MAX, Definition, DefinitionRules, DefinitionState
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_RULES = TypeAdapter(DefinitionRules)

SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_READ = SQL["read"]
_NEWEST = SQL["newest"]
_APPROVED = SQL["approved"]
_LIST = SQL["list"]
_INSERT = SQL["insert"]
_FORGET = SQL["forget"]
_NAMES = SQL["names"]
_APPROVE = SQL["approve"]
_RETIRE = SQL["retire"]


class DefinitionRows:
    """The SQL statements on definitions.

    Args:
        database: The database that holds the definitions.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lock(self, transaction: Transaction) -> None:
        """Lock the definitions of the tenant for writing until the transaction ends."""
        await transaction.query(_LOCK, (transaction.tenant_id,))

    async def read(self, principal: Principal, name: str, version: int) -> Definition | None:
        """Return a version, or None if the caller sees none; 0 returns the approved one, or else the newest."""
        parameters = {"name": name, "version": version}
        rows = await self._database.of(principal).query(_READ, parameters)
        return _definition(rows[0]) if rows else None

    async def newest(self, transaction: Transaction, name: str) -> Definition | None:
        """Return the newest version, or None if there is none."""
        rows = await transaction.query(_NEWEST, {"name": name})
        return _definition(rows[0]) if rows else None

    async def approved(self, principal: Principal) -> list[Definition]:
        """Return the approved versions that the caller sees, by name."""
        rows = await self._database.of(principal).query(_APPROVED)
        return [_definition(row) for row in rows]

    async def page(
        self, principal: Principal, states: Sequence[DefinitionState], *, after: tuple[str, int], count: int
    ) -> list[Definition]:
        """Return versions by name, the newest of each first, after a name and a version."""
        parameters = {
            "states": [state.value for state in states],
            "after": after[0],
            "before": after[1],
            "count": count,
        }
        return [_definition(row) for row in await self._database.of(principal).query(_LIST, parameters)]

    async def put(
        self, transaction: Transaction, name: str, rules: DefinitionRules, *, version: int, by: str
    ) -> tuple[Definition, int]:
        """Write a draft, and delete the oldest versions; return the draft, and how many definitions the tenant has."""
        named: dict[str, Any] = {
            "name": name,
            "version": version,
            "app_id": rules.app_id,
            "by": by,
            "rules": orjson.dumps(rules).decode(),
            "kept": VERSIONS_MAX,
        }
        (row,) = await transaction.query(_INSERT, named)
        await transaction.query(_FORGET, named)
        (count,) = await transaction.query(_NAMES, (transaction.tenant_id,))
        return _definition(row), count.definitions

    async def approve(self, transaction: Transaction, name: str, version: int, *, by: str) -> Definition | None:
        """Approve a version, and retire the one that was approved. Return None if there is no such version."""
        parameters = {"name": name, "version": version, "by": by}
        newest = await transaction.query(_READ, parameters)
        if not newest:
            return None
        before = _definition(newest[0])
        if before.state is DefinitionState.APPROVED:
            return before
        await transaction.query(_RETIRE, {**parameters, "version": 0})
        (row,) = await transaction.query(_APPROVE, parameters)
        return _definition(row)

    async def retire(self, transaction: Transaction, name: str, version: int) -> Definition | None:
        """Retire a version, or with 0 the approved one. Return None if there is none."""
        parameters = {"name": name, "version": version}
        rows = await transaction.query(_RETIRE, parameters)
        return _definition(rows[0]) if rows else None


def _definition(row: Row) -> Definition:
    return copied(Definition, row, state=DefinitionState(row.state), rules=_RULES.validate_python(row.rules))
