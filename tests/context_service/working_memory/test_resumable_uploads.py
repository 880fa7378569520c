"""Resumable uploads: what was acknowledged is there, whatever happens between two calls; nothing else is visible."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.rules import uploads
from context_service.working_memory.upkeep.sweep import Swept
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import (
    Aborted,
    BlobCorrupted,
    BlobTooLarge,
    ChecksumMismatch,
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    SizeMismatch,
    StorageFull,
    Unavailable,
    UploadNotFound,
    UploadPartExists,
)
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL, Urls
from tests.context_service.working_memory.callers import MIB, Caller, Start, an_id, at, blobs, files, records, until
from tests.context_service.working_memory.test_sweep import service_process
from tests.fakes.blob_backend import FailingBackend
from tests.noise import noise

CONTENT = noise(2 * MIB + 300)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
CUTS = (0, 100, MIB + 50, 2 * MIB, len(CONTENT))
PARTS = [(start, CONTENT[start:end]) for start, end in itertools.pairwise(CUTS)]


async def sent(caller: Caller, upload_id: str) -> None:
    for offset, part in PARTS:
        assert (await caller.append(upload_id, offset, part)).offset_bytes == offset + len(part)


async def clean(database: Database, settings: Settings) -> None:
    """Sweep once, and expect that nothing is left: no record, no row, no file."""
    assert await records(database) == 0
    await maintenance.sweep(settings)
    tenant = database.tenant(PRINCIPAL.tenant_id)
    assert await tenant.query("SELECT id FROM context.upload") == []
    assert await tenant.query("SELECT upload_id FROM context.upload_part") == []
    assert (await blobs(database), files(settings)) == ([], [])


async def let_expire(database: Database) -> None:
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.upload SET due_at = now()")


async def test_parts_make_the_same_record_as_one_upload(caller: Caller, context_settings: Settings, database: Database):
    end = at(datetime.now(UTC).replace(microsecond=0) + timedelta(days=1))
    fields: dict[str, Any] = {
        "name": "größe.txt",
        "memory_type": "code/python",
        "entity_node_id": an_id(),
        "metadata_json": '{"a": [1, 2.5, "é"]}',
        "tags": ["one", "two"],
        "expires_at": end,
        "embedding": pb.Embedding(values=[0.5] * 1536, model="m"),
    }
    upload_id = await caller.start_upload(**fields, header={"size_bytes": len(CONTENT), "sha256": SHA256})
    await sent(caller, upload_id)

    finished = await caller.finish_upload(upload_id)

    whole = (await caller.upload(CONTENT, **fields)).record
    assert (finished.size_bytes, finished.sha256) == (len(CONTENT), SHA256)
    assert finished.record == await caller.fetch(finished.working_memory_id)
    assert (await caller.download(blob_key=finished.blob_key))[1] == CONTENT
    for field in ("working_memory_id", "blob_key", "created_at", "updated_at"):
        whole.ClearField(field)
        finished.record.ClearField(field)
    assert finished.record == whole
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 1  # the two share their bytes, and the parts are gone
    vectors = await database.tenant(PRINCIPAL.tenant_id).query("SELECT model, dimension FROM context.embedding")
    assert vectors == [("m", 1536), ("m", 1536)]


async def test_an_upload_tells_how_far_it_is_and_shows_nothing_before_its_end(caller: Caller, database: Database):
    entity = an_id()
    record_id = an_id()
    upload_id = await caller.start_upload(
        entity_node_id=entity, working_memory_id=record_id, header={"size_bytes": len(CONTENT)}
    )

    for offset, part in PARTS:
        before = await caller.get_upload(upload_id)
        assert (before.offset_bytes, before.size_bytes, before.part_bytes_max) == (offset, len(CONTENT), 64 * MIB)
        assert not before.HasField("record")
        appended = await caller.append(upload_id, offset, part)
        assert appended == await caller.get_upload(upload_id)
        assert appended.expires_at.ToDatetime() > before.expires_at.ToDatetime()
        assert await records(database) == 0

    finished = await caller.finish_upload(upload_id)
    after = await caller.get_upload(upload_id)
    assert after.record == finished.record == await caller.fetch(record_id)
    assert (after.offset_bytes, after.HasField("expires_at")) == (len(CONTENT), False)


async def test_of_two_parts_at_once_one_is_added(caller: Caller, database: Database, context_settings: Settings):
    upload_id = await caller.start_upload()
    whole = b""
    for round_number in range(4):
        parts = [b"%d%d" % (round_number, number) * 1000 for number in range(4)]
        results = await asyncio.gather(
            *(caller.append(upload_id, len(whole), part) for part in parts), return_exceptions=True
        )
        (added,) = [number for number, result in enumerate(results) if isinstance(result, pb.Upload)]
        assert sum(isinstance(result, UploadPartExists) for result in results) == 3
        whole += parts[added]

    finished = await caller.finish_upload(upload_id)
    assert (await caller.download(blob_key=finished.blob_key))[1] == whole
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == len(await blobs(database)) == 1


async def test_a_part_that_was_cut_off_is_not_there_and_comes_again(
    caller: Caller, database: Database, context_settings: Settings
):
    upload_id = await caller.start_upload()
    await caller.append(upload_id, 0, CONTENT[:MIB])
    all_sent = asyncio.Event()

    async def messages() -> AsyncIterator[pb.AppendUploadRequest]:
        yield pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=upload_id, offset_bytes=MIB))
        yield pb.AppendUploadRequest(chunk=CONTENT[MIB : 2 * MIB])
        all_sent.set()
        await asyncio.Event().wait()

    call = caller.stub.AppendUpload(messages(), metadata=caller.metadata)
    await all_sent.wait()

    async def under_way() -> bool:
        return len(await blobs(database)) == 2

    await until(under_way)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    async def handed_over() -> bool:
        return sorted(row.state for row in await blobs(database)) == ["deleting", "part"]

    await until(handed_over)
    assert (await caller.get_upload(upload_id)).offset_bytes == MIB
    await caller.append(upload_id, MIB, CONTENT[MIB:])
    finished = await caller.finish_upload(upload_id, sha256=SHA256)
    assert (await caller.download(blob_key=finished.blob_key))[1] == CONTENT


async def test_concurrent_ends_make_one_record(caller: Caller, database: Database, context_settings: Settings):
    for _ in range(3):
        upload_id = await caller.start_upload()
        await caller.append(upload_id, 0, noise(MIB + 1))
        answers = await asyncio.gather(*(caller.finish_upload(upload_id) for _ in range(4)))
        assert len({answer.working_memory_id for answer in answers}) == 1

    assert await records(database) == 3
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 1


async def test_a_part_that_meets_the_end_is_in_the_record_or_is_refused(caller: Caller):
    for _ in range(10):
        upload_id = await caller.start_upload()
        await caller.append(upload_id, 0, b"first")
        finished, appended = await asyncio.gather(
            caller.finish_upload(upload_id), caller.append(upload_id, 5, b"second"), return_exceptions=True
        )
        if isinstance(appended, pb.Upload):
            if isinstance(finished, Aborted):
                finished = await caller.finish_upload(upload_id)
            expected = b"firstsecond"
        else:
            assert isinstance(appended, UploadNotFound)
            expected = b"first"
        assert (await caller.download(blob_key=finished.blob_key))[1] == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ({"size_bytes": len(CONTENT) + 1}, {}, SizeMismatch),
        ({}, {"size_bytes": len(CONTENT) - 1}, SizeMismatch),
        ({"size_bytes": len(CONTENT)}, {"size_bytes": 5}, SizeMismatch),
        ({"sha256": "0" * 64}, {}, ChecksumMismatch),
        ({}, {"sha256": "0" * 64}, ChecksumMismatch),
        ({"sha256": SHA256}, {"sha256": "0" * 64}, ChecksumMismatch),
        ({}, {"size_bytes": -1}, InvalidArgument),
        ({}, {"sha256": "abc"}, InvalidArgument),
    ],
)
async def test_an_end_that_is_not_what_was_declared_stores_nothing(
    caller: Caller,
    database: Database,
    context_settings: Settings,
    start: dict[str, Any],
    end: dict[str, Any],
    expected: type[ContextKeepError],
):
    upload_id = await caller.start_upload(header=start)
    await sent(caller, upload_id)

    with pytest.raises(expected):
        await caller.finish_upload(upload_id, **end)

    assert (await caller.get_upload(upload_id)).offset_bytes == len(CONTENT)  # the parts stay
    await let_expire(database)
    await clean(database, context_settings)


async def test_a_malformed_part_adds_nothing(caller: Caller, database: Database, context_settings: Settings):
    upload_id = await caller.start_upload(header={"size_bytes": 5})
    header = pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=upload_id))
    chunk = pb.AppendUploadRequest(chunk=b"x")
    refused: list[tuple[list[pb.AppendUploadRequest], type[ContextKeepError]]] = [
        ([], InvalidArgument),
        ([chunk], InvalidArgument),
        ([pb.AppendUploadRequest()], InvalidArgument),
        ([header, header], InvalidArgument),
        ([header, chunk, header], InvalidArgument),
        ([header], InvalidArgument),  # no byte
        ([header, pb.AppendUploadRequest(chunk=b"")], InvalidArgument),
        ([header, pb.AppendUploadRequest(chunk=bytes(MIB + 1))], InvalidArgument),
        ([pb.AppendUploadRequest(header=pb.AppendHeader(upload_id="x"))], InvalidArgument),
        ([pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=upload_id, offset_bytes=-1))], InvalidArgument),
        ([pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=an_id())), chunk], UploadNotFound),
        ([header, pb.AppendUploadRequest(chunk=b"123456")], SizeMismatch),
    ]
    for messages, expected in refused:
        with pytest.raises(ContextKeepError) as error:
            await asyncio.to_thread(caller._send, "AppendUpload", iter(messages))
        assert type(error.value) is expected, messages

    assert (await caller.get_upload(upload_id)).offset_bytes == 0
    await let_expire(database)
    await clean(database, context_settings)


async def test_limits_of_a_part_of_the_parts_and_of_the_whole(
    start: Start, database: Database, context_settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uploads, "PARTS_MAX", 3)
    caller = await start(upload_part_bytes_max=MIB, blob_bytes_max=2 * MIB)
    upload_id = await caller.start_upload()
    assert (await caller.get_upload(upload_id)).part_bytes_max == MIB
    with pytest.raises(LimitExceeded) as too_large:
        await caller.append(upload_id, 0, bytes(MIB + 1))
    assert (too_large.value.metadata["limit"], too_large.value.metadata["limit_max"]) == ("part", str(MIB))
    with pytest.raises(BlobTooLarge):
        await caller.start_upload(header={"size_bytes": 2 * MIB + 1})

    await caller.append(upload_id, 0, bytes(MIB))
    await caller.append(upload_id, MIB, bytes(MIB - 1))
    with pytest.raises(BlobTooLarge):
        await caller.append(upload_id, 2 * MIB - 1, b"ab")
    await caller.append(upload_id, 2 * MIB - 1, b"a")
    with pytest.raises(LimitExceeded) as too_many:
        await caller.append(upload_id, 2 * MIB, b"a")
    assert too_many.value.metadata["limit"] == "parts"

    assert (await caller.finish_upload(upload_id)).size_bytes == 2 * MIB


# Abandoned.


async def test_an_abandoned_upload_goes_with_all_its_parts_in_one_pass(
    caller: Caller, database: Database, context_settings: Settings
):
    upload_id = await caller.start_upload()
    for offset, part in PARTS:
        await let_expire(database)
        await caller.append(upload_id, offset, part)  # gives it a day
        assert (await maintenance.sweep(context_settings)).uploads_given_up == 0
    await let_expire(database)

    swept = await asyncio.gather(*(maintenance.sweep(context_settings) for _ in range(3)))

    assert sum(one.uploads_given_up for one in swept) == 1
    assert sum(one.blobs_removed for one in swept) == len(PARTS)
    await clean(database, context_settings)
    with pytest.raises(UploadNotFound):
        await caller.get_upload(upload_id)


async def test_an_upload_that_is_overdue_but_not_swept_yet_goes_on(
    caller: Caller, database: Database, context_settings: Settings
):
    upload_id = await caller.start_upload()
    await caller.append(upload_id, 0, b"abc")
    await let_expire(database)

    await caller.append(upload_id, 3, b"def")

    assert await maintenance.sweep(context_settings) == Swept()
    await let_expire(database)
    assert (await caller.finish_upload(upload_id)).size_bytes == 6


async def test_a_part_of_an_upload_that_is_given_up_meanwhile_is_refused(
    caller: Caller, database: Database, context_settings: Settings
):
    upload_id = await caller.start_upload()

    async def given_up() -> bool:
        if not await blobs(database):
            return False
        await let_expire(database)  # more than once, perhaps: the first chunk gives it time
        return (await maintenance.sweep(context_settings)).uploads_given_up == 1

    async def messages() -> AsyncIterator[pb.AppendUploadRequest]:
        yield pb.AppendUploadRequest(header=pb.AppendHeader(upload_id=upload_id))
        yield pb.AppendUploadRequest(chunk=CONTENT[:MIB])
        await until(given_up)
        yield pb.AppendUploadRequest(chunk=CONTENT[MIB : 2 * MIB])

    with pytest.raises(UploadNotFound):
        await caller.call("AppendUpload", messages())
    await clean(database, context_settings)


async def test_a_part_and_a_sweep_never_lose_what_was_acknowledged(
    caller: Caller, database: Database, context_settings: Settings
):
    """The part is committed just as the sweeper takes the upload: either is refused, and neither half happens."""
    for _ in range(10):
        upload_id = await caller.start_upload()
        await caller.append(upload_id, 0, b"first")
        await let_expire(database)
        appended, _ = await asyncio.gather(
            caller.append(upload_id, 5, b"second"),
            maintenance.sweep(context_settings),
            return_exceptions=True,
        )
        if isinstance(appended, pb.Upload):
            finished = await caller.finish_upload(upload_id)
            assert (await caller.download(blob_key=finished.blob_key))[1] == b"firstsecond"
        else:
            assert isinstance(appended, UploadNotFound)
            with pytest.raises(UploadNotFound):
                await caller.get_upload(upload_id)
    await let_expire(database)
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == len(await blobs(database)) <= 1


# What goes wrong below.


@pytest.mark.parametrize("error", [Unavailable("cut", dependency="local"), StorageFull("full"), RuntimeError("bug")])
async def test_a_part_that_cannot_be_stored_leaves_the_upload_as_it_was(
    start: Start,
    failing: list[FailingBackend],
    database: Database,
    context_settings: Settings,
    error: Exception,
):
    caller = await start()
    (backend,) = failing
    upload_id = await caller.start_upload()
    await caller.append(upload_id, 0, CONTENT[:MIB])

    for at_end in (False, True):
        backend.error, backend.after_bytes, backend.at_end = error, MIB, at_end
        with pytest.raises(ContextKeepError) as refused:
            await caller.append(upload_id, MIB, CONTENT[MIB:])
        assert refused.value.reason == getattr(error, "reason", "INTERNAL")
        with pytest.raises(ContextKeepError):
            await caller.finish_upload(upload_id)
        backend.error = None
        assert (await caller.get_upload(upload_id)).offset_bytes == MIB
        assert await records(database) == 0

    await caller.append(upload_id, MIB, CONTENT[MIB:])
    finished = await caller.finish_upload(upload_id, sha256=SHA256)
    assert (await caller.download(blob_key=finished.blob_key))[1] == CONTENT
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 1


async def test_a_part_that_rotted_is_data_loss_and_no_record(
    caller: Caller, database: Database, context_settings: Settings
):
    upload_id = await caller.start_upload()
    await caller.append(upload_id, 0, CONTENT)
    (path,) = files(context_settings)
    path.write_bytes(CONTENT[:-1] + b"\0")

    with pytest.raises(BlobCorrupted):
        await caller.finish_upload(upload_id)

    await let_expire(database)
    await clean(database, context_settings)


async def test_an_upload_goes_on_behind_a_kill_of_the_service(urls: Urls, database: Database, tmp_path: Path):
    """Killed in the middle of a part, and in the middle of the end."""
    folder = tmp_path / "blobs"
    content = noise(32 * MIB)
    sha256 = hashlib.sha256(content).hexdigest()

    def half_written() -> int:
        return sum(path.stat().st_size > MIB for path in folder.rglob("*.part"))

    @asynccontextmanager
    async def serving() -> AsyncIterator[tuple[Caller, Any]]:
        with service_process(urls, folder) as (process, address):
            async with grpc.aio.insecure_channel(address) as channel:
                caller, before = Caller(address, channel), half_written()

                async def killed_during(call: Coroutine[Any, Any, Any]) -> None:
                    async def under_way() -> bool:
                        return half_written() > before or broken.done()  # if this machine is slow and that one quick

                    broken = asyncio.create_task(call)
                    await until(under_way)
                    process.send_signal(signal.SIGKILL)
                    with suppress(Unavailable):
                        await broken

                yield caller, killed_during

    async with serving() as (caller, killed_during):
        upload_id = await caller.start_upload(header={"size_bytes": len(content)})
        await caller.append(upload_id, 0, content[: 8 * MIB])
        await killed_during(caller.append(upload_id, 8 * MIB, content[8 * MIB :]))

    async with serving() as (caller, killed_during):
        offset = (await caller.get_upload(upload_id)).offset_bytes
        assert offset in (8 * MIB, len(content))
        if offset == 8 * MIB:
            await caller.append(upload_id, offset, content[offset:])
        await killed_during(caller.finish_upload(upload_id))

    async with serving() as (caller, _):
        assert (await caller.get_upload(upload_id)).offset_bytes == len(content)
        finished = await caller.finish_upload(upload_id, sha256=sha256)
        assert (await caller.download(blob_key=finished.blob_key))[1] == content
    assert await records(database) == 1
