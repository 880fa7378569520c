"""Blobs as files below one folder.

A blob is written under a temporary name in the same folder (`<name>.part`), synced, renamed, and the folder is synced:
so a name without `.part` is a complete blob, even after a power cut. The write that creates the temporary file owns the
key; if the file is removed meanwhile, the rename fails and there is no blob.

File calls block, so they run in threads, one block per call. While a block is written the next one is received, and
while a block is sent the next one is read.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import itertools
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from context_service.blobs.retries import Retries
from context_service.blobs.storage import BLOCK_BYTES, BlobExists, BlobStat, Download, check_key
from context_service.settings import Settings
from contextkeep.errors import BlobNotFound, NoDownloadUrl, ProviderNotConfigured, StorageFull, Unavailable
from service_runtime.settings import state_folder

_T = TypeVar("_T")

THREADS_MAX = 16  # most of them wait for the disk
WRITE_OUT_BYTES = 32 * 1024 * 1024  # after each of these, ask the kernel to begin writing them to disk
_PART = ".part"  # a key has no dot, so no blob has such a name
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SYNC_FILE_RANGE_WRITE = 2  # from Linux's fs.h
_sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None) if sys.platform == "linux" else None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[LocalBackend]:
    """Open the backend for the block.

    Raises:
        ProviderNotConfigured: no folder is named in production, or it cannot be made.
    """
    root = settings.working_memory_storage_path
    if root is None:
        if settings.environment == "production":
            raise ProviderNotConfigured(
                "WORKING_MEMORY_STORAGE_PATH is required in production: set it to the folder for blobs",
                provider="local",
            )
        root = state_folder() / "blobs"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ProviderNotConfigured(
            f"WORKING_MEMORY_STORAGE_PATH={root}: the folder cannot be created: {error.strerror}", provider="local"
        ) from error
    with ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="blobs") as threads:
        yield LocalBackend(root.absolute(), threads)


class LocalBackend:
    """A `BlobBackend` on a folder that exists. The caller opens and closes its threads."""

    def __init__(self, root: Path, threads: ThreadPoolExecutor) -> None:
        self._root = root
        self._threads = threads
        self.retries = Retries(0)  # no retries after an error of the disk
        self._synced_folders: set[Path] = set()  # folders whose names are safely on disk
        self._checking: asyncio.Future[None] | None = None

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`, on disk when this returns."""
        part = _Part(self._path(key))
        pending: asyncio.Future[None] | None = None
        try:
            await self._run(part.create)
            async for block in blocks:
                if pending is not None:
                    await pending
                pending = self._run(part.write, block)
            if pending is not None:
                await pending
            await self._run(part.publish)
            await self._run(self._sync_folder, part.path.parent)
        except BaseException:
            # This runs after a write that is under way, and is shielded in case the caller is cancelled again.
            await asyncio.shield(self._run(part.abort))
            if pending is not None:
                pending.add_done_callback(_overlook)  # another thread may still be writing
            raise

    async def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of the blob."""
        file = _Blob(self._path(key))
        ahead: asyncio.Future[bytes] | None = None
        try:
            await self._run(file.open)
            position = start_bytes
            while position < end_bytes:
                if ahead is None:
                    ahead = self._run(file.read, position, min(end_bytes - position, BLOCK_BYTES))
                block = await ahead
                ahead = None
                if not block:
                    return
                position += len(block)
                if position < end_bytes:
                    ahead = self._run(file.read, position, min(end_bytes - position, BLOCK_BYTES))
                yield block
        finally:
            if ahead is not None:
                ahead.cancel()
            self._threads.submit(file.close)  # waits for a read that is under way

    async def delete(self, key: str) -> None:
        """Remove the file, and the temporary file of a killed write."""
        await self._run(self._delete, self._path(key))

    async def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs below `prefix`, and temporary files of unfinished writes under the keys of their blobs."""
        entries = self._walk(self._root, "", prefix, unfinished)
        while page := await self._run(_next_page, entries, page_size):
            yield page

    async def download_url(self, key: str, download: Download) -> str:
        """Raise `NoDownloadUrl`: a file has no URL."""
        raise NoDownloadUrl("a file has no URL; use GetBlob", provider="local", use="GetBlob")

    async def check(self) -> None:
        """Check that files can be created in the folder."""
        # The check runs in another thread than uploads, so that it does not wait for those that are being synced. Only
        # one check runs at a time: if the disk hangs, one thread waits for it, and not another one for each call.
        if self._checking is not None and not self._checking.done():
            raise Unavailable("the folder of the blobs does not answer", dependency="local")
        self._checking = asyncio.ensure_future(asyncio.to_thread(self._check))
        await asyncio.shield(self._checking)

    def _path(self, key: str) -> Path:
        check_key(key)
        return self._root / key

    def _run(self, call: Callable[..., _T], *arguments: object) -> asyncio.Future[_T]:
        """Start a blocking call in a thread; its OS errors are raised as ours."""

        def translated() -> _T:
            with _our_errors():
                return call(*arguments)

        return asyncio.get_running_loop().run_in_executor(self._threads, translated)

    def _sync_folder(self, folder: Path) -> None:
        """Sync the names in `folder`, and once per process those of the folders above it."""
        _sync(folder)
        while folder != self._root and folder not in self._synced_folders:
            _sync(folder.parent)
            self._synced_folders.add(folder)
            folder = folder.parent

    def _delete(self, path: Path) -> None:
        """Remove the temporary file and the file of a blob, and sync their folder."""
        for name in (path.with_name(path.name + _PART), path):
            name.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            _sync(path.parent)

    def _walk(self, folder: Path, start: str, prefix: str, unfinished: bool) -> Iterator[BlobStat]:
        """Yield the blobs below `folder`, whose keys start with `start`."""
        try:
            with os.scandir(folder) as entries:
                names = sorted(f"{e.name}/" if e.is_dir(follow_symlinks=False) else e.name for e in entries)
        except FileNotFoundError:
            return
        for name in names:
            key = start + name
            if name.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._walk(folder / name, key, prefix, unfinished)
            elif key.startswith(prefix) and (unfinished or not name.endswith(_PART)):
                with suppress(FileNotFoundError):
                    yield BlobStat(key=key.removesuffix(_PART), size_bytes=(folder / name).stat().st_size)

    def _check(self) -> None:
        # Also false on a file system that became read-only, where root passes every other test.
        if not os.access(self._root, os.W_OK | os.X_OK):
            raise Unavailable("the folder of the blobs is not writable", dependency="local")


