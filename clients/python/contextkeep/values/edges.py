"""Edges that are read together."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_entity_graph import Edge


class EdgeBatch(NamedTuple):
    """What `graph.get_edges` found."""

    edges: list[Edge]  # in the order of the ids
    missing_ids: list[str]
