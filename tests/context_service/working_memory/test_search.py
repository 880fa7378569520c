"""Search: by words, by vectors, by both; filters; what is refused; the indexes."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import grpc
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.retrieval.pure.fusion import FUSION_K
from context_service.working_memory.pure.record_terms import record_terms
from context_service.working_memory.rules import search
from context_service.working_memory.rules.search import RankedRecord, fused
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import SliceTooLarge
from service_runtime.postgres import Database, Tenant, Transaction
from tests.conftest import OTHER_KEY, PRINCIPAL, Urls
from tests.context_service.working_memory.callers import Caller, Start, an_id

DIMENSION = 1536
KIB = 1024


def vector(*values: float) -> list[float]:
    """Return a vector that begins with the values and goes on with zeros."""
    return [*values, *[0.0] * (DIMENSION - len(values))]


async def hits(caller: Caller, text: str = "", values: list[float] | None = None, **options: Any) -> list[pb.SearchHit]:
    model = options.pop("model", "")
    where = options.pop("where", None)
    request = pb.SearchWMRecordsRequest(
        text=text,
        embedding=None if values is None else pb.Embedding(values=values, model=model),
        where_json=json.dumps(where) if where else "",
        **options,
    )
    return list((await caller.call("SearchWMRecords", request)).hits)


async def names(caller: Caller, *args: Any, **options: Any) -> list[str]:
    return [hit.record.name for hit in await hits(caller, *args, **options)]


async def insert(caller: Caller, name: str, *, values: list[float] | None = None, **fields: Any) -> pb.WMRecord:
    if values is not None:
        fields["embedding"] = pb.Embedding(values=values, model=fields.pop("model", ""))
    return await caller.insert(name=name, **fields)


async def test_the_nearest_are_those_of_a_comparison_one_by_one(caller: Caller):
    generator = random.Random(1)
    entity_node_id = an_id()
    vectors = {f"v{number}": [generator.gauss(0, 1) for _ in range(DIMENSION)] for number in range(40)}
    for name, values in vectors.items():
        await insert(caller, name, values=values, entity_node_id=entity_node_id)
    asked = [generator.gauss(0, 1) for _ in range(DIMENSION)]

    found = await hits(caller, values=asked, entity_node_ids=[entity_node_id], limit=15)

    expected = sorted(vectors, key=lambda name: -cosine(vectors[name], asked))[:15]
    assert [hit.record.name for hit in found] == expected
    assert [hit.vector_place for hit in found] == list(range(1, 16))
    for hit in found:
        assert hit.similarity == pytest.approx(cosine(vectors[hit.record.name], asked), abs=1e-3)


def cosine(left: list[float], right: list[float]) -> float:
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    return dot / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))


PLACES = st.lists(st.integers(0, 12), unique=True, max_size=8)


@given(text_ids=PLACES, vector_ids=PLACES)
def test_fusing_adds_reciprocal_ranks(text_ids: list[int], vector_ids: list[int]):
    by_text = [RankedRecord(id=UUID(int=one), score=9, text_place=place) for place, one in enumerate(text_ids, 1)]
    by_vector = [RankedRecord(id=UUID(int=one), score=9, vector_place=place) for place, one in enumerate(vector_ids, 1)]

    found = fused(by_text, by_vector)

    assert {one.id.int for one in found} == {*text_ids, *vector_ids}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        ranks = [ids.index(one.id.int) + 1 for ids in (text_ids, vector_ids) if one.id.int in ids]
        assert one.score == pytest.approx(sum(1 / (FUSION_K + rank) for rank in ranks))


async def test_a_record_with_an_identifier_of_the_search_comes_first(caller: Caller):
    entity_node_id = an_id()
    near, far = vector(1.0), vector(0.0, 1.0)
    for number in range(4):
        await insert(caller, f"desk desk {number}", values=near, entity_node_id=entity_node_id)
    await insert(caller, "two chairs and a lamp of a desk, INV-2043", values=far, entity_node_id=entity_node_id)
    await insert(caller, "desk INV-20431", values=near, entity_node_id=entity_node_id)

    searched = "desk or inv2043"
    assert (await names(caller, searched, entity_node_ids=[entity_node_id]))[0].endswith("INV-2043")
    assert (await names(caller, searched, near, entity_node_ids=[entity_node_id]))[0].endswith("INV-2043")


async def test_the_limit_is_what_is_asked_for_and_a_hundred_at_most(caller: Caller):
    entity_node_id = an_id()
    for number in range(103):
        await insert(caller, f"n{number}", description="word", values=vector(1, number), entity_node_id=entity_node_id)
    for query in (("word", None), ("", vector(1)), ("word", vector(1))):
        for limit, count in ((0, 10), (3, 3), (100, 100), (5000, 100)):
            assert len(await names(caller, *query, entity_node_ids=[entity_node_id], limit=limit)) == count


async def test_an_answer_ends_where_it_is_full(caller: Caller):
    entity_node_id = an_id()
    for number in range(40):
        await insert(caller, f"n{number}", description="word " + "x" * 60 * KIB, entity_node_id=entity_node_id)
    found = await names(caller, "word", entity_node_ids=[entity_node_id], limit=100)
    assert len(found) == 33


async def test_too_large_a_slice_is_refused_and_says_what_to_add(start: Start):
    caller = await start(search_vectors_max=3)
    entities = [an_id(), an_id()]
    for entity_node_id in entities:
        for number in range(2):
            await insert(caller, f"n{number}", values=vector(1), entity_node_id=entity_node_id)

    request = pb.SearchWMRecordsRequest(embedding=pb.Embedding(values=vector(1)), entity_node_ids=entities)
    error = await caller.error("SearchWMRecords", request)
    assert isinstance(error, SliceTooLarge)
    assert error.metadata["limit_max"] == "3"
    assert "entity_node_ids" in error.metadata["filters"]
    assert len(await names(caller, values=vector(1), entity_node_ids=entities[:1])) == 2
    assert len(await names(caller, values=vector(1), entity_node_ids=entities, where={"name": "n0"})) == 2
    assert isinstance(
        await caller.error(
            "SearchWMRecords",
            pb.SearchWMRecordsRequest(text="a", embedding=request.embedding, entity_node_ids=entities),
        ),
        SliceTooLarge,
    )


def statement_of_the_docs() -> str:
    """Return how an operator makes the index of vectors."""
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text("utf-8")
    (statement,) = re.findall(r"^CREATE INDEX CONCURRENTLY embedding_hnsw.*?;", page, re.MULTILINE | re.DOTALL)
    return statement


@pytest.fixture
def indexed(urls: Urls) -> None:
    """A database in which the operator has made the index, before the service is started."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute(statement_of_the_docs().encode())


