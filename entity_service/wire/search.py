"""Searches and counts between messages and values."""

from __future__ import annotations

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.counts import EdgeTypePage, GraphPage
from entity_service.model.limits import Limits
from entity_service.model.search import CREATED_AT, JSON_PATH_CHARS_MAX, ConnectedTo, NodeFilter, NodePage, NodeSearch
from entity_service.wire.fields import DEPTH_DEFAULT, direction, id_of, type_names
from entity_service.wire.nodes import fill_node
from service_runtime.inputs.documents import parse_object
from service_runtime.inputs.pages import page_size
from service_runtime.rpc.calls import principal
from service_runtime.values.checks import check_at_most, check_text
from service_runtime.values.copying import copied


def node_search(message: pb.SearchNodesRequest, limits: Limits) -> NodeSearch:
    """Return the search of SearchNodes.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long.
    """
    return NodeSearch(
        filter=node_filter(message.filter, limits),
        order_by=check_text("order_by", message.order_by, chars_max=limits.name_chars_max) or CREATED_AT,
        descending=message.descending,
        page_size=page_size(message.page_size),
        page_token=message.page_token,
    )


def node_filter(message: pb.NodeFilter, limits: Limits) -> NodeFilter:
    """Return which nodes a caller means; errors as of `node_search`."""
    connected_to = _connected_to(message.connected_to, limits) if message.HasField("connected_to") else None
    graph_name = check_text("filter.graph_name", message.graph_name, chars_max=limits.type_chars_max)
    if message.contains_json:
        parse_object(
            "filter.contains_json",
            message.contains_json,
            size_bytes_max=limits.document_bytes_max,
            nesting_max=limits.nesting_max,
        )
    return copied(
        NodeFilter,
        message,
        graph_name=graph_name or ("" if connected_to else principal().graph_default),
        json_path=check_text("filter.json_path", message.json_path, chars_max=JSON_PATH_CHARS_MAX),
        connected_to=connected_to,
        agent_bundle_id=check_text("filter.agent_bundle_id", message.agent_bundle_id, chars_max=limits.name_chars_max),
    )


def node_page(page: NodePage) -> pb.SearchNodesResponse:
    """Return the answer to SearchNodes."""
    response = pb.SearchNodesResponse(next_page_token=page.next_page_token)
    for row in page.nodes:
        fill_node(response.nodes.add(), row)
    return response


def graph_page(page: GraphPage) -> pb.ListGraphsResponse:
    """Return the answer to ListGraphs."""
    graphs = [copied(pb.GraphCount, row) for row in page.graphs]
    return pb.ListGraphsResponse(graphs=graphs, next_page_token=page.next_page_token)


def edge_type_page(page: EdgeTypePage) -> pb.ListEdgeTypesResponse:
    """Return the answer to ListEdgeTypes."""
    edge_types = [pb.EdgeTypeCount(edge_type=row.edge_type, edges=row.edges) for row in page.edge_types]
    return pb.ListEdgeTypesResponse(edge_types=edge_types, next_page_token=page.next_page_token)


def _connected_to(message: pb.ConnectedTo, limits: Limits) -> ConnectedTo:
    """Return the part of a filter that says from which node others are to be reached; errors as of `node_search`."""
    path = "filter.connected_to"
    if message.depth_max < 0:
        raise InvalidArgument(
            f"{path}.depth_max must be 0 or more (got {message.depth_max})", field=f"{path}.depth_max"
        )
    check_at_most(f"{path}.depth_max", message.depth_max, limits.depth_max)
    return ConnectedTo(
        node_id=id_of(f"{path}.node_id", message.node_id),
        edge_types=type_names(f"{path}.edge_types", message.edge_types, limits),
        direction=direction(message.direction, field=f"{path}.direction"),
        depth_max=message.depth_max or DEPTH_DEFAULT,
        node_budget=limits.walk_nodes_max,
    )
