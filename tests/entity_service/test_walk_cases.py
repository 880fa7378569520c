"""Walks by cases in YAML, each sentence of what Traverse promises: against the model and against the service."""

from __future__ import annotations

from typing import Any

import grpc
import orjson
import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from tests.case_files import cases
from tests.entity_service import model
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import raised

DIRECTIONS = {"out": pb.DIRECTION_OUT, "in": pb.DIRECTION_IN, "both": pb.DIRECTION_BOTH}
DEFAULTS: dict[str, Any] = {
    "edge_types": [],
    "direction": "out",
    "depth_max": 3,
    "node_types": [],
    "include_archived": False,
    "include_start": False,
    "include_io": False,
    "order_path": "",
    "descending": False,
}


def walk_cases() -> list[Any]:
    return cases(
        "walks",
        keys={"nodes", "edges", "starts", "walk", "service"},
        answers={"rows", "error"},
        needed={"contract", "nodes", "edges"},
        node_keys={"type", "general_type", "at", "data", "archived"},
    )


class Shape:
    """A case's graph, with real ids for its letters."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.ids = {letter: new_id() for letter in case["nodes"]}
        self.letters = {node_id: letter for letter, node_id in self.ids.items()}
        self.nodes: dict[str, model.ModelNode] = {}
        self.inputs: list[pb.NodeInput] = []
        for seq, (letter, fields) in enumerate(case["nodes"].items()):
            node_id, kind = self.ids[letter], fields.get("type", "Node")
            general, at, data = fields.get("general_type", kind), fields.get("at", seq), fields.get("data", {})
            archived = fields.get("archived", False)
            self.nodes[node_id] = model.ModelNode(node_id, at * 1_000_000, seq, (general, kind), archived, data, {})
            self.inputs.append(
                node(general, id=node_id, specific_type_name=kind, data=data, created_at={"seconds": at})
            )
        self.edges = []
        for place, (near, kind, far, *at_s) in enumerate(case["edges"]):
            at = at_s[0] if at_s else 1000 + place
            self.edges.append(model.ModelEdge(new_id(), self.ids[near], self.ids[far], kind, at * 1_000_000))
        self.starts = [self.ids[letter] for letter in case.get("starts", list(self.ids)[:1])]

    async def write(self, graph: Graph) -> None:
        edges = [
            edge(one.from_id, one.to_id, one.edge_type, id=one.id, created_at={"seconds": one.created_at // 1_000_000})
            for one in self.edges
        ]
        await graph.write(*self.inputs, *edges)
        for one in self.nodes.values():
            if one.is_archived:
                await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=one.id))

    def row(self, node_id: str, depth: int, edge_id: str | None, from_id: str | None) -> str:
        """Return a row as a case writes it."""
        types = {one.id: one.edge_type for one in self.edges}
        reached_by = [types[edge_id], self.letters[from_id]] if edge_id and from_id else []
        return " ".join([self.letters[node_id], str(depth), *reached_by])


@pytest.mark.parametrize("case", [one for one in walk_cases() if "error" not in one.values[0]])
def test_the_model(case: dict[str, Any]):
    shape = Shape(case)

    found = model.walk(shape.nodes, shape.edges, shape.starts, **(DEFAULTS | case.get("walk", {})))

    assert [shape.row(one.id, one.depth, one.edge_id, one.near_id) for one in found] == case["rows"]


@pytest.mark.parametrize("case", walk_cases())
async def test_the_service(case: dict[str, Any], graph: Graph):
    shape = Shape(case)
    await shape.write(graph)
    asked = case.get("walk", {}) | case.get("service", {})
    if "direction" in asked:
        asked = asked | {"direction": DIRECTIONS[asked["direction"]]}

    if "error" in case:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await graph.reached(*shape.starts, **asked)
        assert raised(failure.value).reason == case["error"]
        return
    found = await graph.reached(*shape.starts, **asked)

    rows = [
        shape.row(one.node.id, one.depth, one.reached_by.edge_id or None, one.reached_by.node_id or None)
        for one in found
    ]
    assert rows == case["rows"]
    for one in found:
        assert orjson.loads(one.node.data_json) == shape.nodes[one.node.id].data