async def test_past_its_limit_a_slice_is_searched_by_the_index_that_an_operator_made(
    indexed: None, start: Start, monkeypatch: pytest.MonkeyPatch
):
    caller = await start(search_vectors_max=10)
    generator = random.Random(2)
    app_id, entity = an_id(), an_id()
    vectors = {f"v{number}": [generator.gauss(0, 1) for _ in range(DIMENSION)] for number in range(40)}
    for number, (name, values) in enumerate(vectors.items()):
        fields = {"tags": ["odd"]} if number % 2 else {"entity_node_id": entity} if number < 20 else {}
        await insert(caller, name, values=values, app_id=app_id, description="word", **fields)
    plans: list[str] = []
    query = Transaction.query

    async def explained(self: Transaction, sql: str, parameters: Any = (), **options: Any) -> Any:
        if "ORDER BY" in sql:
            plans.append(str(await query(self, f"EXPLAIN {sql}", parameters, named=False)))
        return await query(self, sql, parameters, **options)

    monkeypatch.setattr(Transaction, "query", explained)
    asked = [generator.gauss(0, 1) for _ in range(DIMENSION)]
    nearest = sorted(vectors, key=lambda name: -cosine(vectors[name], asked))

    found = await hits(caller, values=asked, app_id=app_id, limit=15)
    assert [hit.record.name for hit in found] == nearest[:15]
    assert all(hit.approximate for hit in found)
    assert [hit.vector_place for hit in found] == list(range(1, 16))
    assert found[0].similarity == pytest.approx(cosine(vectors[nearest[0]], asked), abs=1e-3)

    odd = [name for name in nearest if int(name[1:]) % 2]
    assert await names(caller, values=asked, app_id=app_id, where={"tags": "odd"}, limit=5) == odd[:5]
    both = await hits(caller, "word", asked, app_id=app_id, limit=40)
    assert len(both) == 40
    assert all(hit.approximate and hit.text_place for hit in both)
    assert len(plans) == 3
    assert all("embedding_hnsw" in plan and "Sort" not in plan for plan in plans)

    # Ten are compared one by one.
    found = await hits(caller, values=asked, app_id=app_id, entity_node_ids=[entity], limit=40)
    assert len(found) == 10
    assert not any(hit.approximate for hit in found)


async def test_what_an_index_finds_too_little_of_is_refused(
    indexed: None, start: Start, monkeypatch: pytest.MonkeyPatch
):
    """When it gives up depends on the chance by which it was built: here it always ends after three."""
    filled = search.SQL.filled

    def at_most_three(name: str, **arguments: str) -> str:
        sql = filled(name, **arguments)
        return sql.replace("LIMIT %(limit)s", "LIMIT 3") if name == "by_index" else sql

    monkeypatch.setattr(search.SQL, "filled", at_most_three)
    caller = await start(search_vectors_max=10)
    for number in range(12):
        await insert(caller, "n", values=vector(1, number), app_id="far")

    request = pb.SearchWMRecordsRequest(embedding=pb.Embedding(values=vector(1, 60)), app_id="far", limit=15)
    error = await caller.error("SearchWMRecords", request)
    assert isinstance(error, SliceTooLarge)
    assert "entity_node_ids" in error.metadata["filters"]


