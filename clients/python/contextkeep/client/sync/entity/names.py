# Generated from aio/entity/names.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Nodes by the caller's own ids."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb


class NamedNodes(Noun):
    """What every call that takes a node shares: it may be named by `external_id` and `graph_name` instead.

    That is a look-up before the call, with the client's deadline. Who calls often keeps the id.
    """

    def _node_id(self, node_id: Id | None, *, external_id: str = "", graph_name: str = "") -> str:
        """Return the id of a node.

        Args:
            node_id: It is known already.
            external_id: The caller's own id of it; empty: `node_id` is given.
            graph_name: The graph of the external id. Empty: "default".

        Raises:
            InvalidArgument: it is named twice, or not at all.
            NodeNotFound: no node of the graph has the external id: both are in the metadata.
        """
        known = messages.given_node_id(node_id, external_id)
        if not external_id:
            return known
        request = graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        response: graph_pb.GetNodeByExternalIdResponse = self._call("GetNodeByExternalId", request)
        return response.node.id
