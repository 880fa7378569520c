"""Edges between messages and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.edges import Edge, EdgeEnds, EdgePage, EdgeQuery
from entity_service.model.limits import ANSWER_BYTES_MAX, Limits
from entity_service.model.nodes import DataChange
from entity_service.model.refusals import too_large
from entity_service.wire.fields import direction, fill_time, id_of, type_names
from entity_service.wire.nodes import data_change
from service_runtime.inputs.pages import page_size
from service_runtime.values.checks import check_text


def edge_data_change(message: pb.UpdateEdgeDataRequest, limits: Limits) -> DataChange:
    """Return the change of UpdateEdgeData; errors as of `data_change`."""
    return data_change(id_of("edge_id", message.edge_id), message, limits)


def edge_to_delete(message: pb.DeleteEdgeRequest, limits: Limits) -> str | EdgeEnds:
    """Return the id of the edge that DeleteEdge names, or its ends.

    Raises:
        InvalidArgument: it is named twice or not at all, or a field is malformed.
    """
    ends = bool(message.from_node_id or message.to_node_id or message.edge_type)
    if bool(message.edge_id) == ends:
        raise InvalidArgument("give either edge_id, or from_node_id, to_node_id and edge_type", field="edge_id")
    if message.edge_id:
        return id_of("edge_id", message.edge_id)
    return EdgeEnds(
        from_node_id=id_of("from_node_id", message.from_node_id),
        to_node_id=id_of("to_node_id", message.to_node_id),
        edge_type=check_text("edge_type", message.edge_type, chars_max=limits.type_chars_max, required=True),
    )


def edge_query(message: pb.ListEdgesRequest, limits: Limits) -> EdgeQuery:
    """Return which edges a caller wants; errors as of `data_change`."""
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


def edge(row: Edge) -> pb.Edge:
    """Return the message of an edge."""
    message = pb.Edge()
    fill_edge(message, row)
    return message


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
