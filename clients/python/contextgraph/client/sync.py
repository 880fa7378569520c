# Generated from aio.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The clients: what `aio.py` has for async callers, for everybody else.

An RPC is one method. Each makes its request (`_messages`), calls, and returns values; `call` and `stream` underneath
are there for callers who want the generated messages themselves.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Self, TypeVar, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextgraph.client import _base as base
from contextgraph.client import _messages as messages
from contextgraph.client import _sync_io as io
from contextgraph.client._messages import (
    NOT_GIVEN,
    BlobName,
    Direction,
    Id,
    MessageFormat,
    NotGiven,
    OnExisting,
    RecordChanges,
    RecordFields,
    SearchMode,
)
from contextgraph.client._tracing import ClientSpan
from contextgraph.client._transfer import (
    FINISH_TIMEOUT_S,
    PART_BYTES,
    PATIENCE_S,
    Chunks,
    OnProgress,
    Parts,
    Segments,
    Source,
    Tally,
    check_download,
    check_upload,
    range_bytes,
)
from contextgraph.context.v1 import chat_history_pb2 as history_pb
from contextgraph.context.v1 import tools_pb2
from contextgraph.context.v1 import working_memory_pb2 as memory_pb
from contextgraph.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextgraph.context.v1.tools_pb2_grpc import ToolsStub
from contextgraph.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextgraph.entity.v1 import entity_graph_pb2 as graph_pb
from contextgraph.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextgraph.errors import Cancelled, DeadlineExceeded, Internal, InvalidArgument, Unavailable, UploadPartExists
from contextgraph.inputs import ConnectedTo, EdgeInput, NodeInput, SampleNode
from contextgraph.memory_types import MemoryType
from contextgraph.retries import Attempts, RetryBudget
from contextgraph.values import (
    AppendedEnvelope,
    AssembledNode,
    BlobEntry,
    ChatHistory,
    ChatMapping,
    ChatMessage,
    DownloadUrl,
    Edge,
    EdgeBatch,
    EdgeTypeCount,
    Embedding,
    Envelope,
    EnvelopeStatus,
    EnvelopeType,
    ExportedGraph,
    FormattedHistory,
    GraphCount,
    HistoryEvent,
    ImportedGraph,
    ManifestEntity,
    NamedNode,
    Node,
    NodeBatch,
    NodeIO,
    NodeTrial,
    QueryAnswer,
    Record,
    RecordAction,
    Resource,
    SearchHit,
    SimilarNode,
    Tool,
    TraversedNode,
    Upload,
    WrittenGraph,
    WrittenRow,
)

_T = TypeVar("_T")


