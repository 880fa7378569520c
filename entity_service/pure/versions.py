"""Optimistic concurrency: refuse a change of a row that has another version than the caller expects."""

from __future__ import annotations

from contextkeep.errors import VersionConflict
from entity_service.model.edges import Edge
from entity_service.model.nodes import Node


def check_edge_version(edge: Edge, expected_version: int | None) -> None:
    """Refuse a change of an edge whose version is not the expected one; None expects any version.

    Raises:
        VersionConflict: the edge has another version.
    """
    if expected_version is not None and edge.version != expected_version:
        raise VersionConflict(
            f"the edge has version {edge.version}, not the expected {expected_version}; read it again",
            version=edge.version,
        )


def check_version(node: Node, expected_version: int | None) -> None:
    """Refuse a change of a node whose version is not the expected one; None expects any version.

    Raises:
        VersionConflict: the node has another version.
    """
    if expected_version is not None and node.version != expected_version:
        raise VersionConflict(
            f"the node has version {node.version}, not the expected {expected_version}; read it again",
            version=node.version,
        )
