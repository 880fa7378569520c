"""Edges that are read together."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_entity_graph import Edge
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb


class EdgeBatch(NamedTuple):
    """What `graph.get_edges` found."""

    edges: list[Edge]  # in the order of the ids
    missing_ids: list[str]

    @classmethod
    def from_proto(cls, answer: graph_pb.BatchGetEdgesResponse) -> EdgeBatch:
        """Return the value of an answer."""
        return cls([Edge.from_proto(edge) for edge in answer.edges], list(answer.missing_ids))
