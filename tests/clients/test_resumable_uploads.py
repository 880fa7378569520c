"""Resumable uploads by the clients, in both worlds: on real services, through broken connections and restarts."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import context_service.app
from context_service.settings import Settings
from context_service.working_memory.rules.uploads import ResumableUploads
from contextkeep.client._transfer import Parts
from contextkeep.errors import (
    Cancelled,
    ChecksumMismatch,
    InvalidArgument,
    SizeMismatch,
    Unavailable,
    UploadNotFound,
    UploadPartExists,
)
from service_runtime.rpc.principal import ApiKeys
from tests.clients.memory import MIB
from tests.clients.test_transfers import Unseekable
from tests.conftest import KEY, OTHER_KEY, Addresses
from tests.faults import proxy
from tests.noise import noise
from tests.ports import free_port

CONTENT = noise(3 * MIB + 77)
PART = MIB // 2
Progress = list[tuple[int, int | None]]


@pytest.fixture
async def context(world, services: Addresses) -> AsyncIterator[Any]:
    async with world.context(services.context, api_key=KEY) as client:
        yield client


async def test_every_source_arrives_whole(world, context, tmp_path: Path):
    (tmp_path / "notes.bin").write_bytes(CONTENT)
    for source, named in (
        (tmp_path / "notes.bin", "notes.bin"),
        (CONTENT, "x"),
        (Unseekable(CONTENT), "x"),
        ([CONTENT[:10], b"", CONTENT[10:]], "x"),
        (b"", "x"),
    ):
        content = b"" if source == b"" else CONTENT
        progress: Progress = []
        ids: list[str] = []
        record = await world.run(
            context.uploads.upload,
            source,
            name="" if named == "notes.bin" else named,
            tags=["t"],
            part_bytes=PART,
            on_started=ids.append,
            on_progress=lambda *told, progress=progress: progress.append(told),
        )

        assert (record.name, record.size_bytes, record.tags) == (named, len(content), ("t",))
        assert record.sha256 == hashlib.sha256(content).hexdigest()
        assert await world.read(context, record) == content
        assert len(ids) == 1
        assert [done for done, _ in progress] == [*range(PART, len(content), PART), *[len(content)] * bool(content)]


async def test_a_source_without_a_name_is_refused_before_anything_is_begun(world, context):
    with pytest.raises(InvalidArgument):
        await world.run(context.uploads.upload, b"abc")
    with pytest.raises(InvalidArgument):
        await world.run(context.uploads.upload, b"abc", name="x", part_bytes=0)


class Ends(Exception):
    """What ends a process, as far as a test can tell."""


async def interrupted(world, context, content: bytes, *, after_bytes: int) -> str:
    """Begin an upload and end in the middle of it; return its id."""
    ids: list[str] = []

    def pieces():
        for start in range(0, len(content), 1000):
            if start >= after_bytes:
                raise Ends
            yield content[start : start + 1000]

    with pytest.raises(Ends):
        await world.run(context.uploads.upload, pieces(), name="x", part_bytes=PART, on_started=ids.append)
    return ids[0]


async def test_another_process_goes_on_where_one_ended(world, services: Addresses, tmp_path: Path):
    async with world.context(services.context, api_key=KEY) as first:
        upload_id = await interrupted(world, first, CONTENT, after_bytes=2 * MIB)

    (tmp_path / "file").write_bytes(CONTENT)
    progress: Progress = []
    async with world.context(services.context, api_key=KEY) as second:
        upload = await world.run(second.uploads.get, upload_id)
        assert 0 < upload.offset_bytes <= 2 * MIB
        record = await world.run(
            second.uploads.resume,
            upload_id,
            tmp_path / "file",
            part_bytes=PART,
            on_progress=lambda *told: progress.append(told),
        )
        assert progress[0] == (upload.offset_bytes, len(CONTENT))
        assert progress[-1] == (len(CONTENT), len(CONTENT))
        assert progress == sorted(progress)
        assert await world.read(second, record) == CONTENT
        # A finished one is answered from what is there, for the same bytes only.
        assert await world.run(second.uploads.resume, upload_id, CONTENT) == record
        assert (await world.run(second.uploads.get, upload_id)).record == record
        with pytest.raises(ChecksumMismatch):
            await world.run(second.uploads.resume, upload_id, CONTENT[:-1] + b"\0")


async def test_other_bytes_do_not_go_on_with_an_upload(world, context):
    upload_id = await interrupted(world, context, CONTENT, after_bytes=2 * MIB)
    with pytest.raises(SizeMismatch):
        await world.run(context.uploads.resume, upload_id, CONTENT[:10])

    begun = await world.run(context.uploads.start, "x", sha256=hashlib.sha256(CONTENT).hexdigest())
    with pytest.raises(ChecksumMismatch):
        await world.run(context.uploads.resume, begun.id, CONTENT + b"more")


async def test_an_upload_of_another_tenant_cannot_be_resumed(world, services: Addresses, context):
    upload_id = await interrupted(world, context, CONTENT, after_bytes=2 * MIB)
    async with world.context(services.context, api_key=OTHER_KEY) as stranger:
        with pytest.raises(UploadNotFound):
            await world.run(stranger.uploads.resume, upload_id, CONTENT)


async def test_broken_connections_cost_a_part_each(world, services: Addresses):
    """The connection is reset as each third of the file is on its way."""
    async with proxy.running(int(services.context.rpartition(":")[2])) as between:
        loop, broken = asyncio.get_running_loop(), []

        def progress(done_bytes: int, _total_bytes: int | None) -> None:
            if done_bytes >= MIB * (len(broken) + 1):
                broken.append(done_bytes)
                loop.call_soon_threadsafe(between.break_off)

        async with world.context(f"127.0.0.1:{between.port}", api_key=KEY, retries=0) as client:
            record = await world.run(
                client.uploads.upload, CONTENT, name="x", part_bytes=PART, on_progress=progress, patience_s=20
            )
            assert await world.read(client, record) == CONTENT
        assert len(broken) == 3


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_part_whose_answer_is_lost_is_not_sent_twice(
    world, context, monkeypatch: pytest.MonkeyPatch, *, arrived: bool
):
    append, calls = ResumableUploads.append, []

    async def flaky(self: ResumableUploads, upload_id: Any, chunks: Any, **rest: Any) -> Any:
        calls.append(rest["offset_bytes"])
        if len(calls) % 2 and not arrived:
            raise Unavailable("cut", dependency="test")
        upload = await append(self, upload_id, chunks, **rest)
        if len(calls) % 2:
            raise Unavailable("cut", dependency="test")
        return upload

    monkeypatch.setattr(ResumableUploads, "append", flaky)
    record = await world.run(context.uploads.upload, CONTENT[: 4 * PART], name="x", part_bytes=PART)

    assert record.sha256 == hashlib.sha256(CONTENT[: 4 * PART]).hexdigest()
    if arrived:
        assert calls == [0, PART, 2 * PART, 3 * PART]
    else:
        assert calls == [0, 0, PART, PART, 2 * PART, 2 * PART, 3 * PART, 3 * PART]


async def test_a_part_that_somebody_else_sent_is_told(world, context):
    upload = await world.run(context.uploads.start, "x")
    await world.run(context.uploads.append, upload.id, 0, [b"a", b"bc"])

    with pytest.raises(UploadPartExists) as error:
        await world.run(context.uploads.append, upload.id, 0, b"abc")

    assert error.value.metadata["offset_bytes"] == "3"


async def test_an_upload_goes_on_behind_a_restart_of_the_service(world, context_settings: Settings, callers: ApiKeys):
    content = noise(8 * MIB)
    settings = context_settings.model_copy(update={"drain_s": 0.0, "context_service_port": free_port()})
    reached, loop = asyncio.Event(), asyncio.get_running_loop()

    def progress(done_bytes: int, _total_bytes: int | None) -> None:
        if done_bytes >= MIB:
            loop.call_soon_threadsafe(reached.set)

    async with context_service.app.running(settings, callers=callers) as port:
        client_context = world.context(f"127.0.0.1:{port}", api_key=KEY)
        client = await client_context.__aenter__()
        uploading = asyncio.create_task(
            world.run(
                client.uploads.upload, content, name="x", part_bytes=64 * 1024, on_progress=progress, patience_s=120
            )
        )
        await asyncio.wait_for(reached.wait(), 30)
    assert not uploading.done()
    await asyncio.sleep(0.3)
    async with context_service.app.running(settings, callers=callers):
        record = await uploading
        assert await world.read(client, record) == content
        await client_context.__aexit__(None, None, None)


async def test_closing_the_client_ends_its_patience(world):
    async with proxy.running(1) as nobody, world.context(f"127.0.0.1:{nobody.port}", retries=0) as client:
        uploading = asyncio.create_task(world.run(client.uploads.upload, b"abc", name="x", patience_s=3600))
        await asyncio.sleep(0.3)
        assert not uploading.done()
        await world.run(client.close)
        with pytest.raises((Cancelled, Unavailable, RuntimeError)):
            await asyncio.wait_for(uploading, 60)


async def test_patience_ends(world, services: Addresses):
    async with proxy.running(1) as nobody, world.context(f"127.0.0.1:{nobody.port}", retries=0) as client:
        with pytest.raises(Unavailable):
            await world.run(client.uploads.upload, b"abc", name="x", patience_s=0.5)


@given(
    content=st.binary(max_size=200),
    cuts=st.lists(st.integers(0, 200)),
    offset=st.integers(0, 220),
    part_bytes=st.integers(1, 50),
)
def test_parts_are_the_rest_of_the_source_in_order(content: bytes, cuts: list[int], offset: int, part_bytes: int):
    parts = Parts(offset, part_bytes)
    borders = [0, *sorted(cuts), len(content)]
    sent: list[tuple[int, bytes]] = []
    for start, end in itertools.pairwise(borders):
        sent += [(parts.offset_bytes, b"".join(part)) for part in parts.feed(content[start:end])]
    sent += [(parts.offset_bytes, b"".join(part)) for part in parts.rest()]

    assert b"".join(part for _, part in sent) == content[offset:]
    assert [len(part) for _, part in sent[:-1]] == [part_bytes] * len(sent[:-1])
    assert [start for start, _ in sent] == [offset + number * part_bytes for number in range(len(sent))]
