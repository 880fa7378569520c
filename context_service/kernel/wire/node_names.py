"""Resolves the nodes that requests name: by their id, or by an external id of the caller's."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from context_service.kernel.graph import EntityGraph
from contextkeep.errors import InvalidArgument
from service_runtime.values.ids import parse_id


class ByExternalId(Protocol):
    """The fields of a request that may name its node by an external id."""

    external_id: str
    graph_name: str


class NodeNames:
    """Finds the id of a node that a request names."""

    def __init__(self, graph: EntityGraph) -> None:
        self._graph = graph

    async def id_of(self, field: str, node_id: str, request: ByExternalId) -> UUID:
        """Return the id of the node that a request names.

        Args:
            field: The name of the request's field with the node id, for errors.
            node_id: The value of that field; empty if the request gives an external id.
            request: The request, with the external id and its graph.

        Raises:
            InvalidArgument: the id is not a UUID, or the node is named twice.
            NodeNotFound: no node that the caller sees has the external id.
            Unavailable: the Entity Service does not answer.
        """
        if not request.external_id:
            return parse_id(field, node_id)
        if node_id:
            raise InvalidArgument(f"give {field} or external_id, not both", field="external_id")
        return UUID(await self._graph.node_id(request.external_id, graph_name=request.graph_name))

    async def optional_id_of(self, field: str, node_id: str, request: ByExternalId) -> UUID | None:
        """Return the id of the node as `id_of` does, or None if the request names no node."""
        return await self.id_of(field, node_id, request) if node_id or request.external_id else None
