"""Between the messages that write nodes and edges, and values."""

from __future__ import annotations

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.limits import Limits
from entity_service.model.nodes import STATUS_DEFAULT
from entity_service.model.writes import GraphWrite, NewEdge, NewNode, Written, made_id
from entity_service.wire.fields import CANONICAL_ID, check_external_id, fill_time, id_of, micros_of
from service_runtime.inputs.documents import parse_object
from service_runtime.rpc.calls import principal
from service_runtime.values.checks import check_bytes, check_count, check_text
from service_runtime.values.ids import new_id


def new_node(path: str, message: pb.NodeInput, limits: Limits, *, made_id: str) -> NewNode:
    """Return a node to write.

    Args:
        path: Path of the message in its request, for errors.
        message: The node, as the request has it.
        limits: The limits of the sizes of fields.
        made_id: Id of the node if the caller gave none.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long.
    """
    who = principal()
    general = message.general_type_name
    node = NewNode(
        message.id or made_id,
        message.external_id or None,
        message.graph_name or who.graph_default,
        message.agent_bundle_id or who.agent_bundle_id,
        general,
        message.specific_type_name or general,
        message.name,
        message.status or STATUS_DEFAULT,
        message.data_json or "{}",
        micros_of(f"{path}.created_at", message.created_at) if message.HasField("created_at") else None,
    )
    return checked_node(path, node, limits)


def checked_node(path: str, node: NewNode, limits: Limits) -> NewNode:
    """Return a node with its id in the canonical spelling; errors as of `new_node`."""
    _, external_id, graph, bundle, general, specific, name, status, data_json, *_ = node
    texts = graph + bundle + general + specific + name + status
    chars_max = limits.type_chars_max
    # A call has a thousand nodes: fields are checked one by one only if this quick test says that one may be wrong.
    if not general or "\0" in texts or len(texts) > chars_max or len(texts) > limits.name_chars_max:
        check_text(f"{path}.general_type_name", general, chars_max=chars_max, required=True)
        check_text(f"{path}.graph_name", graph, chars_max=chars_max)
        check_text(f"{path}.agent_bundle_id", bundle, chars_max=limits.name_chars_max)
        check_text(f"{path}.specific_type_name", specific, chars_max=chars_max)
        check_text(f"{path}.name", name, chars_max=limits.name_chars_max)
        check_text(f"{path}.status", status, chars_max=chars_max)
    if external_id is not None:
        check_external_id(f"{path}.external_id", external_id, limits)
    if data_json != "{}":
        _check_data(path, data_json, limits)
    return node if CANONICAL_ID(node.id) else node._replace(id=id_of(f"{path}.id", node.id))


def new_edge(path: str, message: pb.EdgeInput, limits: Limits, *, made_id: str) -> NewEdge:
    """Return an edge to write; arguments and errors as of `new_node`."""
    edge = NewEdge(
        message.id or made_id,
        message.graph_name or principal().graph_default,
        message.from_node_id,
        message.to_node_id,
        message.edge_type,
        message.data_json or "{}",
        micros_of(f"{path}.created_at", message.created_at) if message.HasField("created_at") else None,
    )
    return checked_edge(path, edge, limits)


def checked_edge(path: str, edge: NewEdge, limits: Limits) -> NewEdge:
    """Return an edge with its ids in the canonical spelling; errors as of `new_node`."""
    edge_id, graph, from_node_id, to_node_id, edge_type, data_json, _ = edge
    if not (CANONICAL_ID(edge_id) and CANONICAL_ID(from_node_id) and CANONICAL_ID(to_node_id)):
        edge = edge._replace(
            id=id_of(f"{path}.id", edge_id),
            from_node_id=id_of(f"{path}.from_node_id", from_node_id),
            to_node_id=id_of(f"{path}.to_node_id", to_node_id),
        )
    texts = graph + edge_type
    if not edge_type or "\0" in texts or len(texts) > limits.type_chars_max:
        check_text(f"{path}.graph_name", graph, chars_max=limits.type_chars_max)
        check_text(f"{path}.edge_type", edge_type, chars_max=limits.type_chars_max, required=True)
    if data_json != "{}":
        _check_data(path, data_json, limits)
    return edge


def _check_data(path: str, data_json: str, limits: Limits) -> None:
    parse_object(
        f"{path}.data_json", data_json, size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max
    )


def single_node(message: pb.CreateNodeRequest, limits: Limits) -> GraphWrite:
    """Return the write of CreateNode."""
    first = str(new_id())
    node = new_node("node", message.node, limits, made_id=made_id(first, 0))
    return GraphWrite(nodes=[node], first_made_id=None if message.node.id else first, single=True)


def single_edge(message: pb.CreateEdgeRequest, limits: Limits) -> GraphWrite:
    """Return the write of CreateEdge."""
    first = str(new_id())
    edge = new_edge("edge", message.edge, limits, made_id=made_id(first, 0))
    return GraphWrite(edges=[edge], first_made_id=None if message.edge.id else first, single=True)


def graph_write(message: pb.WriteGraphRequest, limits: Limits) -> GraphWrite:
    """Return the write of WriteGraph.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long, or the whole is.
    """
    nodes_count = len(message.nodes)
    check_count("rows", nodes_count + len(message.edges), limits.write_rows_max)
    check_bytes("bytes", message.ByteSize(), limits.write_bytes_max)
    first, any_made = str(new_id()), False
    nodes: list[NewNode] = []
    edges: list[NewEdge] = []
    for position, node in enumerate(message.nodes):
        new_id_of_row = "" if node.id else made_id(first, position)
        any_made = any_made or bool(new_id_of_row)
        nodes.append(new_node(f"nodes[{position}]", node, limits, made_id=new_id_of_row))
    for position, edge in enumerate(message.edges):
        new_id_of_row = "" if edge.id else made_id(first, nodes_count + position)
        any_made = any_made or bool(new_id_of_row)
        edges.append(new_edge(f"edges[{position}]", edge, limits, made_id=new_id_of_row))
    return GraphWrite(nodes=nodes, edges=edges, first_made_id=first if any_made else None)


def written(outcome: Written) -> pb.WriteGraphResponse:
    """Return the answer to WriteGraph."""
    response = pb.WriteGraphResponse()
    for rows, add in ((outcome.nodes, response.nodes.add), (outcome.edges, response.edges.add)):
        for row_id, created_at, seq, existed in rows:
            message = add()
            message.id = row_id
            if seq:
                message.seq = seq
            if existed:
                message.existed = True
            fill_time(message.created_at, created_at)
    return response


def on_existing_skip(value: int) -> bool:
    """Return whether rows that exist are left as they are.

    Raises:
        InvalidArgument: a newer client names a way that this server does not know.
    """
    if value not in (pb.ON_EXISTING_UNSPECIFIED, pb.ON_EXISTING_FAIL, pb.ON_EXISTING_SKIP):
        raise InvalidArgument(f"on_existing is {value}, which is not a known value", field="on_existing")
    return value == pb.ON_EXISTING_SKIP
