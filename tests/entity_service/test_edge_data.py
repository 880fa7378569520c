"""Edges by id: read, their data changed."""

from __future__ import annotations

import json

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    hub, *spokes = [new_id() for _ in range(6)]
    await graph.write(node(id=hub), *[node(id=s) for s in spokes])
    long = json.dumps({"a": "xyz" * 300_000})
    ids = [(await graph.write(edge(hub, s, data_json=long))).edges[0].id for s in spokes]

    async with refused(AnswerTooLarge, use="BatchGetEdges with fewer ids"):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids))
    assert len((await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids[:4]))).edges) == 4
