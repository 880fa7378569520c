"""Records over gRPC: insert, fetch, update, list."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.working_memory.store import records
from context_service.working_memory.store.record_columns import SIZE
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import (
    InvalidPageToken,
)
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Urls
from tests.context_service.working_memory.callers import MIB, Caller, an_id, at

EVERYTHING: dict[str, Any] = {
    "memory_type": "data/json",
    "subtype": "plan",
    "semantic_purpose": "to remember",
    "name": "plan.json",
    "description": "what comes first",
    "reasoning": "because",
    "content_type": "application/x-plan",
    "metadata_json": '{"a": {"b": [1, 2.5, "é"]}, "big": 123456789012345678901234567890}',
    "content_json": '{ "z":1,"a" : [1e2, 0.10, "\\u00e9"], "a": 2 }',
    "tags": ["one", "two"],
    "graph_name": "graph",
    "agent_bundle_id": "bundle",
    "app_id": "app",
}


async def actions(database: Database) -> list[tuple[str, Any]]:
    rows = await database.tenant(PRINCIPAL.tenant_id).query(
        "SELECT kind, details, principal, request_id FROM context.action ORDER BY seq"
    )
    return [(row.kind, row.details) for row in rows]


async def test_a_record_comes_back_as_it_was(caller: Caller):
    entity, expires_at = an_id(), at(datetime(2125, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))

    inserted = await caller.insert(**EVERYTHING, entity_node_id=entity, expires_at=expires_at)
    fetched = await caller.fetch(inserted.working_memory_id)

    assert inserted == fetched
    for name, value in EVERYTHING.items():
        if name != "metadata_json":
            assert getattr(fetched, name) == value, name
    assert json.loads(fetched.metadata_json) == json.loads(EVERYTHING["metadata_json"])
    content = EVERYTHING["content_json"].encode()
    assert (fetched.provider, fetched.size_bytes, fetched.sha256) == (
        "postgres",
        len(content),
        hashlib.sha256(content).hexdigest(),
    )
    assert (fetched.entity_node_id, fetched.expires_at) == (entity, expires_at)
    assert (fetched.version, fetched.status, fetched.created_by) == (1, pb.RECORD_STATUS_ACTIVE, "first")
    assert fetched.index_state == pb.INDEX_STATE_NONE
    assert fetched.created_at == fetched.updated_at
    assert abs(fetched.created_at.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=1)


async def test_an_embedding_is_stored_in_half_precision(caller: Caller, database: Database):
    values = [0.5, -2.0] + [0.0] * 1534
    record = await caller.insert(embedding=pb.Embedding(values=values, model="small"))
    tenant = database.tenant(PRINCIPAL.tenant_id)

    (row,) = await tenant.query("SELECT owner_id, model, dimension, vector::text AS vector FROM context.embedding")
    assert (str(row.owner_id), row.model, row.dimension) == (record.working_memory_id, "small", 1536)
    assert json.loads(row.vector) == values

    await caller.update(record.working_memory_id, embedding=pb.Embedding(values=values[::-1], model="other"))
    (row,) = await tenant.query("SELECT model, vector::text AS vector FROM context.embedding")
    assert (row.model, json.loads(row.vector)) == ("other", values[::-1])

    await caller.update(record.working_memory_id, "embedding")
    assert await tenant.query("SELECT model FROM context.embedding") == []


async def test_an_update_changes_what_its_mask_names(caller: Caller, database: Database):
    inserted = await caller.insert(**EVERYTHING)
    entity = an_id()

    updated = await caller.update(
        inserted.working_memory_id,
        "name",
        "metadata_json",
        "tags",
        "entity_node_id",
        name="other.md",
        metadata_json='{"c": 1}',
        tags=["three"],
        entity_node_id=entity,
        description="not named",
        memory_type="",
        expires_at=Timestamp(seconds=2**60),  # malformed, and not looked at
    )

    fetched = await caller.fetch(inserted.working_memory_id)
    assert (fetched.name, fetched.metadata_json, fetched.tags) == ("other.md", '{"c": 1}', ["three"])
    assert (fetched.description, fetched.content_json) == (EVERYTHING["description"], EVERYTHING["content_json"])
    assert (fetched.entity_node_id, fetched.version) == (entity, 2)
    assert fetched.updated_at.ToDatetime() > fetched.created_at.ToDatetime()
    assert not updated.content_json  # the mask does not name it
    fetched.ClearField("content_json")
    assert updated == fetched
    assert (await actions(database))[1] == (
        "updated",
        {"fields": ["entity_node_id", "metadata_json", "name", "tags"], "version": 2},
    )


async def names(caller: Caller, entity: str, **options: Any) -> list[str]:
    """Return the names of an entity's records, following the pages."""
    found, token = [], ""
    while True:
        request = pb.FetchWMRecordsByEntityRequest(entity_node_id=entity, page_token=token, **options)
        page = await caller.call("FetchWMRecordsByEntity", request)
        found += [record.name for record in page.records]
        token = page.next_page_token
        if not token:
            return found


