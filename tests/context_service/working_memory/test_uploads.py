"""Uploads that go wrong, meet, or come twice: a record is there whole, or nothing is."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import grpc
import pytest

from context_service.blobs.storage import BlobStorage
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.rules.blobs import BlobWriter
from context_service.working_memory.upkeep.sweep import Swept
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import (
    BlobTooLarge,
    ChecksumMismatch,
    ContextKeepError,
    HeldBytesExceeded,
    InvalidArgument,
    RecordExists,
    RequestIdReused,
    SizeMismatch,
    StorageFull,
    Unavailable,
    UploadExpired,
)
from service_runtime.postgres import Database
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.held_bytes import HeldBytes, MemoryLimits
from tests.conftest import PRINCIPAL
from tests.context_service.working_memory.callers import (
    KIB,
    MIB,
    Caller,
    Start,
    an_id,
    blobs,
    chunk,
    files,
    header,
    record_input,
    records,
    until,
)
from tests.fakes.blob_backend import FailingBackend
from tests.noise import noise


async def swept(database: Database, settings: Settings) -> None:
    """Sweep once, and expect that nothing is left: no record, no row, no file."""
    assert await records(database) == 0
    await maintenance.sweep(settings)
    assert await blobs(database) == []
    assert files(settings) == []


CONTENT = noise(MIB + 100)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


MALFORMED: list[tuple[list[pb.UploadBlobRequest], type[ContextKeepError]]] = [
    ([], InvalidArgument),
    ([chunk(b"x")], InvalidArgument),
    ([pb.UploadBlobRequest()], InvalidArgument),
    ([header(), header()], InvalidArgument),
    ([header(), chunk(b"x"), header()], InvalidArgument),
    ([header(), chunk(b"x"), pb.UploadBlobRequest()], InvalidArgument),
    ([header(), chunk(bytes(MIB + 1))], InvalidArgument),
    ([header(size_bytes=-1)], InvalidArgument),
    ([header(sha256="abc")], InvalidArgument),
    ([header(sha256="z" * 64)], InvalidArgument),
    ([header(sha256=" " * 32 + "a" * 32)], InvalidArgument),
    ([header(request_id="1")], InvalidArgument),
    ([header(size_bytes=5)], SizeMismatch),
    ([header(size_bytes=len(CONTENT)), chunk(CONTENT[:MIB])], SizeMismatch),
    ([header(size_bytes=MIB), chunk(CONTENT[:MIB]), chunk(CONTENT[MIB:])], SizeMismatch),
    ([header(size_bytes=0), chunk(b"x")], SizeMismatch),
    ([header(sha256=SHA256)], ChecksumMismatch),
    ([header(sha256="0" * 64), chunk(CONTENT[:MIB]), chunk(CONTENT[MIB:])], ChecksumMismatch),
    ([header(sha256=SHA256, size_bytes=MIB), chunk(CONTENT[:MIB])], ChecksumMismatch),
]


async def test_a_malformed_upload_stores_nothing(caller: Caller, database: Database, context_settings: Settings):
    for messages, expected in MALFORMED:
        with pytest.raises(ContextKeepError) as error:
            await caller.send(messages)
        assert type(error.value) is expected, messages
        assert error.value.violations or error.value.reason != "INVALID_ARGUMENT"

    await swept(database, context_settings)


async def test_a_bad_header_is_refused_before_the_bytes(caller: Caller, database: Database):
    with pytest.raises(InvalidArgument):
        await caller.upload(b"x", name="")

    assert await blobs(database) == []


HOSTILE_NAMES = [
    "../../etc/passwd",
    "/etc/passwd",
    "a" * 512,
    "C:\\x",
    "..",
    ".",
    "%2e%2e%2f",
    "a\nb",
    "\u202e.exe",
    "'; DROP",
    "💥",
]


async def test_a_hostile_name_is_a_label(caller: Caller, context_settings: Settings):
    for name in HOSTILE_NAMES:
        stored = await caller.upload(name.encode(), name=name)
        assert (await caller.fetch(stored.working_memory_id)).name == name

    paths = files(context_settings)
    assert len(paths) == len(HOSTILE_NAMES)
    assert all(path.name.isalnum() for path in paths)


async def test_an_upload_over_the_limit_is_refused_at_the_limit(
    start: Start, database: Database, context_settings: Settings
):
    caller = await start(blob_bytes_max=2 * MIB)
    sent = []

    def messages() -> Iterator[pb.UploadBlobRequest]:
        yield header()
        for _ in range(1000):
            sent.append(1)
            yield chunk(bytes(MIB))

    with pytest.raises(BlobTooLarge) as error:
        await caller.send(messages())
    assert error.value.metadata["size_bytes_max"] == str(2 * MIB)
    assert len(sent) < 100  # not at the end
    with pytest.raises(BlobTooLarge):
        await caller.send([header(size_bytes=2 * MIB + 1)])

    await swept(database, context_settings)
    assert (await caller.upload(bytes(2 * MIB))).size_bytes == 2 * MIB


@pytest.mark.parametrize("sent_bytes", [0, 10, MIB, 2 * MIB + 5])
async def test_a_cancelled_upload_stores_nothing(
    caller: Caller, database: Database, context_settings: Settings, sent_bytes: int
):
    all_sent = asyncio.Event()

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        for piece in range(0, sent_bytes, MIB):
            yield chunk(noise(min(MIB, sent_bytes - piece)))
        all_sent.set()
        await asyncio.Event().wait()

    call = caller.stub.UploadBlob(messages(), metadata=caller.metadata)
    await all_sent.wait()
    await until(lambda: blobs(database))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    async def handed_over() -> bool:
        return [row.state for row in await blobs(database)] == ["deleting"]

    await until(handed_over)  # at once, not when the lease is over
    await swept(database, context_settings)


async def test_a_cancelled_upload_of_unknown_size_is_not_taken_for_a_whole_one(start: Start, database: Database):
    """A cancellation ends the request stream just as its end does: the server must know them apart.

    One that arrives while Postgres inserts the row is over with its lease.
    """
    caller = await start(upload_lease_s=2)
    for attempt in range(80):
        call = caller.stub.UploadBlob(metadata=caller.metadata)
        await call.write(header())
        for _ in range(attempt % 4):
            await call.write(chunk(noise(64 * KIB)))
        await asyncio.sleep(0.0005 * (attempt % 7))
        call.cancel()

    async def over() -> bool:
        return all(row.state == "deleting" or row.due for row in await blobs(database))

    await until(over)
    assert await records(database) == 0


async def test_an_upload_past_its_deadline_stores_nothing(
    caller: Caller, database: Database, context_settings: Settings
):
    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        yield chunk(b"x")
        await asyncio.sleep(5)

    for timeout_s in (0.3, 3):  # a slow machine may not have begun within the first
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await caller.stub.UploadBlob(messages(), metadata=caller.metadata, timeout=timeout_s)
        assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        if await blobs(database):
            break

    async def handed_over() -> bool:
        return [row.state for row in await blobs(database)] == ["deleting"]

    await until(handed_over)
    await swept(database, context_settings)


async def test_a_silent_upload_is_given_up_with_its_lease(start: Start, database: Database, context_settings: Settings):
    caller = await start(upload_lease_s=0.3)

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        yield chunk(b"x")
        await asyncio.sleep(10)

    with pytest.raises(UploadExpired):
        await caller.send(messages())
    await swept(database, context_settings)


async def test_an_upload_that_moves_keeps_its_lease(start: Start, database: Database, context_settings: Settings):
    caller = await start(upload_lease_s=2)

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        for _ in range(12):
            yield chunk(noise(MIB))
            await asyncio.sleep(0.2)
            assert await maintenance.sweep(context_settings) == Swept()

    stored = await caller.send(messages())

    assert stored.size_bytes == 12 * MIB
    assert len((await caller.download(blob_key=stored.blob_key))[1]) == 12 * MIB


async def test_an_upload_that_was_swept_while_it_ran_fails(
    caller: Caller, database: Database, context_settings: Settings
):
    """Its lease was over, say because the process was stopped for an hour; now it goes on."""
    tenant = database.tenant(PRINCIPAL.tenant_id)

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        yield chunk(noise(MIB))
        await until(lambda: blobs(database))
        await tenant.query("UPDATE context.blob SET due_at = now()")
        assert (await maintenance.sweep(context_settings)).uploads_abandoned == 1
        yield chunk(noise(MIB))

    with pytest.raises((UploadExpired, Unavailable)):
        await caller.send(messages())
    assert await blobs(database) == []
    await swept(database, context_settings)


@pytest.mark.parametrize("contents", [(CONTENT, CONTENT), (b"", b"")])
async def test_two_concurrent_uploads_of_the_same_bytes_share_them(
    caller: Caller, database: Database, context_settings: Settings, contents: tuple[bytes, bytes]
):
    for _ in range(5):
        first, second = await asyncio.gather(*(caller.upload(content) for content in contents))

        assert first.blob_key != second.blob_key
        for one in (first, second):
            assert (await caller.download(blob_key=one.blob_key))[1] == contents[0]
            assert (await caller.download(working_memory_id=one.working_memory_id))[1] == contents[0]
        assert [row.state for row in await blobs(database)].count("live") == 1

    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == len(await blobs(database)) == 1
    assert (await caller.download(blob_key=second.blob_key))[1] == contents[0]


async def test_deleting_one_of_two_records_leaves_the_other_its_bytes(caller: Caller, context_settings: Settings):
    first, second = await caller.upload(CONTENT), await caller.upload(CONTENT)

    await caller.DeleteBlob(blob_key=first.blob_key)
    await maintenance.sweep(context_settings)

    assert (await caller.download(blob_key=second.blob_key))[1] == CONTENT


async def test_a_repeated_request_is_answered_from_its_header(
    caller: Caller, database: Database, context_settings: Settings
):
    request_id, sent = an_id(), []

    def messages(content: bytes) -> Iterator[pb.UploadBlobRequest]:
        yield header(request_id=request_id, size_bytes=len(CONTENT), sha256=SHA256)
        for start in range(0, len(content), MIB):
            sent.append(1)
            yield chunk(content[start : start + MIB])

    first = await caller.send(messages(CONTENT))
    await caller.update(first.working_memory_id, name="later.txt")
    again = await caller.send(messages(CONTENT))
    without_bytes = await caller.send(messages(b""))

    assert first == again == without_bytes
    assert await records(database) == 1
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 1


@pytest.mark.parametrize("other", [{"size_bytes": 4}, {"sha256": "0" * 64}, {"record": record_input(name="other.txt")}])
async def test_a_request_id_with_another_header_is_refused(caller: Caller, database: Database, other: dict[str, Any]):
    request_id = an_id()
    await caller.upload(b"abc", header={"request_id": request_id})

    with pytest.raises(RequestIdReused):
        first = pb.UploadHeader(**{"record": record_input(), "request_id": request_id, **other})
        await caller.send([pb.UploadBlobRequest(header=first), chunk(b"abcd")])

    assert await records(database) == 1


async def test_concurrent_twins_of_a_request_make_one_record(
    caller: Caller, database: Database, context_settings: Settings
):
    for _ in range(4):
        options = {"request_id": an_id(), "size_bytes": len(CONTENT)}
        answers = await asyncio.gather(*(caller.upload(CONTENT, header=options) for _ in range(4)))
        assert len({answer.working_memory_id for answer in answers}) == 1

    assert await records(database) == 4
    await maintenance.sweep(context_settings)
    assert len(files(context_settings)) == 1


async def test_a_taken_id_is_refused_before_the_bytes(caller: Caller, database: Database, context_settings: Settings):
    record = await caller.insert()

    with pytest.raises(RecordExists):
        await caller.upload(b"abc", working_memory_id=record.working_memory_id)
    assert await blobs(database) == []

    taken = an_id()

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield pb.UploadBlobRequest(header=pb.UploadHeader(record=record_input(working_memory_id=taken)))
        await until(lambda: blobs(database))
        await caller.insert(working_memory_id=taken)  # by somebody who was faster
        yield chunk(b"abc")

    with pytest.raises(RecordExists):
        await caller.send(messages())
    await maintenance.sweep(context_settings)
    assert files(context_settings) == []


@pytest.mark.parametrize(
    ("after_bytes", "at_end"), [(0, False), (MIB, False), (0, True)], ids=["first byte", "midway", "answer lost"]
)
@pytest.mark.parametrize("error", [Unavailable("cut", dependency="local"), StorageFull("full"), RuntimeError("bug")])
async def test_a_write_that_fails_leaves_no_record(
    start: Start,
    failing: list[FailingBackend],
    database: Database,
    context_settings: Settings,
    *,
    error: Exception,
    after_bytes: int,
    at_end: bool,
):
    caller = await start()
    (backend,) = failing
    backend.error, backend.after_bytes, backend.at_end = error, after_bytes, at_end

    with pytest.raises(ContextKeepError) as raised:
        await caller.upload(noise(2 * MIB))

    assert raised.value.reason == getattr(error, "reason", "INTERNAL")
    assert await records(database) == 0
    assert [row.state for row in await blobs(database)] == ["deleting"]
    backend.error = None
    await swept(database, context_settings)
    assert (await caller.upload(b"abc")).size_bytes == 3


@pytest.mark.parametrize(("provider", "taken"), [("s3", 10), ("local", 100)])
async def test_an_upload_is_charged_for_the_parts_that_the_provider_s_library_holds(provider: str, taken: int):
    """A sender that stops in the middle keeps them in memory; a local file gets each block at once."""
    writer = BlobWriter(BlobStorage({}, provider=provider), lease_s=60)
    limits = MemoryLimits(process_bytes_max=1 << 40, held_bytes_max=20 * MIB, shares=Shares(of_tenant=1, of_key=0.5))
    books = HeldBytes(limits)

    async def blocks() -> AsyncGenerator[bytes, None]:
        for _ in range(100):
            yield bytes(MIB)

    token = current_call.set(Call(call_id="1", method="/Upload", principal=PRINCIPAL, ledger=books))
    came = 0
    try:
        async with aclosing(writer._charge(blocks())) as charged:
            async for _ in charged:
                came += 1
    except HeldBytesExceeded as error:
        assert error.metadata["limit"] == "held_bytes_of_key"
    finally:
        current_call.reset(token)
    assert came == taken
    assert books.held == 0
