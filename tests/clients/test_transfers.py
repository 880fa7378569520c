"""Uploads and downloads against a small real server with faults, in both worlds."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import os
import stat
import threading
import time
from pathlib import Path

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep import AsyncContextClient, ContextClient, MemoryType
from contextkeep.client._transfer import CHUNK_BYTES, Chunks
from contextkeep.errors import (
    BlobCorrupted,
    BlobTooLarge,
    Cancelled,
    ContextKeepError,
    DeadlineExceeded,
    InvalidArgument,
    RecordNotFound,
    Unavailable,
)
from tests.clients.memory import MIB, Memory
from tests.clients.serving import serving
from tests.clients.worlds import ASYNC, SYNC

IDLE = 0.4  # seconds: for what is silent
LONG_IDLE = 1.0  # for what is not, though the machine may stand still for a moment
WAIT_MAX_S = 30.0  # for what takes a moment where nothing else runs
SIZES = [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB]


def content_of(size_bytes: int) -> bytes:
    return os.urandom(size_bytes)


class Unseekable(io.RawIOBase):
    """A pipe: it is read once."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, 1000))


def sources(content: bytes, folder: Path) -> dict:
    """The same bytes in every form that can be uploaded."""
    path = folder / "file.bin"
    path.write_bytes(content)
    opened = io.BytesIO(b"skipped" + content)
    opened.seek(7)

    async def later():
        for start in range(0, len(content), 700_000):
            yield content[start : start + 700_000]

    return {
        "bytes": content,
        "bytearray": bytearray(content),
        "memoryview": memoryview(content),
        "path": path,
        "text path": str(path),
        "file from where it stands": opened,
        "pipe": Unseekable(content),
        "list": [content[:10], b"", content[10:]],
        "async iterator": later(),
    }


@pytest.mark.parametrize("kind", list(sources(b"", Path("/tmp"))))
@pytest.mark.parametrize("size_bytes", [0, 2 * MIB + 5])
async def test_every_source_arrives_whole(world, kind, size_bytes, tmp_path):
    if kind == "async iterator" and not world.is_async:
        pytest.skip("the sync client has no loop to run it in")
    content = content_of(size_bytes)
    async with serving(memory := Memory()) as address, world.context(address) as client:
        record = await world.run(client.blobs.upload, sources(content, tmp_path)[kind], name="x.bin")

    assert memory.stored[record.working_memory_id][1] == content
    assert (record.name, record.size_bytes, record.sha256) == ("x.bin", size_bytes, hashlib.sha256(content).hexdigest())
    assert all(0 < chunk <= CHUNK_BYTES for chunk in memory.chunks)


@pytest.mark.parametrize("size_bytes", SIZES)
async def test_a_file_comes_back_as_it_went(world, size_bytes, tmp_path):
    (tmp_path / "in").write_bytes(content_of(size_bytes))
    async with serving(Memory()) as address, world.context(address) as client:
        record = await world.run(client.blobs.upload, tmp_path / "in")
        again = await world.run(client.blobs.download, record.working_memory_id, tmp_path / "out")

    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()
    assert again == record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


async def test_a_header_says_what_is_known(world, tmp_path):
    (tmp_path / "notes.md").write_bytes(b"# Notes")
    async with serving(memory := Memory()) as address, world.context(address, app_id="shop") as client:
        await world.run(
            client.blobs.upload,
            tmp_path / "notes.md",
            memory_type=MemoryType.MARKDOWN,
            metadata={"page": 1},
            tags=["draft"],
        )
        await world.run(client.blobs.upload, [b"x"], name="x", app_id="other", sha256="ab")

    first, second = memory.headers
    assert (first.record.name, first.record.memory_type, first.size_bytes) == ("notes.md", "text/markdown", 7)
    assert (first.record.metadata_json, first.record.tags, first.record.app_id) == ('{"page":1}', ["draft"], "shop")
    assert not second.HasField("size_bytes")
    assert (second.record.app_id, second.sha256) == ("other", "ab")


async def test_tiny_pieces_travel_together(world):
    async with serving(memory := Memory()) as address, world.context(address) as client:
        await world.run(client.blobs.upload, [b"x" * 100] * 30_000, name="x")

    assert memory.chunks == [MIB, MIB, 3_000_000 - 2 * MIB]


