"""A node and its neighbours as a drawing: rings around the middle, where every node is a link to its page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextkeep import Edge, Node
from contextkeep_console.titles import title_of_node

SIZE = 720  # of the square that it is laid out in
_CHAR, _MARGIN = 7, 24  # of a label, and around all
NODES_MAX = 60  # of a drawing: more is a ball of wool
_RINGS = (150.0, 270.0)
_LABEL_CHARS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A node."""

    id: str
    label: str
    type: str
    x: float
    y: float
    ring: int
    colour: int
    anchor: str  # of its label: "start", "middle" or "end"
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An edge."""

    id: str
    type: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A neighbourhood."""

    title: str
    description: str
    dots: Sequence[Dot]
    arrows: Sequence[Arrow]
    types: Mapping[str, int]  # which colour a type has
    left_out: int = 0
    left: int = 0  # of the drawing, as the next two
    width: int = SIZE
    height: int = SIZE


def drawing(middle: Node, around: Iterable[tuple[Node, int, str]], edges: Iterable[Edge]) -> Drawing:
    """Return the drawing of a neighbourhood.

    Args:
        middle: The node that it is of.
        around: Other nodes, each with its distance (1 or 2) and the node from which it was reached.
        edges: The edges of all these nodes. Edges to nodes that are not drawn are left out.
    """
    items = list(around)
    shown, left_out = items[:NODES_MAX], max(0, len(items) - NODES_MAX)
    types: dict[str, int] = {}
    for node in (middle, *(node for node, _, _ in shown)):
        types.setdefault(node.specific_type_name or node.general_type_name, len(types) % 9)
    outermost = _RINGS[1] if any(depth > 1 for _, depth, _ in shown) else _RINGS[0]
    height = 2 * outermost + 120
    places: dict[str, tuple[float, float, float]] = {middle.id: (SIZE / 2, height / 2, 0.0)}
    first = [(node, by) for node, depth, by in shown if depth <= 1]
    second = [(node, by) for node, depth, by in shown if depth > 1]
    _place(places, first, _RINGS[0], height)
    _place(places, second, _RINGS[1], height)
    dots = [_dot(middle, places[middle.id], 0, types)]
    dots += [_dot(node, places[node.id], min(depth, 2), types) for node, depth, _ in shown]
    arrows = [
        _arrow(edge, places[edge.from_node_id], places[edge.to_node_id])
        for edge in edges
        if edge.from_node_id in places and edge.to_node_id in places and edge.from_node_id != edge.to_node_id
    ]
    left = min(_left_of(dot) for dot in dots) - _MARGIN
    right = max(_left_of(dot) + len(dot.label) * _CHAR for dot in dots) + _MARGIN
    name = title_of_node(middle)
    return Drawing(
        title=f"Neighbours of {name[:80]}",
        description=f"{len(dots)} nodes and {len(arrows)} edges; each node leads to its own page.",
        dots=dots,
        arrows=arrows,
        types=types,
        left_out=left_out,
        left=round(left),
        width=max(360, round(right - left)),
        height=round(height),
    )


def _left_of(dot: Dot) -> float:
    width = len(dot.label) * _CHAR
    return dot.label_x - {"start": 0, "middle": width / 2, "end": width}[dot.anchor]


def _place(
    places: dict[str, tuple[float, float, float]], nodes: Sequence[tuple[Node, str]], radius: float, height: float
) -> None:
    """Place nodes on a ring, each further out than the node from which it was reached, while there is room."""
    ordered = sorted(nodes, key=lambda row: places[row[1]][2] if row[1] in places else 0.0)
    for number, (node, _) in enumerate(ordered):
        angle = 2 * math.pi * number / max(1, len(ordered)) - math.pi / 2
        places[node.id] = (
            SIZE / 2 + radius * math.cos(angle),
            height / 2 + radius * math.sin(angle),
            (angle + math.pi / 2) % (2 * math.pi),
        )


def _dot(node: Node, place: tuple[float, float, float], ring: int, types: Mapping[str, int]) -> Dot:
    """Return the dot of a node, with a shortened label on the side that points away from the middle."""
    x, y, _ = place
    kind = node.specific_type_name or node.general_type_name
    label = title_of_node(node)
    offset = 14 if ring else 18
    if ring == 0 or abs(x - SIZE / 2) < 30:
        anchor, label_x, label_y = "middle", x, y + (offset + 10 if y >= SIZE / 4 or ring == 0 else -offset)
    elif x > SIZE / 2:
        anchor, label_x, label_y = "start", x + offset, y + 4
    else:
        anchor, label_x, label_y = "end", x - offset, y + 4
    return Dot(
        id=node.id,
        label=label if len(label) <= _LABEL_CHARS else f"{label[: _LABEL_CHARS - 1]}…",
        type=kind,
        x=round(x, 1),
        y=round(y, 1),
        ring=ring,
        colour=types.get(kind, 0),
        anchor=anchor,
        label_x=round(label_x, 1),
        label_y=round(label_y, 1),
    )


def _arrow(edge: Edge, start: tuple[float, float, float], end: tuple[float, float, float]) -> Arrow:
    """Return the line between two dots, from rim to rim."""
    x1, y1, _ = start
    x2, y2, _ = end
    length = math.hypot(x2 - x1, y2 - y1) or 1
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    return Arrow(
        id=edge.id,
        type=edge.edge_type,
        x1=round(x1 + dx * 12, 1),
        y1=round(y1 + dy * 12, 1),
        x2=round(x2 - dx * 15, 1),
        y2=round(y2 - dy * 15, 1),
    )
