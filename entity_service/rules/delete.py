"""Nodes and edges removed for good, with all rows about them: one transaction each, under the lock of the row."""

from __future__ import annotations

from entity_service.model.edges import Edge, EdgeEnds
from entity_service.pure.versions import check_edge_version, check_version
from entity_service.store.edges import DELETE_EDGE, locked_edge
from entity_service.store.node_changes import (
    DELETE_EDGES_OF_NODE,
    DELETE_EMBEDDINGS_OF_NODE,
    DELETE_NODE,
    lock_node_for_removal,
)
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal


class Removal:
    """Removes nodes and edges."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def delete_edge(self, principal: Principal, edge: str | EdgeEnds, *, expected_version: int | None) -> Edge:
        """Remove an edge and return it as it was.

        Args:
            principal: The caller; its tenant and bounds limit the rows.
            edge: Id of the edge, or its ends and type.
            expected_version: Remove the edge only if it has this version. None removes any.

        Raises:
            EdgeNotFound: there is no such edge.
            VersionConflict: it has another version than expected.
        """

        async def work(transaction: Transaction) -> Edge:
            there = await locked_edge(transaction, edge)
            check_edge_version(there, expected_version)
            await transaction.query(DELETE_EDGE, {"id": there.id})
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
            (edges,) = await transaction.query(DELETE_EDGES_OF_NODE, parameters)
            await transaction.query(DELETE_EMBEDDINGS_OF_NODE, parameters)
            await transaction.query(DELETE_NODE, parameters)
            count: int = edges.count
            return count

        return await self._database.of(principal).transaction(work)