async def test_progress_is_told_in_both_directions(world, tmp_path):
    up, down = [], []
    (tmp_path / "in").write_bytes(content_of(2 * MIB + 1))
    async with serving(Memory()) as address, world.context(address) as client:
        record = await world.run(client.blobs.upload, tmp_path / "in", on_progress=lambda *told: up.append(told))
        await world.run(client.blobs.download, record, tmp_path / "out", on_progress=lambda *told: down.append(told))

    total = 2 * MIB + 1
    assert up == down == [(MIB, total), (2 * MIB, total), (total, total)]


async def test_progress_that_raises_ends_the_transfer(world, tmp_path):
    def stop(done_bytes: int, total_bytes: int | None) -> None:
        raise KeyError("enough")

    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(KeyError):
            await world.run(client.blobs.upload, content_of(3 * MIB), name="x", on_progress=stop)
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)
        assert not memory.completed
        blob = memory.put(content_of(MIB))
        with pytest.raises(KeyError):
            await world.run(client.blobs.download, blob, tmp_path / "out", on_progress=stop)

    assert list(tmp_path.iterdir()) == []


async def test_what_can_be_read_again_is_sent_again(world, tmp_path):
    content = content_of(2 * MIB)
    for kind in ("bytes", "path", "file from where it stands"):
        memory = Memory(failures=2, fail_after_bytes=MIB)
        async with serving(memory) as address, world.context(address) as client:
            record = await world.run(client.blobs.upload, sources(content, tmp_path)[kind], name="x")

        assert memory.stored[record.working_memory_id][1] == content, kind
        assert len({header.request_id for header in memory.headers}) == 1
        assert memory.calls == 3


async def test_what_cannot_be_read_again_is_not(world, tmp_path):
    for kind in ("pipe", "list"):
        memory = Memory(failures=1, fail_after_bytes=MIB)
        async with serving(memory) as address, world.context(address) as client:
            with pytest.raises(Unavailable):
                await world.run(client.blobs.upload, sources(content_of(2 * MIB), tmp_path)[kind], name="x")

        assert memory.calls == 1


async def test_a_refusal_in_the_middle_arrives_as_its_error(world):
    async with serving(Memory(size_bytes_max=MIB)) as address, world.context(address) as client:
        with pytest.raises(BlobTooLarge):
            await world.run(client.blobs.upload, content_of(20 * MIB), name="x")


async def test_a_connection_that_breaks_at_the_very_end_is_a_status(monkeypatch):
    """grpc.aio then raises an error of its own, which has no status; the call has one."""

    async def broken(_call):
        raise grpc.aio.InternalError('Failed "execute_batch"')

    monkeypatch.setattr(grpc.aio.StreamUnaryCall, "done_writing", broken)
    async with serving(memory := Memory(failures=9)) as address, AsyncContextClient(address, retries=1) as client:
        with pytest.raises(Unavailable, match="the store is away"):
            await client.blobs.upload(b"abc", name="x.bin")

    assert memory.calls == 2


async def test_a_source_that_fails_stores_nothing(world):
    """The end of the stream must not look like the end of the file."""

    def broken():
        yield content_of(MIB)
        raise OSError(errno.EIO, "the disk is gone")

    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(OSError, match="the disk is gone"):
            await world.run(client.blobs.upload, broken(), name="x")
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)

    assert not memory.completed
    assert memory.stored == {}


async def test_a_server_that_reads_nothing_is_left(world):
    memory = Memory(stall_after_bytes=0)
    async with serving(memory) as address, world.context(address, idle_timeout_s=IDLE) as client:
        with pytest.raises(DeadlineExceeded, match="nothing moved"):
            await world.run(client.blobs.upload, content_of(20 * MIB), name="x")
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)


async def test_a_server_that_does_not_answer_is_left(world):
    memory = Memory(stall_after_bytes=MIB)
    async with serving(memory) as address, world.context(address, idle_timeout_s=IDLE) as client:
        with pytest.raises(DeadlineExceeded, match="nothing moved"):
            await world.run(client.blobs.upload, content_of(MIB), name="x")


