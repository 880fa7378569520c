"""Finds the messages and artifacts of a context that are about nodes of the entity graph."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from context_service.contexts.pure.entities import id_prefix
from service_runtime.postgres import Tenant, TextArray
from service_runtime.statements.sql_files import SqlFile

_PLACES = SqlFile.of(__file__)["places"]


async def places_about(tenant: Tenant, context_id: UUID, node_ids: Collection[UUID]) -> frozenset[int]:
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
        "prefixes": TextArray(map(id_prefix, node_ids)),  # of the ids of messages that were read from the nodes
    }
    return frozenset(row.seq for row in await tenant.query(_PLACES, parameters))
