"""The entity graph in a dictionary: what the border to the Entity Service promises, in the plainest Python.

The YAML cases run against it and against the real stack, so it cannot drift.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from context_service.graph import GraphNode, Reached, Walk, WalkPage
from contextkeep.errors import NodeNotFound


@dataclass(kw_only=True)
class FakeNode:
    id: str
    type: str
    general_type: str
    created_at: datetime
    seq: int
    data: dict[str, Any]
    name: str = ""
    status: str = "Created"
    external_id: str = ""
    archived: bool = False
    io: dict[str, Any] = field(default_factory=dict)  # "input" and "output", where set


@dataclass(kw_only=True)
class FakeEdge:
    from_id: str
    to_id: str
    type: str
    order: int  # of creation
    id: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class FakeEntityGraph:
    """Has the two methods of `EntityGraph`."""

    def __init__(self, nodes: list[FakeNode], edges: list[FakeEdge]) -> None:
        self._nodes = {node.id: node for node in nodes}
        self._edges = edges

    async def node(self, node_id: str, *, with_io: bool) -> dict[str, Any]:
        if node_id not in self._nodes:
            raise NodeNotFound(f"there is no node {node_id}")
        return self._entity(self._nodes[node_id], with_io=with_io)

    async def walk(
        self,
        walk: Walk,
        *,
        descending: bool = False,
        limit: int = 0,
        after: tuple[int, int] | None = None,
        page_token: str = "",
    ) -> AsyncGenerator[WalkPage, None]:
        if walk.node_id not in self._nodes:
            raise NodeNotFound(f"there is no node {walk.node_id}")
        reached: dict[str, tuple[int, FakeEdge | None]] = {walk.node_id: (0, None)}
        frontier = [walk.node_id]
        for depth in range(1, walk.depth_max + 1):
            found: dict[str, FakeEdge] = {}
            for edge in self._edges:  # in the order of creation: the first that reaches a node is the one
                if walk.edge_types and edge.type not in walk.edge_types:
                    continue
                ends = []
                if walk.direction in ("out", "both"):
                    ends.append((edge.from_id, edge.to_id))
                if walk.direction in ("in", "both"):
                    ends.append((edge.to_id, edge.from_id))
                for near, far in ends:
                    if near in frontier and far not in reached:
                        found.setdefault(far, edge)
            reached |= {node_id: (depth, edge) for node_id, edge in found.items()}
            frontier = list(found)
        rows = [
            (self._nodes[node_id], depth, edge)
            for node_id, (depth, edge) in reached.items()
            if (depth or walk.include_start)
            and (walk.include_archived or not self._nodes[node_id].archived)
            and (
                not walk.entity_types
                or {self._nodes[node_id].type, self._nodes[node_id].general_type} & set(walk.entity_types)
            )
        ]
        rows.sort(key=lambda row: (row[0].created_at, row[0].seq), reverse=descending)
        if after is not None:
            rows = [row for row in rows if (_place(row[0]) < after if descending else _place(row[0]) > after)]
        start = int(page_token or 0)
        page = rows[start : start + limit] if limit else rows[start:]
        more = str(start + limit) if limit and start + limit < len(rows) else ""
        nodes = [self._reached(row[0], row[1], row[2], walk) for row in page]
        yield WalkPage(nodes=nodes, next_page_token=more)

    def _reached(self, node: FakeNode, depth: int, edge: FakeEdge | None, walk: Walk) -> GraphNode:
        created_at_us, seq = _place(node)
        far_end = "" if edge is None else edge.from_id if edge.to_id == node.id else edge.to_id
        return GraphNode(
            node_id=node.id,
            created_at_us=created_at_us,
            seq=seq,
            entity={key: value for key, value in self._entity(node, with_io=True).items() if key in walk.fields},
            edge={"type": edge.type if edge else "", "depth": depth, "data": edge.data if edge else {}},
            reached=Reached(created_at_us, depth, edge.id if edge else "", edge.type if edge else "", far_end),
        )

    @staticmethod
    def _entity(node: FakeNode, *, with_io: bool) -> dict[str, Any]:
        entity = {
            "id": node.id,
            "external_id": node.external_id,
            "name": node.name,
            "type": node.type,
            "general_type": node.general_type,
            "status": node.status,
            "data": node.data,
            "created_at": node.created_at,
            "modified_at": node.created_at,
        }
        return {**entity, "io": node.io} if with_io else entity


def _place(node: FakeNode) -> tuple[int, int]:
    return round(node.created_at.timestamp() * 1_000_000), node.seq
