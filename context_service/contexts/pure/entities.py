"""Which messages and artifacts of a context are about nodes of the entity graph.

A message or artifact is about a node if one of its parts names a record of the node, or if the message was read from
the node (`sync_history`): its id then begins with the node's.
"""

from __future__ import annotations

from uuid import UUID

ID_PREFIX = "history:"  # message ids of nodes begin with this, then the node's id
NODES_MAX = 100  # nodes in one filter


def id_prefix(node_id: UUID | str) -> str:
    """Return the prefix of the message ids that `sync_history` gives to the messages of a node."""
    return f"{ID_PREFIX}{node_id}:"