async def test_a_slow_source_is_no_silence(world):
    """The caller's own time does not count: a report may take minutes to write."""

    def slowly():
        for pause_s in (0, 2 * LONG_IDLE):
            time.sleep(pause_s)  # in the async world too: the loop stands still, and nothing may be blamed for it
            yield b"x" * MIB

    async with serving(memory := Memory()) as address, world.context(address, idle_timeout_s=LONG_IDLE) as client:
        await world.run(client.blobs.upload, slowly(), name="x")

    assert memory.completed


async def test_an_answer_from_the_header_ends_the_sending(world):
    """A repeated request is answered before it is read."""
    content = content_of(9 * MIB)
    async with serving(memory := Memory(answers_first=content)) as address, world.context(address) as client:
        record = await world.run(client.blobs.upload, content, name="x")

    assert record.size_bytes == len(content)
    assert not memory.completed


async def test_an_answer_to_other_bytes_is_an_error(world):
    """The same request id with other bytes gets the first answer, and must not pass for this one."""
    async with serving(Memory(answers_first=b"other")) as address, world.context(address) as client:
        with pytest.raises(BlobCorrupted):
            await world.run(client.blobs.upload, content_of(9 * MIB), name="x")


async def test_a_wrong_checksum_in_the_answer_is_an_error(world):
    async with serving(Memory(sha256="0" * 64)) as address, world.context(address) as client:
        with pytest.raises(BlobCorrupted) as raised:
            await world.run(client.blobs.upload, b"hello", name="x")

    assert raised.value.metadata["sha256_sent"] == hashlib.sha256(b"hello").hexdigest()


@pytest.mark.parametrize("source", [b"bytes", [b"piece"], 5, io.StringIO("text")], ids=["bytes", "list", "int", "text"])
async def test_what_cannot_be_uploaded_is_refused_here(world, source):
    """Without a name, or no bytes at all: nothing is sent."""
    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(InvalidArgument):
            await world.run(client.blobs.upload, source)

    assert memory.calls == 0


async def test_pieces_that_are_no_bytes_are_refused(world):
    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(InvalidArgument, match="not bytes"):
            await world.run(client.blobs.upload, ["text"], name="x")
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)

    assert memory.stored == {}


async def test_a_path_that_cannot_be_read_is_an_oserror(world, tmp_path):
    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(FileNotFoundError):
            await world.run(client.blobs.upload, tmp_path / "nowhere")
        with pytest.raises(IsADirectoryError):
            await world.run(client.blobs.upload, tmp_path)

    assert memory.calls == 0


async def test_blobs_are_named_by_record_id_key_or_record(world):
    async with serving(Memory()) as address, world.context(address) as client:
        record = await world.run(client.blobs.upload, b"hello", name="x")
        for name in (record, record.working_memory_id, record.blob_key):
            assert await world.read(client, name) == b"hello"
            assert await world.run(client.blobs.get_content, name) == b"hello"
            assert await world.run(client.blobs.delete, name) == record.working_memory_id
        with pytest.raises(InvalidArgument):
            await world.run(client.blobs.get_content, "")
        with pytest.raises(RecordNotFound):
            await world.run(client.blobs.get_content, "no-such-key")


@pytest.mark.parametrize(("offset_bytes", "length_bytes"), [(0, 5), (3, 0), (MIB, 7), (2, 99 * MIB)])
async def test_a_range_is_a_range(world, offset_bytes, length_bytes):
    content = content_of(2 * MIB)
    async with serving(memory := Memory()) as address, world.context(address) as client:
        read = await world.read(client, memory.put(content), offset_bytes=offset_bytes, length_bytes=length_bytes)

    assert read == content[offset_bytes : offset_bytes + length_bytes if length_bytes else None]


async def test_a_reader_that_leaves_early_stops_the_server(world):
    async with serving(memory := Memory()) as address, world.context(address) as client:
        blob = memory.put(content_of(30 * MIB))
        if world is ASYNC:
            async with await client.blobs.get(blob) as reader:
                async for _ in reader:
                    break
        else:

            def leave() -> None:
                with client.blobs.get(blob) as reader:
                    for _ in reader:
                        break

            await asyncio.to_thread(leave)
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)
        assert reader.record.name == "file.bin" if world is ASYNC else True


