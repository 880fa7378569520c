"""Searches of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from entity_service.model.edges import Direction
from entity_service.model.nodes import Node

CREATED_AT = "created_at"

JSON_PATH_CHARS_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedTo:
    """Where nodes are to be reached from."""

    node_id: str
    edge_types: Sequence[str]  # empty: all
    direction: Direction
    depth_max: int
    node_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """A filter of nodes; all of its conditions must hold."""

    graph_name: str  # empty takes the graph of the node in `connected_to`
    condition_json: str  # a condition tree; empty matches all nodes
    contains_json: str
    json_path: str
    connected_to: ConnectedTo | None
    agent_bundle_id: str
    include_archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSearch:
    """A search for a page of nodes, and its order."""

    filter: NodeFilter
    order_by: str  # a field, or a path into the data
    descending: bool
    page_size: int
    page_token: str


class NodePage(NamedTuple):
    """Some nodes, in the order asked for."""

    nodes: list[Node]
    next_page_token: str
