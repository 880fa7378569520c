"""Values of the entity graph: nodes, edges and walks, as the rules see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Direction = Literal["out", "in", "both"]
# The fields of an entity that expressions can read.
ENTITY_FIELDS = frozenset(
    ("id", "external_id", "name", "type", "general_type", "status", "data", "io", "created_at", "modified_at")
)


class Reached(NamedTuple):
    """How a node was reached, for code outside of CEL."""

    modified_at_us: int
    depth: int
    edge_id: str  # empty for the start node, as are `edge_type` and `from_node_id`
    edge_type: str
    from_node_id: str  # the edge's other end


class Origin(NamedTuple):
    """The fields of a reached node that show its changes and its owner."""

    version: int
    agent_bundle_id: str
    is_archived: bool
    edge_version: int  # the version of the edge that reached the node; 0 for the start node
    owner_user_id: str  # empty if it has no owner


class GraphNode(NamedTuple):  # a history has tens of thousands, and making a tuple is faster than making a dataclass
    """One reached node, as CEL sees it."""

    node_id: str
    created_at_us: int  # microseconds since 1970, UTC
    seq: int
    entity: dict[str, Any]
    edge: dict[str, Any]  # empty unless the walk asks for it
    reached: Reached | None = None  # None unless the walk asks for it
    origin: Origin | None = None  # None unless the walk asks for it
    edges: list[dict[str, Any]] | None = None  # None unless the walk asks for it, or if the node has too many
    path: list[dict[str, Any]] | None = None  # None unless the walk asks for it


class WholeNode(NamedTuple):
    """A whole node, including the fields that CEL expressions cannot read."""

    node_id: str
    entity: dict[str, Any]  # without input and output
    graph_name: str
    agent_bundle_id: str
    version: int
    is_archived: bool
    owner_user_id: str = ""  # empty if it has no owner


class GraphLines(NamedTuple):
    """Some rows of a whole graph as lines, and the token of the next page."""

    lines: bytes
    resume_token: str
    counts: dict[str, int]  # number of rows, by kind


class GraphChange(NamedTuple):
    """A change of a node, or of an edge, which has both ends."""

    node_id: str  # empty for a change of an edge
    is_removed: bool
    graph_name: str
    types: tuple[str, ...]  # the general type of a node, then its specific type
    from_node_id: str  # empty for a change of a node, as is `to_node_id`
    to_node_id: str


class GraphChanges(NamedTuple):
    """Some changes, and the place after them."""

    changes: list[GraphChange]
    next_place: str
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A request for a walk; the fields have the same meaning as in the rules of a mapping."""

    node_id: str
    edge_types: Sequence[str]
    direction: Direction
    depth_max: int
    entity_types: Sequence[str]
    include_start: bool
    include_archived: bool
    fields: frozenset[str]  # fields of the entity to read, from `ENTITY_FIELDS`; the id is always read
    with_edges: bool  # fill `GraphNode.edge`
    with_reached: bool = False  # fill `GraphNode.reached`
    with_origin: bool = False  # fill `GraphNode.origin`, and `reached`
    with_all_edges: bool = False  # fill `GraphNode.edges`
    with_path: bool = False  # fill `GraphNode.path`


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkPage:
    """Some nodes, in the order of the walk."""

    nodes: list[GraphNode]
    next_page_token: str  # continues a walk that the limit cut; empty if the walk is complete


class TreeNode(NamedTuple):
    """One node of a tree: its position, its name and its type."""

    node_id: str
    created_at_us: int  # microseconds since 1970, UTC
    seq: int
    name: str
    type: str
    is_archived: bool
    depth: int  # 0 for the root
    parent_id: str  # empty for the root, as is `edge_type`
    edge_type: str
