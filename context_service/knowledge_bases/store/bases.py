"""The SQL of knowledge bases: one row each. A caller sees those that it may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from context_service.kernel.catalog import Table
from context_service.knowledge_bases.model import Base, BaseInput, Bedrock, DocumentState, Walls
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

DOCUMENT_TOPIC = "text of a document"  # queue of documents that are to be read
DROP_TOPIC = "passages of a knowledge base"  # queue of passages to remove after their base

SQL = SqlFile.of(__file__)
_SEEN = SQL["seen"]
_COUNTED = SQL["counted"]
_STATES = SQL["states"]
_DELETE = SQL["delete"]
# Its bounds decide who sees its documents, so they never change; neither does the base of Amazon Bedrock that it names.
BASES = Table(
    name="context.knowledge_base",
    key="name",
    columns=("description", "is_of_tenant"),
    first=("base_id", "graph_name", "agent_bundle_id", "app_id", "bedrock_id", "bedrock_region"),
    also=("t.document_count", "t.size_bytes"),
    seen=_SEEN,
)


class BaseRows:
    """The SQL statements on knowledge bases.

    Args:
        database: The database that holds the knowledge bases.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dropping = Outbox("context", DROP_TOPIC)

    async def states(self, principal: Principal, base_id: UUID) -> Mapping[DocumentState, int]:
        """Return how many documents a base has in each state."""
        rows = await self._database.of(principal).query(_STATES, (principal.tenant_id, base_id))
        return {DocumentState(row.state): row.documents for row in rows}

    async def counted(self, transaction: Transaction, base_id: UUID, *, more: int, more_bytes: int) -> tuple[int, int]:
        """Count added or removed documents and their bytes; return the new number of documents and bytes."""
        parameters = {"base_id": base_id, "more": more, "more_bytes": more_bytes}
        (row,) = await transaction.query(_COUNTED, parameters)
        return row.document_count, row.size_bytes

    async def delete(self, transaction: Transaction, base_id: UUID) -> None:
        """Remove a locked base with its documents. Its passages are removed later, and are not found from now on."""
        parameters = {"base_id": base_id, "topic": DOCUMENT_TOPIC}
        await transaction.query(_DELETE, parameters)
        await self._dropping.put(transaction, base_id)


def walls_named(walls: Walls) -> dict[str, str]:
    """Return bounds as parameters of a statement."""
    return {"graph_name": walls.graph_name, "agent_bundle_id": walls.agent_bundle_id, "app_id": walls.app_id}


def walls_of(row: Row) -> Walls:
    """Return the bounds in the columns of a row."""
    return copied(Walls, row)


def values_of(base_input: BaseInput) -> dict[str, Any]:
    """Return the columns of a base; its id is the one of the first write."""
    return {
        "base_id": new_id(),
        "description": base_input.description,
        "is_of_tenant": base_input.is_of_tenant,
        "bedrock_id": base_input.bedrock.bedrock_id if base_input.bedrock else "",
        "bedrock_region": base_input.bedrock.region if base_input.bedrock else "",
        **walls_named(base_input.walls),
    }


def base_of(row: Row) -> Base:
    """Return the base of a row, without the states of its documents."""
    return Base(
        base_id=row.base_id,
        content=copied(
            BaseInput,
            row,
            walls=walls_of(row),
            bedrock=Bedrock(bedrock_id=row.bedrock_id, region=row.bedrock_region) if row.bedrock_id else None,
        ),
        document_count=row.document_count,
        size_bytes=row.size_bytes,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        imported_json=row.imported_json,
    )
