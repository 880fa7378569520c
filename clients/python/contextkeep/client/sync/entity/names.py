# Generated from aio/entity/names.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Nodes by the caller's own ids."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb


class NamedNodes(Noun):
    """Base class of calls that take a node: `external_id` and `graph_name` may name the node instead.

    A separate call then looks the id up, with the client's deadline. If you call often, store the id.
    """

    def _node_id(self, node_id: Id | None, *, external_id: str = "", graph_name: str = "") -> str:
        """Return the id of a node.

        Args:
            node_id: The id, if it is known already.
            external_id: The caller's own id of the node. Empty: `node_id` is given.
            graph_name: The graph of the external id. Empty: "default".

        Raises:
            InvalidArgument: the node is named in two ways, or not at all.
            NodeNotFound: no node of the graph has the external id: both are in the metadata.
        """
        known = messages.given_node_id(node_id, external_id)
        if not external_id:
            return known
        request = graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        response: graph_pb.GetNodeByExternalIdResponse = self._call("GetNodeByExternalId", request)
        return response.node.id
