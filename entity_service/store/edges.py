"""The statements of edges: read by their ids, locked, changed, deleted."""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.errors import EdgeNotFound
from entity_service.model.edges import Edge, EdgeEnds
from entity_service.model.limits import ANSWER_BYTES_MAX
from entity_service.model.refusals import edge_not_found, too_large
from entity_service.store.nodes import SQL as NODES_SQL
from entity_service.store.nodes import id_array
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, nodes=NODES_SQL)
_EDGE = SQL["edge"]
LOCK = SQL["lock"]
SET_DATA = SQL["set_data"]
_EDGES = SQL["edges"]
_LOCK_EDGE = SQL["lock_edge"]
_LOCK_EDGE_BY_ENDS = SQL["lock_edge_by_ends"]
DELETE_EDGE = SQL["delete_edge"]
SETTLE_EDGES = SQL["settle_edges"]


class EdgeStore:
    """The edges of all tenants; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def edge(self, principal: Principal, edge_id: str) -> Edge:
        """Return an edge.

        Raises:
            EdgeNotFound: the tenant has no edge with this id.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_EDGE, {"id": edge_id}, named=False)
        if not rows:
            raise edge_not_found(edge_id)
        return Edge._make(rows[0])

    async def edges(self, principal: Principal, edge_ids: Sequence[str]) -> dict[str, Edge]:
        """Return the edges that exist, by id.

        Raises:
            AnswerTooLarge: their documents do not fit one answer.
        """
        tenant = self._database.of(principal)
        parameters = {"ids": id_array(edge_ids), "bytes_max": ANSWER_BYTES_MAX}
        rows = await tenant.query(_EDGES, parameters, named=False)
        if rows and rows[0][-1] > len(rows):
            raise too_large("BatchGetEdges")
        return {row[0]: Edge._make(row[:-1]) for row in rows}


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
        raise EdgeNotFound("no edge of this type leads from from_node_id to to_node_id", edge_type=edge.edge_type)
    return Edge._make(rows[0])
