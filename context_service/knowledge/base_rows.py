"""The SQL of knowledge bases: one row each, of which a caller sees those that it may name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.knowledge.knowledge_base import Base, BaseInput, Bedrock, DocumentState, Walls
from service_runtime.auth import Principal
from service_runtime.ids import new_id
from service_runtime.outbox import Outbox
from service_runtime.postgres import Database, Row, Transaction

DOCUMENT_TOPIC = "text of a document"  # that is to be read
DROP_TOPIC = "passages of a knowledge base"  # that are dropped behind its removal

# Who sees one that is not the tenant's: administrators, and the credential of an agent that has it. It is a part of
# each statement, so that one that may not be seen costs and answers what none does.
_SEEN = """(
    %(is_admin)s OR b.is_of_tenant OR (%(by_agent)s <> '' AND EXISTS (
        SELECT FROM context.agent a
        LEFT JOIN context.agent t ON t.tenant_id = a.tenant_id AND t.is_template AND t.agent_id = a.template_id
        WHERE a.tenant_id = %(tenant_id)s AND NOT a.is_template AND a.agent_id = %(by_agent)s
            AND CASE WHEN a.body -> 'knowledge_bases' = '[]'::jsonb THEN t.body -> 'knowledge_bases' ? b.name
                ELSE a.body -> 'knowledge_bases' ? b.name END
    ))
)"""
_COLUMNS = """
    b.base_id, b.name, b.description, b.is_of_tenant, b.document_count, b.size_bytes, b.version, b.created_at,
    b.updated_at, b.updated_by, b.graph_name, b.agent_bundle_id, b.app_id, b.bedrock_id, b.bedrock_region
"""
_READ = f"""
SELECT {_COLUMNS} FROM context.knowledge_base b
WHERE b.tenant_id = %(tenant_id)s AND b.name = %(name)s AND {_SEEN}
"""  # noqa: S608 - constants
_LOCK = f"{_READ} FOR UPDATE OF b"
_LIST = f"""
SELECT {_COLUMNS} FROM context.knowledge_base b
WHERE b.tenant_id = %(tenant_id)s AND b.name COLLATE "C" > %(after)s AND {_SEEN}
ORDER BY b.name COLLATE "C"
LIMIT %(count)s
"""  # noqa: S608
# What it is walled by is what stands on all that it has: it stays, and so does what it is a base of.
_PUT = f"""
INSERT INTO context.knowledge_base AS b (
    tenant_id, base_id, name, description, is_of_tenant, updated_by, graph_name, agent_bundle_id, app_id,
    bedrock_id, bedrock_region
) VALUES (
    %(tenant_id)s, %(base_id)s, %(name)s, %(description)s, %(is_of_tenant)s, %(by)s, %(graph_name)s,
    %(agent_bundle_id)s, %(app_id)s, %(bedrock_id)s, %(bedrock_region)s
)
ON CONFLICT (tenant_id, name) DO UPDATE
    SET description = excluded.description, is_of_tenant = excluded.is_of_tenant, updated_by = excluded.updated_by,
        updated_at = now(), version = b.version + 1
