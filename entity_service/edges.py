"""Edges by their ids: read, and their data changed. What a node's edges are stands in `store`."""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.errors import EdgeNotFound, VersionConflict
from entity_service.changes import DataChange, changed_data
from entity_service.model import Edge
from entity_service.store import ANSWER_BYTES_MAX, EDGE_COLUMNS, id_array, too_large
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Transaction
from service_runtime.requests import Request, Requests

_EDGE = f"SELECT {EDGE_COLUMNS} FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s"  # noqa: S608
_LOCK = f"{_EDGE} FOR NO KEY UPDATE"

_SET_DATA = f"""
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

    def __init__(self, database: Database, *, document_bytes_max: int) -> None:
        self._database = database
        self._document_bytes_max = document_bytes_max
        self._requests = Requests("entity")

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

    async def update_data(self, principal: Principal, change: DataChange, request: Request | None) -> Edge:
        """Merge into an edge's data, or replace it.

        Raises:
            EdgeNotFound: there is no such edge.
            VersionConflict: it has another version than expected.
            LimitExceeded: the result is too large.
            RequestIdReused: the request id was used with other content.
        """

        async def work(transaction: Transaction) -> Edge:
            parameters = {"id": change.id}
            rows = await transaction.query(_LOCK, parameters, named=False)
            if not rows:
                raise edge_not_found(change.id)
            edge = Edge._make(rows[0])
            check_edge_version(edge, change.expected_version)
            data_json = await changed_data(edge.data_json, change, size_bytes_max=self._document_bytes_max)
            (row,) = await transaction.query(_SET_DATA, parameters | {"data": data_json}, named=False)
            return Edge._make(row)  # all of it is the answer: nothing else remembers what it was after this change

        return await self._database.of(principal).transaction(self._requests.once(request, work))


def edge_not_found(edge_id: str) -> EdgeNotFound:
    """Return the error of an id without an edge."""
    return EdgeNotFound("no edge has this id", edge_id=edge_id)


def check_edge_version(edge: Edge, expected_version: int | None) -> None:
    """Refuse a change of an edge that is not as expected.

    Raises:
        VersionConflict: it has another version.
    """
    if expected_version is not None and edge.version != expected_version:
        raise VersionConflict("the edge was changed meanwhile", version=edge.version)
