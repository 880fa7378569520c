"""Named vectors of nodes, and the nodes that are most like one."""

from __future__ import annotations

import json
import math
import random

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    InvalidPageToken,
    LimitExceeded,
)
from entity_service.store import embeddings
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.entity_service.graph import Graph, node
from tests.errors import refused

VECTORS_MAX = 40
SETTINGS = {"similar_vectors_max": VECTORS_MAX}


async def upsert(graph: Graph, node_id: str, vector: list[float], **fields: object) -> pb.Embedding:
    request = pb.UpsertEmbeddingRequest(node_id=node_id, vector=vector, **fields)
    return (await graph.UpsertEmbedding(request)).embedding


async def listed(graph: Graph, node_id: str, **fields: object) -> list[pb.Embedding]:
    """Every embedding, page by page."""
    token, rows = "", []
    while True:
        page = await graph.ListEmbeddings(pb.ListEmbeddingsRequest(node_id=node_id, page_token=token, **fields))
        rows += page.embeddings
        token = page.next_page_token
        if not token:
            return rows


async def search(graph: Graph, **fields: object) -> list[pb.SimilarNode]:
    return list((await graph.SearchSimilar(pb.SearchSimilarRequest(**fields))).nodes)


async def found(graph: Graph, **fields: object) -> list[str]:
    return [row.node.id for row in await search(graph, **fields)]


async def nodes(graph: Graph, count: int, **fields: object) -> list[str]:
    return [row.id for row in (await graph.write(*[node(**fields) for _ in range(count)])).nodes]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


async def test_the_largest_row_is_stored(graph: Graph):
    """The vector, all texts at their limits: more than a page of Postgres."""
    (node_id,) = await nodes(graph, 1)
    vector = [random.Random(1).uniform(-1, 1) for _ in range(4000)]
    metadata = json.dumps({"a": "".join(random.Random(2).choices("0123456789abcdef", k=65500))})

    await upsert(graph, node_id, vector, name="n" * 128, model="ü" * 128, text_sha256="0" * 64, metadata_json=metadata)

    (row,) = await listed(graph, node_id, with_vectors=True)
    assert list(row.vector) == pytest.approx(vector, abs=1e-3)
    ((similar),) = await search(graph, vector=vector, name="n" * 128)
    assert similar.similarity == pytest.approx(1)


async def test_the_most_similar_come_first_exactly(graph: Graph):
    chance = random.Random(7)
    ids = await nodes(graph, VECTORS_MAX)
    vectors = {i: [chance.uniform(-1, 1) for _ in range(8)] for i in ids}
    for node_id, vector in vectors.items():
        await upsert(graph, node_id, vector)
    wanted = [chance.uniform(-1, 1) for _ in range(8)]

    rows = await search(graph, vector=wanted, limit=VECTORS_MAX)

    assert [row.node.id for row in rows] == sorted(ids, key=lambda i: -cosine(vectors[i], wanted))
    for row in rows:
        assert row.similarity == pytest.approx(cosine(vectors[row.node.id], wanted), abs=2e-3)
        assert row.node == await graph.get(row.node.id)
    assert [row.node.id for row in await search(graph, vector=wanted)] == [row.node.id for row in rows[:10]]
    least = rows[4].similarity
    assert [row.node.id for row in await search(graph, vector=wanted, similarity_min=least - 1e-9)] == [
        row.node.id for row in rows[:5]
    ]


async def test_a_search_by_a_node_leaves_it_out_and_stays_in_its_graph_and_context(graph: Graph, database: Database):
    one, two, three = await nodes(graph, 3, graph_name="g")
    (apart,) = await nodes(graph, 1)
    for node_id in (one, two, three, apart):
        await upsert(graph, node_id, [1, 1], name="text")

    assert await found(graph, node_id=one, name="text") == sorted([two, three])
    assert await found(graph, vector=[1, 1], name="text", graph_name="g") == sorted([one, two, three])
    tenant = database.tenant(DEFAULT_TENANT_ID)
    for table, column in (("node", "id"), ("embedding", "owner_id")):
        await tenant.query(
            f"UPDATE entity.{table} SET context_id = '{apart}' WHERE {column} = ANY (%s::uuid[])", ([one, two],)
        )
    assert await found(graph, node_id=one, name="text") == [two]


