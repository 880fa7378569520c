"""Questions about records: columns, conditions, groups, orders, and what cannot be asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from context_service.working_memory.store.record_filters import RECORD_FIELDS
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import AnswerTooLarge, InvalidArgument, LimitExceeded
from service_runtime.conditions import Bindings, condition_sql
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Urls
from tests.context_service.working_memory.callers import Caller, an_id

KIB = 1024


async def ask(caller: Caller, *select: str, where: object = None, order_by: str = "", **options: Any) -> list[Any]:
    """Ask, and return the rows; a key of the order that begins with "-" is a descending one."""
    answer = await caller.call("QueryWMRecords", question(*select, where=where, order_by=order_by, **options))
    return [json.loads(row) for row in answer.rows_json]


def question(*select: str, where: object = None, order_by: str = "", **options: Any) -> pb.QueryWMRecordsRequest:
    return pb.QueryWMRecordsRequest(
        select=select,
        where_json=where if isinstance(where, str) else json.dumps(where) if where else "",
        order_by=[
            pb.QueryOrder(column=key.removeprefix("-"), descending=key.startswith("-")) for key in order_by.split()
        ],
        **options,
    )


@pytest.fixture
async def entity(caller: Caller) -> str:
    """Five records of one entity."""
    entity_node_id = an_id()
    for number, (memory_type, tags, metadata, content) in enumerate(
        [
            ("file", ["a"], {"score": 1, "by": {"model": "m1"}}, "[1]"),
            ("file", ["a", "b"], {"score": 2.5, "by": {"model": "m2"}}, ""),
            ("data/json", [], {"score": "high"}, '{"long": "' + "x" * 100 + '"}'),
            ("data/json", ["b"], {"score": None, "by": {"model": "m1"}}, ""),
            ("image/png", [], {}, ""),
        ]
    ):
        await caller.insert(
            entity_node_id=entity_node_id,
            memory_type=memory_type,
            name=f"record {number}",
            tags=tags,
            metadata_json=json.dumps(metadata),
            content_json=content,
        )
    return entity_node_id


async def names(caller: Caller, entity: str, where: dict[str, Any]) -> str:
    """Return the numbers of the records that a condition finds."""
    rows = await ask(caller, "name", where={"entity_node_id": entity, **where}, order_by="name")
    return "".join(row["name"][-1] for row in rows)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, "01234"),
        ({"memory_type": "file"}, "01"),
        ({"memory_type": {"$in": ["file", "image/png"]}}, "014"),
        ({"tags": "b"}, "13"),
        ({"tags": {"$exists": False}}, "24"),
        ({"name": {"$like": "record _"}, "size_bytes": {"$gt": 3}}, "2"),
        ({"metadata.score": {"$gte": 1}}, "01"),
        ({"metadata.score": {"$exists": True}}, "0123"),
        ({"metadata.score": None}, "3"),
        ({"metadata.by.model": "m1"}, "03"),
        ({"metadata.by.model": {"$ne": "m1"}}, "124"),
        ({"$or": [{"metadata.score": "high"}, {"memory_type": "image/png"}]}, "24"),
        ({"$not": {"$and": [{"memory_type": "file"}, {"tags": "b"}]}}, "0234"),
        ({"status": "active", "index_state": "none"}, "01234"),
        ({"created_at": {"$lt": "2020-01-01T00:00:00Z"}}, ""),
        ({"sha256": {"$exists": True}, "provider": "postgres"}, "02"),
    ],
)
async def test_a_condition_finds_its_records(caller: Caller, entity: str, where: dict[str, Any], found: str):
    assert await names(caller, entity, where) == found


async def test_columns_come_as_they_were_asked_for(caller: Caller):
    record = await caller.insert(
        entity_node_id=an_id(),
        name='a "name"',
        tags=["x", "y"],
        metadata_json='{"a": {"b": [1, "2"]}, "n": 12345678901234567}',
    )
    columns = [
        "tags", "name", "version", "working_memory_id", "metadata.a.b", "metadata.a.b.1", "metadata.n", "metadata.none",
        "entity_node_id", "expires_at", "description", "status", "index_state",
    ]  # fmt: skip
    (row,) = await ask(caller, *columns, where={"working_memory_id": record.working_memory_id})
    assert list(row) == columns
    assert list(row.values()) == [
        ["x", "y"], 'a "name"', 1, record.working_memory_id, [1, "2"], "2", 12345678901234567, None,
        record.entity_node_id, None, "", "active", "none",
    ]  # fmt: skip


async def test_times_are_utc_with_microseconds(caller: Caller):
    record = await caller.insert()
    (row,) = await ask(caller, "created_at", where={"working_memory_id": record.working_memory_id})
    created_at = record.created_at.ToDatetime(UTC)
    assert row["created_at"] == created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    near = {"$gte": row["created_at"], "$lt": (created_at + timedelta(microseconds=1)).isoformat()}
    assert len(await ask(caller, "name", where={"created_at": near})) == 1


async def test_groups_are_counted_and_added_up(caller: Caller, entity: str):
    rows = await ask(
        caller,
        "memory_type", "count(*)", "sum(size_bytes)", "min(name)", "count(tags)", "sum(metadata.score)",
        where={"entity_node_id": entity},
        group_by=["memory_type"],
        order_by="-count(*) memory_type",
    )  # fmt: skip
    assert [list(row.values()) for row in rows] == [
        ["data/json", 2, 112, "record 2", 1, None],
        ["file", 2, 3, "record 0", 2, 3.5],
        ["image/png", 1, 0, "record 4", 0, None],
    ]


async def test_without_groups_an_aggregate_is_of_all(caller: Caller, entity: str):
    aggregates = ["count(*)", "count(metadata.score)", "min(metadata.score)", "max(metadata.score)", "max(created_at)"]
    (row,) = await ask(caller, *aggregates, where={"entity_node_id": entity})
    assert list(row.values())[:4] == [5, 4, 1, "high"]
    assert datetime.fromisoformat(row["max(created_at)"]).tzinfo is not None
    (of_none,) = await ask(caller, *aggregates, where={"entity_node_id": an_id()})
    assert list(of_none.values()) == [0, 0, None, None, None]


async def test_an_average_is_of_the_numbers_that_are_there(caller: Caller, entity: str):
    """A text or null among the numbers is not counted, as it is not added up."""
    averages = ["avg(metadata.score)", "avg(size_bytes)", "avg(metadata.none)"]
    (row,) = await ask(caller, *averages, where={"entity_node_id": entity})
    assert list(row.values()) == [1.75, 23, None]

    by_size = await ask(
        caller,
        "memory_type",
        where={"entity_node_id": entity},
        group_by=["memory_type"],
        order_by="-avg(size_bytes)",
    )
    assert by_size[0] == {"memory_type": "data/json"}


async def test_an_aggregate_that_is_not_there_is_told_what_there_is(caller: Caller):
    error = await caller.error("QueryWMRecords", question("median(size_bytes)"))
    assert str(error.message) == "select[0]: aggregate 'median' is unknown; use one of avg, count, max, min, sum"


async def test_a_path_can_be_grouped_and_ordered_by(caller: Caller, entity: str):
    rows = await ask(
        caller,
        "metadata.by.model",
        "count(*)",
        where={"entity_node_id": entity},
        group_by=["metadata.by.model"],
        order_by="metadata.by.model",
    )
    assert [list(row.values()) for row in rows] == [["m1", 2], ["m2", 1], [None, 2]]


@pytest.mark.parametrize(
    ("order_by", "found"),
    [
        ("", "43210"),
        ("name", "01234"),
        ("-name", "43210"),
        ("memory_type -name", "32104"),
        ("-size_bytes name", "20134"),
        ("metadata.score name", "01234"),
        ("-metadata.score name", "10234"),
        ("created_at", "01234"),
    ],
)
async def test_rows_come_in_the_order_that_was_asked_for(caller: Caller, entity: str, order_by: str, found: str):
    rows = await ask(caller, "name", where={"entity_node_id": entity}, order_by=order_by)
    assert "".join(row["name"][-1] for row in rows) == found


async def test_archived_and_expired_records_are_left_out_unless_asked_for(caller: Caller):
    entity_node_id = an_id()
    archived = await caller.insert(entity_node_id=entity_node_id, name="archived")
    await caller.call("DeleteWMRecord", pb.DeleteWMRecordRequest(working_memory_id=archived.working_memory_id))
    await caller.insert(entity_node_id=entity_node_id, name="expired", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    await caller.insert(entity_node_id=entity_node_id, name="there")

    where = {"entity_node_id": entity_node_id}
    assert await ask(caller, "name", where=where) == [{"name": "there"}]
    rows = await ask(caller, "name", "status", where=where, order_by="name", include_archived=True)
    assert [row["status"] for row in rows] == ["archived", "archived", "active"]


async def test_the_limit_cuts_and_says_so(caller: Caller, entity: str):
    where = {"entity_node_id": entity}
    for limit, count, has_more in ((2, 2, True), (5, 5, False), (0, 5, False), (5000, 5, False)):
        answer = await caller.call("QueryWMRecords", question("name", where=where, limit=limit))
        assert (len(answer.rows_json), answer.has_more) == (count, has_more)


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (question(), "select"),
        (question("none"), "select[0]"),
        (question("name", "content_json"), "select[1]"),
        (question("name", "name"), "select"),
        (question("name", "a\0"), "select[1]"),
        (question("sum(name)"), "select[0]"),
        (question("max(tags)"), "select[0]"),
        (question("min(working_memory_id)"), "select[0]"),
        (question("avg(name)"), "select[0]"),
        (question("median(size_bytes)"), "select[0]"),
        (question("count(none)"), "select[0]"),
        (question("sum(*)"), "select[0]"),
        (question("count()"), "select[0]"),
        (question("name", "count(*)"), "select[0]"),
        (question("count(*)", group_by=["count(*)"]), "group_by[0]"),
        (question("count(*)", group_by=["none"]), "group_by[0]"),
        (question("count(*)", order_by="name"), "order_by[0]"),
        (question("name", order_by="name tags"), "order_by[1].column"),
        (question("name", order_by="none"), "order_by[0].column"),
        (question("name", where="[]"), "where_json"),
        (question("name", where={"$and": [{}, {"name": {"$in": 1}}]}), "where_json.$and[1].name.$in"),
        (question("name", limit=-1), "limit"),
    ],
)  # fmt: skip
async def test_what_cannot_be_asked_is_refused_with_its_place(
    caller: Caller, asked: pb.QueryWMRecordsRequest, place: str
):
    error = await caller.error("QueryWMRecords", asked)
    assert isinstance(error, InvalidArgument)
    assert error.violations[0].field == place


async def test_too_many_columns_are_refused(caller: Caller):
    many = [f"metadata.a{number}" for number in range(51)]
    assert isinstance(await caller.error("QueryWMRecords", question(*many)), LimitExceeded)
    assert await ask(caller, *many[:50], where={"entity_node_id": an_id()}) == []


async def test_rows_that_do_not_fit_an_answer_are_refused(caller: Caller):
    entity_node_id = an_id()
    for _ in range(60):
        await caller.insert(entity_node_id=entity_node_id, description="x" * 60 * KIB)
    where = {"entity_node_id": entity_node_id}

    error = await caller.error("QueryWMRecords", question("description", where=where))
    assert isinstance(error, AnswerTooLarge)
    assert error.metadata["use"] == "QueryWMRecords"
    assert len(await ask(caller, "description", where=where, limit=40)) == 40
    assert len(await ask(caller, "name", where=where)) == 60


async def test_a_condition_on_the_metadata_uses_its_index_below_row_level_security(
    caller: Caller, database: Database, urls: Urls
):
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query(
        "INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, metadata)"
        " SELECT %s, gen_random_uuid(), 'file', 'n' || n, '', jsonb_build_object('n', n)"
        " FROM generate_series(1, 4000) n",
        (PRINCIPAL.tenant_id,),
    )
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("ANALYZE context.wm_record")
    bindings = Bindings()
    where = condition_sql("where_json", '{"metadata.n": 7}', RECORD_FIELDS, bindings)
    explain = f"EXPLAIN SELECT r.id FROM context.wm_record_of_tenant r WHERE r.tenant_id = %(tenant_id)s AND {where}"

    plan = await tenant.query(explain, {**bindings.values, "tenant_id": PRINCIPAL.tenant_id}, ad_hoc=True)

    assert "wm_record_metadata" in str(plan)
    assert await ask(caller, "name", where={"metadata.n": 7}) == [{"name": "n7"}]
