# Generated from aio/entity/nodes.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Nodes, with their input and output."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.inputs import NodeInput
from contextkeep.values import Node


class Nodes(NamedNodes):
    """Calls of nodes."""

    def create_node(
        self,
        general_type_name: str,
        *,
        name: str = "",
        data: Mapping[str, Any] | None = None,
        external_id: str = "",
        graph_name: str = "",
        status: str = "",
        specific_type_name: str = "",
        agent_bundle_id: str = "",
        id: Id | None = None,
        created_at: datetime | None = None,
        get_existing: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Node:
        """Create a node and return it.

        Args:
            general_type_name: The type of the node, such as "Session" or "Turn".
            name: A label.
            data: The data of the node, a JSON object of up to 1 MiB.
            external_id: Your own id of the node, unique in the graph; up to 512 bytes.
            graph_name: The graph. Empty: "default".
            status: Empty: "Created".
            specific_type_name: Empty: the general type name.
            agent_bundle_id: The agent bundle that the node belongs to.
            id: A UUID. By default the server creates one.
            created_at: Aware; for imports and replays. Default: the server's time.
            get_existing: Return the node that has this external id already, unchanged, instead of failing.
            request_id: A UUID. A repeat with the same one writes nothing and gets the first answer. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ExternalIdTaken: another node has the external id: `node_id` in the metadata.
            NodeExists: the id is taken.
            LimitExceeded: the data or a text is too long.
        """
        node = NodeInput(
            general_type_name,
            id=messages.to_id(id),
            external_id=external_id,
            graph_name=graph_name,
            agent_bundle_id=agent_bundle_id,
            specific_type_name=specific_type_name,
            name=name,
            status=status,
            data=data,
            created_at=created_at,
        )
        request = graph_pb.CreateNodeRequest(get_existing=get_existing, request_id=messages.new_request_id(request_id))
        messages.fill_node(request.node, node)
        response: graph_pb.CreateNodeResponse = self._call("CreateNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)