async def test_records_are_listed_newest_first(caller: Caller):
    entity = an_id()
    for number in range(7):
        await caller.insert(entity_node_id=entity, name=str(number), content_json="1")
    await caller.insert(entity_node_id=an_id(), name="of another entity")

    for page_size in (0, 1, 3, 7, 1000, 10**9):
        assert await names(caller, entity, page_size=page_size) == list("6543210")
    page = await caller.FetchWMRecordsByEntity(entity_node_id=entity)
    assert {record.content_json for record in page.records} == {""}
    assert await names(caller, an_id()) == []


async def test_records_of_one_moment_are_each_listed_once(caller: Caller, database: Database):
    entity = an_id()
    for number in range(6):
        await caller.insert(entity_node_id=entity, name=str(number))
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.wm_record SET created_at = now()")

    assert await names(caller, entity, page_size=2) == list("543210")


async def test_rows_that_come_while_paging_move_nothing(caller: Caller):
    entity = an_id()
    for number in range(4):
        await caller.insert(entity_node_id=entity, name=str(number))
    first = await caller.FetchWMRecordsByEntity(entity_node_id=entity, page_size=2)

    await caller.insert(entity_node_id=entity, name="new")
    second = await caller.FetchWMRecordsByEntity(entity_node_id=entity, page_size=2, page_token=first.next_page_token)

    assert [record.name for record in (*first.records, *second.records)] == list("3210")
    assert second.next_page_token == ""


async def test_a_page_of_large_contents_ends_at_two_megabytes(caller: Caller):
    """A page must fit a message; a record that is larger than a page still gets one."""
    entity, large = an_id(), json.dumps("x" * (900 * 1024))
    for number in range(5):
        await caller.insert(entity_node_id=entity, name=str(number), content_json=large)
    request = pb.FetchWMRecordsByEntityRequest(entity_node_id=entity, with_content=True)

    page = await caller.call("FetchWMRecordsByEntity", request)

    assert [record.name for record in page.records] == ["4", "3"]
    assert all(record.content_json == large for record in page.records)
    assert await names(caller, entity, with_content=True) == list("43210")
    without = await caller.FetchWMRecordsByEntity(entity_node_id=entity)
    assert len(without.records) == 5


async def test_a_page_of_large_metadata_ends_at_two_megabytes(caller: Caller):
    entity, large = an_id(), json.dumps({"a": "é" * 30_000}, ensure_ascii=False)
    for number in range(45):
        await caller.insert(entity_node_id=entity, name=str(number), metadata_json=large, description="d" * 1000)

    page = await caller.FetchWMRecordsByEntity(entity_node_id=entity)

    assert 30 < len(page.records) < 36
    assert page.ByteSize() < 2.1 * MIB
    assert await names(caller, entity) == [str(number) for number in reversed(range(45))]


