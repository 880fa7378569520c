"""Named vectors of nodes, and the nodes that are most like one."""

from __future__ import annotations

import json
import math
import random

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    EmbeddingNotFound,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    NodeNotFound,
)
from entity_service.store import embeddings
from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.pages import encode_token
from service_runtime.postgres import Database
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


async def test_an_embedding_reads_back_as_it_was_written(graph: Graph):
    (node_id,) = await nodes(graph, 1)
    fields = {"model": "m", "text_sha256": "AB" * 32, "metadata_json": '{"b": 1.50, "a": "ü"}'}

    written = await upsert(graph, node_id, [1, -0.5, 65504], name="text", **fields)

    (row,) = await listed(graph, node_id, with_vectors=True)
    assert list(row.vector) == [1, -0.5, 65504]
    row.ClearField("vector")
    assert row == written
    assert (row.name, row.dimension, row.model, row.text_sha256) == ("text", 3, "m", "ab" * 32)
    assert row.metadata_json == '{"a": "ü", "b": 1.50}'
    assert await listed(graph, node_id) == [written]
    assert (await graph.get(node_id)).version == 1


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


async def test_a_vector_is_checked(graph: Graph, others: Graph, missing_id: str):
    (node_id,) = await nodes(graph, 1)

    nan, infinity = math.nan, math.inf
    bad = [[], [1.0] * 4001, [1, nan], [infinity, 1], [1, -infinity], [65520], [-65520.0, 1], [0, 0, 0], [1e-8, -1e-8]]
    for vector in bad:
        async with refused(InvalidArgument, violations=["vector"]):
            await upsert(graph, node_id, vector)
        async with refused(InvalidArgument, violations=["vector"]):
            await search(graph, vector=vector)
    for sha256 in ("0" * 63, "g" * 64, "00 " * 21 + "0"):
        async with refused(InvalidArgument, violations=["text_sha256"]):
            await upsert(graph, node_id, [1], text_sha256=sha256)
    for metadata in ("[]", "{", '{"a": NaN}'):
        async with refused(InvalidArgument, violations=["metadata_json"]):
            await upsert(graph, node_id, [1], metadata_json=metadata)
        async with refused(InvalidArgument, violations=["metadata_contains_json"]):
            await search(graph, vector=[1], metadata_contains_json=metadata)
    async with refused(LimitExceeded, limit="metadata_json"):
        await upsert(graph, node_id, [1], metadata_json='{"a": "' + "x" * 65536 + '"}')
    for field in ("name", "model"):
        async with refused(LimitExceeded, limit=field):
            await upsert(graph, node_id, [1], **{field: "x" * 129})
    for to, other_id in ((others, node_id), (graph, missing_id)):
        async with refused(NodeNotFound, node_id=other_id):
            await upsert(to, other_id, [1])
    assert await listed(graph, node_id) == []
    await upsert(graph, node_id, [65519, 1])
    await upsert(graph, node_id, [2.0**-24, 0])
    assert await found(graph, vector=[1, 0]) == [node_id]


async def test_vectors_of_one_name_in_one_graph_have_one_dimension(graph: Graph, others: Graph):
    one, two = await nodes(graph, 2)
    (apart,) = await nodes(graph, 1, graph_name="apart")
    (theirs,) = await nodes(others, 1)
    await upsert(graph, one, [1, 2, 3])

    async with refused(InvalidArgument, violations=["vector"], dimension=3):
        await upsert(graph, two, [1, 2])
    async with refused(InvalidArgument, violations=["vector"], dimension=3):
        await search(graph, vector=[1, 2])

    await upsert(graph, two, [1, 2], name="other")
    await upsert(graph, apart, [1, 2])
    await upsert(others, theirs, [1, 2])
    await upsert(graph, one, [1, 2])
    await upsert(graph, two, [1, 2])
    assert await found(graph, vector=[1, 2]) == sorted([one, two])


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


async def test_equally_similar_ones_come_by_id(graph: Graph):
    ids = await nodes(graph, 6)
    for node_id in ids:
        await upsert(graph, node_id, [1, 1])

    assert await found(graph, vector=[2, 2]) == sorted(ids)
    assert await found(graph, vector=[2, 2], limit=2) == sorted(ids)[:2]
    assert await found(graph, vector=[2, 2], similarity_min=1) == sorted(ids)
    assert await found(graph, vector=[-1, -1], similarity_min=-0.99) == []


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


async def test_a_search_is_checked(graph: Graph, others: Graph, missing_id: str):
    (node_id,) = await nodes(graph, 1)
    await upsert(graph, node_id, [1, 1])

    for both_or_neither in ({}, {"vector": [1, 1], "node_id": node_id}):
        async with refused(InvalidArgument, violations=["vector"]):
            await search(graph, **both_or_neither)
    async with refused(InvalidArgument, violations=["graph_name"]):
        await search(graph, node_id=node_id, graph_name="default")
    for least in (math.nan, 1.1, -1.1, math.inf):
        async with refused(InvalidArgument, violations=["similarity_min"]):
            await search(graph, vector=[1, 1], similarity_min=least)
    async with refused(InvalidArgument, violations=["limit"]):
        await search(graph, vector=[1, 1], limit=-1)
    async with refused(LimitExceeded, limit="limit"):
        await search(graph, vector=[1, 1], limit=1001)
    async with refused(EmbeddingNotFound, name="text"):
        await search(graph, node_id=node_id, name="text")
    for to, other_id in ((others, node_id), (graph, missing_id)):
        async with refused(NodeNotFound, node_id=other_id):
            await search(to, node_id=other_id)
    assert await search(others, vector=[1, 1]) == []
    assert await search(others, vector=[1, 1, 1]) == [], "a tenant without embeddings has no dimension to be wrong"


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


async def test_an_embedding_is_deleted(graph: Graph, others: Graph, missing_id: str):
    (node_id,) = await nodes(graph, 1)
    await upsert(graph, node_id, [1])
    await upsert(graph, node_id, [1], name="kept")

    async def delete(to: Graph, other_id: str, name: str = "") -> None:
        await to.DeleteEmbedding(pb.DeleteEmbeddingRequest(node_id=other_id, name=name))

    for to, other_id in ((others, node_id), (graph, missing_id)):
        async with refused(NodeNotFound, node_id=other_id):
            await delete(to, other_id)
    await delete(graph, node_id)
    async with refused(EmbeddingNotFound, node_id=node_id, name="default"):
        await delete(graph, node_id)
    assert [row.name for row in await listed(graph, node_id)] == ["kept"]
    assert await found(graph, vector=[1]) == []


async def test_embeddings_are_listed_by_name_page_by_page(graph: Graph, others: Graph, missing_id: str):
    (node_id,) = await nodes(graph, 1)
    await others.write(node(id=node_id))
    names = [f"n{place}" for place in range(7)]
    for name in names:
        await upsert(graph, node_id, [1, 1], name=name)

    for page_size in (0, 1, 3, 7):
        assert [row.name for row in await listed(graph, node_id, page_size=page_size)] == names
    assert await listed(others, node_id) == []
    async with refused(NodeNotFound, node_id=missing_id):
        await listed(graph, missing_id)
    async with refused(InvalidArgument, violations=["page_size"]):
        await listed(graph, node_id, page_size=-1)
    page = await graph.ListEmbeddings(pb.ListEmbeddingsRequest(node_id=node_id, page_size=1))
    forged = [
        encode_token(("ListEmbeddings", graph.tenant_id, node_id, False), key) for key in ([1], [None], ["a\0"], [])
    ]
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
