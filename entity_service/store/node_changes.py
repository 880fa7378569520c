"""The statements that change or delete one node, under the lock of its row."""

from __future__ import annotations

from entity_service.model.nodes import Node
from entity_service.model.refusals import node_not_found
from entity_service.store.nodes import SQL as NODES_SQL
from service_runtime.postgres import Transaction
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, nodes=NODES_SQL)
_LOCK = SQL["lock"]
_LOCK_FOR_REMOVAL = SQL["lock_for_removal"]
SET_DATA = SQL["set_data"]
SET_STATUS = SQL["set_status"]
SET_ARCHIVED = SQL["set_archived"]
DELETE_EDGES_OF_NODE = SQL["delete_edges_of_node"]
DELETE_EMBEDDINGS_OF_NODE = SQL["delete_embeddings_of_node"]
DELETE_NODE = SQL["delete_node"]


async def lock_node_for_removal(transaction: Transaction, node_id: str) -> Node:
    """Lock a node and return it; no other call can add rows about it until the transaction ends.

    Raises:
        NodeNotFound: the tenant has no node with this id.
    """
    return await locked_node(transaction, node_id, _LOCK_FOR_REMOVAL)


async def locked_node(transaction: Transaction, node_id: str, statement: str = _LOCK) -> Node:
    """Lock a node and return it.

    Raises:
        NodeNotFound: the tenant has no node with this id.
    """
    rows = await transaction.query(statement, {"id": node_id}, named=False)
    if not rows:
        raise node_not_found(node_id)
    return Node._make(rows[0])


async def changed_node(transaction: Transaction, statement: str, node: Node, **values: object) -> Node:
    """Run a statement that changes a locked node, and return the node after it."""
    parameters = {"id": node.id, **values}
    (row,) = await transaction.query(statement, parameters, named=False)
    return Node._make(row)