async def test_a_row_counts_as_no_less_than_its_message(caller: Caller, database: Database):
    """Pages of lists, searches and manifests are cut by it: what it leaves out makes an answer too large to be sent."""
    wide = "\N{ELEPHANT}"  # four bytes
    record = await caller.insert(
        memory_type=wide * 100,
        subtype=wide * 128,
        content_type="text/" + "x" * 251,
        graph_name=wide * 128,
        agent_bundle_id=wide * 255,
        app_id=wide * 255,
        name=wide * 255,
        semantic_purpose=wide * 255,
        description=wide * 1000,
        reasoning=wide * 1000,
        metadata_json=json.dumps({"k": wide * 1000}),
        tags=[wide * 30 + str(number) for number in range(10)],
        entity_node_id=an_id(),
    )

    sql = f"SELECT {SIZE} AS counted FROM context.wm_record r WHERE id = %s"
    (row,) = await database.tenant(PRINCIPAL.tenant_id).query(sql, [record.working_memory_id])
    assert record.ByteSize() <= row.counted <= record.ByteSize() + 1000


@pytest.mark.parametrize(
    "key",
    [
        ["2024-01-01", 1],
        ["x", 1],
        [1, 1],
        [None, None],
        ["2024-01-01T00:00:00+00:00", "1"],
        ["2024-01-01T00:00:00+00:00", -1],
        ["2024-01-01T00:00:00+00:00", 2**63],
        ["2024-01-01T00:00:00+00:00", True],
        [{"a": 1}, []],
    ],
)
async def test_a_token_that_a_caller_made_is_refused(caller: Caller, key: list[Any]):
    """The binding is no secret: what is in a token is checked as any other field."""
    entity = an_id()
    query = (
        *("ListBlobs", PRINCIPAL.tenant_id, entity),
        *((), (), (), (), "", (), "{}", False, True),
    )
    await caller.upload(b"x", entity_node_id=entity)

    error = await caller.error(
        "ListBlobs", pb.ListBlobsRequest(entity_node_id=entity, page_token=encode_token(query, key))
    )

    assert isinstance(error, InvalidPageToken)


@pytest.fixture
def many(urls: Urls) -> Urls:
    """A database in which the tenant has a thousand records."""
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by)"
            " SELECT %s, gen_random_uuid(), 'file', 'n' || n, '' FROM generate_series(1, 1000) n",
            (PRINCIPAL.tenant_id,),
        )
        connection.execute("ANALYZE context.wm_record")
    return urls


def kept_plan(urls: Urls, statement: str) -> str:
    """Return the plan of a prepared statement, as the service's own role."""
    names = sorted(set(re.findall(r"%\((\w+)\)s", statement)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
    with psycopg.connect(urls.service, autocommit=True) as connection:
        rows = connection.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {numbered}".encode()).fetchall()
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("statement", [records._FIND_RECORD.sql, records._LOCK_RECORD], ids=["read", "lock"])
async def test_one_record_is_looked_up_in_an_index_below_row_level_security(many: Urls, statement: str):
    """By its id or by its key: it costs the same among any number of records."""
    plan = kept_plan(many, statement)

    looked_up = plan[plan.index("Index Scan using wm_record_pkey") :]
    assert re.search(r"Index Cond: \(\(tenant_id = \$\d\) AND \(id = ", looked_up), plan
    assert "Index Scan using wm_record_blob_key" in plan


async def test_a_page_starts_at_its_key_in_an_index_below_row_level_security(many: Urls):
    """The last page of an entity costs what its first one does."""
    plan = kept_plan(many, records._LIST_RECORDS)

    assert "Sort Key: r.created_at" not in plan
    (condition,) = re.findall(r"Index Cond: .*entity_node_id.*", plan)
    assert "created_at" in condition, plan
