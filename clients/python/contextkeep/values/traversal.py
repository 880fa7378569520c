"""What a walk reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextkeep._gen.values_entity_graph import Node, NodeIO
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, kept


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReachedBy(Value):
    """The edge over which a walk reached a node."""

    edge_id: str
    edge_type: str
    node_id: str  # the node at the near end, from which the walk came
    data_json: str = "{}"
    _data: Any = kept()

    @property
    def data(self) -> dict[str, Any]:
        """Return the edge's JSON object."""
        return self._kept_object("_data", self.data_json)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TraversedNode(Value):
    """A node and how a walk reached it."""

    node: Node
    depth: int  # 0 for a start node
    reached_by: ReachedBy | None = None  # None for a start node
    io: NodeIO | None = None  # None where neither side was ever set, or the walk was without `include_io`

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.node}"

    @classmethod
    def from_proto(cls, reached: graph_pb.TraversedNode) -> TraversedNode:
        """Return the value of a message."""
        edge = reached.reached_by
        return cls(
            node=Node.from_proto(reached.node),
            depth=reached.depth,
            reached_by=ReachedBy(
                edge_id=edge.edge_id, edge_type=edge.edge_type, node_id=edge.node_id, data_json=edge.data_json
            )
            if reached.HasField("reached_by")
            else None,
            io=NodeIO(input_json=reached.io.input_json, output_json=reached.io.output_json)
            if reached.HasField("io")
            else None,
        )