RETURNING {_COLUMNS}
"""  # noqa: S608
_COUNT = "SELECT count(*) AS bases FROM context.knowledge_base WHERE tenant_id = %s"
_COUNTED = """
UPDATE context.knowledge_base
SET document_count = document_count + %(more)s, size_bytes = size_bytes + %(more_bytes)s
WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s
RETURNING document_count, size_bytes
"""
_STATES = """
SELECT state, count(*) AS documents FROM context.knowledge_document WHERE tenant_id = %s AND base_id = %s GROUP BY state
"""
_DELETE = """
WITH documents AS (
    DELETE FROM context.knowledge_document WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s
    RETURNING document_id
), files AS (
    DELETE FROM context.knowledge_file f USING documents d
    WHERE f.tenant_id = %(tenant_id)s AND f.document_id = d.document_id
), owed AS (
    DELETE FROM context.outbox o USING documents d
    WHERE o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = d.document_id
)
DELETE FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s
"""


class BaseRows:
    """The bases of tenants.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dropping = Outbox("context", DROP_TOPIC)

    async def read(self, principal: Principal, name: str) -> Base | None:
        """Return a base and how far its documents are; None: there is none that the caller may see."""
        door = self._database.of(principal)
        for row in await door.query(_READ, {**_seen(principal), "name": name}):
            states = await door.query(_STATES, (principal.tenant_id, row.base_id))
            return _base(row, states)
        return None

    async def lock(self, transaction: Transaction, principal: Principal, name: str) -> Base | None:
        """Return a base that stays as it is until the transaction ends; None: as of `read`."""
        rows = await transaction.query(_LOCK, {**_seen(principal), "name": name})
        return _base(rows[0]) if rows else None

    async def names(self, principal: Principal, *, after: str, count: int) -> list[Base]:
        """Return those that the caller may see, by name, from behind `after` on."""
        said = {**_seen(principal), "after": after, "count": count}
        return [_base(row) for row in await self._database.of(principal).query(_LIST, said)]

    async def put(self, transaction: Transaction, said: BaseInput, *, by: str) -> tuple[Base, int]:
        """Write a base; return it, and how many there are now, if it is new."""
        named = {
            "tenant_id": transaction.tenant_id,
            "base_id": new_id(),
            "name": said.name,
            "description": said.description,
            "is_of_tenant": said.is_of_tenant,
            "by": by,
            "bedrock_id": said.bedrock.bedrock_id if said.bedrock else "",
            "bedrock_region": said.bedrock.region if said.bedrock else "",
            **walls_named(said.walls),
        }
        (row,) = await transaction.query(_PUT, named)
        base = _base(row)
        if base.version > 1:
            return base, 0
        return base, (await transaction.query(_COUNT, (transaction.tenant_id,)))[0].bases

    async def counted(self, transaction: Transaction, base_id: UUID, *, more: int, more_bytes: int) -> tuple[int, int]:
        """Count documents that come or go, and their bytes; return how many there are."""
        named = {
            "tenant_id": transaction.tenant_id,
            "base_id": base_id,
            "more": more,
            "more_bytes": more_bytes,
        }
        (row,) = await transaction.query(_COUNTED, named)
        return row.document_count, row.size_bytes

    async def delete(self, transaction: Transaction, base_id: UUID) -> None:
        """Remove a locked base with its documents; what finds them is owed to be dropped, and finds nothing."""
        named = {"tenant_id": transaction.tenant_id, "base_id": base_id, "topic": DOCUMENT_TOPIC}
        await transaction.query(_DELETE, named)
        await self._dropping.put(transaction, base_id)


def walls_named(walls: Walls) -> dict[str, str]:
    """Return walls as parameters."""
    return {"graph_name": walls.graph_name, "agent_bundle_id": walls.agent_bundle_id, "app_id": walls.app_id}


def walls_of(row: Row) -> Walls:
    """Return the walls of a row."""
    return Walls(graph_name=row.graph_name, agent_bundle_id=row.agent_bundle_id, app_id=row.app_id)


def _seen(principal: Principal) -> dict[str, Any]:
    return {
        "tenant_id": principal.tenant_id,
        "is_admin": "admin" in principal.scopes,
        "by_agent": principal.agent_id,
    }


def _base(row: Row, states: Sequence[Row] = ()) -> Base:
    return Base(
        base_id=row.base_id,
        said=BaseInput(
            name=row.name,
            description=row.description,
            is_of_tenant=row.is_of_tenant,
            walls=walls_of(row),
            bedrock=Bedrock(bedrock_id=row.bedrock_id, region=row.bedrock_region) if row.bedrock_id else None,
        ),
        document_count=row.document_count,
        size_bytes=row.size_bytes,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        documents={DocumentState(one.state): one.documents for one in states},
    )