async def test_an_index_shows_nothing_of_another_tenant(indexed: None, start: Start):
    caller = await start(search_vectors_max=3)
    async with grpc.aio.insecure_channel(caller.address) as channel:
        stranger = Caller(caller.address, channel, OTHER_KEY)
        for number in range(6):
            await insert(caller, "ours", values=vector(1, number))
            await insert(stranger, "theirs", values=vector(1, number))
        for one, name in ((caller, "ours"), (stranger, "theirs")):
            found = await hits(one, values=vector(1, 3))
            assert [hit.record.name for hit in found] == [name] * 6
            assert all(hit.approximate for hit in found)


async def test_an_index_that_is_not_complete_is_not_asked(indexed: None, start: Start, urls: Urls):
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'context.embedding_hnsw'::regclass"
        )
    caller = await start(search_vectors_max=3)
    for number in range(4):
        await insert(caller, "n", values=vector(1, number))
    request = pb.SearchWMRecordsRequest(embedding=pb.Embedding(values=vector(1)))
    assert isinstance(await caller.error("SearchWMRecords", request), SliceTooLarge)


WORDS = [f"{number:x}-{number * 7919:x}" for number in range(40_000)]


@pytest.mark.parametrize(
    "content",
    [
        [" ".join(WORDS)],
        WORDS,
        ["ä-" * 300_000],
        ["ﷺ " * 100_000],
        [f"https://{number}.example/{number}?q={number}" for number in range(20_000)],
        list(range(100_000)),
        [["x" * 3000] * 300],
    ],
    ids=["one text", "words", "compound", "long when folded", "urls", "numbers", "long words"],
)  # fmt: skip
async def test_no_content_is_refused_for_the_number_of_its_words(caller: Caller, content: list[Any]):
    """A vector of words has a largest size in Postgres; what would pass it is cut."""
    content_json = json.dumps(["needle", content], ensure_ascii=False)
    assert 200 * KIB < len(content_json.encode()) <= KIB * KIB
    description = " ".join(WORDS)[: 64 * KIB]
    record = await caller.insert(
        entity_node_id=an_id(), content_json=content_json, description=description, name="ä-" * 256
    )
    assert await names(caller, "needle", entity_node_ids=[record.entity_node_id]) == ["ä-" * 256]


async def test_the_indexes_are_used_below_row_level_security(
    caller: Caller, database: Database, urls: Urls, monkeypatch: pytest.MonkeyPatch
):
    """Four thousand records; of the plans of our own statements none reads a whole table."""
    entity_node_id = an_id()
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query(
        "INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, terms)"
        " SELECT %s, gen_random_uuid(), 'file', 'n' || n, '', %s::integer[] || n %% 100"
        " FROM generate_series(1, 4000) n",
        (PRINCIPAL.tenant_id, record_terms(PRINCIPAL.tenant_id, name="n", description="word", content="")),
    )
    await tenant.query(
        "INSERT INTO context.embedding (tenant_id, owner_kind, owner_id, dimension, vector, entity_node_id)"
        " SELECT %s, 'record', gen_random_uuid(), 1536, array_fill(1, ARRAY[1536])::public.halfvec, gen_random_uuid()"
        " FROM generate_series(1, 1000) n",
        (PRINCIPAL.tenant_id,),
    )
    await insert(caller, "found", values=vector(1), description="word7", entity_node_id=entity_node_id)
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("ANALYZE context.wm_record")
        connection.execute("ANALYZE context.embedding")
    plans: list[str] = []
    query = Tenant.query

    async def explained(self: Tenant, sql: str, parameters: Any = (), **options: Any) -> Any:
        if options.get("ad_hoc"):
            rows = await query(self, f"EXPLAIN {sql}", parameters, named=False, ad_hoc=True)
            plans.append("\n".join(row[0] for row in rows))
        return await query(self, sql, parameters, **options)

    monkeypatch.setattr(Tenant, "query", explained)
    assert await names(caller, "word7", vector(1), entity_node_ids=[entity_node_id]) == ["found"]
    assert len(await names(caller, "found", limit=100)) == 1

    by_text, by_vector = sorted(plans[:2], key=lambda plan: "embedding" in plan)
    assert "embedding_entity" in by_vector
    assert "wm_record_entity" in by_text or "wm_record_terms" in by_text
    assert "wm_record_terms" in plans[2]
    assert not any("Seq Scan" in plan for plan in plans)
