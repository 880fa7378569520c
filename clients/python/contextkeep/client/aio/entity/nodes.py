"""Nodes, one by one, and what went into and came out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import NOT_GIVEN, ByExternalId, Id, NotGiven
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.errors import InvalidArgument
from contextkeep.inputs import NodeInput
from contextkeep.values import NamedNode, Node, NodeBatch, NodeIO, OwnedNodes


class Nodes(NamedNodes):
    """Calls of nodes."""

    async def create_node(
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
            timeout_s: Deadline; None: the client's.

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
        response: graph_pb.CreateNodeResponse = await self._call("CreateNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def get_node(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> Node:
        """Return one node.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeRequest(node_id=await self._node_id(node_id, **named))
        response: graph_pb.GetNodeResponse = await self._call("GetNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def get_nodes(self, node_ids: Iterable[Id], *, timeout_s: float | None = None) -> NodeBatch:
        """Return up to 1,000 nodes in the order of their ids, and the ids that have none.

        Raises:
            AnswerTooLarge: they are over 4 MiB together; ask for fewer.
        """
        request = graph_pb.BatchGetNodesRequest(node_ids=messages.ids("node_ids", node_ids))
        response: graph_pb.BatchGetNodesResponse = await self._call("BatchGetNodes", request, timeout_s=timeout_s)
        return NodeBatch(
            nodes=[Node.from_proto(node) for node in response.nodes], missing_ids=list(response.missing_ids)
        )

    async def get_node_by_external_id(
        self, external_id: str, *, graph_name: str = "", timeout_s: float | None = None
    ) -> Node:
        """Return the node with your own id.

        Raises:
            NodeNotFound: there is none in the graph.
        """
        request = graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        response: graph_pb.GetNodeByExternalIdResponse = await self._call(
            "GetNodeByExternalId", request, timeout_s=timeout_s
        )
        return Node.from_proto(response.node)

    async def get_node_by_name(self, name: str, *, graph_name: str = "", timeout_s: float | None = None) -> NamedNode:
        """Return the newest node of that name that is not archived, and how many share the name.

        Raises:
            NodeNotFound: there is none in the graph.
        """
        request = graph_pb.GetNodeByNameRequest(name=name, graph_name=graph_name)
        response: graph_pb.GetNodeByNameResponse = await self._call("GetNodeByName", request, timeout_s=timeout_s)
        return NamedNode(node=Node.from_proto(response.node), matches=response.matches)

    async def update_node_data(
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
            timeout_s: Deadline; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has another version: `version` in the metadata.
        """
        if data is None:
            raise InvalidArgument("data is not given", field="data_json")
        request = graph_pb.UpdateNodeDataRequest(
            node_id=await self._node_id(node_id, **named),
            data_json=messages.to_object("data_json", data),
            update=graph_pb.DATA_UPDATE_REPLACE if replace else graph_pb.DATA_UPDATE_MERGE_PATCH,
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.UpdateNodeDataResponse = await self._call("UpdateNodeData", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def update_node_status(
        self,
        node_id: Id | None = None,
        status: str = "",
        *,
        expected_status: str | None = None,
        expected_version: int | None = None,
        message: str = "",
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Change a node's status, note it in the node's timeline, and return the node.

        A node that has the status already is returned unchanged, whatever was expected.

        Args:
            node_id: Which; or name it by `external_id`.
            status: Required. "Created", "Running", "Completed", "Failed", "Cancelled", or your own.
            expected_status: Change only a node that has this status.
            expected_version: Change only this version.
            message: Goes into the timeline.
            timeout_s: Deadline; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            StatusConflict: it has another status: `status` in the metadata.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = graph_pb.UpdateNodeStatusRequest(
            node_id=await self._node_id(node_id, **named),
            status=status,
            expected_status=expected_status,
            expected_version=expected_version,
            message=message,
        )
        response: graph_pb.UpdateNodeStatusResponse = await self._call("UpdateNodeStatus", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def archive_node(
        self,
        node_id: Id | None = None,
        *,
        restore: bool = False,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Archive a node, or bring it back with `restore`, and return it. Archived nodes stay readable by id.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has not `expected_version`.
        """
        request = graph_pb.ArchiveNodeRequest(
            node_id=await self._node_id(node_id, **named), restore=restore, expected_version=expected_version
        )
        # With a version, a repeat of a call that was done but not answered would meet its own change.
        response: graph_pb.ArchiveNodeResponse = await self._call(
            "ArchiveNode", request, timeout_s=timeout_s, may_repeat=expected_version is None
        )
        return Node.from_proto(response.node)

    async def reset_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Put a node back to before its run, and return it: status "Created", no output, an empty timeline.

        Its data, input, edges and embeddings stay.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has not `expected_version`.
        """
        request = graph_pb.ResetNodeRequest(
            node_id=await self._node_id(node_id, **named), expected_version=expected_version
        )
        # A repeat finds nothing left to put back, and so expects no version any more.
        response: graph_pb.ResetNodeResponse = await self._call("ResetNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def delete_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> int:
        """Delete a node for good with its edges, input, output, timeline and embeddings; return how many edges.

        To hide a node instead, use `archive_node`.

        Args:
            node_id: Which; or name it by `external_id`.
            expected_version: Delete only this version.
            timeout_s: Deadline; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none; also when the first attempt of this call did it and its answer was lost.
            VersionConflict: it has another version: `version` in the metadata.
            PermissionDenied: the key lacks the scope `admin`.
        """
        request = graph_pb.DeleteNodeRequest(
            node_id=await self._node_id(node_id, **named), expected_version=expected_version
        )
        response: graph_pb.DeleteNodeResponse = await self._call("DeleteNode", request, timeout_s=timeout_s)
        return response.edges_deleted

    async def erase_owned(self, erasure_id: Id, subject: str, *, timeout_s: float | None = None) -> OwnedNodes:
        """Begin to erase what of the graph a user owns, and return how far it is; again is harmless.

        The Context Service's `erasures.erase` calls it: use that one. Needs the scope `admin`, of a key without bounds.

        Args:
            erasure_id: A UUID of yours: with the same it is the same erasure.
            subject: The id of the user, as of `owner_user_id`.
            timeout_s: Deadline; None: the client's.
        """
        request = graph_pb.EraseOwnedRequest(erasure_id=messages.to_id(erasure_id), subject=subject)
        response: graph_pb.EraseOwnedResponse = await self._call("EraseOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(response.removed)

    async def get_owned(
        self, subject: str = "", *, erasure_id: Id | None = None, timeout_s: float | None = None
    ) -> OwnedNodes:
        """Return what of the graph a user owns, or what an erasure has removed of it: name one of them.

        Args:
            subject: The id of the user.
            erasure_id: Of an erasure.
            timeout_s: Deadline; None: the client's.

        Raises:
            ErasureNotFound: there is none.
        """
        request = graph_pb.GetOwnedRequest(subject=subject, erasure_id=messages.to_id(erasure_id))
        response: graph_pb.GetOwnedResponse = await self._call("GetOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(response.owned)

    async def set_node_io(
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
            timeout_s: Deadline; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            InvalidArgument: neither side is given, or a value cannot be JSON.
            LimitExceeded: a side is too large.
        """
        request = graph_pb.SetNodeIORequest(
            node_id=await self._node_id(node_id, **named),
            input_json=None if input is NOT_GIVEN else messages.to_json("input_json", input),
            output_json=None if output is NOT_GIVEN else messages.to_json("output_json", output),
        )
        response: graph_pb.SetNodeIOResponse = await self._call("SetNodeIO", request, timeout_s=timeout_s)
        return response.modified_at.ToDatetime(tzinfo=UTC)

    async def get_node_io(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> NodeIO:
        """Return what went into a node and what came out of it; of a node without any, both sides are empty.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeIORequest(node_id=await self._node_id(node_id, **named))
        response: graph_pb.GetNodeIOResponse = await self._call("GetNodeIO", request, timeout_s=timeout_s)
        return NodeIO.from_proto(response)
