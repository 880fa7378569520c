"""Nodes that are read together."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_entity_graph import Node


class NodeBatch(NamedTuple):
    """What `graph.get_nodes` found."""

    nodes: list[Node]  # in the order of the ids
    missing_ids: list[str]


class NamedNode(NamedTuple):
    """What `graph.get_node_by_name` found."""

    node: Node  # the newest
    matches: int  # how many nodes share the name, this one included
