"""The SQL of definitions: a row for each version.

Who writes definitions of a tenant takes turns, by a lock of their own: there is none to lock before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import TypeAdapter

from context_service.compiled_pages.pure.definition import VERSIONS_MAX, Definition, DefinitionRules, DefinitionState
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Database, Row, Transaction

_RULES = TypeAdapter(DefinitionRules)

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('definitions of ' || %s::text, 0))"
_COLUMNS = """
    d.name, d.version, d.state, d.rules, d.created_by, d.created_at, d.approved_by, d.approved_at, d.retired_at,
    d.imported::text AS imported_json
"""
_READ = f"""
SELECT {_COLUMNS} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND (%(version)s = 0 OR d.version = %(version)s)
ORDER BY d.state = 'APPROVED' DESC, d.version DESC
LIMIT 1
"""  # noqa: S608 - constants
_NEWEST = f"""
SELECT {_COLUMNS} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s
ORDER BY d.version DESC
LIMIT 1
"""  # noqa: S608
_APPROVED = f"""
SELECT {_COLUMNS} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.state = 'APPROVED'
ORDER BY d.name COLLATE "C"
"""  # noqa: S608
_LIST = f"""
SELECT {_COLUMNS} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND (%(states)s::text[] = '{{}}' OR d.state = ANY (%(states)s::text[]))
    AND (d.name COLLATE "C" > %(after)s OR (d.name COLLATE "C" = %(after)s AND d.version < %(before)s))
ORDER BY d.name COLLATE "C", d.version DESC
LIMIT %(count)s
"""  # noqa: S608
_INSERT = f"""
INSERT INTO context.definition AS d (tenant_id, name, version, app_id, created_by, rules)
VALUES (%(tenant_id)s, %(name)s, %(version)s, %(app_id)s, %(by)s, %(rules)s::jsonb)
RETURNING {_COLUMNS}
"""  # noqa: S608
_FORGET = """
DELETE FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND d.version <= %(version)s - %(kept)s
    AND d.state <> 'APPROVED'
"""
_NAMES = "SELECT count(DISTINCT name) AS definitions FROM context.definition WHERE tenant_id = %s"
_APPROVE = f"""
UPDATE context.definition d SET state = 'APPROVED', approved_at = now(), approved_by = %(by)s, retired_at = NULL
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND d.version = %(version)s
RETURNING {_COLUMNS}
"""  # noqa: S608
_RETIRE = f"""
UPDATE context.definition d SET state = 'RETIRED', retired_at = now()
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s
    AND CASE WHEN %(version)s = 0 THEN d.state = 'APPROVED' ELSE d.version = %(version)s END
RETURNING {_COLUMNS}
"""  # noqa: S608


class DefinitionRows:
    """The definitions of tenants.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lock(self, transaction: Transaction) -> None:
        """Let nobody else write definitions of the tenant until the transaction ends."""
        await transaction.query(_LOCK, (transaction.tenant_id,))

    async def read(self, principal: Principal, name: str, version: int) -> Definition | None:
        """Return a version; 0: the one that is approved, else the newest. None: the caller sees none."""
        named = {"name": name, "version": version}
        rows = await self._database.of(principal).query(_READ, named)
        return _definition(rows[0]) if rows else None

    async def newest(self, transaction: Transaction, name: str) -> Definition | None:
        """Return the newest version; None: there is none."""
        rows = await transaction.query(_NEWEST, {"name": name})
        return _definition(rows[0]) if rows else None

    async def approved(self, principal: Principal) -> list[Definition]:
        """Return those that are approved and that the caller sees, by name."""
        rows = await self._database.of(principal).query(_APPROVED)
        return [_definition(row) for row in rows]

    async def page(
        self, principal: Principal, states: Sequence[DefinitionState], *, after: tuple[str, int], count: int
    ) -> list[Definition]:
        """Return versions by name, the newest of each first, from behind a name and a version on."""
        named = {
            "states": [state.value for state in states],
            "after": after[0],
            "before": after[1],
            "count": count,
        }
        return [_definition(row) for row in await self._database.of(principal).query(_LIST, named)]

    async def put(
        self, transaction: Transaction, name: str, rules: DefinitionRules, *, version: int, by: str
    ) -> tuple[Definition, int]:
        """Write a draft, and forget the oldest versions; return it, and how many definitions there are by name."""
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
        """Approve a version, and no other; None: there is none."""
        named = {"name": name, "version": version, "by": by}
        newest = await transaction.query(_READ, named)
        if not newest:
            return None
        before = _definition(newest[0])
        if before.state is DefinitionState.APPROVED:
            return before
        await transaction.query(_RETIRE, {**named, "version": 0})
        (row,) = await transaction.query(_APPROVE, named)
        return _definition(row)

    async def retire(self, transaction: Transaction, name: str, version: int) -> Definition | None:
        """Retire a version; 0: the one that is approved. None: there is none."""
        named = {"name": name, "version": version}
        rows = await transaction.query(_RETIRE, named)
        return _definition(rows[0]) if rows else None


def _definition(row: Row) -> Definition:
    return copied(Definition, row, state=DefinitionState(row.state), rules=_RULES.validate_python(row.rules))
