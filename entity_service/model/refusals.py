"""Errors that several stores raise."""

from __future__ import annotations

from contextkeep.errors import AnswerTooLarge, EdgeNotFound, NodeNotFound


def node_not_found(node_id: str) -> NodeNotFound:
    """Return the error that says that there is no such node."""
    return NodeNotFound(f"node {node_id} does not exist", node_id=node_id)


def too_large(rpc: str) -> AnswerTooLarge:
    """Return the error of a batch that does not fit one message."""
    return AnswerTooLarge("the rows of these ids do not fit one answer; ask for fewer ids", use=f"{rpc} with fewer ids")


def edge_not_found(edge_id: str) -> EdgeNotFound:
    """Return the error of an id without an edge."""
    return EdgeNotFound(f"edge {edge_id} does not exist", edge_id=edge_id)


def similar_nodes_too_large() -> AnswerTooLarge:
    """Return the error of similar nodes that do not fit one message."""
    return AnswerTooLarge("the nodes do not fit one answer; ask for fewer", use="SearchSimilar with a smaller limit")