async def test_a_search_over_too_many_vectors_is_refused_until_it_is_narrowed(graph: Graph):
    ids = await nodes(graph, VECTORS_MAX + 1)
    for place, node_id in enumerate(ids):
        await upsert(graph, node_id, [1, place + 1], metadata_json=json.dumps({"even": place % 2 == 0}))

    async with refused(LimitExceeded, limit="vectors", limit_max=VECTORS_MAX):
        await search(graph, vector=[1, 1])
    assert await found(graph, vector=[0, 1], metadata_contains_json='{"even": true}', limit=1) == [ids[-1]]


async def test_similar_nodes_that_fit_no_message_are_refused(graph: Graph):
    ids = [(await graph.write(node(data={"a": "xyz" * 300_000}))).nodes[0].id for _ in range(5)]
    for node_id in ids:
        await upsert(graph, node_id, [1])

    async with refused(AnswerTooLarge, use="SearchSimilar with a smaller limit"):
        await search(graph, vector=[1])
    assert len(await search(graph, vector=[1], limit=4)) == 4


async def test_forged_tokens_are_refused(graph: Graph):
    (node_id,) = await nodes(graph, 1)
    for name in "ab":
        await upsert(graph, node_id, [1, 1], name=name)
    page = await graph.ListEmbeddings(pb.ListEmbeddingsRequest(node_id=node_id, page_size=1))
    binding = ("ListEmbeddings", graph.tenant_id, node_id, False)
    forged = [encode_token(binding, key) for key in ([1], [None], ["a\0"], [])]
    for fields in ({"with_vectors": True}, *({"page_token": token} for token in forged)):
        request = {"node_id": node_id, "page_token": page.next_page_token} | fields
        async with refused(InvalidPageToken):
            await graph.ListEmbeddings(pb.ListEmbeddingsRequest(**request))


async def test_a_page_of_vectors_ends_at_two_mebibytes(graph: Graph):
    (node_id,) = await nodes(graph, 1)
    vector = [1.0] * 4000
    for place in range(140):
        await upsert(graph, node_id, vector, name=f"n{place:03}")

    page = await graph.ListEmbeddings(pb.ListEmbeddingsRequest(node_id=node_id, page_size=1000, with_vectors=True))

    assert len(page.embeddings) == 131
    assert len(await listed(graph, node_id, page_size=1000, with_vectors=True)) == 140


async def test_a_search_reads_its_slice_by_index_and_only_the_nearest_nodes(graph: Graph, database: Database):
    """What it costs to be exact is a distance for each vector of the slice, and nothing else."""
    ids = await nodes(graph, 30)
    for node_id in ids:
        await upsert(graph, node_id, [1, 2], name="text")
        await upsert(graph, node_id, [1, 2], name="other")
    tenant = database.tenant(DEFAULT_TENANT_ID)
    parameters = {
        "tenant_id": DEFAULT_TENANT_ID,
        "graph_name": "default",
        "context_id": None,
        "name": "text",
        "dimension": 2,
        "vector": "[1,2]",
        "without_id": None,
        "metadata": None,
        "distance_max": 2.0,
        "vectors_max": VECTORS_MAX,
        "node_types": [],
        "all_node_types": True,
        "include_archived": False,
        "rows": 5,
        "bytes_max": 2**22,
    }
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) {embeddings._NEAREST}"
    (row,) = await tenant.query(explain, parameters)
    plan = json.dumps(row[0])

    assert "embedding_slice" in plan
    assert '"Actual Rows": 30' in plan
    # By the primary key, or as a whole while the table is as small as here: for each of the five, and for no other.
    of_nodes = [part for part in _plans(row[0][0]["Plan"]) if part.get("Relation Name") == "node"]
    assert [part["Actual Loops"] for part in of_nodes] == [5]


def _plans(plan: dict[str, object]) -> list[dict[str, object]]:
    return [plan, *[part for inner in plan.get("Plans", []) for part in _plans(inner)]]  # type: ignore[attr-defined]