@pytest.mark.parametrize("fault", [{"corrupt": True}, {"sha256": "0" * 64}])
async def test_a_mismatch_leaves_no_file_and_keeps_the_old_one(world, fault, tmp_path):
    async with serving(memory := Memory(**fault)) as address, world.context(address) as client:
        blob = memory.put(content_of(MIB + 1))
        with pytest.raises(BlobCorrupted):
            await world.run(client.blobs.download, blob, tmp_path / "out")
        assert list(tmp_path.iterdir()) == []

        (tmp_path / "out").write_bytes(b"old")
        with pytest.raises(BlobCorrupted):
            await world.run(client.blobs.download, blob, tmp_path / "out")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"old")]


async def test_a_blob_that_ends_early_is_no_blob(world):
    async with serving(memory := Memory()) as address, world.context(address) as client:
        blob = memory.put(content_of(MIB))
        record, content = memory.stored[blob]
        memory.stored[blob] = (record, content[:-1])
        with pytest.raises(BlobCorrupted):
            await world.read(client, blob)


async def test_a_download_that_breaks_is_begun_again(world, tmp_path):
    content = content_of(3 * MIB)
    memory = Memory(failures=2, fail_after_bytes=2 * MIB)
    async with serving(memory) as address, world.context(address) as client:
        await world.run(client.blobs.download, memory.put(content), tmp_path / "out")

    assert (tmp_path / "out").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


async def test_a_service_that_is_down_is_asked_four_times_for_a_download(world, tmp_path):
    """Not four times four: only one layer repeats."""
    memory = Memory(failures=99, fail_after_bytes=-1)
    async with serving(memory) as address, world.context(address) as client:
        with pytest.raises(Unavailable):
            await world.run(client.blobs.download, memory.put(b"x"), tmp_path / "out")

    assert memory.calls == 4
    assert list(tmp_path.iterdir()) == []


async def test_bytes_that_were_handed_out_are_not_sent_again(world):
    """A reader cannot take back what it gave, so a broken stream is the caller's to begin again."""
    memory = Memory(failures=1, fail_after_bytes=MIB)
    async with serving(memory) as address, world.context(address) as client:
        with pytest.raises(Unavailable):
            await world.read(client, memory.put(content_of(2 * MIB)))

    assert memory.calls == 1


async def test_a_silent_download_is_left(world, tmp_path):
    async with serving(memory := Memory(stall_after_bytes=MIB)) as address:
        async with world.context(address, idle_timeout_s=IDLE) as client:
            blob = memory.put(content_of(2 * MIB))
            with pytest.raises(DeadlineExceeded, match=r"nothing moved .* for 0\.4 s"):
                await world.run(client.blobs.download, blob, tmp_path / "out")
        await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)

    assert list(tmp_path.iterdir()) == []


async def test_a_slow_reader_is_no_silence():
    async with serving(memory := Memory()) as address:
        blob = memory.put(content_of(2 * MIB))
        async with AsyncContextClient(address, idle_timeout_s=LONG_IDLE) as client:
            reader = aiter(await client.blobs.get(blob))
            await anext(reader)
            await asyncio.sleep(LONG_IDLE * 1.5)
            await anext(reader)

        def read_slowly() -> None:
            with ContextClient(address, idle_timeout_s=LONG_IDLE) as client:
                reader = iter(client.blobs.get(blob))
                next(reader)
                time.sleep(LONG_IDLE * 1.5)
                next(reader)

        await asyncio.to_thread(read_slowly)


@pytest.mark.parametrize("where", ["folder", "no folder"])
async def test_a_target_that_cannot_be_written_is_an_oserror(world, where, tmp_path):
    path = tmp_path if where == "folder" else tmp_path / "nowhere" / "out"
    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(IsADirectoryError if where == "folder" else FileNotFoundError):
            await world.run(client.blobs.download, memory.put(b"x"), path)

    assert memory.calls == 0


