"""Between messages and values. What comes in is checked here, and an error names the field by its path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.changes import ArchiveChange, DataChange, Reset, StatusChange
from entity_service.model import Direction, Edge, Limits, Node
from entity_service.node_io import NodeIO, NodeIOChange
from entity_service.owned import Owned
from entity_service.removal import EdgeEnds
from entity_service.store import ANSWER_BYTES_MAX, BATCH_MAX, EdgePage, EdgeQuery, too_large
from service_runtime.calls import principal
from service_runtime.checks import check_count, check_long_text, check_text, check_texts
from service_runtime.copying import copied
from service_runtime.documents import parse_json, parse_object
from service_runtime.ids import parse_id
from service_runtime.pages import page_size

CANONICAL_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch

_SECONDS_MIN = -62_135_596_800  # 0001-01-01, where google.protobuf.Timestamp begins
_SECONDS_MAX = 253_402_300_799  # 9999-12-31
_NANOS = 1_000_000_000

DEPTH_DEFAULT = 3


def id_of(field: str, text: str) -> str:
    """Return an id in its canonical spelling.

    Raises:
        InvalidArgument: it is not a UUID.
    """
    return text if CANONICAL_ID(text) else str(parse_id(field, text))


def ids_of(field: str, texts: Sequence[str], *, count_max: int) -> list[str]:
    """Return some ids in their canonical spelling, at least one, each once, in their order.

    Raises:
        InvalidArgument: there is none, or one is not a UUID.
        LimitExceeded: they are too many.
    """
    if not texts:
        raise InvalidArgument(f"{field} is empty", field=field)
    check_count(field, len(texts), count_max)
    return list(dict.fromkeys(id_of(f"{field}[{position}]", text) for position, text in enumerate(texts)))


def node_data_change(message: pb.UpdateNodeDataRequest, limits: Limits) -> DataChange:
    """Return the change of UpdateNodeData; errors as of `_data_change`."""
    return _data_change(id_of("node_id", message.node_id), message, limits)


def edge_data_change(message: pb.UpdateEdgeDataRequest, limits: Limits) -> DataChange:
    """Return the change of UpdateEdgeData; errors as of `_data_change`."""
    return _data_change(id_of("edge_id", message.edge_id), message, limits)


def _data_change(
    row_id: str, message: pb.UpdateNodeDataRequest | pb.UpdateEdgeDataRequest, limits: Limits
) -> DataChange:
    """Return a change of data.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: the document is too long.
    """
    if message.update not in (pb.DATA_UPDATE_UNSPECIFIED, pb.DATA_UPDATE_MERGE_PATCH, pb.DATA_UPDATE_REPLACE):
        raise InvalidArgument(f"update {message.update} is unknown", field="update")
    parse_object(
        "data_json", message.data_json, size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max
    )
    return DataChange(
        id=row_id,
        data_json=message.data_json or "{}",
        replace=message.update == pb.DATA_UPDATE_REPLACE,
        expected_version=expected_version(message),
    )


def status_change(message: pb.UpdateNodeStatusRequest, limits: Limits) -> StatusChange:
    """Return the change of UpdateNodeStatus; errors as of `_data_change`."""
    return StatusChange(
        node_id=id_of("node_id", message.node_id),
        status=check_text("status", message.status, chars_max=limits.type_chars_max, required=True),
        expected_status=message.expected_status if message.HasField("expected_status") else None,
        expected_version=expected_version(message),
        message=check_long_text("message", message.message, size_bytes_max=limits.message_bytes_max),
    )


def archive_change(message: pb.ArchiveNodeRequest) -> ArchiveChange:
    """Return the change of ArchiveNode; errors as of `_data_change`."""
    return ArchiveChange(
        node_id=id_of("node_id", message.node_id),
        is_archived=not message.restore,
        expected_version=expected_version(message),
    )


def reset(message: pb.ResetNodeRequest) -> Reset:
    """Return the change of ResetNode; errors as of `_data_change`."""
    return Reset(node_id=id_of("node_id", message.node_id), expected_version=expected_version(message))


def expected_version(
    message: pb.UpdateNodeDataRequest
    | pb.UpdateEdgeDataRequest
    | pb.UpdateNodeStatusRequest
    | pb.ArchiveNodeRequest
    | pb.ResetNodeRequest
    | pb.DeleteNodeRequest
    | pb.DeleteEdgeRequest,
) -> int | None:
    """Return the version that a caller expects, or None."""
    return message.expected_version if message.HasField("expected_version") else None


def edge_to_delete(message: pb.DeleteEdgeRequest, limits: Limits) -> str | EdgeEnds:
    """Return the id of the edge that DeleteEdge names, or its ends.

    Raises:
        InvalidArgument: it is named twice or not at all, or a field is malformed.
    """
    ends = bool(message.from_node_id or message.to_node_id or message.edge_type)
    if bool(message.edge_id) == ends:
        raise InvalidArgument(
            "name the edge by edge_id, or by from_node_id, to_node_id and edge_type, not both", field="edge_id"
        )
    if message.edge_id:
        return id_of("edge_id", message.edge_id)
    return EdgeEnds(
        from_node_id=id_of("from_node_id", message.from_node_id),
        to_node_id=id_of("to_node_id", message.to_node_id),
        edge_type=check_text("edge_type", message.edge_type, chars_max=limits.type_chars_max, required=True),
    )


def io_change(message: pb.SetNodeIORequest, limits: Limits) -> NodeIOChange:
    """Return the change of SetNodeIO; errors as of `_data_change`."""
    node_id = id_of("node_id", message.node_id)
    given = [field for field in ("input_json", "output_json") if message.HasField(field)]
    if not given:
        raise InvalidArgument("neither input_json nor output_json is given", field="input_json")
    for field in given:
        parse_json(
            field, getattr(message, field), size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max
        )
    return NodeIOChange(
        node_id=node_id,
        input_json=message.input_json if "input_json" in given else None,
        output_json=message.output_json if "output_json" in given else None,
    )


def io_set(modified_at: int) -> pb.SetNodeIOResponse:
    """Return the answer to SetNodeIO."""
    response = pb.SetNodeIOResponse()
    fill_time(response.modified_at, modified_at)
    return response


def node_io(io: NodeIO) -> pb.GetNodeIOResponse:
    """Return the answer to GetNodeIO. It fits: Postgres's spelling makes a document longer by half at most."""
    response = pb.GetNodeIOResponse(input_json=io.input_json or "", output_json=io.output_json or "")
    if io.modified_at is not None:
        fill_time(response.modified_at, io.modified_at)
    return response


