"""Structured questions about nodes: the fields that there are, and their counts, sums and maxima by group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from entity_service.model.nodes import Node

GROUPS_DEFAULT, GROUPS_MAX = 20, 200
EDGES_MAX, MEASURES_MAX = 10, 8
NODES, GROUP = "nodes", "group"  # what groups can be sorted by, apart from measures


class Function(Enum):
    """A function that computes one value of a group."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A function of a field."""

    text: str  # as the caller wrote it: "sum(data.amount)"
    function: Function
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEnd:
    """The edges of a type that lead from a node or to it."""

    edge_type: str
    is_outward: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetQuery:
    """A structured question."""

    graph_name: str
    condition_json: str  # empty matches all nodes
    include_archived: bool
    with_edges: tuple[EdgeEnd, ...]
    without_edges: tuple[EdgeEnd, ...]
    group_by: str | EdgeEnd  # a field, or an edge; empty for one group of all nodes
    measures: tuple[Measure, ...]
    order_by: str
    descending: bool
    limit: int


class FacetValue(NamedTuple):
    """The value of a measure; see the message of this name."""

    value_json: str
    counted: int
    skipped: int
    node_id: str
    node_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetGroup:
    """A group of nodes and its measures."""

    value_json: str
    node_id: str
    node_name: str
    node_count: int
    values: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetAnswer:
    """The answer to a structured question: nodes or groups."""

    node_count: int
    nodes: tuple[Node, ...] = ()
    groups: tuple[FacetGroup, ...] = ()
    group_count: int = 0
    ungrouped_count: int = 0


class NodeField(NamedTuple):
    """A field of nodes; see the message of this name."""

    field: str
    kinds: list[str]
    node_count: int
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacets:
    """The fields and edges of the nodes of a type."""

    type_name: str
    node_count: int
    sampled_count: int
    fields: tuple[NodeField, ...]
    edges: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetList:
    """The types of a graph, the largest first."""

    types: tuple[TypeFacets, ...]
    is_cut: bool
