"""Nodes that are read together."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_entity_graph import Node
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb


class NodeBatch(NamedTuple):
    """What `graph.get_nodes` found."""

    nodes: list[Node]  # in the order of the ids
    missing_ids: list[str]

    @classmethod
    def from_proto(cls, answer: graph_pb.BatchGetNodesResponse) -> NodeBatch:
        """Return the value of an answer."""
        return cls([Node.from_proto(node) for node in answer.nodes], list(answer.missing_ids))


class NamedNode(NamedTuple):
    """What `graph.get_node_by_name` found."""

    node: Node  # the newest
    matches: int  # how many nodes share the name, this one included

    @classmethod
    def from_proto(cls, answer: graph_pb.GetNodeByNameResponse) -> NamedNode:
        """Return the value of an answer."""
        return cls(Node.from_proto(answer.node), answer.matches)
