"""The entity graph in a dictionary: what the border to the Entity Service promises, over the model of a walk.

The YAML cases run against it and against the real stack, so it cannot drift.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from context_service.kernel.graph_values import GraphNode, Reached, Walk, WalkPage
from contextkeep.errors import NodeNotFound
from tests.entity_service import model
from tests.entity_service.model import ModelEdge, ModelNode


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
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    data: dict[str, Any] = field(default_factory=dict)


class FakeEntityGraph:
    """Has the two methods of `EntityGraph`."""

    def __init__(self, nodes: list[FakeNode], edges: list[FakeEdge]) -> None:
        self._nodes = {node.id: node for node in nodes}
        self._edges = {edge.id: edge for edge in edges}

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
        wanted = {"node_types": list(walk.entity_types), "include_archived": walk.include_archived}
        rows = [
            (self._nodes[reached.id], reached)
            for reached in self._walked(walk, **wanted, include_start=walk.include_start, descending=descending)
        ]
        visited = self._walked(walk, node_types=[], include_archived=True, include_start=True, descending=False)
        steps = {reached.id: reached for reached in visited}
        if after is not None:
            rows = [row for row in rows if (_place(row[0]) < after if descending else _place(row[0]) > after)]
        start = int(page_token or 0)
        page = rows[start : start + limit] if limit else rows[start:]
        more = str(start + limit) if limit and start + limit < len(rows) else ""
        nodes = [self._as_graph_node(node, reached, walk, steps) for node, reached in page]
        yield WalkPage(nodes=nodes, next_page_token=more)

    def _walked(self, walk: Walk, **more: Any) -> list[model.Reached]:
        return model.walk(
            {node.id: _as_model(node) for node in self._nodes.values()},
            [ModelEdge(edge.id, edge.from_id, edge.to_id, edge.type, edge.order) for edge in self._edges.values()],
            [walk.node_id],
            edge_types=list(walk.edge_types),
            direction=walk.direction,
            depth_max=walk.depth_max,
            include_io=False,
            order_path="",
            **more,
        )

    def _edges_of(self, node: FakeNode) -> list[dict[str, Any]]:
        ends = [
            (edge, direction, far_id)
            for edge in sorted(self._edges.values(), key=lambda edge: edge.order)
            for direction, near_id, far_id in (
                ("in", edge.to_id, edge.from_id),
                ("out", edge.from_id, edge.to_id),
            )
            if near_id == node.id
        ]
        return [
            {"type": edge.type, "direction": direction, "data": edge.data, "node": self._far(far_id)}
            for edge, direction, far_id in ends
        ]

    def _path_to(self, node_id: str, steps: dict[str, model.Reached]) -> list[dict[str, Any]]:
        reached = steps[node_id]
        if reached.edge_id is None or reached.near_id is None:
            return []
        edge = self._edges[reached.edge_id]
        step = {"type": edge.type, "direction": "out" if edge.to_id == node_id else "in", "node": self._far(node_id)}
        return [*self._path_to(reached.near_id, steps), step]

    def _far(self, node_id: str) -> dict[str, Any]:
        entity = self._entity(self._nodes[node_id], with_io=False)
        names = ("id", "name", "type", "general_type", "status")
        return {name: entity[name] for name in names} | {"is_archived": self._nodes[node_id].archived}

    def _as_graph_node(
        self, node: FakeNode, reached: model.Reached, walk: Walk, steps: dict[str, model.Reached]
    ) -> GraphNode:
        created_at_us, seq = _place(node)
        edge = self._edges[reached.edge_id] if reached.edge_id else None
        edge_type = edge.type if edge else ""
        return GraphNode(
            node_id=node.id,
            created_at_us=created_at_us,
            seq=seq,
            entity={key: value for key, value in self._entity(node, with_io=True).items() if key in walk.fields},
            edge={"type": edge_type, "depth": reached.depth, "data": edge.data if edge else {}},
            reached=Reached(created_at_us, reached.depth, reached.edge_id or "", edge_type, reached.near_id or ""),
            edges=self._edges_of(node) if walk.with_all_edges else None,
            path=self._path_to(node.id, steps) if walk.with_path else None,
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


def _as_model(node: FakeNode) -> ModelNode:
    return ModelNode(node.id, *_place(node), (node.general_type, node.type), node.archived)


def _place(node: FakeNode) -> tuple[int, int]:
    return round(node.created_at.timestamp() * 1_000_000), node.seq
