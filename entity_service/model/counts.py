"""Pages of graphs and of edge types, with their counts."""

from __future__ import annotations

from typing import NamedTuple


class GraphCount(NamedTuple):
    """How much is in a graph."""

    graph_name: str
    nodes: int
    edges: int


class EdgeTypeCount(NamedTuple):
    """How many edges there are of a type."""

    edge_type: str
    edges: int


class GraphPage(NamedTuple):
    """Some graphs, by name."""

    graphs: list[GraphCount]
    next_page_token: str


class EdgeTypePage(NamedTuple):
    """Some edge types, by name."""

    edge_types: list[EdgeTypeCount]
    next_page_token: str
