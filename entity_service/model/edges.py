"""Edges, and the pages of edges that callers ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Direction(Enum):
    """Which way edges are followed."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class Edge(NamedTuple):
    """A row of `entity.edge`, in the order of the columns that the stores read."""

    id: str
    graph_name: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str
    created_at: int
    version: int
    context_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeQuery:
    """Which edges of a node a caller wants."""

    node_id: str
    direction: Direction
    edge_types: Sequence[str]  # empty for all types
    descending: bool  # the newest first
    page_size: int
    page_token: str


class EdgePage(NamedTuple):
    """Some edges, in the order of the query."""

    edges: list[Edge]
    next_page_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEnds:
    """Names an edge by its ends and type, which no two edges share."""

    from_node_id: str
    to_node_id: str
    edge_type: str
