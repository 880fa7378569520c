"""Nodes and edges removed for good, with all that hangs on them: one transaction each, under the lock of the row."""

from __future__ import annotations

from dataclasses import dataclass

from contextkeep.errors import EdgeNotFound
from entity_service.changes import check_version, lock_node_for_removal
from entity_service.edges import check_edge_version, edge_not_found
from entity_service.model import Edge
from entity_service.store import EDGE_COLUMNS
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Transaction

_LOCK_EDGE = f"""
SELECT {EDGE_COLUMNS} FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s FOR UPDATE
"""  # noqa: S608

# The columns of the unique index: one edge at most.
_LOCK_EDGE_BY_ENDS = f"""
SELECT {EDGE_COLUMNS}
FROM entity.edge e
WHERE e.tenant_id = %(tenant_id)s AND e.to_node_id = %(to_node_id)s AND e.edge_type = %(edge_type)s
    AND e.from_node_id = %(from_node_id)s
FOR UPDATE
"""  # noqa: S608

_DELETE_EDGE = "DELETE FROM entity.edge WHERE tenant_id = %(tenant_id)s AND id = %(id)s"

# No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
_DELETE_EDGES_OF_NODE = """
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = %(id)s OR to_node_id = %(id)s)
    RETURNING id
)
SELECT count(*) AS count FROM gone
"""

# Embeddings are of owners of several kinds and so without a foreign key.
_DELETE_EMBEDDINGS_OF_NODE = """
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = %(id)s
"""

# Input, output and timeline go with it, by their foreign keys.
_DELETE_NODE = "DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(id)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEnds:
    """Names an edge by what no two edges share."""

    from_node_id: str
    to_node_id: str
    edge_type: str


class Removal:
    """Removes nodes and edges."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def delete_edge(self, principal: Principal, edge: str | EdgeEnds, *, expected_version: int | None) -> Edge:
        """Remove an edge and return it as it was.

        Args:
            principal: Whose edge it is.
            edge: Its id, or its ends and type.
            expected_version: Remove only this version.

        Raises:
            EdgeNotFound: there is no such edge.
            VersionConflict: it has another version than expected.
        """

        async def work(transaction: Transaction) -> Edge:
            there = await _locked_edge(transaction, edge)
            check_edge_version(there, expected_version)
            await transaction.query(_DELETE_EDGE, {"id": there.id})
            return there

        return await self._database.of(principal).transaction(work)

    async def delete_node(self, principal: Principal, node_id: str, *, expected_version: int | None) -> int:
        """Remove a node, its edges, input, output, timeline and embeddings; return how many edges that were.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: it has another version than expected.
        """

        async def work(transaction: Transaction) -> int:
            node = await lock_node_for_removal(transaction, node_id)
            check_version(node, expected_version)
            parameters = {"id": node_id}
            (edges,) = await transaction.query(_DELETE_EDGES_OF_NODE, parameters)
            await transaction.query(_DELETE_EMBEDDINGS_OF_NODE, parameters)
            await transaction.query(_DELETE_NODE, parameters)
            count: int = edges.count
            return count

        return await self._database.of(principal).transaction(work)


async def _locked_edge(transaction: Transaction, edge: str | EdgeEnds) -> Edge:
    if isinstance(edge, str):
        rows = await transaction.query(_LOCK_EDGE, {"id": edge}, named=False)
        if not rows:
            raise edge_not_found(edge)
        return Edge._make(rows[0])
    parameters = {"from_node_id": edge.from_node_id, "to_node_id": edge.to_node_id, "edge_type": edge.edge_type}
    rows = await transaction.query(_LOCK_EDGE_BY_ENDS, parameters, named=False)
    if not rows:
        raise EdgeNotFound("no edge of this type is between the two nodes", edge_type=edge.edge_type)
    return Edge._make(rows[0])
