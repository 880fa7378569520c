"""Blobs over gRPC: what goes in comes out, to the byte, to its owner, and to nobody else."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from context_service.settings import Settings
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    BlobCorrupted,
    InvalidPageToken,
    RecordArchived,
)
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL
from tests.context_service.working_memory.callers import MIB, Caller, an_id, files
from tests.noise import noise


@pytest.mark.parametrize("size_bytes", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 5])
async def test_a_blob_comes_back_as_it_was(caller: Caller, size_bytes: int):
    content = noise(size_bytes)
    sha256 = hashlib.sha256(content).hexdigest()

    stored = await caller.upload(content, header={"size_bytes": size_bytes, "sha256": sha256}, name="a.bin")

    assert (stored.size_bytes, stored.sha256) == (size_bytes, sha256)
    record, back = await caller.download(working_memory_id=stored.working_memory_id)
    assert back == content
    assert record == stored.record == await caller.fetch(stored.working_memory_id)
    assert (record.provider, record.blob_key, record.size_bytes) == ("local", stored.blob_key, size_bytes)
    assert (await caller.download(blob_key=stored.blob_key))[1] == content


async def test_chunks_of_any_size_make_the_same_blob(caller: Caller):
    content = noise(2 * MIB + 77)
    pieces = [
        content[:1],
        content[1:70_000],
        b"",
        content[70_000 : MIB + 3],
        content[MIB + 3 : 2 * MIB],
        content[2 * MIB :],
    ]

    stored = await caller.upload(pieces)

    assert stored.sha256 == hashlib.sha256(content).hexdigest()
    assert (await caller.download(working_memory_id=stored.working_memory_id))[1] == content


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (0, 0),
        (0, 1),
        (0, MIB),
        (1, MIB),
        (MIB - 1, 2),
        (MIB, MIB),
        (MIB + 1, 0),
        (2 * MIB, 0),
        (2 * MIB + 99, 1),
        (2 * MIB + 99, 2**62),
        (5, 2 * MIB + 1),
    ],
)
async def test_a_range_is_cut_to_the_byte(caller: Caller, offset: int, length: int):
    content = noise(2 * MIB + 100)
    stored = await caller.upload(content)

    record, back = await caller.download(blob_key=stored.blob_key, offset_bytes=offset, length_bytes=length)

    assert back == content[offset : offset + length if length else None]
    assert record.size_bytes == len(content)


async def test_identical_contents_of_two_tenants_share_nothing(
    caller: Caller, stranger: Caller, context_settings: Settings
):
    await caller.upload(b"same")
    await stranger.upload(b"same")

    assert len(files(context_settings)) == 2


@pytest.mark.parametrize(("size_bytes", "fits"), [(3 * MIB, True), (3 * MIB + 1, False)])
async def test_content_that_fits_no_answer_names_what_streams_it(caller: Caller, size_bytes: int, fits: bool):
    stored = await caller.upload(
        noise(size_bytes), metadata_json=json.dumps({"x": "y" * 60_000}), reasoning="r" * 65536
    )
    request = pb.GetContentRequest(blob_key=stored.blob_key)

    if fits:
        assert (await caller.call("GetContent", request)).content == noise(size_bytes)
        return
    error = await caller.error("GetContent", request)
    assert isinstance(error, AnswerTooLarge)
    assert error.metadata["use"] == "GetBlob"


async def test_a_deleted_blob_is_archived_with_its_record(caller: Caller, database: Database):
    stored = await caller.upload(b"abc")
    request = pb.DeleteBlobRequest(blob_key=stored.blob_key)

    for _ in range(2):  # again is harmless
        answer = await caller.call("DeleteBlob", request)
        assert answer.working_memory_id == stored.working_memory_id

    with pytest.raises(RecordArchived):
        await caller.download(blob_key=stored.blob_key)
    with pytest.raises(RecordArchived):
        await caller.fetch(stored.working_memory_id)
    record, back = await caller.download(blob_key=stored.blob_key, include_archived=True)
    assert (record.status, record.version, back) == (pb.RECORD_STATUS_ARCHIVED, 2, b"abc")
    rows = await database.tenant(PRINCIPAL.tenant_id).query("SELECT kind, principal FROM context.action ORDER BY seq")
    assert rows == [("created", "first"), ("archived", "first")]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"\xff" + path.read_bytes()[1:]),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
    ],
    ids=["a byte changed", "cut", "emptied", "gone"],
)
async def test_damaged_bytes_are_data_loss_and_never_given_out(caller: Caller, context_settings: Settings, damage: Any):
    stored = await caller.upload(noise(MIB + 5))
    (path,) = files(context_settings)
    damage(path)

    for request in (
        {"blob_key": stored.blob_key},
        {"blob_key": stored.blob_key, "offset_bytes": 3, "length_bytes": MIB + 1},
    ):
        with pytest.raises(BlobCorrupted) as error:
            await caller.download(**request)
        assert str(context_settings.working_memory_storage_path) not in str(error.value)
    assert isinstance(await caller.error("GetContent", pb.GetContentRequest(blob_key=stored.blob_key)), BlobCorrupted)


async def test_a_damaged_block_leaves_the_others_readable(caller: Caller, context_settings: Settings):
    content = noise(3 * MIB)
    stored = await caller.upload(content)
    (path,) = files(context_settings)
    path.write_bytes(content[:MIB] + b"\0" + content[MIB + 1 :])

    back = await caller.download(blob_key=stored.blob_key, offset_bytes=2 * MIB + 7)
    assert back[1] == content[2 * MIB + 7 :]
    with pytest.raises(BlobCorrupted):
        await caller.download(blob_key=stored.blob_key, offset_bytes=MIB + 100, length_bytes=1)


async def test_blobs_are_listed_newest_first_in_pages(caller: Caller):
    entity = an_id()
    stored = [await caller.upload(b"%d" % number, entity_node_id=entity, name=f"{number}.txt") for number in range(5)]
    await caller.insert(entity_node_id=entity, content_json="1")
    await caller.upload(b"other", entity_node_id=an_id())
    await caller.DeleteBlob(blob_key=stored[2].blob_key)

    listed, token = [], ""
    while True:
        page = await caller.ListBlobs(entity_node_id=entity, page_size=2, page_token=token)
        listed += page.blobs
        token = page.next_page_token
        if not token:
            break

    assert [entry.name for entry in listed] == ["4.txt", "3.txt", "1.txt", "0.txt"]
    assert [entry.blob_key for entry in listed] == [stored[number].blob_key for number in (4, 3, 1, 0)]
    assert listed[0].sha256 == stored[4].sha256
    assert listed[0].content_type == "text/plain"
    every = await caller.ListBlobs(entity_node_id=entity, include_archived=True)
    assert len(every.blobs) == 5


async def test_a_token_of_another_list_is_refused(caller: Caller, stranger: Caller):
    entity = an_id()
    for number in range(3):
        await caller.upload(b"%d" % number, entity_node_id=entity)
    page = await caller.ListBlobs(entity_node_id=entity, page_size=1)
    token = page.next_page_token

    for who, request in (
        (caller, pb.ListBlobsRequest(entity_node_id=an_id(), page_token=token)),
        (caller, pb.ListBlobsRequest(entity_node_id=entity, page_token=token, include_archived=True)),
        (caller, pb.ListBlobsRequest(entity_node_id=entity, page_token=token[:-2])),
        (caller, pb.ListBlobsRequest(entity_node_id=entity, page_token="x" * 5000)),
        (stranger, pb.ListBlobsRequest(entity_node_id=entity, page_token=token)),
    ):
        assert isinstance(await who.error("ListBlobs", request), InvalidPageToken)
    other_rpc = pb.FetchWMRecordsByEntityRequest(entity_node_id=entity, page_token=token)
    assert isinstance(await caller.error("FetchWMRecordsByEntity", other_rpc), InvalidPageToken)


async def test_a_download_that_is_given_up_leaves_nothing_open(
    caller: Caller, context_settings: Settings, caplog: pytest.LogCaptureFixture
):
    stored = await caller.upload(noise(12 * MIB))

    def opened() -> int:
        return sum(
            str(context_settings.working_memory_storage_path) in str(link.readlink())
            for link in Path("/proc/self/fd").iterdir()
            if link.is_symlink()
        )

    for _ in range(10):
        call = caller.stub.GetBlob(pb.GetBlobRequest(blob_key=stored.blob_key), metadata=caller.metadata)
        await call.read()
        await call.read()
        assert opened() > 0
        call.cancel()
        async with asyncio.timeout(30):
            while opened():
                await asyncio.sleep(0.01)

    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
