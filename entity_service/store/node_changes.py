"""The statements that change or delete one node, under the lock of its row."""

from __future__ import annotations

from entity_service.model.nodes import Node
from entity_service.model.refusals import node_not_found
from entity_service.store.nodes import NODE, NODE_COLUMNS
from service_runtime.postgres import Transaction

# Not FOR UPDATE: new edges to the node need not wait.
_LOCK = f"{NODE} FOR NO KEY UPDATE"

_LOCK_FOR_REMOVAL = f"{NODE} FOR UPDATE"

# The clock, because `now()` is from before the wait for the lock; never back behind the change before.
SET_DATA = f"""
UPDATE entity.node n
SET data = %(data)s::jsonb, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608

SET_STATUS = f"""
UPDATE entity.node n
SET status = %(status)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608

SET_ARCHIVED = f"""
UPDATE entity.node n
SET is_archived = %(is_archived)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608


async def lock_node_for_removal(transaction: Transaction, node_id: str) -> Node:
    """Return a node that nothing can be hung on until the transaction ends.

    Raises:
        NodeNotFound: the tenant has none of this id.
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


# No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
DELETE_EDGES_OF_NODE = """
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = %(id)s OR to_node_id = %(id)s)
    RETURNING id
)
SELECT count(*) AS count FROM gone
"""

# Embeddings are of owners of several kinds and so without a foreign key.
DELETE_EMBEDDINGS_OF_NODE = """
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = %(id)s
"""

# Input, output and timeline go with it, by their foreign keys.
DELETE_NODE = "DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(id)s"
