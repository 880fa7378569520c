"""Archives: what is taken out of one tenant is the same in another, however often, and whatever is cut meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import psycopg
import pytest

from context_service.transfer.tables import CARRIED, CONTEXT, CONTEXT_ROWS, LEFT_OUT
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from service_runtime.auth import ApiKeys
from service_runtime.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from tests.clients.stack import running
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, cloned
from tests.context_service.contexts import KEYS, Caller, an_id
from tests.context_service.test_erasing import APP, Stack
from tests.context_service.transfer.archives import counts, cut, export, joined, put

PDF = bytes(range(256)) * 8192  # two MiB
OF_CONTEXTS = [*(table.name for table in CONTEXT_ROWS), CONTEXT.name]


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        async with (
            running(urls.service, tmp_path_factory.mktemp("blobs"), callers=ApiKeys({**KEYS, "books": APP})) as at,
            grpc.aio.insecure_channel(at.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Stack(channel=channel, database=database, urls=urls)


@pytest.fixture
def admin(stack: Stack) -> Caller:
    return stack.caller.of("admin")


@pytest.fixture
def other(stack: Stack) -> Caller:
    """An administrator of another tenant."""
    return stack.caller.of("other")


async def upload(caller: Caller, data: bytes, **fields: Any) -> str:
    async def messages() -> AsyncIterator[memory_pb.UploadBlobRequest]:
        record = memory_pb.WMRecordInput(memory_type="file", name="paper.bin", **fields)
        yield memory_pb.UploadBlobRequest(header=memory_pb.UploadHeader(record=record))
        for start in range(0, len(data), 1 << 20):
            yield memory_pb.UploadBlobRequest(chunk=data[start : start + (1 << 20)])

    answer = await WorkingMemoryStub(caller.channel).UploadBlob(messages(), metadata=caller.metadata)
    return str(answer.working_memory_id)


def stored(stack: Stack, table: str, tenant_id: uuid.UUID, where: str = "true", *values: object) -> list[Any]:
    """Return the rows of a tenant, as a superuser reads them, without what is its own."""
    own = (
        "{tenant_id,blob_id,search,name_search,scope_id,text_state,passage_count}"
        if table != "passage"
        else "{tenant_id}"
    )
    with psycopg.connect(stack.urls.superuser) as connection:
        rows = connection.execute(
            f"SELECT to_jsonb(t) - '{own}'::text[] FROM context.{table} t WHERE tenant_id = %s AND {where} ORDER BY 1",
            (tenant_id, *values),
        )
        return [row for (row,) in rows]


def of_context(stack: Stack, tenant_id: uuid.UUID, context_id: str) -> dict[str, list[Any]]:
    which = {"passage": "scope_id", "passage_vector": "scope_id", "passage_scope": "scope_id"}
    return {
        table: stored(stack, table, tenant_id, f"{which.get(table, 'context_id')} = %s", context_id)
        for table in OF_CONTEXTS
    }


def test_every_table_is_carried_or_left_out_for_a_reason(stack: Stack):
    with psycopg.connect(stack.urls.superuser) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'context'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
    assert {name for (name,) in tables} == CARRIED.keys() | LEFT_OUT.keys()
    assert not CARRIED.keys() & LEFT_OUT.keys()


async def test_a_context_is_the_same_in_another_tenant(stack: Stack, admin: Caller, other: Caller):
    context_id = await stack.begun(an_id(), points=True)
    before = of_context(stack, PRINCIPAL.tenant_id, context_id)
    assert all(before.values()), "every table has a row"

    archive = await export(admin, context_id=context_id)
    done = await put(other, archive)

    assert of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id) == before
    assert counts(done)["message"] == (len(before["message"]), 0, 0)
    again = counts(await put(other, archive))
    assert {table: count for table, count in again.items() if count[0] or count[2]} == {}
    assert sum(present for _, present, _ in again.values()) >= len(before["message"])


async def test_a_file_is_carried_with_its_record(stack: Stack, admin: Caller, other: Caller):
    node_id, words = an_id(), an_id()
    record_id = await upload(admin, PDF, entity_node_id=node_id)
    sent = await admin.send(words, parts=[{"working_memory_id": record_id}])

    done = await put(other, await export(admin, context_id=sent.context_id))

    assert counts(done)["blob"] == (1, 0, 0) and counts(done)["wm_record"] == (1, 0, 0)
    request = memory_pb.GetBlobRequest(working_memory_id=record_id)
    answers = [one async for one in WorkingMemoryStub(other.channel).GetBlob(request, metadata=other.metadata)]
    assert b"".join(one.chunk for one in answers) == PDF
    rows = [stored(stack, "wm_record", one.tenant_id, "id = %s", record_id) for one in (PRINCIPAL, OTHER_PRINCIPAL)]
    assert rows[0] == rows[1]


async def test_pieces_that_were_changed_are_refused_by_their_checksum(admin: Caller, other: Caller):
    sent = await admin.send(an_id())
    archive = bytearray(await export(admin, context_id=sent.context_id))
    archive[len(archive) // 2] ^= 1
    with pytest.raises(Exception, match="ARCHIVE_REFUSED"):
        await put(other, bytes(archive))
    assert joined(await cut(await export(admin, context_id=sent.context_id)))