def external_id(message: pb.GetNodeByExternalIdRequest, limits: Limits) -> str:
    """Return the caller's own id of a node; errors as of `_data_change`."""
    return check_external_id("external_id", message.external_id, limits)


def graph_name(text: str, limits: Limits, *, field: str = "graph_name") -> str:
    """Return the name of a graph; errors as of `_data_change`."""
    return check_text(field, text, chars_max=limits.type_chars_max) or principal().graph_default


def name(text: str, limits: Limits) -> str:
    """Return the name of a node to look for; errors as of `_data_change`."""
    return check_text("name", text, chars_max=limits.name_chars_max, required=True)


def edge_query(message: pb.ListEdgesRequest, limits: Limits) -> EdgeQuery:
    """Return which edges a caller wants; errors as of `_data_change`."""
    return EdgeQuery(
        node_id=id_of("node_id", message.node_id),
        direction=direction(message.direction),
        edge_types=type_names("edge_types", message.edge_types, limits),
        page_size=page_size(message.page_size),
        descending=message.descending,
        page_token=message.page_token,
    )


def edge_page(page: EdgePage) -> pb.ListEdgesResponse:
    """Return the answer to ListEdges."""
    response = pb.ListEdgesResponse(next_page_token=page.next_page_token)
    for row in page.edges:
        fill_edge(response.edges.add(), row)
    return response


def batch_ids(field: str, texts: Sequence[str]) -> list[str]:
    """Return the ids that are asked for, each once; errors as of `_data_change`."""
    return ids_of(field, texts, count_max=BATCH_MAX)


def node_batch(node_ids: Sequence[str], nodes: Mapping[str, Node]) -> pb.BatchGetNodesResponse:
    """Return the answer to BatchGetNodes.

    Raises:
        AnswerTooLarge: it does not fit one message.
    """
    response = pb.BatchGetNodesResponse()
    for node_id in node_ids:
        if node_id in nodes:
            fill_node(response.nodes.add(), nodes[node_id])
        else:
            response.missing_ids.append(node_id)
    if response.ByteSize() > ANSWER_BYTES_MAX:
        raise too_large("BatchGetNodes")
    return response


