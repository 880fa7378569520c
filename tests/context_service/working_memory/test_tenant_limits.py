"""What a tenant may store: refused with limit and value, counted as it is, and set for one tenant alone."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_service.commands import maintenance, tenants
from context_service.settings import Settings
from context_service.working_memory.store import tenant_limits
from contextkeep import ArtifactInput, AsyncContextClient, FileInput, MessageInput, PartInput
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import BlobTooLarge, ContextKeepError, LimitExceeded
from service_runtime.auth.keys import NoSuchTenant
from service_runtime.databases.placement import Databases
from service_runtime.postgres import Database
from tests.commands import Commands
from tests.conftest import KEY, OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.context_service.working_memory.callers import Caller, Start, an_id, blobs, files, records, until
from tests.examples import examples
from tests.locks import until_waiting
from tests.noise import noise


async def usage(database: Database, tenant_id: Any = PRINCIPAL.tenant_id) -> tuple[int, int]:
    """Return what is counted: records and bytes."""
    (row,) = await database.tenant(tenant_id).query(tenant_limits._USAGE, (tenant_id,))
    return row.records, row.size_bytes


async def stored(database: Database, tenant_id: Any = PRINCIPAL.tenant_id) -> tuple[int, int]:
    """Return what there is: records and bytes."""
    (row,) = await database.tenant(tenant_id).query(
        """
        SELECT (SELECT count(*) FROM context.wm_record) AS records,
            (SELECT coalesce(sum(size_bytes), 0)::bigint FROM context.wm_record)
                + (SELECT coalesce(sum(size_bytes), 0)::bigint FROM context.upload_part) AS size_bytes
        """
    )
    return row.records, row.size_bytes


def refused(error: pytest.ExceptionInfo[LimitExceeded], limit: str, limit_max: int, value: int) -> None:
    assert error.value.reason == "LIMIT_EXCEEDED"
    assert error.value.metadata == {"limit": limit, "limit_max": str(limit_max), "value": str(value)}


async def purge(caller: Caller, working_memory_id: str) -> None:
    await caller.DeleteWMRecord(working_memory_id=working_memory_id, purge=True)


async def test_a_record_over_the_limit_is_refused_until_one_is_purged(start: Start, database: Database):
    caller = await start(tenant_records_max=3)
    kept = [(await caller.insert()).working_memory_id, (await caller.upload(b"abc")).working_memory_id]
    upload_id = await caller.start_upload()
    kept.append((await caller.finish_upload(upload_id)).working_memory_id)

    for attempt in (caller.insert(), caller.upload(b"abc"), caller.start_upload()):
        with pytest.raises(LimitExceeded) as error:
            await attempt
        refused(error, "tenant_records", 3, 4)
    assert await records(database) == 3
    await caller.DeleteWMRecord(working_memory_id=kept[0])
    with pytest.raises(LimitExceeded):  # archived ones count
        await caller.insert()

    await purge(caller, kept[0])

    await caller.insert()
    assert await usage(database) == (3, 3)


async def test_bytes_over_the_limit_are_refused_and_as_many_as_the_limit_are_not(
    start: Start, database: Database, context_settings: Settings
):
    caller = await start(tenant_bytes_max=1000)
    await caller.upload(noise(600))
    record = await caller.insert(content_json=json.dumps("x" * 298))  # with its quotes
    for attempt, value in (
        (caller.upload(noise(101)), 1001),
        (caller.upload(noise(101), header={"size_bytes": 101}), 1001),
        (caller.insert(content_json=json.dumps("x" * 99)), 1001),
        (caller.update(record.working_memory_id, content_json=json.dumps("x" * 399)), 1001),
        (caller.start_upload(header={"size_bytes": 101}), 1001),
    ):
        with pytest.raises(LimitExceeded) as error:
            await attempt
        refused(error, "tenant_bytes", 1000, value)
    assert await usage(database) == await stored(database) == (2, 900)

    await caller.upload(noise(100))
    await caller.insert()  # takes no bytes
    await caller.update(record.working_memory_id, name="as large as before", content_json=json.dumps("y" * 298))

    assert await usage(database) == await stored(database) == (4, 1000)
    await caller.update(record.working_memory_id, content_json="")
    await caller.upload(noise(300))
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 3


async def test_files_of_messages_artifacts_and_tasks_take_room_and_give_it_back(start: Start, database: Database):
    caller = await start(tenant_bytes_max=1000)

    def part(size_bytes: int) -> PartInput:
        return PartInput(file=FileInput(data=noise(size_bytes)))

    async with AsyncContextClient(caller.address, api_key=KEY) as context:
        context_id = (await context.contexts.send(MessageInput(parts=[part(200)]))).context_id
        status = MessageInput(role="assistant", parts=[part(300)])
        task = await context.tasks.create(context_id, state="working", status_message=status)
        await context.artifacts.put(task.task_id, ArtifactInput(artifact_id="a", parts=[part(400), part(400)]))
        assert await usage(database) == (3, 900)

        larger = MessageInput(role="assistant", parts=[part(101)])
        for attempt in (
            context.contexts.send(larger, context_id=context_id),
            context.tasks.create(context_id, state="working", status_message=larger),
            context.artifacts.put(task.task_id, ArtifactInput(artifact_id="b", parts=[part(101)])),
        ):
            with pytest.raises(LimitExceeded) as error:
                await attempt
            refused(error, "tenant_bytes", 1000, 1001)
        assert await usage(database) == (3, 900)

        await context.tasks.update(task.task_id, state="working", status_message="Ready soon")  # gives up its file
        await context.artifacts.put(task.task_id, ArtifactInput(artifact_id="b", parts=[part(350)]))
        assert await usage(database) == (3, 950)
        erasure = await context.contexts.delete(context_id, now=True)
        async with asyncio.timeout(30):
            while (await context.contexts.get_erasure(erasure.erasure_id)).finished_at is None:
                await asyncio.sleep(0.05)
        assert await usage(database) == (0, 0)


async def test_parts_of_unfinished_uploads_take_room_and_give_it_back(
    start: Start, database: Database, context_settings: Settings
):
    caller = await start(tenant_bytes_max=1000)
    upload_id = await caller.start_upload()
    await caller.append(upload_id, 0, noise(600))
    with pytest.raises(LimitExceeded) as error:
        await caller.append(upload_id, 600, noise(401))
    refused(error, "tenant_bytes", 1000, 1001)
    with pytest.raises(LimitExceeded):
        await caller.upload(noise(401))
    await caller.append(upload_id, 600, noise(400))
    with pytest.raises(LimitExceeded) as full:
        await caller.append(upload_id, 1000, noise(1))
    refused(full, "tenant_bytes", 1000, 1001)

    await caller.finish_upload(upload_id)  # the same bytes, in another place

    assert await usage(database) == await stored(database) == (1, 1000)
    await database.tenant(PRINCIPAL.tenant_id).query("DELETE FROM context.wm_record")
    abandoned = await caller.start_upload()
    await caller.append(abandoned, 0, noise(1000))
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.upload SET due_at = now()")
    await maintenance.sweep(context_settings)
    assert await usage(database) == (0, 0)


async def test_an_upload_that_finds_the_room_gone_at_its_end_stores_nothing(
    start: Start, database: Database, context_settings: Settings
):
    caller = await start(tenant_records_max=1)

    async def messages():
        yield pb.UploadBlobRequest(header=pb.UploadHeader(record=pb.WMRecordInput(memory_type="file", name="late")))
        await until(lambda: blobs(database))
        await caller.insert()
        yield pb.UploadBlobRequest(chunk=b"abc")

    with pytest.raises(LimitExceeded):
        await caller.send(messages())

    await maintenance.sweep(context_settings)
    assert (await records(database), await blobs(database), files(context_settings)) == (1, [], [])


async def test_a_repeat_of_what_filled_the_room_is_answered_as_the_first_time(start: Start):
    caller = await start(tenant_records_max=2, tenant_bytes_max=4)
    inserted, uploaded = an_id(), an_id()

    first = await caller.insert(inserted, content_json="1")
    second = await caller.upload(b"abc", header={"request_id": uploaded})

    assert await caller.insert(inserted, content_json="1") == first
    assert await caller.upload(b"abc", header={"request_id": uploaded}) == second


async def test_concurrent_twins_that_fill_the_room_are_answered_alike(start: Start, database: Database):
    caller = await start(tenant_records_max=1)
    request_id = an_id()

    answers = await asyncio.gather(*(caller.upload(noise(5), header={"request_id": request_id}) for _ in range(4)))

    assert len({answer.working_memory_id for answer in answers}) == 1
    assert await usage(database) == (1, 5)


async def test_a_limit_of_one_tenant_is_not_another_ones(start: Start, urls: Urls, database: Database):
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO context.tenant_limit (tenant_id, records_max, blob_bytes_max, content_bytes_max)"
            " VALUES (%s, 1, 100, 10)",
            (PRINCIPAL.tenant_id,),
        )
    caller = await start(tenant_records_max=2)
    stranger = Caller(caller.address, caller.channel, key="key-of-the-other-tenant")

    with pytest.raises(BlobTooLarge) as blob:
        await caller.upload(noise(101))
    assert blob.value.metadata["limit_max"] == "100"
    for attempt in (
        caller.upload(noise(101), header={"size_bytes": 101}),
        caller.start_upload(header={"size_bytes": 101}),
        caller.append(await caller.start_upload(), 0, noise(101)),
    ):
        with pytest.raises(BlobTooLarge):
            await attempt
    with pytest.raises(LimitExceeded) as content:
        await caller.insert(content_json=json.dumps("x" * 9))
    refused(content, "record.content_json", 10, 11)
    record = await caller.insert(content_json=json.dumps("x" * 8))
    with pytest.raises(LimitExceeded):
        await caller.update(record.working_memory_id, content_json=json.dumps("x" * 9))
    with pytest.raises(LimitExceeded):
        await caller.insert()

    await stranger.upload(noise(101))
    await stranger.insert(content_json=json.dumps("x" * 100))
    with pytest.raises(LimitExceeded):
        await stranger.insert()
    assert await usage(database) == await stored(database) == (1, 10)
    assert await usage(database, OTHER_PRINCIPAL.tenant_id) == (2, 203)


async def until_it_is_full(write: Callable[[], Awaitable[object]]) -> int:
    """Return how many writes there was room for."""
    written = 0
    while True:
        try:
            await write()
        except LimitExceeded:
            return written
        written += 1


async def test_many_writers_fill_the_records_of_a_tenant_and_no_more(start: Start, database: Database):
    caller = await start(tenant_records_max=30)

    written = await asyncio.gather(
        *(until_it_is_full(caller.insert) for _ in range(6)),
        *(until_it_is_full(lambda: caller.upload(b"")) for _ in range(3)),
    )

    assert sum(written) == 30
    assert await usage(database) == await stored(database) == (30, 0)


async def test_many_writers_fill_the_bytes_of_a_tenant_and_no_more(start: Start, database: Database):
    """Inline contents, blobs, parts of uploads, and records that grow: ten bytes each."""
    caller = await start(tenant_bytes_max=300)

    async def append() -> None:
        await caller.append(await caller.start_upload(), 0, noise(10))

    async def grow() -> None:
        record = await caller.insert()
        await caller.update(record.working_memory_id, content_json=json.dumps("x" * 8))

    ways: list[Callable[[], Awaitable[object]]] = [
        lambda: caller.insert(content_json=json.dumps("x" * 8)),
        lambda: caller.upload(noise(10)),
        append,
        grow,
    ]
    written = await asyncio.gather(*(until_it_is_full(way) for way in ways * 2))

    assert sum(written) == 30
    _, size_bytes = await usage(database)
    assert size_bytes == (await stored(database))[1] == 300


async def test_writers_pass_a_limit_by_no_more_than_what_they_commit_at_one_moment(
    start: Start, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """The most that can happen, were they never to take turns: each of them looked before any of the others wrote."""
    monkeypatch.setattr(tenant_limits, "SCARCE_RECORDS", 0)
    caller = await start(tenant_records_max=9)  # of which a tenth is none

    written = await asyncio.gather(*(until_it_is_full(caller.insert) for _ in range(8)))

    assert 9 <= sum(written) < 9 + 8


async def test_who_has_room_waits_for_nobody_and_who_has_little_for_his_turn(
    start: Start, urls: Urls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tenant_limits, "SCARCE_RECORDS", 5)
    caller = await start(tenant_records_max=10)
    async with await psycopg.AsyncConnection.connect(urls.superuser) as another:
        await another.execute(tenant_limits._TAKE_TURN.encode(), (PRINCIPAL.tenant_id,))
        for _ in range(5):
            await caller.insert()

        waiting = asyncio.create_task(caller.insert())
        await until_waiting(urls.superuser, 1)
        assert not waiting.done()

        await another.commit()
        await waiting


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "upload", "start", "append", "finish", "update", "archive", "purge", "sweep"]),
        st.integers(0, 5),
        st.integers(0, 300),
    ),
    max_size=25,
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
async def test_what_is_counted_is_what_there_is(
    operations: list[tuple[str, int, int]], caller: Caller, database: Database, context_settings: Settings
):
    """Whatever is done, and whatever of it fails."""
    ids: list[str] = [an_id()]
    uploads: list[str] = [an_id()]
    for name, which, size_bytes in operations:
        record_id, upload_id = ids[which % len(ids)], uploads[which % len(uploads)]
        try:
            match name:
                case "insert":
                    ids.append((await caller.insert(content_json=json.dumps("x" * size_bytes))).working_memory_id)
                case "upload":
                    ids.append((await caller.upload(noise(size_bytes))).working_memory_id)
                case "start":
                    uploads.append(await caller.start_upload())
                case "append":
                    offset = (await caller.get_upload(upload_id)).offset_bytes
                    await caller.append(upload_id, offset, noise(size_bytes))
                case "finish":
                    ids.append((await caller.finish_upload(upload_id)).working_memory_id)
                case "update":
                    await caller.update(record_id, content_json=json.dumps("y" * size_bytes))
                case "archive":
                    await caller.DeleteWMRecord(working_memory_id=record_id)
                case "purge":
                    await purge(caller, record_id)
                case "sweep":
                    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.upload SET due_at = now()")
                    sweeping = context_settings.model_copy(update={"record_retention_s": 0.0})
                    await maintenance.sweep(sweeping)
        except ContextKeepError:
            pass
    assert await usage(database) == await stored(database)


# The command.


def limits_command(urls: Urls, *arguments: str) -> None:
    """Run `tenants limits` as the command line does, without a process of its own."""
    parser = argparse.ArgumentParser()
    tenants.add_limits(parser.add_subparsers())
    tenants.run_limits(Databases(urls.admin, {}), parser.parse_args(["limits", *arguments]))


async def test_the_command_shows_and_sets_what_a_tenant_may(
    urls: Urls, start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def shown(*arguments: str) -> dict[str, Any]:
        limits_command(urls, "default", *arguments, "--json")
        return json.loads(capsys.readouterr().out)

    monkeypatch.setattr(tenant_limits, "CACHED_S", 0.0)
    caller = await start()
    await caller.upload(noise(1000))
    assert shown() == {
        "tenant": "default",
        "records_max": None,
        "records": 1,
        "bytes_max": None,
        "size_bytes": 1000,
        "blob_bytes_max": None,
        "content_bytes_max": None,
    }

    now = shown("--records", "5", "--bytes", "1KiB", "--blob-bytes", "2000")

    assert (now["records_max"], now["bytes_max"], now["blob_bytes_max"]) == (5, 1024, 2000)
    with pytest.raises(LimitExceeded):
        await caller.upload(noise(25))
    now = shown("--bytes", "default")
    assert (now["records_max"], now["bytes_max"], now["blob_bytes_max"]) == (5, None, 2000)
    await caller.upload(noise(25))


def test_the_command_line_has_the_command(urls: Urls, commands: Commands):
    environment = {"DATABASE_URL": urls.service, "DATABASE_ADMIN_URL": urls.admin}
    done = commands.run("context_service", "tenants", "limits", environment=environment)

    in_it = [
        name
        for name, tenant_id in (("default", PRINCIPAL.tenant_id), ("other", OTHER_PRINCIPAL.tenant_id))
        if urls.of(tenant_id) == urls
    ]
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["tenant", *in_it]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nobody",), "there is no tenant 'nobody'"),
        (("nobody", "--records", "5"), "there is no tenant 'nobody'"),
        (("--records", "5"), "name the tenant"),
        (("default", "--bytes", "5GB"), "is not a limit"),
        (("default", "--bytes", "-1"), "is not a limit"),
        (("default", "--records", "9" * 19), "is not a limit"),
    ],
)
def test_the_command_says_what_is_wrong(
    urls: Urls, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
):
    with pytest.raises((SystemExit, NoSuchTenant)) as error:
        limits_command(urls, *arguments)

    assert says in f"{error.value}{capsys.readouterr().err}"
