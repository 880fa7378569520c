"""Finds the messages and artifacts of a context that are about nodes of the entity graph.

A message or artifact is about a node if one of its parts names a record of the node, or if the message was read from
the node (`sync_history`): its id then begins with the node's.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from service_runtime.postgres import Tenant, TextArray

ID_PREFIX = "history:"  # message ids of nodes begin with this, then the node's id
NODES_MAX = 100  # nodes in one filter

# In any collation, ids with the prefix sort before prefix + "z"; other ids in that range lack the prefix.
_ABOUT = """
SELECT r.seq
FROM context.message_record r
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.entity_node_id = ANY (%(node_ids)s)
UNION
SELECT m.seq
FROM unnest(%(prefixes)s::text[]) p (prefix)
    JOIN context.message m ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s
        AND m.message_id >= p.prefix AND m.message_id < p.prefix || 'z' AND starts_with(m.message_id, p.prefix)
"""


def id_prefix(node_id: UUID | str) -> str:
    """Return the prefix of the message ids that `sync_history` gives to the messages of a node."""
    return f"{ID_PREFIX}{node_id}:"


async def seqs_about(tenant: Tenant, context_id: UUID, node_ids: Collection[UUID]) -> frozenset[int]:
    """Return the places of the messages and artifacts of a context that are about any of some nodes.

    A message's place is its `seq`; the place of an artifact is below zero.

    Args:
        tenant: The tenant's connection to the database; it limits the rows to one caller.
        context_id: The id of the context.
        node_ids: The ids of the nodes, at most `NODES_MAX`.
    """
    parameters = {
        "context_id": context_id,
        "node_ids": list(node_ids),
        "prefixes": TextArray(map(id_prefix, node_ids)),
    }
    return frozenset(row.seq for row in await tenant.query(_ABOUT, parameters))
