"""The life of a record: archived, restored, expired, purged, and what its log says of it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.rules import retention
from context_service.working_memory.upkeep.sweep import Swept
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import InvalidPageToken, RecordNotFound
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL
from tests.context_service.working_memory.callers import Caller, Start, an_id, at, blobs, files, records
from tests.noise import noise

DAY_S = 24 * 3600.0


async def delete(caller: Caller, working_memory_id: str, *, purge: bool = False) -> pb.WMRecord:
    request = pb.DeleteWMRecordRequest(working_memory_id=working_memory_id, purge=purge)
    return (await caller.call("DeleteWMRecord", request)).record


async def restore(caller: Caller, working_memory_id: str) -> pb.WMRecord:
    return (await caller.RestoreWMRecord(working_memory_id=working_memory_id)).record


async def log_of(caller: Caller, working_memory_id: str) -> list[pb.WMRecordAction]:
    request = pb.ListWMRecordActionsRequest(working_memory_id=working_memory_id)
    return list((await caller.call("ListWMRecordActions", request)).actions)


async def kinds(caller: Caller, working_memory_id: str) -> list[str]:
    names = [pb.RecordActionKind.Name(action.kind) for action in await log_of(caller, working_memory_id)]
    return [name.removeprefix("RECORD_ACTION_KIND_").lower() for name in names]


async def age(database: Database, days: float, *working_memory_ids: str) -> None:
    """Make records look as if all that happened to them had happened so many days ago."""
    await database.tenant(PRINCIPAL.tenant_id).query(
        "UPDATE context.wm_record SET archived_at = archived_at - %s, expires_at = expires_at - %s WHERE id = ANY (%s)",
        (timedelta(days=days), timedelta(days=days), list(working_memory_ids)),
    )


async def test_concurrent_twins_log_one_change(caller: Caller):
    for _ in range(5):
        record_id = (await caller.insert()).working_memory_id
        await asyncio.gather(*(delete(caller, record_id) for _ in range(4)))
        await asyncio.gather(*(restore(caller, record_id) for _ in range(4)))
        await asyncio.gather(*(delete(caller, record_id, purge=True) for _ in range(4)))
        assert await kinds(caller, record_id) == ["created", "archived", "restored", "purged"]


@pytest.mark.parametrize("archived", [True, False])
async def test_a_purged_record_is_gone_and_its_log_is_not(
    caller: Caller, database: Database, context_settings: Settings, *, archived: bool
):
    stored = await caller.upload(b"abc", name="secret.txt", embedding=pb.Embedding(values=[1.0] * 1536))
    record_id = stored.working_memory_id
    if archived:
        await delete(caller, record_id)

    await delete(caller, record_id, purge=True)
    await delete(caller, record_id, purge=True)  # again is harmless

    for include_archived in (False, True):
        with pytest.raises(RecordNotFound):
            await caller.fetch(record_id, include_archived=include_archived)
    for rpc, request in (
        ("RestoreWMRecord", pb.RestoreWMRecordRequest(working_memory_id=record_id)),
        ("DeleteWMRecord", pb.DeleteWMRecordRequest(working_memory_id=record_id)),
    ):
        assert isinstance(await caller.error(rpc, request), RecordNotFound)
    log = await log_of(caller, record_id)
    assert await kinds(caller, record_id) == ["created", *["archived"] * archived, "purged"]
    assert json.loads(log[-1].details_json) == {"why": "deleted", "memory_type": "file", "size_bytes": 3}
    assert "secret" not in str(log)
    tenant = database.tenant(PRINCIPAL.tenant_id)
    assert await tenant.query("SELECT owner_id FROM context.embedding") == []
    assert [row.state for row in await blobs(database)] == ["deleting"]
    assert len(files(context_settings)) == 1  # for as long as a backup may need it


async def test_the_bytes_of_a_purged_record_go_with_the_next_sweep_once_their_grace_is_over(
    start: Start, database: Database, context_settings: Settings
):
    caller = await start(blob_delete_grace_s=0)
    first, second = await caller.upload(b"same"), await caller.upload(b"same")
    await maintenance.sweep(context_settings)

    await delete(caller, first.working_memory_id, purge=True)
    assert await maintenance.sweep(context_settings) == Swept()  # the other one needs them
    assert (await caller.download(blob_key=second.blob_key))[1] == b"same"

    await delete(caller, second.working_memory_id, purge=True)
    assert await maintenance.sweep(context_settings) == Swept(blobs_removed=1)
    assert (await blobs(database), files(context_settings)) == ([], [])


# The log.


async def test_the_log_names_time_principal_and_request_of_every_change(caller: Caller):
    created_by, updated_by = an_id(), an_id()
    record = await caller.insert(created_by)
    updated = await caller.update(record.working_memory_id, name="b", request_id=updated_by)
    await caller.update(record.working_memory_id, name="b", request_id=updated_by)  # a repeat is no change
    archived = await delete(caller, record.working_memory_id)

    log = await log_of(caller, record.working_memory_id)

    assert [action.request_id for action in log] == [created_by, updated_by, ""]
    assert {action.principal for action in log} == {"first"}
    assert json.loads(log[1].details_json) == {"fields": ["name"], "version": 2}
    times = [action.created_at.ToDatetime() for action in log]
    assert times == sorted(times)
    for action, changed in zip(log, (record, updated, archived), strict=True):
        since = action.created_at.ToDatetime() - changed.updated_at.ToDatetime()
        assert timedelta(0) <= since < timedelta(seconds=1)


@pytest.mark.parametrize("key", [["1"], [1.5], [-1], [2**63], [True], [None]])
async def test_a_made_up_token_is_refused(caller: Caller, key: list[Any]):
    record_id = (await caller.insert()).working_memory_id
    token = encode_token(("ListWMRecordActions", str(PRINCIPAL.tenant_id), record_id), key)
    request = pb.ListWMRecordActionsRequest(working_memory_id=record_id, page_token=token)

    assert isinstance(await caller.error("ListWMRecordActions", request), InvalidPageToken)


# Retention.


async def test_a_record_is_purged_when_its_retention_is_over_and_not_before(
    caller: Caller, database: Database, context_settings: Settings
):
    archived, expired, active, restored = [(await caller.insert(content_json="1")).working_memory_id for _ in range(4)]
    blob = (await caller.upload(b"abc")).working_memory_id
    for one in (archived, blob, restored):
        await delete(caller, one)
    await restore(caller, restored)
    await caller.update(expired, expires_at=at(datetime.now(UTC) - timedelta(seconds=1)))
    await age(database, 29.9, archived, expired, active, restored, blob)
    assert await maintenance.sweep(context_settings) == Swept()

    await age(database, 0.2, archived, expired, active, restored, blob)
    assert await maintenance.sweep(context_settings) == Swept(records_purged=3)

    assert await records(database) == 2
    for kept in (active, restored):
        assert (await caller.fetch(kept)).status == pb.RECORD_STATUS_ACTIVE
    for gone in (archived, expired, blob):
        log = await log_of(caller, gone)
        assert (log[-1].kind, log[-1].principal) == (pb.RECORD_ACTION_KIND_PURGED, "sweeper")
        assert json.loads(log[-1].details_json)["why"] == "retention"
    assert [row.state for row in await blobs(database)] == ["deleting"]


async def test_retention_counts_from_when_the_record_was_first_out_of_sight(
    caller: Caller, database: Database, context_settings: Settings
):
    """Archived long after it had expired, or expired long after it was archived: the earlier counts."""
    first = (await caller.insert(expires_at=at(datetime.now(UTC) - timedelta(days=31)))).working_memory_id
    await delete(caller, first)
    second = (await caller.insert(expires_at=at(datetime.now(UTC) + timedelta(days=60)))).working_memory_id
    await delete(caller, second)
    await age(database, 31, second)

    assert await maintenance.sweep(context_settings) == Swept(records_purged=2)


async def test_each_memory_type_has_its_own_retention(caller: Caller, database: Database, context_settings: Settings):
    settings = context_settings.model_copy(
        update={"record_retention_s": 2 * DAY_S, "record_retention_by_type_s": {"short": DAY_S, "ever": float("inf")}}
    )
    ids = {}
    for memory_type in ("ever", "other", "short", "zebra"):
        ids[memory_type] = (await caller.insert(memory_type=memory_type)).working_memory_id
        await delete(caller, ids[memory_type])
    left = {**ids}

    for days, gone in ((0.9, []), (0.2, ["short"]), (0.8, []), (0.2, ["other", "zebra"]), (100_000, [])):
        await age(database, days, *left.values())
        assert (await maintenance.sweep(settings)).records_purged == len(gone)
        for memory_type in gone:
            assert (await kinds(caller, left.pop(memory_type)))[-1] == "purged"
    assert list(left) == ["ever"]


async def test_a_retention_of_zero_purges_with_the_next_sweep_and_bytes_with_it(
    caller: Caller, database: Database, context_settings: Settings
):
    settings = context_settings.model_copy(update={"record_retention_s": 0.0, "blob_delete_grace_s": 0.0})
    stored = await caller.upload(noise(10))
    await delete(caller, stored.working_memory_id)

    assert await maintenance.sweep(settings) == Swept(records_purged=1, blobs_removed=1)

    assert (await blobs(database), files(context_settings)) == ([], [])


async def test_more_than_a_batch_goes_in_one_pass_and_several_sweepers_share_it(
    caller: Caller, database: Database, context_settings: Settings
):
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await caller.insert()
    await tenant.query(
        """
        INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, archived_at)
        SELECT %s, gen_random_uuid(), 'type ' || n %% 3, 'x', 'x', now() - interval '31 days'
        FROM generate_series(1, 450) n
        """,
        (PRINCIPAL.tenant_id,),
    )

    swept = await asyncio.gather(*(maintenance.sweep(context_settings) for _ in range(3)))

    assert sum(one.records_purged for one in swept) == 450
    assert await records(database) == 1
    rows = await tenant.query("SELECT record_id FROM context.action WHERE kind = 'purged'")
    assert len(rows) == len({row.record_id for row in rows}) == 450


async def test_a_sweep_looks_only_at_what_is_due(database: Database):
    """Ten thousand records that are kept for ever are not read again each minute."""
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query(
        """
        INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, archived_at)
        SELECT %s, gen_random_uuid(), 'type ' || n %% 3, 'x', 'x', now() - interval '31 days'
        FROM generate_series(1, 10000) n
        """,
        (PRINCIPAL.tenant_id,),
    )

    ((plan,),) = await tenant.query(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {retention.LOCK_DUE_RECORDS}",
        {
            "tenant_id": PRINCIPAL.tenant_id,
            "memory_types": [],
            "kept_s": [],
            "kept_s_default": float("inf"),
            "count_max": 100,
        },
        named=False,
    )

    assert "Seq Scan" not in json.dumps(plan)
    assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 50


async def test_an_upload_and_the_purge_of_its_twin_and_a_sweep_never_lose_bytes(
    start: Start, database: Database, context_settings: Settings
):
    """The live blob is taken just as its last record is purged and the sweeper comes by."""
    caller = await start(blob_delete_grace_s=0)
    for _ in range(15):
        first = await caller.upload(b"same")

        _, again, *_ = await asyncio.gather(
            delete(caller, first.working_memory_id, purge=True),
            caller.upload(b"same"),
            maintenance.sweep(context_settings),
            maintenance.sweep(context_settings),
        )

        assert (await caller.download(blob_key=again.blob_key))[1] == b"same"
        await maintenance.sweep(context_settings)
        assert (await caller.download(blob_key=again.blob_key))[1] == b"same"
        assert len(files(context_settings)) == 1
        await delete(caller, again.working_memory_id, purge=True)
    await maintenance.sweep(context_settings)
    assert (await blobs(database), files(context_settings)) == ([], [])
