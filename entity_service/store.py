"""Nodes and edges, read and changed one at a time."""

from __future__ import annotations

from contextgraph.errors import NodeNotFound
from entity_service.model import Node
from service_runtime.auth import Principal
from service_runtime.postgres import Database

# The columns of `Node`, in its order, of a table named n.
NODE_COLUMNS = """
    n.id::text, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
    n.status, n.data::text, n.is_archived, n.seq, (extract(epoch FROM n.created_at) * 1000000)::bigint,
    (extract(epoch FROM n.modified_at) * 1000000)::bigint, n.version, n.created_by, n.owner_user_id, n.agent_id,
    n.context_id::text
"""

_NODE = f"SELECT {NODE_COLUMNS} FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s"  # noqa: S608


class GraphStore:
    """The nodes and edges of all tenants; every method sees one tenant's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def node(self, principal: Principal, node_id: str) -> Node:
        """Return a node.

        Raises:
            NodeNotFound: the tenant has none of this id.
        """
        tenant = self._database.tenant(principal.tenant_id)
        rows = await tenant.query(_NODE, {"tenant_id": tenant.tenant_id, "id": node_id}, named=False)
        if not rows:
            raise NodeNotFound("no node has this id", node_id=node_id)
        return Node._make(rows[0])