def edge_batch(edge_ids: Sequence[str], edges: Mapping[str, Edge]) -> pb.BatchGetEdgesResponse:
    """Return the answer to BatchGetEdges.

    Raises:
        AnswerTooLarge: it does not fit one message.
    """
    response = pb.BatchGetEdgesResponse()
    for edge_id in edge_ids:
        if edge_id in edges:
            fill_edge(response.edges.add(), edges[edge_id])
        else:
            response.missing_ids.append(edge_id)
    if response.ByteSize() > ANSWER_BYTES_MAX:
        raise too_large("BatchGetEdges")
    return response


def direction(value: int, *, field: str = "direction") -> Direction:
    """Return which way edges are followed.

    Raises:
        InvalidArgument: a newer client names a way that this server does not know.
    """
    match value:
        case pb.DIRECTION_UNSPECIFIED | pb.DIRECTION_OUT:
            return Direction.OUT
        case pb.DIRECTION_IN:
            return Direction.IN
        case pb.DIRECTION_BOTH:
            return Direction.BOTH
    raise InvalidArgument(f"{field} {value} is unknown", field=field)


def node(row: Node) -> pb.Node:
    """Return the message of a node."""
    message = pb.Node()
    fill_node(message, row)
    return message


def edge(row: Edge) -> pb.Edge:
    """Return the message of an edge."""
    message = pb.Edge()
    fill_edge(message, row)
    return message


def fill_node(message: pb.Node, row: Sequence[Any]) -> None:
    """Set the fields of a message from a row in the order of `Node`.

    Assigned field by field where there is a value: a walk does this ten thousand times, and fields that are left
    alone cost nothing here, on the wire, or at the reader.
    """
    (
        message.id,
        external_id,
        message.graph_name,
        agent_bundle_id,
        message.general_type_name,
        message.specific_type_name,
        name,
        message.status,
        message.data_json,
        is_archived,
        message.seq,
        created_at,
        modified_at,
        message.version,
        message.created_by,
        owner_user_id,
        agent_id,
        context_id,
    ) = row
    if external_id:
        message.external_id = external_id
    if agent_bundle_id:
        message.agent_bundle_id = agent_bundle_id
    if name:
        message.name = name
    if is_archived:
        message.is_archived = True
    if owner_user_id:
        message.owner_user_id = owner_user_id
    if agent_id:
        message.agent_id = agent_id
    if context_id:
        message.context_id = context_id
    fill_time(message.created_at, created_at)
    fill_time(message.modified_at, modified_at)


def fill_edge(message: pb.Edge, row: Edge) -> None:
    """Set the fields of a message from an edge."""
    message.id = row.id
    message.graph_name = row.graph_name
    message.from_node_id = row.from_node_id
    message.to_node_id = row.to_node_id
    message.edge_type = row.edge_type
    message.data_json = row.data_json
    message.version = row.version
    message.context_id = row.context_id or ""
    fill_time(message.created_at, row.created_at)


def fill_time(message: Timestamp, time_micros: int) -> None:
    """Set a time."""
    message.seconds, micros = divmod(time_micros, 1_000_000)
    message.nanos = micros * 1000


def type_names(field: str, texts: Sequence[str], limits: Limits) -> list[str]:
    """Return some type names, each once."""
    check_texts(field, texts, count_max=limits.list_max, chars_max=limits.type_chars_max)
    return list(dict.fromkeys(texts))


def micros_of(field: str, message: Timestamp) -> int:
    """Return a caller's time; what is finer than a microsecond is cut off.

    Raises:
        InvalidArgument: it is outside of what a Timestamp may hold.
    """
    if not (_SECONDS_MIN <= message.seconds <= _SECONDS_MAX and 0 <= message.nanos < _NANOS):
        raise InvalidArgument(f"{field} is not a time between the years 1 and 9999", field=field)
    return message.seconds * 1_000_000 + message.nanos // 1000


def check_external_id(field: str, text: str, limits: Limits) -> str:
    """Return a caller's own id.

    Raises:
        InvalidArgument: it is empty, or holds a NUL.
        LimitExceeded: it is too long.
    """
    return check_long_text(field, text, size_bytes_max=limits.external_id_bytes_max, required=True)


def owned(found: Owned) -> pb.Owned:
    """Return the message of what a user owns, or what is erased of it."""
    message = copied(pb.Owned, found, finished_at=None)
    if found.finished_at:
        message.finished_at.FromDatetime(found.finished_at)
    return message