class _Client:
    """What the clients share: one channel, who calls, how long, how often."""

    def __init__(self, connection: io.Connection, options: base.CallOptions) -> None:
        self._connection = connection
        self._options = options
        self._metadata = options.metadata
        self._budget = RetryBudget()

    def with_credential(self, credential: str) -> Self:
        """Return a view of this client that calls with another key or token.

        For services that act for their callers. The view shares the channel, so it costs next to nothing and closing
        either closes both. An empty credential sends none.
        """
        view = copy.copy(self)
        view._options = dataclasses.replace(self._options, credential=credential)
        view._metadata = view._options.metadata
        return view

    def call(self, rpc: str, request: Any, *, timeout_s: float | None = None, may_repeat: bool = True) -> Any:
        """Return the answer of a unary RPC: generated messages in and out.

        Args:
            rpc: Its name in the proto, e.g. "GetNode".
            request: Its request message.
            timeout_s: Deadline of the call with its retries; None: the client's.
            may_repeat: It is safe to send the request twice: a read, or a write with a request id.

        Raises:
            ContextGraphError: the class of the status.
        """
        attempts = self._attempts(self._options.timeout_s if timeout_s is None else timeout_s, may_repeat=may_repeat)

        def attempt() -> Any:
            with ClientSpan(rpc, self._metadata) as span:
                return self._connection.unary(rpc, request, timeout_s=attempts.remaining_s(), metadata=span.metadata)

        return self._repeated(attempts, attempt)

    def stream(
        self, rpc: str, request: Any, *, timeout_s: float | None = None, may_repeat: bool = True
    ) -> Generator[Any, None, None]:
        """Yield the answers of a server-streaming RPC: generated messages in and out.

        It is tried again only until the first answer is there.

        Args:
            rpc: Its name in the proto, e.g. "Traverse".
            request: Its request message.
            timeout_s: Deadline of the whole stream; None: none, but it may not be silent for `idle_timeout_s`.
            may_repeat: It is safe to send the request twice.

        Raises:
            ContextGraphError: the class of the status.
        """
        attempts = self._attempts(timeout_s, may_repeat=may_repeat)
        while True:
            begun = False
            try:
                with ClientSpan(rpc, self._metadata) as span:
                    answers = self._connection.stream(
                        rpc,
                        request,
                        timeout_s=attempts.remaining_s(),
                        idle_timeout_s=self._options.idle_timeout_s,
                        metadata=span.metadata,
                    )
                    with closing(answers):
                        for answer in answers:
                            begun = True
                            yield answer
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if begun or delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return
            io.sleep(delay_s)

    def close(self) -> None:
        """Close the channel. Calls under way end with `Cancelled`."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._connection.address)!r})"  # never the key

    def _attempts(self, timeout_s: float | None, *, may_repeat: bool = True) -> Attempts:
        return Attempts(self._budget, retries=self._options.retries if may_repeat else 0, timeout_s=timeout_s)

    def _repeated(self, attempts: Attempts, attempt: Callable[[], _T]) -> _T:
        """Return what `attempt` returns, trying again as long as `attempts` has some."""
        while True:
            try:
                result = attempt()
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return result
            io.sleep(delay_s)


class EntityClient(_Client):
    """The entity graph: nodes and typed edges.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. None: `ENTITY_SERVICE_ADDRESS`, else
            127.0.0.1:50052.
        api_key: None: `CONTEXT_SERVICE_API_KEY`. Empty: none is sent.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: How long nothing may move on a stream.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0: none.
        root_certificates: PEM of the authorities to trust for `https://`. None: grpc's own list.
        client_certificate: Certificate chain and private key, PEM, for servers that ask for one.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
        client_certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        connection = io.Connection(
            base.address_of(address, variable=base.ENTITY_ADDRESS_VARIABLE, default=base.ENTITY_ADDRESS_DEFAULT),
            service="entity-service",
            stubs=[EntityGraphStub],
            root_certificates=root_certificates,
            client_certificate=client_certificate,
        )
        options = base.options_of(
            api_key=api_key, app_id=None, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)

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
        request = graph_pb.CreateNodeRequest(
            node=messages.node_input(node),
            get_existing=get_existing,
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.CreateNodeResponse = self.call("CreateNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def create_edge(
        self,
        from_node_id: Id,
        to_node_id: Id,
        edge_type: str,
        *,
        data: Mapping[str, Any] | None = None,
        graph_name: str = "",
        id: Id | None = None,
        created_at: datetime | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Write one edge between two nodes of its graph and return it.

        Args:
            from_node_id: Where it starts.
            to_node_id: Where it ends.
            edge_type: E.g. "Contains", "Calls" or "InResponseTo"; any name is allowed.
            data: Its JSON object.
            graph_name: The graph of both nodes. Empty: "default".
            id: A UUID. None: the server makes one.
            created_at: Aware; for imports and replays. None: the server's time.
            request_id: As in `create_node`.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: an end is missing.
            EdgeExists: there is an edge of that type between the two: `edge_id` in the metadata.
        """
        edge = EdgeInput(
            messages.to_id(from_node_id),
            messages.to_id(to_node_id),
            edge_type,
            id=messages.to_id(id),
            graph_name=graph_name,
            data=data,
            created_at=created_at,
        )
        request = graph_pb.CreateEdgeRequest(
            edge=messages.edge_input(edge), request_id=messages.new_request_id(request_id)
        )
        response: graph_pb.CreateEdgeResponse = self.call("CreateEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)

    def write_graph(
        self,
        nodes: Iterable[NodeInput] = (),
        edges: Iterable[EdgeInput] = (),
        *,
        on_existing: OnExisting = "fail",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> WrittenGraph:
        """Write nodes and edges in one transaction: all of them or none. Edges may join nodes of the same call.

        Args:
            nodes: With the edges up to 2,000 rows and 4 MiB.
            edges: Each end is a node of this call or one that exists.
            on_existing: "skip" leaves rows that exist as they are and answers them as `existed`.
            request_id: As in `create_node`.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextGraphError: those of `create_node` and `create_edge`; the field names the row.
        """
        request = graph_pb.WriteGraphRequest(
            nodes=[messages.node_input(node, field=f"nodes[{row}]") for row, node in enumerate(nodes)],
            edges=[messages.edge_input(edge, field=f"edges[{row}]") for row, edge in enumerate(edges)],
            on_existing=messages.choice("on_existing", on_existing, messages.ON_EXISTING),
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.WriteGraphResponse = self.call("WriteGraph", request, timeout_s=timeout_s)
        return WrittenGraph(
            nodes=[WrittenRow.from_proto(row) for row in response.nodes],
            edges=[WrittenRow.from_proto(row) for row in response.edges],
        )

    def get_node(self, node_id: Id, *, timeout_s: float | None = None) -> Node:
        """Return one node.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeRequest(node_id=messages.to_id(node_id))
        response: graph_pb.GetNodeResponse = self.call("GetNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def batch_get_nodes(self, node_ids: Iterable[Id], *, timeout_s: float | None = None) -> NodeBatch:
        """Return up to 1,000 nodes in the order of their ids, and the ids that have none.

        Raises:
            AnswerTooLarge: they are over 4 MiB together; ask for fewer.
        """
        request = graph_pb.BatchGetNodesRequest(node_ids=messages.ids("node_ids", node_ids))
        response: graph_pb.BatchGetNodesResponse = self.call("BatchGetNodes", request, timeout_s=timeout_s)
        return NodeBatch(
            nodes=[Node.from_proto(node) for node in response.nodes], missing_ids=list(response.missing_ids)
        )

    def get_node_by_external_id(
        self, external_id: str, *, graph_name: str = "", timeout_s: float | None = None
    ) -> Node:
        """Return the node with your own id.

        Raises:
            NodeNotFound: there is none in the graph.
        """
        request = graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        response: graph_pb.GetNodeByExternalIdResponse = self.call("GetNodeByExternalId", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def get_node_by_name(self, name: str, *, graph_name: str = "", timeout_s: float | None = None) -> NamedNode:
        """Return the newest node of that name that is not archived, and how many share the name.

        Raises:
            NodeNotFound: there is none in the graph.
        """
        request = graph_pb.GetNodeByNameRequest(name=name, graph_name=graph_name)
        response: graph_pb.GetNodeByNameResponse = self.call("GetNodeByName", request, timeout_s=timeout_s)
        return NamedNode(node=Node.from_proto(response.node), matches=response.matches)

    def update_node_data(
        self,
        node_id: Id,
        data: Mapping[str, Any],
        *,
        replace: bool = False,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Node:
        """Change a node's data and return the node.

        Args:
            node_id: Which.
            data: A JSON merge patch (RFC 7396): its keys are set, those that are None are removed, others stay.
            replace: `data` is the new data as it is.
            expected_version: Change only this version.
            request_id: As in `create_node`.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = graph_pb.UpdateNodeDataRequest(
            node_id=messages.to_id(node_id),
            data_json=messages.to_object("data_json", data),
            update=graph_pb.DATA_UPDATE_REPLACE if replace else graph_pb.DATA_UPDATE_MERGE_PATCH,
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.UpdateNodeDataResponse = self.call("UpdateNodeData", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def update_node_status(
        self,
        node_id: Id,
        status: str,
        *,
        expected_status: str | None = None,
        expected_version: int | None = None,
        message: str = "",
        timeout_s: float | None = None,
    ) -> Node:
        """Change a node's status, note it in the node's timeline, and return the node.

        A node that has the status already is returned unchanged, whatever was expected.

        Args:
            node_id: Which.
            status: "Created", "Running", "Completed", "Failed", "Cancelled", or your own.
            expected_status: Change only a node that has this status.
            expected_version: Change only this version.
            message: Goes into the timeline.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none.
            StatusConflict: it has another status: `status` in the metadata.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = graph_pb.UpdateNodeStatusRequest(
            node_id=messages.to_id(node_id),
            status=status,
            expected_status=expected_status,
            expected_version=expected_version,
            message=message,
        )
        response: graph_pb.UpdateNodeStatusResponse = self.call("UpdateNodeStatus", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def archive_node(
        self,
        node_id: Id,
        *,
        restore: bool = False,
        expected_version: int | None = None,
        timeout_s: float | None = None,
    ) -> Node:
        """Archive a node, or bring it back with `restore`, and return it. Archived nodes stay readable by id.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has not `expected_version`.
        """
        request = graph_pb.ArchiveNodeRequest(
            node_id=messages.to_id(node_id), restore=restore, expected_version=expected_version
        )
        # With a version, a repeat of a call that was done but not answered would meet its own change.
        response: graph_pb.ArchiveNodeResponse = self.call(
            "ArchiveNode", request, timeout_s=timeout_s, may_repeat=expected_version is None
        )
        return Node.from_proto(response.node)

    def reset_node(self, node_id: Id, *, expected_version: int | None = None, timeout_s: float | None = None) -> Node:
        """Put a node back to before its run, and return it: status "Created", no output, an empty timeline.

        Its data, input, edges and embeddings stay.

        Raises:
            NodeNotFound: there is none.
            VersionConflict: it has not `expected_version`.
        """
        request = graph_pb.ResetNodeRequest(node_id=messages.to_id(node_id), expected_version=expected_version)
        # A repeat finds nothing left to put back, and so expects no version any more.
        response: graph_pb.ResetNodeResponse = self.call("ResetNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    def delete_node(self, node_id: Id, *, expected_version: int | None = None, timeout_s: float | None = None) -> int:
        """Delete a node for good with its edges, input, output, timeline and embeddings; return how many edges.

        To hide a node instead, use `archive_node`.

        Args:
            node_id: Which.
            expected_version: Delete only this version.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none; also when the first attempt of this call did it and its answer was lost.
            VersionConflict: it has another version: `version` in the metadata.
            PermissionDenied: the key lacks the scope `admin`.
        """
        request = graph_pb.DeleteNodeRequest(node_id=messages.to_id(node_id), expected_version=expected_version)
        response: graph_pb.DeleteNodeResponse = self.call("DeleteNode", request, timeout_s=timeout_s)
        return response.edges_deleted

    def set_node_io(
        self,
        node_id: Id,
        *,
        input: Any | NotGiven = NOT_GIVEN,
        output: Any | NotGiven = NOT_GIVEN,
        timeout_s: float | None = None,
    ) -> datetime:
        """Set what went into a node, what came out of it, or both, and return the time of the change.

        Args:
            node_id: Which.
            input: Any JSON value, up to 1 MiB; it replaces the one before, and None is null. Not given: it stays.
            output: The same.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none.
            InvalidArgument: neither side is given, or a value cannot be JSON.
            LimitExceeded: a side is too large.
        """
        request = graph_pb.SetNodeIORequest(
            node_id=messages.to_id(node_id),
            input_json=None if input is NOT_GIVEN else messages.to_json("input_json", input),
            output_json=None if output is NOT_GIVEN else messages.to_json("output_json", output),
        )
        response: graph_pb.SetNodeIOResponse = self.call("SetNodeIO", request, timeout_s=timeout_s)
        return response.modified_at.ToDatetime(tzinfo=UTC)

    def get_node_io(self, node_id: Id, *, timeout_s: float | None = None) -> NodeIO:
        """Return what went into a node and what came out of it; of a node without any, both sides are empty.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeIORequest(node_id=messages.to_id(node_id))
        response: graph_pb.GetNodeIOResponse = self.call("GetNodeIO", request, timeout_s=timeout_s)
        return NodeIO.from_proto(response)

    def append_progress(
        self,
        node_id: Id,
        type: EnvelopeType = "message",
        *,
        message: str = "",
        status: EnvelopeStatus = "",
        sub_type: str = "",
        value: Any | NotGiven = NOT_GIVEN,
        error: Any | NotGiven = NOT_GIVEN,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> AppendedEnvelope:
        """Append an envelope to a node's timeline and return its place in it.

        Args:
            node_id: Which.
            type: "status", "message", "error", "bot_progress", "value" or "waiting".
            message: A line for people; up to 64 KiB.
            status: "started", "running", "completed", "failed", "cancelled", or nothing. The node's own status stays:
                `update_node_status` changes that.
            sub_type: "return" marks the result; others are your own.
            value: Any JSON value, up to 1 MiB; None is null.
            error: The same.
            request_id: As in `create_node`.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.AppendProgressRequest(
            node_id=messages.to_id(node_id),
            type=messages.choice("type", type, messages.ENVELOPE_TYPES),
            status=messages.choice("status", status, messages.ENVELOPE_STATUSES),
            sub_type=sub_type,
            message=message,
            value_json="" if value is NOT_GIVEN else messages.to_json("value_json", value),
            error_json="" if error is NOT_GIVEN else messages.to_json("error_json", error),
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.AppendProgressResponse = self.call("AppendProgress", request, timeout_s=timeout_s)
        return AppendedEnvelope.from_proto(response)

    def list_progress(
        self,
        node_id: Id,
        *,
        own_only: bool = False,
        types: Iterable[EnvelopeType] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Envelope, None, None]:
        """Yield the envelopes of a node and of what it Calls, to any depth, oldest first, following the pages.

        Args:
            node_id: Which.
            own_only: Only the node's own, none of what it Calls.
            types: Empty: all.
            descending: The newest first.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeNotFound: there is none.
            NodeBudgetExceeded: it Calls more than 100,000 nodes.
        """
        request = graph_pb.ListProgressRequest(
            node_id=messages.to_id(node_id),
            own_only=own_only,
            types=[messages.choice("types", one, messages.ENVELOPE_TYPES) for one in messages.texts("types", types)],
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: graph_pb.ListProgressResponse = self.call("ListProgress", request, timeout_s=timeout_s)
            for envelope in page.envelopes:
                yield Envelope.from_proto(envelope)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def clear_progress(self, node_id: Id, *, timeout_s: float | None = None) -> int:
        """Remove all envelopes of a node for good, and return how many; those of what it Calls stay.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.ClearProgressRequest(node_id=messages.to_id(node_id))
        response: graph_pb.ClearProgressResponse = self.call("ClearProgress", request, timeout_s=timeout_s)
        return response.envelopes_deleted

    def upsert_embedding(
        self,
        node_id: Id,
        vector: Iterable[float],
        *,
        name: str = "",
        model: str = "",
        text_sha256: str = "",
        metadata: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Embedding:
        """Write a vector of a node under a name, in the place of the one before, and return what is known of it.

        Args:
            node_id: Which.
            vector: 1 to 4,000 numbers; as many as the other vectors of the name in the node's graph have. A list, or
                anything that yields numbers, such as an array of numpy.
            name: Empty: "default".
            model: The model that made it.
            text_sha256: Of the text that it was made of, to see later whether it is out of date.
            metadata: A JSON object to filter by, up to 64 KiB.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is none.
            InvalidArgument: the vector has another dimension, or cannot be stored in half precision.
        """
        request = graph_pb.UpsertEmbeddingRequest(
            node_id=messages.to_id(node_id),
            name=name,
            vector=messages.vector("vector", vector),
            model=model,
            text_sha256=text_sha256,
            metadata_json=messages.to_object("metadata_json", metadata),
        )
        response: graph_pb.UpsertEmbeddingResponse = self.call("UpsertEmbedding", request, timeout_s=timeout_s)
        return Embedding.from_proto(response.embedding)

    def delete_embedding(self, node_id: Id, name: str = "", *, timeout_s: float | None = None) -> None:
        """Delete a vector of a node; an empty name is "default".

        Raises:
            NodeNotFound: there is no such node.
            EmbeddingNotFound: it has none of the name; also when the first attempt of this call deleted it and its
                answer was lost.
        """
        request = graph_pb.DeleteEmbeddingRequest(node_id=messages.to_id(node_id), name=name)
        self.call("DeleteEmbedding", request, timeout_s=timeout_s)

    def list_embeddings(
        self, node_id: Id, *, with_vectors: bool = False, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Embedding, None, None]:
        """Yield the vectors of a node by their names, following the pages.

        Args:
            node_id: Which.
            with_vectors: Bring the values along.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.ListEmbeddingsRequest(
            node_id=messages.to_id(node_id), with_vectors=with_vectors, page_size=page_size
        )
        while True:
            page: graph_pb.ListEmbeddingsResponse = self.call("ListEmbeddings", request, timeout_s=timeout_s)
            for embedding in page.embeddings:
                yield Embedding.from_proto(embedding)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def search_similar(
        self,
        vector: Iterable[float] = (),
        *,
        node_id: Id | None = None,
        name: str = "",
        graph_name: str = "",
        similarity_min: float | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        limit: int = 0,
        timeout_s: float | None = None,
    ) -> list[SimilarNode]:
        """Return the nodes whose vectors are most like one, the most similar first. No similar node is missed.

        Args:
            vector: To compare with; or name a node.
            node_id: The node whose vector to compare with. It is left out itself.
            name: Of the vectors. Empty: "default".
            graph_name: Of a search by vector. Empty: "default". A search by a node looks in the node's graph.
            similarity_min: The least cosine, -1 to 1. None: any.
            metadata_contains: Compare only with vectors whose metadata contain this.
            node_types: Either type name. Empty: all.
            include_archived: Return archived nodes, too.
            limit: Nodes to return; 0: 10. At most 1,000.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is no such node.
            EmbeddingNotFound: the node has no vector of the name.
            InvalidArgument: the vector has another dimension than the stored ones.
            LimitExceeded: there are more than 100,000 vectors to compare with.
            AnswerTooLarge: the nodes are over 4 MiB together; ask for fewer.
        """
        request = graph_pb.SearchSimilarRequest(
            vector=messages.vector("vector", vector),
            node_id=messages.to_id(node_id),
            graph_name=graph_name,
            name=name,
            similarity_min=similarity_min,
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            node_types=messages.texts("node_types", node_types),
            include_archived=include_archived,
            limit=limit,
        )
        response: graph_pb.SearchSimilarResponse = self.call("SearchSimilar", request, timeout_s=timeout_s)
        return [SimilarNode.from_proto(similar) for similar in response.nodes]

    def search_nodes(
        self,
        condition: Mapping[str, Any] | None = None,
        *,
        contains: Mapping[str, Any] | None = None,
        json_path: str = "",
        connected_to: ConnectedTo | None = None,
        agent_bundle_id: str = "",
        graph_name: str = "",
        include_archived: bool = False,
        order_by: str = "",
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Node, None, None]:
        """Yield the nodes that are meant, following the pages. All that is said must hold of a node.

        Args:
            condition: A tree over the node's fields, `type` (either type name) and paths into its data, such as
                `{"type": "Task", "data.score": {"$gte": 0.5}}`. Operators: $eq $ne $gt $gte $lt $lte $in $nin $like
                $ilike $exists $and $or $not. Times are texts with a zone.
            contains: What the node's data contain.
            json_path: An SQL/JSON path over the data: a predicate must be true, a path must select something.
            connected_to: Only nodes that a walk from this one reaches.
            agent_bundle_id: Empty: any.
            graph_name: Empty: "default"; with `connected_to`, the graph of that node.
            include_archived: Yield archived nodes, too.
            order_by: A field that is a text, a number or a time, or a path such as "data.turn.index". Empty:
                "created_at".
            descending: The other way round.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: a condition or a path is malformed: `violations` name the place.
            NodeNotFound: there is no node to be connected to.
            NodeBudgetExceeded: it is connected to more than 100,000.
        """
        wanted = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=connected_to,
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.SearchNodesRequest(
            filter=wanted, order_by=order_by, descending=descending, page_size=page_size
        )
        while True:
            page: graph_pb.SearchNodesResponse = self.call("SearchNodes", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield Node.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def count_nodes(
        self,
        condition: Mapping[str, Any] | None = None,
        *,
        contains: Mapping[str, Any] | None = None,
        json_path: str = "",
        connected_to: ConnectedTo | None = None,
        agent_bundle_id: str = "",
        graph_name: str = "",
        include_archived: bool = False,
        timeout_s: float | None = None,
    ) -> int:
        """Return how many nodes `search_nodes` would yield; arguments and errors are the same."""
        wanted = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=connected_to,
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.CountNodesRequest(filter=wanted)
        response: graph_pb.CountNodesResponse = self.call("CountNodes", request, timeout_s=timeout_s)
        return response.count

    def list_graphs(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[GraphCount, None, None]:
        """Yield the graphs that have nodes, by name, with how much is in each, following the pages.

        Args:
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = graph_pb.ListGraphsRequest(page_size=page_size)
        while True:
            page: graph_pb.ListGraphsResponse = self.call("ListGraphs", request, timeout_s=timeout_s)
            for graph in page.graphs:
                yield GraphCount(graph_name=graph.graph_name, nodes=graph.nodes, edges=graph.edges)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_edge_types(
        self, graph_name: str = "", *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[EdgeTypeCount, None, None]:
        """Yield the edge types of a graph, by name, with how many edges there are of each, following the pages.

        Args:
            graph_name: Empty: "default". One without edges, or that never was, has none.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = graph_pb.ListEdgeTypesRequest(graph_name=graph_name, page_size=page_size)
        while True:
            page: graph_pb.ListEdgeTypesResponse = self.call("ListEdgeTypes", request, timeout_s=timeout_s)
            for edge_type in page.edge_types:
                yield EdgeTypeCount(edge_type=edge_type.edge_type, edges=edge_type.edges)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def import_graph(
        self, source: io.UploadSource, *, graph_name: str = "", on_progress: OnProgress | None = None
    ) -> ImportedGraph:
        """Write a graph from newline-delimited JSON, as `export_graph` makes it, and return what was written.

        What is there already, by its id, is skipped: an import that broke off is simply begun again. It is sent in
        segments of some MiB; one that failed with `Unavailable` is sent again by itself.

        Args:
            source: A path (a text is a path), bytes, an open binary file, or an iterator of bytes.
            graph_name: Where the rows go. Empty: the graph that the first line names, else "default".
            on_progress: Called with the bytes that are written and, where known, all bytes.

        Raises:
            InvalidArgument: a line is malformed: the violation names it.
            NodeNotFound: a line names a node that no line before it wrote.
            OSError: the source cannot be read.
        """
        opened = io.source_of(source)
        done, sent_bytes = ImportedGraph(graph_name=graph_name), 0
        segments = _segments(opened)
        with closing(segments):
            for segment in segments:
                done = done.plus(self._import_segment(done, segment))
                sent_bytes += sum(map(len, segment))
                if on_progress is not None:
                    on_progress(sent_bytes, opened.size_bytes)
        return done

    def _import_segment(self, done: ImportedGraph, segment: list[bytes]) -> graph_pb.ImportGraphResponse:
        header = graph_pb.ImportHeader(graph_name=done.graph_name, lines_before=done.lines)

        def attempt() -> graph_pb.ImportGraphResponse:
            outgoing = _import_messages(header, segment)
            with closing(outgoing), ClientSpan("ImportGraph", self._metadata) as span:
                answer: graph_pb.ImportGraphResponse = self._connection.upload(
                    "ImportGraph", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=span.metadata
                )
            return answer

        return self._repeated(self._attempts(None), attempt)

    def export_graph(
        self, path: str | os.PathLike[str], *, graph_name: str = "", on_progress: OnProgress | None = None
    ) -> ExportedGraph:
        """Read a whole graph out into a file of newline-delimited JSON, and return how much there was.

        The file appears under its name when it is complete. An export that broke off goes on where it was.

        Args:
            path: Where to; what is there is replaced.
            graph_name: Empty: "default".
            on_progress: Called with the bytes that are written, and None: nobody knows how many will come.

        Raises:
            OSError: the file cannot be written.
        """
        done = ExportedGraph()
        with io.Target(path) as target:
            pages = self.export_graph_pages(graph_name)
            with closing(pages):
                for page in pages:
                    target.write(page.lines)
                    done = done.plus(page)
                    if on_progress is not None:
                        on_progress(done.size_bytes, None)
            target.commit()
        return done

    def export_graph_pages(
        self, graph_name: str = "", *, resume_token: str = ""
    ) -> Generator[graph_pb.ExportGraphResponse, None, None]:
        """Read a whole graph out and yield the generated messages: whole lines, about 1 MiB each.

        A stream that breaks is opened again behind the last message. `resume_token`, of such a message, goes on with
        an export that somebody else began.

        Raises:
            InvalidPageToken: the token is malformed or of another graph.
        """
        request = graph_pb.ExportGraphRequest(graph_name=graph_name, resume_token=resume_token)
        attempts = self._attempts(None)
        while True:
            pages = self.stream("ExportGraph", request, may_repeat=False)
            try:
                with closing(pages):
                    for page in pages:
                        request.resume_token = page.resume_token
                        attempts.succeeded()
                        attempts = self._attempts(None)
                        yield page
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            else:
                return
            io.sleep(delay_s)

    def get_edge(self, edge_id: Id, *, timeout_s: float | None = None) -> Edge:
        """Return one edge.

        Raises:
            EdgeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetEdgeRequest(edge_id=messages.to_id(edge_id))
        response: graph_pb.GetEdgeResponse = self.call("GetEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)

    def batch_get_edges(self, edge_ids: Iterable[Id], *, timeout_s: float | None = None) -> EdgeBatch:
        """Return up to 1,000 edges in the order of their ids, and the ids that have none.

        Raises:
            AnswerTooLarge: they are over 4 MiB together; ask for fewer.
        """
        request = graph_pb.BatchGetEdgesRequest(edge_ids=messages.ids("edge_ids", edge_ids))
        response: graph_pb.BatchGetEdgesResponse = self.call("BatchGetEdges", request, timeout_s=timeout_s)
        return EdgeBatch(
            edges=[Edge.from_proto(edge) for edge in response.edges], missing_ids=list(response.missing_ids)
        )

    def update_edge_data(
        self,
        edge_id: Id,
        data: Mapping[str, Any],
        *,
        replace: bool = False,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Change an edge's data and return the edge; the arguments are those of `update_node_data`.

        Raises:
            EdgeNotFound: there is none.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = graph_pb.UpdateEdgeDataRequest(
            edge_id=messages.to_id(edge_id),
            data_json=messages.to_object("data_json", data),
            update=graph_pb.DATA_UPDATE_REPLACE if replace else graph_pb.DATA_UPDATE_MERGE_PATCH,
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.UpdateEdgeDataResponse = self.call("UpdateEdgeData", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)

    def delete_edge(
        self,
        edge_id: Id | None = None,
        *,
        from_node_id: Id | None = None,
        to_node_id: Id | None = None,
        edge_type: str = "",
        expected_version: int | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Delete one edge for good and return it as it was. Its nodes stay.

        Args:
            edge_id: Which; or name it by its ends and its type.
            from_node_id: Where it starts.
            to_node_id: Where it ends.
            edge_type: Its type.
            expected_version: Delete only this version.
            timeout_s: Deadline; None: the client's.

        Raises:
            EdgeNotFound: there is none; also when the first attempt of this call did it and its answer was lost.
            VersionConflict: it has another version: `version` in the metadata.
            InvalidArgument: it is named twice, or not at all.
        """
        request = graph_pb.DeleteEdgeRequest(
            edge_id=messages.to_id(edge_id),
            from_node_id=messages.to_id(from_node_id),
            to_node_id=messages.to_id(to_node_id),
            edge_type=edge_type,
            expected_version=expected_version,
        )
        response: graph_pb.DeleteEdgeResponse = self.call("DeleteEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)

    def list_edges(
        self,
        node_id: Id,
        *,
        direction: Direction = "out",
        edge_types: Iterable[str] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Edge, None, None]:
        """Yield the edges of a node, oldest first, following the pages.

        Args:
            node_id: Which.
            direction: Seen from the node.
            edge_types: Empty: all.
            descending: The newest first.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.ListEdgesRequest(
            node_id=messages.to_id(node_id),
            direction=messages.choice("direction", direction, messages.DIRECTIONS),
            edge_types=messages.texts("edge_types", edge_types),
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: graph_pb.ListEdgesResponse = self.call("ListEdges", request, timeout_s=timeout_s)
            for edge in page.edges:
                yield Edge.from_proto(edge)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def traverse(
        self,
        start: Id | Iterable[Id],
        *,
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        include_io: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        after: Node | None = None,
        node_budget: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[TraversedNode, None, None]:
        """Walk the graph from `start` and yield what is reached: each node once, in a total and stable order.

        Args:
            start: One node id, or up to 1,000 of one graph.
            edge_types: Empty: all.
            direction: Which way edges are followed.
            depth_max: 1 to 100; 0: 3.
            node_types: Nodes of other types are passed through, not yielded. Empty: all.
            include_archived: Yield archived nodes too, which else are passed through.
            include_start: Yield the start nodes too, with depth 0.
            include_io: Bring the nodes' input and output along, as `io`.
            order_path: A path into the node's data, such as "turn.index". Empty: `created_at`.
            descending: The other way round.
            limit: Nodes to yield at most; 0: all.
            after: Begin behind this node in the order of `created_at`; with `descending`, what was before it.
            node_budget: Nodes to visit at most; 0: 100,000.
            timeout_s: Deadline of the whole walk; None: none.

        Raises:
            NodeNotFound: a start node is not there.
            NodeBudgetExceeded: the walk is too large.
            AnswerTooLarge: with `include_io`, one node with its input and output is over 4 MiB.
        """
        pages = self.traverse_pages(
            start,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            include_io=include_io,
            order_path=order_path,
            descending=descending,
            limit=limit,
            after=None if after is None else messages.position(after),
            node_budget=node_budget,
            timeout_s=timeout_s,
        )
        with closing(pages):
            for page in pages:
                for reached in page.nodes:
                    yield TraversedNode.from_proto(reached)

    def traverse_pages(
        self,
        start: Id | Iterable[Id],
        *,
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        include_io: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        after: graph_pb.TraversePosition | None = None,
        page_token: str = "",
        node_budget: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[graph_pb.TraverseResponse, None, None]:
        """Walk as `traverse` does and yield the generated messages: up to 1,000 nodes each, no object per node.

        A walk that `limit` cut goes on with `page_token`: the `next_page_token` of its last message.

        Raises:
            InvalidPageToken: the token is malformed or of another walk; and as `traverse`.
        """
        request = messages.traverse_request(
            start,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            include_io=include_io,
            order_path=order_path,
            descending=descending,
            limit=limit,
            after=after,
            page_token=page_token,
            node_budget=node_budget,
        )
        pages = self.stream("Traverse", request, timeout_s=timeout_s)
        with closing(pages):
            yield from pages


class ContextClient(_Client):
    """Working memory and chat history.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. None: `CONTEXT_SERVICE_ADDRESS`, else
            127.0.0.1:50051.
        api_key: None: `CONTEXT_SERVICE_API_KEY`. Empty: none is sent.
        app_id: The app that records are written for and mappings looked up in. None: `CONTEXT_SERVICE_APP_ID`.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: How long nothing may move on a stream.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0: none.
        root_certificates: PEM of the authorities to trust for `https://`. None: grpc's own list.
        client_certificate: Certificate chain and private key, PEM, for servers that ask for one.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        app_id: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
        client_certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        connection = io.Connection(
            base.address_of(address, variable=base.CONTEXT_ADDRESS_VARIABLE, default=base.CONTEXT_ADDRESS_DEFAULT),
            service="context-service",
            stubs=[WorkingMemoryStub, ChatHistoryStub, ToolsStub],
            root_certificates=root_certificates,
            client_certificate=client_certificate,
        )
        options = base.options_of(
            api_key=api_key, app_id=app_id, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)

    def insert_wm_record(
        self,
        memory_type: str,
        name: str,
        *,
        content: Any = None,
        content_json: str = "",
        working_memory_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Write a record with inline JSON content, or with none, and return it.

        Args:
            memory_type: A `MemoryType`, or your own text.
            name: A label.
            content: Any JSON value, up to 1 MiB.
            content_json: The same as text, kept byte for byte.
            working_memory_id: A UUID. None: the server makes one.
            request_id: A UUID. The same one again answers as the first time and writes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            RecordExists: the id is taken.
            LimitExceeded: the content, the metadata or a text is too long.
        """
        record = messages.record_input(
            memory_type=memory_type,
            name=name,
            content=content,
            content_json=content_json,
            working_memory_id=working_memory_id,
            **self._with_app(fields),
        )
        request = memory_pb.InsertWMRecordRequest(record=record, request_id=messages.new_request_id(request_id))
        response: memory_pb.InsertWMRecordResponse = self.call("InsertWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def fetch_wm_record(
        self, working_memory_id: Id, *, include_archived: bool = False, timeout_s: float | None = None
    ) -> Record:
        """Return one record with its inline content.

        Raises:
            RecordNotFound: there is none, or it is another tenant's.
            RecordArchived: it is archived, and `include_archived` is not set.
        """
        request = memory_pb.FetchWMRecordRequest(
            working_memory_id=messages.to_id(working_memory_id), include_archived=include_archived
        )
        response: memory_pb.FetchWMRecordResponse = self.call("FetchWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def update_wm_record(
        self,
        working_memory_id: Id,
        *,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **changes: Unpack[RecordChanges],
    ) -> Record:
        """Change the given fields of a record and return it. Metadata is replaced, not merged.

        Args:
            working_memory_id: Which.
            expected_version: Change only this version.
            request_id: As in `insert_wm_record`.
            timeout_s: Deadline; None: the client's.
            **changes: The fields of `RecordChanges` and their new values. None empties a field.

        Raises:
            RecordNotFound: there is none.
            RecordArchived: it is archived.
            RecordHasBlob: new content for a record whose content is a blob.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = memory_pb.UpdateWMRecordRequest(
            record=messages.record_input(working_memory_id=working_memory_id, **changes),
            update_mask=FieldMask(paths=messages.record_mask(changes)),
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: memory_pb.UpdateWMRecordResponse = self.call("UpdateWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def fetch_wm_records_by_entity(
        self,
        entity_node_id: Id,
        *,
        memory_types: Iterable[str] = (),
        subtypes: Iterable[str] = (),
        semantic_purposes: Iterable[str] = (),
        names: Iterable[str] = (),
        name_prefix: str = "",
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        with_content: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Record, None, None]:
        """Yield the records of an entity, newest first, following the pages.

        Args:
            entity_node_id: Which.
            memory_types: One of these. Empty: any; so of the next three.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: The name begins with it.
            tags: All of these.
            metadata_contains: A JSON object that the metadata must contain.
            include_archived: Archived ones too.
            with_content: Inline content too, which lists else leave out.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = memory_pb.FetchWMRecordsByEntityRequest(
            entity_node_id=messages.to_id(entity_node_id),
            memory_types=messages.texts("memory_types", memory_types),
            subtypes=messages.texts("subtypes", subtypes),
            semantic_purposes=messages.texts("semantic_purposes", semantic_purposes),
            names=messages.texts("names", names),
            name_prefix=name_prefix,
            tags=messages.texts("tags", tags),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            include_archived=include_archived,
            with_content=with_content,
            page_size=page_size,
        )
        while True:
            page: memory_pb.FetchWMRecordsByEntityResponse = self.call(
                "FetchWMRecordsByEntity", request, timeout_s=timeout_s
            )
            for record in page.records:
                yield Record.from_proto(record)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def fetch_wm_manifest(
        self,
        root_node_id: Id,
        *,
        depth_max: int = 0,
        edge_types: Iterable[str] = (),
        memory_types: Iterable[str] = (),
        subtypes: Iterable[str] = (),
        semantic_purposes: Iterable[str] = (),
        names: Iterable[str] = (),
        name_prefix: str = "",
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        counts_only: bool = False,
        records_max: int = 0,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[ManifestEntity, None, None]:
        """Yield the entities below a root that have records, with these records by memory type, following the pages.

        Args:
            root_node_id: Where to begin; a node that does not exist gives its own records.
            depth_max: 1 to 100; 0: 3.
            edge_types: Followed downwards. Empty: Contains, Owns, Calls, Produces, HasIO, HAS_CHILD, HAS_STEP.
            memory_types: One of these; this and the others as in `fetch_wm_records_by_entity`.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: What the name begins with.
            tags: All of these.
            metadata_contains: What the metadata contains.
            include_archived: Archived and expired records, and those of archived nodes.
            counts_only: Leave the records out.
            records_max: Records of one entity and memory type, the newest; 0: 100.
            page_size: Entities of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeBudgetExceeded: there are too many entities below the root.
        """
        request = memory_pb.FetchWMManifestRequest(
            root_node_id=messages.to_id(root_node_id),
            depth_max=depth_max,
            edge_types=messages.texts("edge_types", edge_types),
            memory_types=messages.texts("memory_types", memory_types),
            subtypes=messages.texts("subtypes", subtypes),
            semantic_purposes=messages.texts("semantic_purposes", semantic_purposes),
            names=messages.texts("names", names),
            name_prefix=name_prefix,
            tags=messages.texts("tags", tags),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            include_archived=include_archived,
            counts_only=counts_only,
            records_max=records_max,
            page_size=page_size,
        )
        while True:
            page: memory_pb.FetchWMManifestResponse = self.call("FetchWMManifest", request, timeout_s=timeout_s)
            for entity in page.entities:
                yield ManifestEntity.from_proto(entity)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def search_wm_records(
        self,
        text: str = "",
        *,
        embedding: Sequence[float] | None = None,
        embedding_model: str = "",
        mode: SearchMode = "",
        entity_node_ids: Iterable[Id] = (),
        memory_types: Iterable[str] = (),
        graph_name: str = "",
        agent_bundle_id: str = "",
        app_id: str = "",
        where: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        limit: int = 0,
        with_content: bool = False,
        timeout_s: float | None = None,
    ) -> list[SearchHit]:
        """Find records of all entities by their words, by a vector, or by both; the best first.

        Args:
            text: Words in name, description and inline content, all of which a record must have; "or", quotes and
                minus as in a web search. Names are also found by the beginnings of their words.
            embedding: 1,536 values, of the same model as the records'. With a `mode` that needs one, None is that of
                the text, where the service has an embedder.
            embedding_model: Compare only with embeddings of this model. Empty: with all.
            mode: "text", "vector" or "fused". Empty: by what is given.
            entity_node_ids: Records of one of these.
            memory_types: One of these.
            graph_name: Empty: all; so are the next two. Unlike in other methods, the client's `app_id` filters nothing.
            agent_bundle_id: Of this bundle.
            app_id: Of this app.
            where: A condition tree, as of `query_wm_records`.
            include_archived: Archived and expired records too.
            limit: Records; 0: 10, at most 100.
            with_content: Return inline contents too.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the vector has another dimension, or the condition is none.
            SliceTooLarge: there are more than 50,000 vectors to compare with; add a filter.
        """
        request = memory_pb.SearchWMRecordsRequest(
            text=text,
            embedding=None if embedding is None else memory_pb.Embedding(values=embedding, model=embedding_model),
            mode=messages.choice("mode", mode, messages.SEARCH_MODES),
            entity_node_ids=messages.ids("entity_node_ids", entity_node_ids),
            memory_types=messages.texts("memory_types", memory_types),
            graph_name=graph_name,
            agent_bundle_id=agent_bundle_id,
            app_id=app_id,
            where_json=messages.to_object("where_json", where),
            include_archived=include_archived,
            limit=limit,
            with_content=with_content,
        )
        response: memory_pb.SearchWMRecordsResponse = self.call("SearchWMRecords", request, timeout_s=timeout_s)
        return [SearchHit.from_proto(hit) for hit in response.hits]

    def query_wm_records(
        self,
        select: Iterable[str],
        *,
        where: Mapping[str, Any] | None = None,
        group_by: Iterable[str] = (),
        order_by: Iterable[str] = (),
        limit: int = 0,
        include_archived: bool = False,
        timeout_s: float | None = None,
    ) -> QueryAnswer:
        """Answer a question about the records of all entities.

        Args:
            select: Columns: fields of `Record`, `metadata` and paths into it ("metadata.a.b"), `count(*)`, and `count`,
                `sum`, `min` and `max` of one of those: "max(created_at)".
            where: A condition tree, such as `{"memory_type": "file", "metadata.score": {"$gte": 0.5}}`. Operators: `$eq
                $ne $gt $gte $lt $lte $in $nin $like $ilike $exists $and $or $not`.
            group_by: Fields and paths; every other column is an aggregate or one of them.
            order_by: Columns; one that begins with "-" has the largest first. Empty: newest first.
            limit: Rows; 0: 100, at most 1,000.
            include_archived: Archived and expired records too.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: there is no such column or operator; the field violation names the place.
            AnswerTooLarge: the rows are over 3 MiB.
        """
        request = memory_pb.QueryWMRecordsRequest(
            select=messages.texts("select", select),
            where_json=messages.to_object("where_json", where),
            group_by=messages.texts("group_by", group_by),
            order_by=[
                memory_pb.QueryOrder(column=key.removeprefix("-"), descending=key.startswith("-"))
                for key in messages.texts("order_by", order_by)
            ],
            limit=limit,
            include_archived=include_archived,
        )
        response: memory_pb.QueryWMRecordsResponse = self.call("QueryWMRecords", request, timeout_s=timeout_s)
        return QueryAnswer.from_proto(response)

    def delete_wm_record(
        self, working_memory_id: Id, *, purge: bool = False, timeout_s: float | None = None
    ) -> Record | None:
        """Archive a record and return it, or remove it for good. Again is harmless.

        An archived record is hidden until `restore_wm_record` brings it back or its retention ends.

        Args:
            working_memory_id: Which.
            purge: Remove it at once, with its bytes unless other records share them. Then there is nothing to return.
            timeout_s: Deadline; None: the client's.

        Raises:
            RecordNotFound: there never was one, or it is gone and `purge` is not set.
        """
        request = memory_pb.DeleteWMRecordRequest(working_memory_id=messages.to_id(working_memory_id), purge=purge)
        response: memory_pb.DeleteWMRecordResponse = self.call("DeleteWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record) if response.HasField("record") else None

    def restore_wm_record(self, working_memory_id: Id, *, timeout_s: float | None = None) -> Record:
        """Bring an archived or expired record back and return it. Again is harmless.

        Raises:
            RecordNotFound: there never was one, or it was purged.
        """
        request = memory_pb.RestoreWMRecordRequest(working_memory_id=messages.to_id(working_memory_id))
        response: memory_pb.RestoreWMRecordResponse = self.call("RestoreWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def list_wm_record_actions(
        self, working_memory_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[RecordAction, None, None]:
        """Yield what happened to a record, oldest first, following the pages. The log outlives a purge.

        Args:
            working_memory_id: Which.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            RecordNotFound: there never was one.
        """
        request = memory_pb.ListWMRecordActionsRequest(
            working_memory_id=messages.to_id(working_memory_id), page_size=page_size
        )
        while True:
            page: memory_pb.ListWMRecordActionsResponse = self.call("ListWMRecordActions", request, timeout_s=timeout_s)
            for action in page.actions:
                yield RecordAction.from_proto(action)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def upload_blob(
        self,
        source: io.UploadSource,
        *,
        name: str = "",
        memory_type: str = MemoryType.FILE,
        working_memory_id: Id | None = None,
        sha256: str = "",
        request_id: Id | None = None,
        on_progress: OnProgress | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Store a file and return its record. When it returns, the bytes are durable; until then nothing is visible.

        The bytes are streamed, never held at once, and hashed on the way: the answer is compared with what was sent.
        An upload that failed with `Unavailable` is repeated only if the source can be read again: bytes, the path of
        a file, a seekable file.

        Args:
            source: Bytes, a path (a text is a path), an open binary file, or an iterator of bytes.
            name: A label. Empty: the file's name, where the source has one.
            memory_type: A `MemoryType`, or your own text.
            working_memory_id: A UUID. None: the server makes one.
            sha256: In hexadecimal, where you know it: the service then refuses other bytes.
            request_id: As in `insert_wm_record`.
            on_progress: Called with the bytes sent and, where known, all bytes. It starts again if the upload does.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            InvalidArgument: the source has no name and none is given.
            BlobTooLarge: the limit was passed. Nothing was stored.
            ChecksumMismatch: the bytes have not the `sha256`. Nothing was stored.
            BlobCorrupted: the service stored something else than was sent.
            OSError: the source cannot be read.
        """
        opened = io.source_of(source)
        name = name or opened.name
        if not name:
            raise InvalidArgument("the source has no name of its own: give one", field="header.record.name")
        record = messages.record_input(
            memory_type=memory_type, name=name, working_memory_id=working_memory_id, **self._with_app(fields)
        )
        header = memory_pb.UploadHeader(
            record=record,
            size_bytes=opened.size_bytes,
            sha256=sha256,
            request_id=messages.new_request_id(request_id),
        )

        def attempt() -> Record:
            tally = Tally(opened.size_bytes, on_progress)
            outgoing = _upload_messages(header, opened, tally)
            with closing(outgoing):
                with ClientSpan("UploadBlob", self._metadata) as span:
                    answer: memory_pb.UploadBlobResponse = self._connection.upload(
                        "UploadBlob", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=span.metadata
                    )
                for _ in outgoing:
                    pass  # a repeated request is answered before it is read; its bytes must be the same
            check_upload(answer, tally)
            return Record.from_proto(answer.record)

        return self._repeated(self._attempts(None, may_repeat=opened.replayable), attempt)

    def start_upload(
        self,
        name: str,
        *,
        memory_type: str = MemoryType.FILE,
        size_bytes: int | None = None,
        sha256: str = "",
        working_memory_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Upload:
        """Begin an upload that survives broken connections and restarts. `resume_upload` does the rest of it.

        Args:
            name: A label.
            memory_type: A `MemoryType`, or your own text.
            size_bytes: Of the whole, where you know it.
            sha256: Of the whole, in hexadecimal, where you know it.
            working_memory_id: A UUID. None: the server makes one.
            request_id: A UUID. The same one again answers the same upload. None: a new one.
            timeout_s: Deadline; None: the client's.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            BlobTooLarge: `size_bytes` is over the limit.
            RecordExists: the id is taken.
        """
        request = memory_pb.StartUploadRequest(
            record=messages.record_input(
                memory_type=memory_type, name=name, working_memory_id=working_memory_id, **self._with_app(fields)
            ),
            size_bytes=size_bytes,
            sha256=sha256,
            request_id=messages.new_request_id(request_id),
        )
        response: memory_pb.StartUploadResponse = self.call("StartUpload", request, timeout_s=timeout_s)
        return Upload.from_proto(response.upload)

    def append_upload(self, upload_id: Id, offset_bytes: int, part: bytes | Sequence[bytes]) -> Upload:
        """Add one part to a resumable upload and return how far it is. `resume_upload` does this for a whole file.

        It is sent once: behind an error, `get_upload` tells whether it arrived.

        Args:
            upload_id: Which.
            offset_bytes: Where the part begins: at the upload's `offset_bytes`.
            part: Its bytes, in one piece or several; up to the upload's `part_bytes_max`.

        Raises:
            UploadNotFound: there is none, or it is finished.
            UploadPartExists: the upload is past this offset: `offset_bytes` in the metadata.
            UploadGap: it is not there yet: `offset_bytes` in the metadata.
        """
        pieces = [part] if isinstance(part, bytes) else part
        header = memory_pb.AppendHeader(upload_id=messages.to_id(upload_id), offset_bytes=offset_bytes)
        outgoing = _part_messages(header, pieces)
        with closing(outgoing):
            answer: memory_pb.AppendUploadResponse = self._connection.upload(
                "AppendUpload", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=self._metadata
            )
        return Upload.from_proto(answer.upload)

    def get_upload(self, upload_id: Id, *, timeout_s: float | None = None) -> Upload:
        """Return how far a resumable upload is; of one that was finished within the last day, its record.

        Raises:
            UploadNotFound: there is none: it never was, it was given up, or it was finished longer ago.
        """
        request = memory_pb.GetUploadRequest(upload_id=messages.to_id(upload_id))
        response: memory_pb.GetUploadResponse = self.call("GetUpload", request, timeout_s=timeout_s)
        return Upload.from_proto(response.upload)

    def finish_upload(
        self,
        upload_id: Id,
        *,
        size_bytes: int | None = None,
        sha256: str = "",
        timeout_s: float = FINISH_TIMEOUT_S,
    ) -> Record:
        """Make a record of a resumable upload and return it. Again answers the same.

        Args:
            upload_id: Which.
            size_bytes: What the parts must add up to, where you know it.
            sha256: In hexadecimal, where you know it.
            timeout_s: Deadline. The service reads and writes all bytes once more, which may take minutes.

        Raises:
            UploadNotFound: there is none.
            SizeMismatch: the parts are not as many bytes. They stay, and others may be added.
            ChecksumMismatch: the parts are other bytes.
            RecordExists: the record's id was taken meanwhile.
        """
        request = memory_pb.FinishUploadRequest(
            upload_id=messages.to_id(upload_id), size_bytes=size_bytes, sha256=sha256
        )
        response: memory_pb.FinishUploadResponse = self.call("FinishUpload", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def upload_resumable(
        self,
        source: io.UploadSource,
        *,
        name: str = "",
        memory_type: str = MemoryType.FILE,
        working_memory_id: Id | None = None,
        sha256: str = "",
        request_id: Id | None = None,
        on_started: Callable[[str], None] | None = None,
        on_progress: OnProgress | None = None,
        part_bytes: int = PART_BYTES,
        patience_s: float = PATIENCE_S,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Store a file as `upload_blob` does, but in parts that each survive on their own, and return its record.

        A broken connection or a restart of the service costs one part, not the whole. Keep the id that `on_started`
        gets: should this process end, `resume_upload` goes on in another.

        Args:
            source: Bytes, a path (a text is a path), an open binary file, or an iterator of bytes.
            name: A label. Empty: the file's name, where the source has one.
            memory_type: A `MemoryType`, or your own text.
            working_memory_id: A UUID. None: the server makes one.
            sha256: In hexadecimal, where you know it: the service then refuses other bytes.
            request_id: A UUID. The same one again goes on with the same upload. None: a new one.
            on_started: Called with the upload's id before the first part.
            on_progress: Called with the bytes that are durable and, where known, all bytes.
            part_bytes: The size of a part; one is held in memory.
            patience_s: How long to go on trying while nothing gets through.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            InvalidArgument: the source has no name and none is given.
            Unavailable: the service was away for too long. `resume_upload` goes on.
            BlobTooLarge, SizeMismatch, ChecksumMismatch, RecordExists: see `finish_upload`.
            OSError: the source cannot be read.
        """
        opened = io.source_of(source)
        name = name or opened.name
        if not name:
            raise InvalidArgument("the source has no name of its own: give one", field="record.name")
        start_id = messages.new_request_id(request_id)
        upload = self._patiently(
            patience_s,
            lambda: self.start_upload(
                name,
                memory_type=memory_type,
                size_bytes=opened.size_bytes,
                sha256=sha256,
                working_memory_id=working_memory_id,
                request_id=start_id,
                **fields,
            ),
        )
        if on_started is not None:
            on_started(upload.id)
        return self._sent(upload, opened, on_progress=on_progress, part_bytes=part_bytes, patience_s=patience_s)

    def resume_upload(
        self,
        upload_id: Id,
        source: io.UploadSource,
        *,
        on_progress: OnProgress | None = None,
        part_bytes: int = PART_BYTES,
        patience_s: float = PATIENCE_S,
    ) -> Record:
        """Go on with an upload, in this process or another, and return its record; of a finished one, at once.

        The source is read from its start, so that all of it is compared with what the service has, and sent from where
        the upload is.

        Args:
            upload_id: Which.
            source: The same bytes again: as for `upload_resumable`.
            on_progress: Called with the bytes that are durable and, where known, all bytes.
            part_bytes: The size of a part; one is held in memory.
            patience_s: How long to go on trying while nothing gets through.

        Raises:
            UploadNotFound: it was given up, after a day without a new part.
            ChecksumMismatch, SizeMismatch: the source is not the one that the upload was begun with.
            ContextGraphError: those of `upload_resumable`.
        """
        opened = io.source_of(source)
        upload = self._patiently(patience_s, lambda: self.get_upload(upload_id))
        return self._sent(upload, opened, on_progress=on_progress, part_bytes=part_bytes, patience_s=patience_s)

    def get_blob(
        self,
        blob: BlobName,
        *,
        offset_bytes: int = 0,
        length_bytes: int = 0,
        include_archived: bool = False,
    ) -> BlobReader:
        """Open a blob, or a range of it, for reading: its record, then its bytes as they arrive.

        Args:
            blob: A record, a record's id, or a blob key.
            offset_bytes: The first byte.
            length_bytes: 0, or more than there is: to the end.
            include_archived: Read it although its record is archived.

        Raises:
            RecordNotFound: there is none.
            BlobNotFound: there is none of that key.
            RecordArchived: it is archived, and `include_archived` is not set.
            RecordHasNoBlob: its content is inline: see `get_content`.
            RangePastEnd: it starts past the end.
        """
        request = memory_pb.GetBlobRequest(
            **messages.blob_name(blob),
            offset_bytes=offset_bytes,
            length_bytes=length_bytes,
            include_archived=include_archived,
        )
        return self._opened(request)

    def download_blob(
        self,
        blob: BlobName,
        path: str | os.PathLike[str],
        *,
        include_archived: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Record:
        """Write a blob to a file and return its record.

        The bytes go into a temporary file beside `path`, are checked against the record's sha256, and get their name
        last, replacing a file of that name. Whatever goes wrong, no file is left and an old one stays as it was.

        Args:
            blob: A record, a record's id, or a blob key.
            path: The file. Its folder must exist.
            include_archived: Read it although its record is archived.
            on_progress: Called with the bytes written and all bytes. It starts again if the download does.

        Raises:
            BlobCorrupted: the bytes that arrived are not those of the blob.
            OSError: the file cannot be written.
            ContextGraphError: those of `get_blob`.
        """
        request = memory_pb.GetBlobRequest(**messages.blob_name(blob), include_archived=include_archived)

        def attempt() -> Record:
            with io.Target(path) as target:
                reader = self._opened(request, may_repeat=False)  # all of this is repeated
                with reader:
                    written_bytes = 0
                    for chunk in reader:
                        target.write(chunk)
                        written_bytes += len(chunk)
                        if on_progress is not None:
                            on_progress(written_bytes, reader.size_bytes)
                target.commit()
                return reader.record

        return self._repeated(self._attempts(None), attempt)

    def get_content(self, blob: BlobName, *, include_archived: bool = False, timeout_s: float | None = None) -> bytes:
        """Return the content of a record, blob or inline JSON, wherever it lives; up to 3 MiB.

        Raises:
            AnswerTooLarge: it is larger: use `get_blob`.
            ContextGraphError: those of `get_blob`.
        """
        request = memory_pb.GetContentRequest(**messages.blob_name(blob), include_archived=include_archived)
        response: memory_pb.GetContentResponse = self.call("GetContent", request, timeout_s=timeout_s)
        return response.content

    def create_download_url(
        self,
        blob: BlobName,
        *,
        lifetime_s: int = 900,
        include_archived: bool = False,
        timeout_s: float | None = None,
    ) -> DownloadUrl:
        """Make a URL that gives a blob to whoever has it, straight from the provider; nothing can take it back.

        Args:
            blob: Which.
            lifetime_s: Seconds until it expires; up to seven days.
            include_archived: Of an archived record too.
            timeout_s: Deadline; None: the client's.

        Raises:
            NoDownloadUrl: the provider of the blob, or its credentials, sign none: use `get_blob`.
            ContextGraphError: those of `get_blob`.
        """
        request = memory_pb.CreateDownloadUrlRequest(
            **messages.blob_name(blob), lifetime_s=lifetime_s, include_archived=include_archived
        )
        response: memory_pb.CreateDownloadUrlResponse = self.call("CreateDownloadUrl", request, timeout_s=timeout_s)
        return DownloadUrl.from_proto(response)

    def delete_blob(self, blob: BlobName, *, timeout_s: float | None = None) -> str:
        """Archive the record that a blob belongs to and return its id. Again is harmless.

        Raises:
            RecordNotFound: there is none.
            BlobNotFound: there is none of that key.
            RecordHasNoBlob: its content is inline.
        """
        request = memory_pb.DeleteBlobRequest(**messages.blob_name(blob))
        response: memory_pb.DeleteBlobResponse = self.call("DeleteBlob", request, timeout_s=timeout_s)
        return response.working_memory_id

    def list_blobs(
        self,
        entity_node_id: Id,
        *,
        include_archived: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[BlobEntry, None, None]:
        """Yield the blobs of an entity, newest first, following the pages.

        Args:
            entity_node_id: Which.
            include_archived: Those of archived records too.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = memory_pb.ListBlobsRequest(
            entity_node_id=messages.to_id(entity_node_id), include_archived=include_archived, page_size=page_size
        )
        while True:
            page: memory_pb.ListBlobsResponse = self.call("ListBlobs", request, timeout_s=timeout_s)
            for blob in page.blobs:
                yield BlobEntry.from_proto(blob)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_chat_history(
        self,
        node_id: Id,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
    ) -> ChatHistory:
        """Return the messages of a conversation that fit one answer; `chat_history` has no such limit.

        Args:
            node_id: The conversation's node.
            mapping_name: How its nodes become messages. Empty: "simple_chat".
            app_id: Where the mapping is looked up. None: the client's app.
            max_messages: 0: all; else the newest.
            strict: Fail on the first node on which a rule fails, instead of counting it.
            timeout_s: Deadline; None: the client's.

        Raises:
            AnswerTooLarge: it is over 4 MiB.
            ContextGraphError: those of `chat_history`.
        """
        request = history_pb.GetChatHistoryRequest(
            node_id=messages.to_id(node_id),
            mapping_name=mapping_name,
            app_id=self._options.app_id if app_id is None else app_id,
            max_messages=max_messages,
            strict=strict,
        )
        response: history_pb.GetChatHistoryResponse = self.call("GetChatHistory", request, timeout_s=timeout_s)
        return ChatHistory(
            messages=tuple(map(ChatMessage.from_proto, response.messages)),
            nodes_failed=response.nodes_failed,
            roles_unknown=response.roles_unknown,
        )

    def formatted_chat_history(
        self,
        node_id: Id,
        message_format: MessageFormat,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
    ) -> FormattedHistory:
        """Return the messages of a conversation as a model vendor's API takes them, tool calls beside their results.

        Args:
            node_id: The conversation's node.
            message_format: Whose: of OpenAI's Chat Completions or of Anthropic's Messages.
            mapping_name: How its nodes become messages. Empty: "simple_chat".
            app_id: Where the mapping is looked up. None: the client's app.
            max_messages: 0: all; else the newest.
            strict: Fail on the first node on which a rule fails, instead of counting it.
            timeout_s: Deadline; None: the client's.

        Raises:
            AnswerTooLarge: it is over 4 MiB.
            ContextGraphError: those of `chat_history`.
        """
        request = history_pb.GetChatHistoryRequest(
            node_id=messages.to_id(node_id),
            mapping_name=mapping_name,
            app_id=self._options.app_id if app_id is None else app_id,
            max_messages=max_messages,
            strict=strict,
            format=messages.choice("message_format", message_format, messages.FORMATS),
        )
        return FormattedHistory.from_proto(self.call("GetChatHistory", request, timeout_s=timeout_s))

    def chat_history(
        self,
        node_id: Id,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
    ) -> ChatHistory:
        """Return the messages of a conversation, oldest first, however many they are.

        Args:
            node_id: The conversation's node.
            mapping_name: How its nodes become messages. Empty: "simple_chat".
            app_id: Where the mapping is looked up. None: the client's app.
            max_messages: 0: all; else the newest.
            strict: Fail on the first node on which a rule fails, instead of counting it.
            timeout_s: Deadline of the whole; None: none, but it may not be silent for `idle_timeout_s`.

        Raises:
            NodeNotFound: there is no such node.
            MappingNotFound: nobody has registered the mapping: `apps` in the metadata names where it is.
            MappingFailed: `strict`, and a rule failed: `node_id` and `rule` in the metadata.
        """
        request = history_pb.StreamChatHistoryRequest(
            node_id=messages.to_id(node_id),
            mapping_name=mapping_name,
            app_id=self._options.app_id if app_id is None else app_id,
            max_messages=max_messages,
            strict=strict,
        )
        attempts = self._attempts(timeout_s)

        def attempt() -> ChatHistory:
            found: list[ChatMessage] = []
            nodes_failed = roles_unknown = 0
            with ClientSpan("StreamChatHistory", self._metadata) as span:
                answers = self._connection.stream(
                    "StreamChatHistory",
                    request,
                    timeout_s=attempts.remaining_s(),
                    idle_timeout_s=self._options.idle_timeout_s,
                    metadata=span.metadata,
                )
                with closing(answers):
                    for answer in answers:
                        found.extend(map(ChatMessage.from_proto, answer.messages))
                        nodes_failed, roles_unknown = answer.nodes_failed, answer.roles_unknown
            return ChatHistory(messages=tuple(found), nodes_failed=nodes_failed, roles_unknown=roles_unknown)

        return self._repeated(attempts, attempt)

    def assemble_context(
        self,
        node_id: Id,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        data_paths: Iterable[str] = (),
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[AssembledNode, None, None]:
        """Yield the nodes that a mapping reads, in its order, each with what came of it; it follows the pages.

        Args:
            node_id: The conversation's node.
            mapping_name: How its nodes become messages. Empty: "simple_chat".
            app_id: Where the mapping is looked up. None: the client's app.
            max_messages: 0: all; else the newest.
            data_paths: Up to 32 paths such as "turn.index" or "status", whose values come along.
            page_size: Nodes of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeNotFound: there is no such node.
            MappingNotFound: nobody has registered the mapping: `apps` in the metadata names where it is.
        """
        request = history_pb.AssembleContextRequest(
            node_id=messages.to_id(node_id),
            mapping_name=mapping_name,
            app_id=self._options.app_id if app_id is None else app_id,
            max_messages=max_messages,
            data_paths=messages.texts("data_paths", data_paths),
            page_size=page_size,
        )
        while True:
            page: history_pb.AssembleContextResponse = self.call("AssembleContext", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield AssembledNode.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def fetch_entity_history(
        self, node_id: Id, *, descending: bool = False, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[HistoryEvent, None, None]:
        """Yield all that happened to an entity, by time, following the pages.

        Its node, its timeline, its edges, and the logs of its records, those of purged ones too.

        Args:
            node_id: The entity.
            descending: The newest first.
            page_size: Events of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            NodeNotFound: there is no such node, and never was a record of it.
        """
        request = history_pb.FetchEntityHistoryRequest(
            node_id=messages.to_id(node_id), descending=descending, page_size=page_size
        )
        while True:
            page: history_pb.FetchEntityHistoryResponse = self.call("FetchEntityHistory", request, timeout_s=timeout_s)
            for event in page.events:
                yield HistoryEvent.from_proto(event)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def register_mapping(
        self,
        mapping_name: str,
        rules: Mapping[str, Any],
        *,
        app_id: str | None = None,
        rules_version: int = 0,
        replace: bool = False,
        timeout_s: float | None = None,
    ) -> ChatMapping:
        """Register rules under a name and return the mapping that the name has now.

        The same rules again are free, so an app registers at every start.

        Args:
            mapping_name: The name.
            rules: The fields of `MappingRules` in the proto, as a dict; docs/mappings.md has them by example.
            app_id: The app that the name belongs to. None: the client's.
            rules_version: A number that grows with the rules: a higher one replaces, a lower one changes nothing.
            replace: Replace other rules of that name.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            MappingExists: other rules have the name, or it is built in.
        """
        request = history_pb.RegisterMappingRequest(
            app_id=self._options.app_id if app_id is None else app_id,
            mapping_name=mapping_name,
            rules=messages.mapping_rules(rules),
            rules_version=rules_version,
            replace=replace,
        )
        response: history_pb.RegisterMappingResponse = self.call("RegisterMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)

    def get_mapping(
        self, mapping_name: str = "", *, app_id: str | None = None, timeout_s: float | None = None
    ) -> ChatMapping:
        """Return the mapping that `chat_history` would use.

        Raises:
            MappingNotFound: there is none: `apps` in the metadata names where the name is.
        """
        request = history_pb.GetMappingRequest(
            app_id=self._options.app_id if app_id is None else app_id, mapping_name=mapping_name
        )
        response: history_pb.GetMappingResponse = self.call("GetMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)

    def test_mapping(
        self,
        rules: Mapping[str, Any],
        *,
        node_id: Id | None = None,
        nodes: Iterable[SampleNode] = (),
        root: SampleNode | None = None,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[NodeTrial, None, None]:
        """Try rules out that are not registered, and yield what they do on each node, following the pages.

        Args:
            rules: As of `register_mapping`.
            node_id: Try them on what they reach from this node.
            nodes: Or on these, up to 1,000, which need not exist.
            root: What rules see as `root`, beside `nodes`.
            page_size: Nodes of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            NodeNotFound: there is no such node.
        """
        request = history_pb.TestMappingRequest(
            rules=messages.mapping_rules(rules),
            node_id=messages.to_id(node_id),
            nodes=[messages.sample_node(f"nodes[{index}]", node) for index, node in enumerate(nodes)],
            root=None if root is None else messages.sample_node("root", root),
            page_size=page_size,
        )
        while True:
            page: history_pb.TestMappingResponse = self.call("TestMapping", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield NodeTrial.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete_mapping(
        self, mapping_name: str, *, app_id: str | None = None, timeout_s: float | None = None
    ) -> ChatMapping:
        """Remove a mapping from the app that it was registered in, and return it as it was.

        Raises:
            MappingNotFound: there is none; also when the first attempt of this call did it and its answer was lost.
            MappingBuiltIn: it cannot be removed.
        """
        request = history_pb.DeleteMappingRequest(
            app_id=self._options.app_id if app_id is None else app_id, mapping_name=mapping_name
        )
        response: history_pb.DeleteMappingResponse = self.call("DeleteMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)

    def list_mappings(
        self, *, app_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[ChatMapping, None, None]:
        """Yield the mappings that the caller sees, by app and name, then the built-in ones, following the pages.

        Args:
            app_id: Of one app. Empty: of all, and the shared scope.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = history_pb.ListMappingsRequest(app_id=app_id, page_size=page_size)
        while True:
            page: history_pb.ListMappingsResponse = self.call("ListMappings", request, timeout_s=timeout_s)
            for mapping in page.mappings:
                yield ChatMapping.from_proto(mapping)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_tools(self, *, read_only: bool = False, timeout_s: float | None = None) -> list[Tool]:
        """Return the tools that the caller's key may call: what a model can be offered.

        Args:
            read_only: Leave out those that write.
            timeout_s: Deadline; None: the client's.
        """
        request = tools_pb2.ListToolsRequest(read_only=read_only)
        response: tools_pb2.ListToolsResponse = self.call("ListTools", request, timeout_s=timeout_s)
        return [Tool.from_proto(tool) for tool in response.tools]

    def list_resources(
        self, entity_node_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Resource, None, None]:
        """Yield the records of an entity as resources, newest first, following the pages.

        Args:
            entity_node_id: Which.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = tools_pb2.ListResourcesRequest(entity_node_id=messages.to_id(entity_node_id), page_size=page_size)
        while True:
            page: tools_pb2.ListResourcesResponse = self.call("ListResources", request, timeout_s=timeout_s)
            for resource in page.resources:
                yield Resource.from_proto(resource)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def execute_tool(
        self,
        tool_name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        entity_node_id: Id | None = None,
        read_only: bool = False,
        timeout_s: float | None = None,
    ) -> Any:
        """Call a tool and return its result, a JSON object.

        Args:
            tool_name: As `list_tools` has it.
            arguments: What its schema says.
            entity_node_id: What it works on if the arguments name no entity.
            read_only: Refuse a tool that writes. Only such a call is tried again when the service does not answer.
            timeout_s: Deadline; None: the client's.

        Raises:
            ToolNotFound: there is none of this name.
            InvalidArgument: the arguments are not what the tool's schema says.
            PermissionDenied: the key may not call it, or it writes and may not.
        """
        request = tools_pb2.ExecuteToolRequest(
            tool_name=tool_name,
            arguments_json=messages.to_object("arguments_json", arguments),
            entity_node_id="" if entity_node_id is None else messages.to_id(entity_node_id),
            read_only=read_only,
        )
        response: tools_pb2.ExecuteToolResponse = self.call(
            "ExecuteTool", request, timeout_s=timeout_s, may_repeat=read_only
        )
        return json.loads(response.result_json)

    def _sent(
        self, upload: Upload, source: Source, *, on_progress: OnProgress | None, part_bytes: int, patience_s: float
    ) -> Record:
        """Send what an upload lacks, finish it, and return its record."""
        if not part_bytes > 0:
            raise InvalidArgument("part_bytes is not above 0", field="part_bytes")
        tally = Tally(source.size_bytes, on_progress)
        parts = Parts(upload.offset_bytes, min(part_bytes, upload.part_bytes_max))
        if upload.offset_bytes:
            tally.report(upload.offset_bytes)
        cut = _cut(source)
        with closing(cut):
            for chunk in cut:
                tally.add(chunk)
                for part in parts.feed(chunk):
                    self._append(upload.id, parts.offset_bytes, part, tally, patience_s)
        for part in parts.rest():
            self._append(upload.id, parts.offset_bytes, part, tally, patience_s)
        return self._patiently(
            patience_s,
            lambda: self.finish_upload(upload.id, size_bytes=tally.size_bytes, sha256=tally.sha256),
        )

    def _append(self, upload_id: str, offset_bytes: int, part: list[bytes], tally: Tally, patience_s: float) -> None:
        """Send one part until the service has it."""
        end_bytes = offset_bytes + sum(map(len, part))
        attempts = 0

        def attempt() -> None:
            nonlocal attempts
            attempts += 1
            if attempts > 1 and (self.get_upload(upload_id)).offset_bytes == end_bytes:
                return  # it had arrived, and only the answer was lost
            try:
                self.append_upload(upload_id, offset_bytes, part)
            except UploadPartExists as error:
                # The attempt before was still on its way when we asked.
                if attempts == 1 or error.metadata.get("offset_bytes") != str(end_bytes):
                    raise

        self._patiently(patience_s, attempt)
        tally.report(end_bytes)

    def _patiently(self, patience_s: float, attempt: Callable[[], _T]) -> _T:
        """Return what `attempt` returns, trying again for `patience_s` while nothing gets through."""
        attempts = Attempts(None, retries=sys.maxsize, timeout_s=patience_s)
        while True:
            try:
                return attempt()
            except (Unavailable, DeadlineExceeded, Cancelled) as error:  # Cancelled: by a service that stops
                delay_s = attempts.delay_s(error)
                if delay_s is None or self._connection.closed:
                    raise
            io.sleep(delay_s)

    def _opened(self, request: memory_pb.GetBlobRequest, *, may_repeat: bool = True) -> BlobReader:
        answers = self.stream("GetBlob", request, may_repeat=may_repeat)
        first: memory_pb.GetBlobResponse | None = next(answers, None)
        if first is None or not first.HasField("record"):
            answers.close()
            raise Internal("the service sent no record before the bytes of a blob")
        record = Record.from_proto(first.record)
        expected_bytes = range_bytes(record, offset_bytes=request.offset_bytes, length_bytes=request.length_bytes)
        return BlobReader(record, expected_bytes, answers)

    def _with_app(self, fields: RecordFields) -> RecordFields:
        return {"app_id": self._options.app_id, **fields}


class BlobReader:
    """The bytes of a blob as they arrive; made by `get_blob`.

    Iterate it once. At the end the number of bytes is checked, and of a whole blob the sha256: if that raises
    `BlobCorrupted`, what came before is to be thrown away. Close it, or use it in a `with` block, where you may leave
    early.
    """

    def __init__(
        self, record: Record, size_bytes: int, answers: Generator[memory_pb.GetBlobResponse, None, None]
    ) -> None:
        self.record = record
        self.size_bytes = size_bytes  # of this read: the blob's, or the range's
        self._answers = answers
        self._chunks = _checked(record, size_bytes, answers)  # not a method: a forgotten reader must not hold itself

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        """Cancel what has not arrived."""
        self._chunks.close()
        self._answers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _checked(
    record: Record, size_bytes: int, answers: Generator[memory_pb.GetBlobResponse, None, None]
) -> Generator[bytes, None, None]:
    """Yield the bytes of `answers`, then compare them with the record."""
    tally = Tally(size_bytes, None)
    with closing(answers):
        for answer in answers:
            tally.add(answer.chunk)
            yield answer.chunk
    check_download(record, tally, expected_bytes=size_bytes)


def _segments(source: Source) -> Generator[list[bytes], None]:
    """Yield what an import sends in one call: whole lines, one segment at least."""
    segments = Segments()
    pieces = source.open()
    sent = False
    with closing(pieces):
        for piece in pieces:
            for segment in segments.feed(piece):
                sent = True
                yield segment
    for segment in segments.rest():
        sent = True
        yield segment
    if not sent:
        yield []


def _import_messages(
    header: graph_pb.ImportHeader, segment: list[bytes]
) -> Generator[graph_pb.ImportGraphRequest, None, None]:
    yield graph_pb.ImportGraphRequest(header=header)
    for chunk in segment:
        yield graph_pb.ImportGraphRequest(lines=chunk)


def _upload_messages(
    header: memory_pb.UploadHeader, source: Source, tally: Tally
) -> Generator[memory_pb.UploadBlobRequest, None, None]:
    """Yield the messages of an upload; progress is told when a chunk was taken."""
    yield memory_pb.UploadBlobRequest(header=header)
    cut = _cut(source)
    with closing(cut):
        for chunk in cut:
            tally.add(chunk)
            yield memory_pb.UploadBlobRequest(chunk=chunk)
            tally.report()


def _part_messages(
    header: memory_pb.AppendHeader, pieces: Iterable[bytes]
) -> Generator[memory_pb.AppendUploadRequest, None, None]:
    """Yield the messages of one part."""
    yield memory_pb.AppendUploadRequest(header=header)
    chunks = Chunks()
    for piece in pieces:
        for chunk in chunks.feed(piece):
            yield memory_pb.AppendUploadRequest(chunk=chunk)
    for chunk in chunks.rest():
        yield memory_pb.AppendUploadRequest(chunk=chunk)


def _cut(source: Source) -> Generator[bytes, None, None]:
    chunks = Chunks()
    pieces = source.open()
    with closing(pieces):
        for piece in pieces:
            for chunk in chunks.feed(piece):
                yield chunk
    for chunk in chunks.rest():
        yield chunk
