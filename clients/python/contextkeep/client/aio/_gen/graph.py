"""The calls of graph that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values import Direction, Edge, Node, OwnedNodes


class Graph(NamedNodes):
    """The calls of `client.graph` that are one RPC each."""

    async def get_node(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> Node:
        """Reads one node.

        Args:
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeRequest(node_id=await self._node_id(node_id, **named))
        answer: entity_graph_pb.GetNodeResponse = await self._call("GetNode", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    async def get_node_by_external_id(
        self, external_id: str, *, graph_name: str = "", timeout_s: float | None = None
    ) -> Node:
        """Reads the node with the caller's own id.

        Args:
            graph_name: Where the id is looked up. Empty: "default".
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: No node has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        answer: entity_graph_pb.GetNodeByExternalIdResponse = await self._call(
            "GetNodeByExternalId", request, timeout_s=timeout_s
        )
        return Node.from_proto(answer.node)

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
        """Changes a node's status and appends a STATUS envelope to its timeline, in one transaction.

        A node that has the wished status already is answered unchanged, whatever was expected: so a repeat is harmless.

        Args:
            status: "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the caller's own.
            expected_status: Change the node only if it has this status.
            expected_version: Change the node only if it has this version.
            message: Goes into the envelope. Up to 64 KiB.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            StatusConflict: the status is not `expected_status`.
            VersionConflict: `expected_version` is not the current version: `version` in the metadata.
        """
        request = entity_graph_pb.UpdateNodeStatusRequest(
            node_id=await self._node_id(node_id, **named),
            status=status,
            expected_status=expected_status,
            expected_version=expected_version,
            message=message,
        )
        answer: entity_graph_pb.UpdateNodeStatusResponse = await self._call(
            "UpdateNodeStatus", request, timeout_s=timeout_s
        )
        return Node.from_proto(answer.node)

    async def archive_node(
        self,
        node_id: Id | None = None,
        *,
        restore: bool = False,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Archives a node, or brings it back with `restore`.

        Archived nodes stay readable by id.

        Args:
            restore: Bring the node back.
            expected_version: Change the node only if it has this version.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
        """
        request = entity_graph_pb.ArchiveNodeRequest(
            node_id=await self._node_id(node_id, **named), restore=restore, expected_version=expected_version
        )
        answer: entity_graph_pb.ArchiveNodeResponse = await self._call(
            "ArchiveNode", request, timeout_s=timeout_s, may_repeat=expected_version is None
        )
        return Node.from_proto(answer.node)

    async def reset_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Resets a node so that it can run again: its status is "Created", and its output and timeline are gone.

        Data, input, edges and embeddings stay. A node that is so already is answered unchanged.

        Args:
            expected_version: Reset the node only if it has this version.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            VersionConflict: `expected_version` is not the current version: `version` in the metadata.
        """
        request = entity_graph_pb.ResetNodeRequest(
            node_id=await self._node_id(node_id, **named), expected_version=expected_version
        )
        answer: entity_graph_pb.ResetNodeResponse = await self._call("ResetNode", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    async def delete_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> int:
        """Deletes a node for good, with its edges, input, output, timeline and embeddings.

        The nodes at the other ends stay. Working memory of the node stays, too: records belong to the Context Service.
        To hide a node instead, use `graph.archive_node`. Needs the scope `admin`.

        Args:
            expected_version: Delete the node only if it has this version.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: a repeat, too: nothing is left.
            VersionConflict: `expected_version` is not the current version: `version` in the metadata.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = entity_graph_pb.DeleteNodeRequest(
            node_id=await self._node_id(node_id, **named), expected_version=expected_version
        )
        answer: entity_graph_pb.DeleteNodeResponse = await self._call("DeleteNode", request, timeout_s=timeout_s)
        return answer.edges_deleted

    async def erase_owned(self, erasure_id: Id, subject: str, *, timeout_s: float | None = None) -> OwnedNodes:
        """Begins to erase the nodes that a user owns, and answers how far it is.

        It erases every node whose `owner_user_id` it is, with all that `graph.delete_node` takes with each, the answers
        of repeated calls for that user, and the user's keys. A pseudonym takes the user's place where other users'
        nodes and envelopes say who wrote them. Answers at once, and goes on by itself in steps, whichever process is
        killed. Again with the same id is harmless, and answers how far it is. Of what is gone, `changes.list` then says
        no types any more. The Context Service calls it for its Erase, which is the one to call. Needs the scope
        `admin`, of a key without bounds.

        Args:
            erasure_id: A UUID of the caller's making: it is this erasure's.
            subject: The id of the user: up to 512 characters.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = entity_graph_pb.EraseOwnedRequest(erasure_id=messages.to_id(erasure_id), subject=subject)
        answer: entity_graph_pb.EraseOwnedResponse = await self._call("EraseOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(answer.removed)

    async def get_owned(
        self, subject: str = "", *, erasure_id: Id | None = None, timeout_s: float | None = None
    ) -> OwnedNodes:
        """Reads how far an erasure is; or, of a user, what there is to erase, which counts all nodes once.

        Needs the scope `admin`, as `graph.erase_owned`.

        Args:
            subject: The id of the user.
            erasure_id: One of these two.
            timeout_s: Deadline; None: the client's.

        Raises:
            ErasureNotFound: There is no erasure with this id that the caller may see; a receipt of a context is kept
                for a year.
            InvalidArgument: A field is malformed; `violations` name it.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
        """
        request = entity_graph_pb.GetOwnedRequest(erasure_id=messages.to_id(erasure_id), subject=subject)
        answer: entity_graph_pb.GetOwnedResponse = await self._call("GetOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(answer.owned)

    async def get_edge(self, edge_id: Id, *, timeout_s: float | None = None) -> Edge:
        """Reads one edge.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            EdgeNotFound: No edge has this id.
        """
        request = entity_graph_pb.GetEdgeRequest(edge_id=messages.to_id(edge_id))
        answer: entity_graph_pb.GetEdgeResponse = await self._call("GetEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(answer.edge)

    async def list_edges(
        self,
        node_id: Id | None = None,
        *,
        direction: Direction = "out",
        edge_types: Iterable[str] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Edge, None]:
        """Lists the edges of a node, oldest first (`created_at`, then `id`).

        A page looks at all edges of the node in that direction: to read many children in order, use Traverse.

        Args:
            direction: Seen from the node.
            edge_types: Empty: all.
            descending: The newest first.
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = entity_graph_pb.ListEdgesRequest(
            node_id=await self._node_id(node_id, **named),
            direction=messages.choice_of("direction", direction, entity_graph_pb.Direction),
            edge_types=messages.texts("edge_types", edge_types),
            page_size=page_size,
            descending=descending,
        )
        while True:
            page: entity_graph_pb.ListEdgesResponse = await self._call("ListEdges", request, timeout_s=timeout_s)
            for one in page.edges:
                yield Edge.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
