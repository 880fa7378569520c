"""Edges."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, kept, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Edge(Value):
    """A directed relation between two nodes."""

    id: str
    graph_name: str = ""
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str = "{}"
    created_at: datetime
    version: int = 1
    context_id: str = ""
    _data: Any = kept()

    @property
    def data(self) -> dict[str, Any]:
        """Return the edge's JSON object."""
        return self._kept_object("_data", self.data_json)

    def __str__(self) -> str:
        return f"{self.from_node_id} -{self.edge_type}-> {self.to_node_id}"

    @classmethod
    def from_proto(cls, edge: graph_pb.Edge) -> Edge:
        """Return the value of a message."""
        return cls(
            id=edge.id,
            graph_name=edge.graph_name,
            from_node_id=edge.from_node_id,
            to_node_id=edge.to_node_id,
            edge_type=edge.edge_type,
            data_json=edge.data_json,
            created_at=time_of(edge.created_at),
            version=edge.version,
            context_id=edge.context_id,
        )


class EdgeBatch(NamedTuple):
    """What `batch_get_edges` found."""

    edges: list[Edge]  # in the order of the ids
    missing_ids: list[str]
