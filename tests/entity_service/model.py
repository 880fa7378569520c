"""A graph in memory, walked by the letter of the contract: what the service's answers are compared with.

Slow and short on purpose: no index, no page, no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


@dataclass
class ModelNode:
    id: str
    created_at: int
    seq: int
    types: tuple[str, str]
    is_archived: bool = False
    data: dict[str, Any] = field(default_factory=dict)
    io: dict[str, str] = field(default_factory=dict)  # `input_json`, `output_json`, where set


@dataclass
class ModelEdge:
    id: str
    from_id: str
    to_id: str
    edge_type: str
    created_at: int


@dataclass
class Reached:
    id: str
    depth: int
    edge_id: str | None
    near_id: str | None
    io: dict[str, str] = field(default_factory=dict)


def walk(
    nodes: dict[str, ModelNode],
    edges: list[ModelEdge],
    starts: list[str],
    *,
    edge_types: list[str],
    direction: str,
    depth_max: int,
    node_types: list[str],
    include_archived: bool,
    include_start: bool,
    include_io: bool,
    order_path: str,
    descending: bool,
) -> list[Reached]:
    visited = {start: Reached(start, 0, None, None) for start in starts}
    level = set(starts)
    for depth in range(1, depth_max + 1):
        found: dict[str, tuple[int, str, str]] = {}
        for edge in edges:
            if edge_types and edge.edge_type not in edge_types:
                continue
            steps = []
            if direction in ("out", "both"):
                steps.append((edge.from_id, edge.to_id))
            if direction in ("in", "both"):
                steps.append((edge.to_id, edge.from_id))
            for near, far in steps:
                if near in level and far not in visited:
                    candidate = (edge.created_at, edge.id, near)
                    found[far] = min(found.get(far, candidate), candidate)
        visited |= {far: Reached(far, depth, edge_id, near) for far, (_, edge_id, near) in found.items()}
        level = set(found)

    if include_io:
        for reached in visited.values():
            reached.io = nodes[reached.id].io

    def shown(row: Reached) -> bool:
        node = nodes[row.id]
        return (
            (include_start or row.depth > 0)
            and (include_archived or not node.is_archived)
            and (not node_types or any(name in node_types for name in node.types))
        )

    def position(row: Reached) -> Any:
        node = nodes[row.id]
        return order_value(node, order_path)[1], node.created_at, node.seq

    kinds: list[list[Reached]] = [[], [], [], []]
    for row in filter(shown, visited.values()):
        kinds[order_value(nodes[row.id], order_path)[0]].append(row)
    return [row for kind in kinds for row in sorted(kind, key=position, reverse=descending)]


def order_value(node: ModelNode, order_path: str) -> tuple[int, Any]:
    """Numbers, texts, other values, none."""
    if not order_path:
        return 0, 0
    value: Any = node.data
    for member in order_path.split("."):
        value = value.get(member) if isinstance(value, dict) else None
    match value:
        case None:
            return 3, 0
        case bool() | dict() | list():
            return 2, 0
        case int() | float():
            return 0, Decimal(str(value))
    return 1, value
