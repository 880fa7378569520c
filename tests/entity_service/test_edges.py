"""Single edges, and the edges of a node."""

from __future__ import annotations

import base64

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidPageToken
from service_runtime.inputs.pages import encode_token
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused


async def create(graph: Graph, row: pb.EdgeInput, **fields: object) -> pb.Edge:
    return (await graph.CreateEdge(pb.CreateEdgeRequest(edge=row, **fields))).edge


async def edges_of(graph: Graph, node_id: str, **fields: object) -> list[pb.Edge]:
    """Every edge, page by page."""
    token, rows = "", []
    while True:
        request = pb.ListEdgesRequest(node_id=node_id, page_token=token, **fields)
        page = await graph.ListEdges(request)
        rows += page.edges
        token = page.next_page_token
        if not token:
            return rows


async def test_edges_are_listed_oldest_first_by_direction_and_type(graph: Graph):
    hub = new_id()
    spokes = [new_id() for _ in range(6)]
    types = ["Contains", "Calls", "Owns"]
    out = [edge(hub, s, types[n % 3], id=new_id(), created_at={"seconds": n % 2}) for n, s in enumerate(spokes)]
    into = [edge(s, hub, types[n % 3], id=new_id(), created_at={"seconds": n % 2}) for n, s in enumerate(spokes)]
    loop = [edge(hub, hub, "Owns", id=new_id(), created_at={"seconds": 1})]
    await graph.write(node(id=hub), *[node(id=s) for s in spokes], *out, *into, *loop)

    def expected(rows: list[pb.EdgeInput], wanted: list[str]) -> list[str]:
        rows = [row for row in rows if not wanted or row.edge_type in wanted]
        return [row.id for row in sorted(rows, key=lambda row: (row.created_at.seconds, row.id))]

    directions = {
        pb.DIRECTION_UNSPECIFIED: out + loop,
        pb.DIRECTION_OUT: out + loop,
        pb.DIRECTION_IN: into + loop,
        pb.DIRECTION_BOTH: out + into + loop,
    }
    for direction, rows in directions.items():
        for wanted in ([], ["Owns"], ["Calls", "Contains"], ["none"]):
            for page_size in (0, 1, 2, 5):
                listed = await edges_of(graph, hub, direction=direction, edge_types=wanted, page_size=page_size)
                assert [row.id for row in listed] == expected(rows, wanted)
                listed = await edges_of(
                    graph, hub, direction=direction, edge_types=wanted, page_size=page_size, descending=True
                )
                assert [row.id for row in listed] == expected(rows, wanted)[::-1]


async def test_a_page_ends_at_two_mebibytes_and_has_one_row_at_least(graph: Graph):
    hub = new_id()
    spokes = [new_id() for _ in range(5)]
    await graph.write(node(id=hub), *[node(id=s) for s in spokes])
    for spoke in spokes:
        await create(graph, edge(hub, spoke, data_json='{"a":"' + "x" * 900_000 + '"}'))

    page = await graph.ListEdges(pb.ListEdgesRequest(node_id=hub, page_size=1000))

    assert len(page.edges) == 2
    assert len(await edges_of(graph, hub)) == 5


async def test_forged_tokens_are_refused(graph: Graph):
    (hub,) = (await graph.write(node())).nodes
    token = encode_token(("ListEdges", graph.tenant_id, hub.id, "out", [], False), [1, hub.id])
    await graph.ListEdges(pb.ListEdgesRequest(node_id=hub.id, page_token=token))
    binding = ("ListEdges", graph.tenant_id, hub.id, "out", [], False)
    forged = [
        encode_token(binding, key)
        for key in ([1], [1, "x"], ["1", hub.id], [2**63, hub.id], [1e70, hub.id], [None, None], [1, 2])
    ]
    for bad in (token[:-4], token + "AAAA", base64.urlsafe_b64encode(b"{}").decode(), *forged):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await graph.ListEdges(pb.ListEdgesRequest(node_id=hub.id, page_token=bad))
