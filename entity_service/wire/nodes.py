"""Nodes between messages and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.limits import ANSWER_BYTES_MAX, Limits
from entity_service.model.nodes import ArchiveChange, DataChange, Node, NodeIO, NodeIOChange, Reset, StatusChange
from entity_service.model.refusals import too_large
from entity_service.wire.fields import expected_version, fill_time, id_of
from service_runtime.inputs.documents import parse_json, parse_object
from service_runtime.values.checks import check_long_text, check_text


def node_data_change(message: pb.UpdateNodeDataRequest, limits: Limits) -> DataChange:
    """Return the change of UpdateNodeData; errors as of `data_change`."""
    return data_change(id_of("node_id", message.node_id), message, limits)


def data_change(
    row_id: str, message: pb.UpdateNodeDataRequest | pb.UpdateEdgeDataRequest, limits: Limits
) -> DataChange:
    """Return a change of data.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: the document is too long.
    """
    if message.update not in (pb.DATA_UPDATE_UNSPECIFIED, pb.DATA_UPDATE_MERGE_PATCH, pb.DATA_UPDATE_REPLACE):
        raise InvalidArgument(f"update is {message.update}, which is not a known kind of update", field="update")
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
    """Return the change of UpdateNodeStatus; errors as of `data_change`."""
    return StatusChange(
        node_id=id_of("node_id", message.node_id),
        status=check_text("status", message.status, chars_max=limits.type_chars_max, required=True),
        expected_status=message.expected_status if message.HasField("expected_status") else None,
        expected_version=expected_version(message),
        message=check_long_text("message", message.message, size_bytes_max=limits.message_bytes_max),
    )


def archive_change(message: pb.ArchiveNodeRequest) -> ArchiveChange:
    """Return the change of ArchiveNode; errors as of `data_change`."""
    return ArchiveChange(
        node_id=id_of("node_id", message.node_id),
        is_archived=not message.restore,
        expected_version=expected_version(message),
    )


def reset(message: pb.ResetNodeRequest) -> Reset:
    """Return the change of ResetNode; errors as of `data_change`."""
    return Reset(node_id=id_of("node_id", message.node_id), expected_version=expected_version(message))


def io_change(message: pb.SetNodeIORequest, limits: Limits) -> NodeIOChange:
    """Return the change of SetNodeIO; errors as of `data_change`."""
    node_id = id_of("node_id", message.node_id)
    sides = [field for field in ("input_json", "output_json") if message.HasField(field)]
    if not sides:
        raise InvalidArgument("give input_json, output_json or both", field="input_json")
    for field in sides:
        parse_json(
            field, getattr(message, field), size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max
        )
    return NodeIOChange(
        node_id=node_id,
        input_json=message.input_json if "input_json" in sides else None,
        output_json=message.output_json if "output_json" in sides else None,
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


def node(row: Node) -> pb.Node:
    """Return the message of a node."""
    message = pb.Node()
    fill_node(message, row)
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