def _next_page(entries: Iterator[BlobStat], page_size: int) -> list[BlobStat]:
    return list(itertools.islice(entries, page_size))


def _overlook(future: asyncio.Future[None]) -> None:
    """Retrieve a future's error, so that asyncio does not report it as unhandled."""
    if not future.cancelled():
        future.exception()


def _start_writing_out(file: int, start_bytes: int, size_bytes: int) -> None:
    """Ask the kernel to begin writing a range of a file to disk, so that the final sync has little left to do.

    It is only a hint, and Python has no call for it. Without the call the sync takes longer.
    """
    if _sync_file_range is not None:
        _sync_file_range(file, ctypes.c_int64(start_bytes), ctypes.c_int64(size_bytes), _SYNC_FILE_RANGE_WRITE)


class _Part:
    """A blob that is being written. Its methods block, and only one runs at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + _PART)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._size_bytes = 0
        self._created: list[Path] = []  # removed if the write fails
        self._aborted = False

    def create(self) -> None:
        """Reserve the key by creating its temporary file.

        Raises:
            BlobExists: the key is taken.
        """
        with self._lock:
            if self._aborted:
                return
            self._part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._file = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                raise BlobExists("another upload is writing a blob with this key") from None
            self._created.append(self._part)
            # Only the owner of the temporary file may create the blob, so it cannot appear after this check.
            if self.path.exists():
                raise BlobExists("a blob with this key exists already")

    def write(self, block: bytes) -> None:
        """Append a block."""
        with self._lock:
            rest = memoryview(block)
            while rest and self._file is not None:
                rest = rest[os.write(self._file, rest) :]
            # Start the writing to disk now and then, so that the final sync does not wait for the whole file.
            begun_bytes = self._size_bytes % WRITE_OUT_BYTES + len(block)
            self._size_bytes += len(block)
            if self._file is not None and begun_bytes >= WRITE_OUT_BYTES:
                _start_writing_out(self._file, self._size_bytes - begun_bytes, begun_bytes)

    def publish(self) -> None:
        """Sync the bytes and rename the file.

        Raises:
            Unavailable: the temporary file was removed.
        """
        with self._lock:
            if self._file is None:
                return
            os.fsync(self._file)
            self._close()
            try:
                self._part.rename(self.path)
            except FileNotFoundError:
                raise Unavailable(
                    "the file of the upload was removed while it ran; try again", dependency="local"
                ) from None
            self._created.append(self.path)

    def abort(self) -> None:
        """Remove the files of this write; harmless at any time."""
        with self._lock:
            self._aborted = True
            self._close()
            for path in self._created:
                path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _Blob:
    """A blob that is being read. Its methods block, and only one runs at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file: int | None = None
        self._closed = False

    def open(self) -> None:
        """Open the file.

        Raises:
            BlobNotFound: no blob has this key.
        """
        with self._lock:
            if self._closed:
                return
            try:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                raise BlobNotFound("no blob has this key") from None

    def read(self, position: int, count: int) -> bytes:
        """Return up to `count` bytes from `position`; none after the end of the blob or after `close`."""
        with self._lock:
            return b"" if self._file is None else os.pread(self._file, count, position)

    def close(self) -> None:
        """Close the file for good."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _sync(folder: Path) -> None:
    """Wait until the disk has the entries of a folder, so that a renamed file survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn an OS error into ours; paths stay in the cause, which is logged and never sent."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull("the disk of the blobs has no room left", dependency="local") from error
        raise Unavailable("the file system of the blobs does not answer", dependency="local") from error
