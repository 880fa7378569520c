"""Nodes and edges deleted for good, and nodes put back to before their run."""

from __future__ import annotations

import asyncio

import grpc

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import ContextKeepError, NodeNotFound
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import raised, refused

TABLES = ("node", "edge", "node_io", "progress", "embedding")


async def delete_node(graph: Graph, node_id: str, **fields: object) -> int:
    return (await graph.DeleteNode(pb.DeleteNodeRequest(node_id=node_id, **fields))).edges_deleted


async def counts(database: Database) -> dict[str, int]:
    """How many rows the first tenant has in each table."""
    tenant = database.tenant(DEFAULT_TENANT_ID)
    return {table: (await tenant.query(f"SELECT count(*) AS n FROM entity.{table}"))[0].n for table in TABLES}


async def test_a_node_goes_with_all_that_hangs_on_it_and_nothing_else(graph: Graph, others: Graph, database: Database):
    doomed, *neighbours = [new_id() for _ in range(4)]
    rows = [
        *[node(id=i) for i in (doomed, *neighbours)],
        *[edge(doomed, i) for i in neighbours],
        edge(neighbours[0], doomed, "Calls"),
        edge(doomed, doomed, "Owns"),
        edge(neighbours[0], neighbours[1]),
    ]
    for to in (graph, others):
        await to.write(*rows)
        for node_id in (doomed, neighbours[0]):
            await to.SetNodeIO(pb.SetNodeIORequest(node_id=node_id, input_json="1"))
            await to.UpdateNodeStatus(pb.UpdateNodeStatusRequest(node_id=node_id, status="Running"))
    for node_id in (doomed, neighbours[0]):
        await graph.UpsertEmbedding(pb.UpsertEmbeddingRequest(node_id=node_id, vector=[1, 2]))

    assert await delete_node(graph, doomed) == 5

    assert await counts(database) == {"node": 3, "edge": 1, "node_io": 1, "progress": 1, "embedding": 1}
    async with refused(NodeNotFound, node_id=doomed):
        await graph.get(doomed)
    assert (await others.get(doomed)).status == "Running", "the other tenant's node of the same id"
    assert await delete_node(others, doomed) == 5


async def test_a_node_that_is_deleted_while_edges_are_written_leaves_none_behind(graph: Graph, database: Database):
    """A half-written edge would make every later walk stumble."""
    hubs = [new_id() for _ in range(10)]
    spokes = [new_id() for _ in range(40)]
    await graph.write(*[node(id=i) for i in (*hubs, *spokes)])

    async def tolerant(call: object) -> object:
        try:
            return await call  # type: ignore[misc]
        except grpc.RpcError as error:
            return raised(error)

    calls = [tolerant(graph.write(edge(hub, spoke))) for hub in hubs for spoke in spokes[:8]]
    calls += [tolerant(delete_node(graph, hub)) for hub in hubs]
    calls += [tolerant(graph.SetNodeIO(pb.SetNodeIORequest(node_id=hub, input_json="1"))) for hub in hubs]
    calls += [tolerant(graph.UpsertEmbedding(pb.UpsertEmbeddingRequest(node_id=hub, vector=[1]))) for hub in hubs]
    answers = await asyncio.gather(*calls)

    errors = {type(answer) for answer in answers if isinstance(answer, ContextKeepError)}
    assert errors <= {NodeNotFound}, {str(answer) for answer in answers if isinstance(answer, ContextKeepError)}
    left = await counts(database)
    assert left == {"node": 40, "edge": 0, "node_io": 0, "progress": 0, "embedding": 0}


async def test_two_that_delete_each_others_neighbour_do_not_wait_for_each_other(graph: Graph, database: Database):
    pairs = [(new_id(), new_id()) for _ in range(20)]
    await graph.write(*[node(id=i) for pair in pairs for i in pair], *[edge(a, b) for a, b in pairs])

    deleted = await asyncio.gather(*[delete_node(graph, node_id) for pair in pairs for node_id in pair])

    assert sum(deleted) == 20
    assert (await counts(database))["node"] == 0
