"""Questions about records: columns, conditions, groups, orders, and what cannot be asked."""

from __future__ import annotations

import json
from datetime import UTC, timedelta
from typing import Any

import psycopg

from context_service.working_memory.store.record_filters import RECORD_FIELDS
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import AnswerTooLarge
from service_runtime.inputs.conditions import Bindings, condition_sql
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


async def test_times_are_utc_with_microseconds(caller: Caller):
    record = await caller.insert()
    (row,) = await ask(caller, "created_at", where={"working_memory_id": record.working_memory_id})
    created_at = record.created_at.ToDatetime(UTC)
    assert row["created_at"] == created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    near = {"$gte": row["created_at"], "$lt": (created_at + timedelta(microseconds=1)).isoformat()}
    assert len(await ask(caller, "name", where={"created_at": near})) == 1


async def test_an_aggregate_that_is_not_there_is_told_what_there_is(caller: Caller):
    error = await caller.error("QueryWMRecords", question("median(size_bytes)"))
    assert str(error.message) == "select[0]: aggregate 'median' is unknown; use one of avg, count, max, min, sum"


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
