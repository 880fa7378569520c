"""WriteGraph: all rows or none, in order, once."""

from __future__ import annotations

import json

from contextgraph.errors import NodeNotFound
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused


async def test_rows_come_back_in_the_order_of_the_request(graph: Graph):
    ids = [new_id() for _ in range(50)]
    rows = [node(id=i, data={"n": n}) for n, i in enumerate(ids)]

    written = await graph.write(node("Session", id=ids[0]), *rows[1:], *[edge(ids[0], i) for i in ids[1:]])

    times = [row.created_at.ToMicroseconds() for row in (*written.nodes, *written.edges)]
    assert [row.id for row in written.nodes] == ids
    assert times == list(range(times[0], times[0] + 99))
    assert [row.seq for row in written.nodes] == sorted({row.seq for row in written.nodes})
    reached = await graph.reached(ids[0], depth_max=1)
    assert [json.loads(row.node.data_json)["n"] for row in reached] == list(range(1, 50))
    full = await graph.reached(ids[0], depth_max=2)
    assert full == reached
    assert (await graph.walk(ids[0], depth_max=1))[0].indexed
    got = await graph.get(ids[3])
    assert got == reached[2].node


async def test_a_missing_node_is_not_found(graph: Graph, missing_id: str):
    async with refused(NodeNotFound):
        await graph.get(missing_id)
    async with refused(NodeNotFound):
        await graph.walk(missing_id, depth_max=1)
    async with refused(NodeNotFound):
        await graph.write(node(id=new_id()), edge(missing_id, missing_id))
