"""The local backend: the suite, and what only files have."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from context_service.blobs.local import LocalBackend
from context_service.blobs.storage import BLOCK_BYTES
from contextkeep.errors import BlobNotFound, StorageFull, Unavailable
from tests.conformance.blob_backend import BlobBackendConformance, blocks_of, keys, read
from tests.conformance.large_blobs import LargeBlobConformance
from tests.fakes.blob_backend import FailingBackend
from tests.noise import noise


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalBackend]:
    with ThreadPoolExecutor(4) as threads:
        yield LocalBackend(tmp_path, threads)


class TestLocal(LargeBlobConformance):
    @pytest.fixture
    async def backend(self, local: LocalBackend) -> LocalBackend:
        return local

    async def expect_nothing(self, backend: LocalBackend, key: str) -> None:  # type: ignore[override]
        await super().expect_nothing(backend, key)
        files = [path for path in backend._root.rglob(f"{Path(key).name}*") if path.is_file()]
        assert [path.name for path in files if path.name.partition(".")[0] == Path(key).name] == []


class TestLocalUnderAPrefix(TestLocal):
    prefix = "some/pre-fix/"


class TestFailingBackend(BlobBackendConformance):
    """The fake is as good as what it stands for."""

    @pytest.fixture
    async def backend(self, local: LocalBackend) -> FailingBackend:
        return FailingBackend(local)


async def test_a_blob_is_on_disk_before_its_name_is(local: LocalBackend, monkeypatch: pytest.MonkeyPatch):
    """Bytes, then the name, then the folder that holds the name: a power cut in between shows nothing."""
    steps: list[str] = []

    def recording(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def recorded(*arguments: object, **options: object) -> object:
            steps.append(name)
            return call(*arguments, **options)

        return recorded

    real_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        steps.append("sync folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "sync file")  # noqa: PTH112
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", recording("rename", Path.rename))

    await local.write("a/b", blocks_of(b"x"))
    await local.write("a/c", blocks_of(b"x"))

    # The first blob of a folder also puts the folder's own name on disk.
    assert steps == ["sync file", "rename", "sync folder", "sync folder", "sync file", "rename", "sync folder"]


async def test_a_temporary_file_of_a_killed_write_goes_with_the_blob(local: LocalBackend, tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.part").write_bytes(b"half")

    assert await keys(local, "") == []
    await local.delete("a/b")

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_a_write_whose_file_was_taken_away_fails(local: LocalBackend, tmp_path: Path):
    """The lease was over and a sweeper was here: there must be no blob, or nobody would know of it."""

    async def blocks() -> AsyncIterator[bytes]:
        yield noise(BLOCK_BYTES)
        yield noise(BLOCK_BYTES)
        await local.delete("a/b")
        yield b"end"

    with pytest.raises(Unavailable):
        await local.write("a/b", blocks())

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk_is_said_and_leaves_nothing(
    local: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    real_write, calls = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 2:
            raise OSError(number, "no room", "/secret/path")
        return real_write(descriptor, data[: BLOCK_BYTES // 2])

    monkeypatch.setattr(os, "write", full)

    with pytest.raises(StorageFull) as raised:
        await local.write("a/b", blocks_of(noise(4 * BLOCK_BYTES)))

    assert "secret" not in str(raised.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_a_disk_that_fails_is_unavailable_and_names_no_path(local: LocalBackend, monkeypatch: pytest.MonkeyPatch):
    await local.write("a/b", blocks_of(b"x"))

    def broken(*arguments: object) -> bytes:
        raise OSError(errno.EIO, "broken", "/secret/path")

    monkeypatch.setattr(os, "pread", broken)

    with pytest.raises(Unavailable) as raised:
        await read(local, "a/b", 0, 1)

    assert "secret" not in str(raised.value)


async def test_a_folder_that_went_away_fails_the_check(local: LocalBackend, tmp_path: Path):
    shutil.rmtree(tmp_path)

    with pytest.raises(Unavailable):
        await local.check()
    with pytest.raises(BlobNotFound):
        await read(local, "a/b", 0, 1)


async def test_no_file_stays_open(local: LocalBackend):
    """Given up reads and failed writes close what they opened, if behind the last call of a thread."""
    content = noise(3 * BLOCK_BYTES)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for attempt in range(20):
        await local.write(f"a/{attempt}", blocks_of(content))
        chunks = local.read(f"a/{attempt}", 0, len(content))
        await anext(chunks)
        await chunks.aclose()
    await local.check()

    local._threads.shutdown()
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
