"""The statements of edges: read by their ids, locked, changed, deleted."""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.errors import EdgeNotFound
from entity_service.model.edges import Edge, EdgeEnds
from entity_service.model.limits import ANSWER_BYTES_MAX
from entity_service.model.refusals import edge_not_found, too_large
from entity_service.store.nodes import EDGE_COLUMNS, id_array
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Transaction

_EDGE = f"SELECT {EDGE_COLUMNS} FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s"  # noqa: S608

LOCK = f"{_EDGE} FOR NO KEY UPDATE"

SET_DATA = f"""
UPDATE entity.edge e
SET data = %(data)s::jsonb, version = e.version + 1
WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s
RETURNING {EDGE_COLUMNS}
"""  # noqa: S608

# As for nodes, see `store`.
_EDGES = f"""
SELECT {EDGE_COLUMNS}, e.found
FROM (
    SELECT
        e.*, count(*) OVER () AS found,
        sum(entity.document_bytes(e.data)) OVER (
            ORDER BY e.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.id = ANY (%(ids)s::uuid[])
    ) e
) e
WHERE coalesce(e.bytes_before, 0) < 4 * %(bytes_max)s
"""  # noqa: S608


class EdgeStore:
    """The edges of all tenants; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def edge(self, principal: Principal, edge_id: str) -> Edge:
        """Return an edge.

        Raises:
            EdgeNotFound: the tenant has none of this id.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_EDGE, {"id": edge_id}, named=False)
        if not rows:
            raise edge_not_found(edge_id)
        return Edge._make(rows[0])

    async def edges(self, principal: Principal, edge_ids: Sequence[str]) -> dict[str, Edge]:
        """Return the edges there are, by id.

        Raises:
            AnswerTooLarge: their documents do not fit one answer.
        """
        tenant = self._database.of(principal)
        parameters = {"ids": id_array(edge_ids), "bytes_max": ANSWER_BYTES_MAX}
        rows = await tenant.query(_EDGES, parameters, named=False)
        if rows and rows[0][-1] > len(rows):
            raise too_large("BatchGetEdges")
        return {row[0]: Edge._make(row[:-1]) for row in rows}


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

DELETE_EDGE = "DELETE FROM entity.edge WHERE tenant_id = %(tenant_id)s AND id = %(id)s"


async def locked_edge(transaction: Transaction, edge: str | EdgeEnds) -> Edge:
    """Lock an edge that is about to be deleted, and return it.

    Raises:
        EdgeNotFound: the tenant has no such edge.
    """
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


SETTLE_EDGES = """
SELECT s.looked_at, s.settled, s.last_node_id, s.last_id
FROM entity.settle_edges(%(edges_max)s, %(before_node_id)s, %(before_id)s) s
"""