async def test_a_pipe_or_a_device_is_no_target(world, tmp_path):
    """A rename would replace it: of a machine's /dev/null, say."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    async with serving(memory := Memory()) as address, world.context(address) as client:
        with pytest.raises(OSError, match="Not a regular file"):
            await world.run(client.blobs.download, memory.put(b"x"), path)

    assert memory.calls == 0
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


async def test_a_missing_blob_leaves_no_file(world, tmp_path):
    async with serving(Memory()) as address, world.context(address) as client:
        with pytest.raises(RecordNotFound):
            await world.run(client.blobs.download, "no-such-key", tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


async def test_a_downloaded_file_has_the_rights_of_any_new_file(world, tmp_path):
    (tmp_path / "plain").touch()
    async with serving(memory := Memory()) as address, world.context(address) as client:
        await world.run(client.blobs.download, memory.put(b"x"), tmp_path / "out")

    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


async def test_cancelled_transfers_leave_nothing(tmp_path):
    async with serving(memory := Memory(stall_after_bytes=MIB)) as address, AsyncContextClient(address) as client:
        blob = memory.put(content_of(3 * MIB))
        for work in (
            client.blobs.upload(content_of(9 * MIB), name="x"),
            client.blobs.download(blob, tmp_path / "out"),
        ):
            task = asyncio.create_task(work)
            await asyncio.wait_for(memory.stalled.wait(), WAIT_MAX_S)
            memory.stalled.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(memory.ended.wait(), WAIT_MAX_S)

    assert list(tmp_path.iterdir()) == []
    assert list(memory.stored) == [blob]


async def test_closing_ends_a_stream(world):
    async with serving(memory := Memory(stall_after_bytes=MIB)) as address, world.context(address) as client:
        reading = asyncio.ensure_future(world.read(client, memory.put(content_of(2 * MIB))))
        await asyncio.wait_for(memory.stalled.wait(), WAIT_MAX_S)
        await world.run(client.close)
        with pytest.raises(ContextKeepError, match=r"[Cc]losed"):
            await reading


async def test_closing_ends_an_upload(world):
    async with serving(memory := Memory(stall_after_bytes=MIB)) as address, world.context(address) as client:
        sending = asyncio.ensure_future(world.run(client.blobs.upload, content_of(20 * MIB), name="x"))
        await asyncio.wait_for(memory.stalled.wait(), WAIT_MAX_S)
        await world.run(client.close)
        with pytest.raises(Cancelled):
            await sending


async def test_no_thread_outlives_its_stream():
    """The sync client has a thread a stream, to time its reads."""

    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "contextkeep-watch"]

    def use() -> None:
        with ContextClient(address) as client:
            for _ in client.blobs.get(blob):
                pass
            next(iter(client.blobs.get(blob)))  # left to the garbage collector
            client.blobs.upload(b"x", name="x")

    async with serving(memory := Memory()) as address:
        blob = memory.put(content_of(3 * MIB))
        await asyncio.to_thread(use)
    async with asyncio.timeout(WAIT_MAX_S):
        while threads():
            await asyncio.sleep(0.05)


@given(pieces=st.lists(st.integers(0, 3 * CHUNK_BYTES), max_size=5))
def test_chunks_are_the_pieces_cut_anew(pieces):
    content = os.urandom(sum(pieces))
    chunks = Chunks()
    cut = []
    start = 0
    for size in pieces:
        cut += chunks.feed(content[start : start + size])
        start += size
    cut += chunks.rest()

    assert b"".join(cut) == content
    assert all(len(chunk) == CHUNK_BYTES for chunk in cut[:-1])
    assert all(cut)


def test_both_worlds_have_the_same_methods():
    for first, second in ((ASYNC.entity_class, SYNC.entity_class), (ASYNC.context_class, SYNC.context_class)):
        assert {n for n in dir(first) if not n.startswith("_")} == {n for n in dir(second) if not n.startswith("_")}


async def test_a_download_is_on_disk_before_it_has_its_name(world, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Bytes, then the name, then the folder that holds it: what was returned once survives a power cut."""
    steps: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("sync folder" if is_folder else f"sync {os.fstat(descriptor).st_size} bytes")
        real_fsync(descriptor)

    def replace(path: Path, target: Path) -> Path:
        steps.append("rename")
        return real_replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    async with serving(Memory()) as address, world.context(address) as client:
        uploaded = await world.run(client.blobs.upload, b"x" * 100, name="a", memory_type="file")
        await world.run(client.blobs.download, uploaded.working_memory_id, tmp_path / "a")

    assert steps == ["sync 100 bytes", "rename", "sync folder"]


async def test_a_download_that_the_disk_does_not_take_leaves_what_was_there(
    world, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fsync(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "a").write_bytes(b"older")
    async with serving(Memory()) as address, world.context(address) as client:
        uploaded = await world.run(client.blobs.upload, b"x" * 100, name="a", memory_type="file")
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            await world.run(client.blobs.download, uploaded.working_memory_id, tmp_path / "a")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"older")]
