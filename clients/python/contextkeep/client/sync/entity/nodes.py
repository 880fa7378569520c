# Generated from aio/entity/nodes.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Nodes, one by one, and what went into and came out of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import NOT_GIVEN, ByExternalId, Id, NotGiven
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.errors import InvalidArgument
from contextkeep.inputs import NodeInput
from contextkeep.values import Node, NodeIO


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
        """Write one node and return it.

        Args:
            general_type_name: What it is, e.g. "Session" or "Turn".
            name: A label.
            data: Its JSON object, up to 1 MiB.
            external_id: Your own id of it, unique in the graph; up to 512 bytes.
            graph_name: The partition. Empty: "default".
            status: Empty: "Created".
            specific_type_name: Empty: the general type name.
            agent_bundle_id: The bundle that it belongs to.
            id: A UUID. None: the server makes one.
            created_at: Aware; for imports and replays. None: the server's time.
            get_existing: Return the node that has this external id already, unchanged, instead of failing.
            request_id: A UUID. The same one again answers as the first time and writes nothing. None: a new one.
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

    def update_node_data(
        self,
        node_id: Id | None = None,
        data: Mapping[str, Any] | None = None,
        *,
        replace: bool = False,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Change a node's data and return the node.

        Args:
            node_id: Which; or name it by `external_id`.
            data: Required. A JSON merge patch (RFC 7396): its keys are set, those that are None are removed, others
                stay.
            replace: `data` is the new data as it is.
            expected_version: Change only this version.
            request_id: As in `create_node`.
            timeout_s: Deadline in seconds. None means the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has another version: `version` in the metadata.
        """
        if data is None:
            raise InvalidArgument("data is not given", field="data_json")
        request = graph_pb.UpdateNodeDataRequest(
            node_id=self._node_id(node_id, **named),
            data_json=messages.to_object("data_json", data),
            update=graph_pb.DATA_UPDATE_REPLACE if replace else graph_pb.DATA_UPDATE_MERGE_PATCH,
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.UpdateNodeDataResponse = self._call("UpdateNodeData", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def set_node_io(
        self,
        node_id: Id | None = None,
        *,
        input: Any | NotGiven = NOT_GIVEN,
        output: Any | NotGiven = NOT_GIVEN,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> datetime:
        """Set what went into a node, what came out of it, or both, and return the time of the change.

        Args:
            node_id: Which; or name it by `external_id`.
            input: Any JSON value, up to 1 MiB; it replaces the one before, and None is null. Not given: it stays.
            output: The same.
            timeout_s: Deadline in seconds. None means the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            InvalidArgument: neither side is given, or a value cannot be JSON.
            LimitExceeded: a side is too large.
        """
        request = graph_pb.SetNodeIORequest(
            node_id=self._node_id(node_id, **named),
            input_json=None if input is NOT_GIVEN else messages.to_json("input_json", input),
            output_json=None if output is NOT_GIVEN else messages.to_json("output_json", output),
        )
        response: graph_pb.SetNodeIOResponse = self._call("SetNodeIO", request, timeout_s=timeout_s)
        return response.modified_at.ToDatetime(tzinfo=UTC)

    def get_node_io(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> NodeIO:
        """Return what went into a node and what came out of it; of a node without any, both sides are empty.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeIORequest(node_id=self._node_id(node_id, **named))
        response: graph_pb.GetNodeIOResponse = self._call("GetNodeIO", request, timeout_s=timeout_s)
        return NodeIO.from_proto(response)
