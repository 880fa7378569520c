"""What went into a node and what came out of it, read and written beside the node: one statement each."""

from __future__ import annotations

from entity_service.model.nodes import NodeIO, NodeIOChange
from entity_service.model.refusals import node_not_found
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Transaction

# A side that is not given is SQL's null, and stays. The clock as in `changes`. FOR KEY SHARE: a node that another call
# is deleting is waited for and then not found, instead of breaking the foreign key.
_SET = """
INSERT INTO entity.node_io (tenant_id, node_id, modified_at, context_id, input, output)
SELECT n.tenant_id, n.id, clock_timestamp(), n.context_id, %(input)s::jsonb, %(output)s::jsonb
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
FOR KEY SHARE
ON CONFLICT (tenant_id, node_id) DO UPDATE SET
    input = coalesce(excluded.input, node_io.input),
    output = coalesce(excluded.output, node_io.output),
    modified_at = greatest(clock_timestamp(), node_io.modified_at)
RETURNING (extract(epoch FROM modified_at) * 1000000)::bigint
"""

# A row without values is a node whose sides were never set.
_GET = """
SELECT io.input::text, io.output::text, (extract(epoch FROM io.modified_at) * 1000000)::bigint
FROM entity.node n
LEFT JOIN entity.node_io io ON io.tenant_id = n.tenant_id AND io.node_id = n.id
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
"""

_CLEAR_OUTPUT = """
UPDATE entity.node_io
SET output = NULL, modified_at = greatest(clock_timestamp(), modified_at)
WHERE tenant_id = %(tenant_id)s AND node_id = %(id)s AND output IS NOT NULL
RETURNING node_id
"""


class NodeIOStore:
    """The inputs and outputs of all tenants' nodes; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(self, principal: Principal, change: NodeIOChange) -> int:
        """Replace the sides that are given, and return the time of that.

        Raises:
            NodeNotFound: the tenant has no such node.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(
            _SET,
            {"id": change.node_id, "input": change.input_json, "output": change.output_json},
            named=False,
        )
        if not rows:
            raise node_not_found(change.node_id)
        modified_at: int = rows[0][0]
        return modified_at

    async def get(self, principal: Principal, node_id: str) -> NodeIO:
        """Return what there is of a node's input and output.

        Raises:
            NodeNotFound: the tenant has no such node.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_GET, {"id": node_id}, named=False)
        if not rows:
            raise node_not_found(node_id)
        return NodeIO._make(rows[0])


async def clear_output(transaction: Transaction, node_id: str) -> bool:
    """Forget what came out of a node; return whether there was anything."""
    return bool(await transaction.query(_CLEAR_OUTPUT, {"id": node_id}))
