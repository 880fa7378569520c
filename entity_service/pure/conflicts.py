"""Conflicts of a write with stored rows: pure rules that name the first obstacle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextkeep.errors import ContextKeepError, EdgeExists, ExternalIdTaken, InvalidArgument, NodeExists, NodeNotFound
from entity_service.model.writes import GraphWrite, NewEdge

Ends = tuple[str, str, str]  # from node, to node, edge type


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingNode:
    """The facts about a stored node that a write needs."""

    id: str
    graph_name: str
    external_id: str | None
    context_id: str | None
    created_at: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingEdge:
    """The facts about a stored edge that a write needs."""

    id: str
    ends: Ends
    created_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The stored rows that a write names or repeats."""

    nodes: Mapping[str, StandingNode] = field(default_factory=dict)  # by id
    external_ids: Mapping[tuple[str, str], StandingNode] = field(default_factory=dict)  # by graph name and external id
    edges: Mapping[str, StandingEdge] = field(default_factory=dict)  # by id
    edge_ends: Mapping[Ends, StandingEdge] = field(default_factory=dict)


def ends_of(edge: NewEdge) -> Ends:
    """Return the ends and the type of an edge, which no two edges share."""
    return edge.from_node_id, edge.to_node_id, edge.edge_type


def refusal(write: GraphWrite, standing: Standing) -> ContextKeepError | None:
    """Return the error of the first row, in the order of the request, that cannot be written; None without one."""
    ends = dict(standing.nodes)
    external_ids = {key: node.id for key, node in standing.external_ids.items()}
    for position, node in enumerate(write.nodes):
        path = write.path("node", position)
        if node.id in ends:
            return NodeExists("a node with this id already exists", field=f"{path}.id", node_id=node.id)
        if node.external_id is not None:
            key = (node.graph_name, node.external_id)
            if key in external_ids:
                return ExternalIdTaken(
                    "a node of the graph already has this external_id",
                    field=f"{path}.external_id",
                    node_id=external_ids[key],
                )
            external_ids[key] = node.id
        ends[node.id] = StandingNode(
            id=node.id, graph_name=node.graph_name, external_id=node.external_id, context_id=None
        )

    edge_ids = set(standing.edges)
    edge_ends = {key: edge.id for key, edge in standing.edge_ends.items()}
    for position, edge in enumerate(write.edges):
        path = write.path("edge", position)
        if error := misplaced(edge, path, ends):
            return error
        if edge.id in edge_ids:
            return EdgeExists("an edge with this id already exists", field=f"{path}.id", edge_id=edge.id)
        if ends_of(edge) in edge_ends:
            return EdgeExists(
                "an edge of this type already leads from from_node_id to to_node_id",
                field=path,
                edge_id=edge_ends[ends_of(edge)],
            )
        edge_ids.add(edge.id)
        edge_ends[ends_of(edge)] = edge.id
    return None


def misplaced(edge: NewEdge, path: str, ends: Mapping[str, StandingNode]) -> ContextKeepError | None:
    """Return the error of an edge that cannot join its ends, or None if it can.

    Args:
        edge: The edge that is to be written.
        path: Path of the edge in its request, for the error.
        ends: The nodes that exist, by id.
    """
    for name, node_id in (("from_node_id", edge.from_node_id), ("to_node_id", edge.to_node_id)):
        if node_id not in ends:
            return NodeNotFound(
                f"{name} of the edge is node {node_id}, which does not exist", field=f"{path}.{name}", node_id=node_id
            )
        if ends[node_id].graph_name != edge.graph_name:
            return InvalidArgument(
                f"{name} of the edge must be a node of the edge's graph", field=f"{path}.{name}", node_id=node_id
            )
    contexts = {ends[edge.from_node_id].context_id, ends[edge.to_node_id].context_id} - {None}
    if len(contexts) > 1:
        return InvalidArgument("both nodes of the edge must be in the same context", field=path)
    return None
