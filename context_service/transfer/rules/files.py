"""Imports files of an archive: a file is written to storage while the next pieces are read.

Like every upload, it has a row with a lease before its first byte, and becomes live when its record is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from context_service.blobs.storage import Declared
from context_service.transfer.pure import ArchivePiece
from context_service.working_memory.room import BlobWriter, WrittenBlob, blob_rows
from contextkeep.errors import ContextKeepError
from service_runtime.background_work import background
from service_runtime.postgres import Tenant

_NO_HASH = "the file of the piece must have a sha256 of 64 hexadecimal digits, and a size of 0 or more"
_SHA256_CHARS = 64


class IncomingFile:
    """A file that is being read from an archive and stored, in a task of its own.

    Args:
        first: The first piece of the file.
        coming: The pieces after it; no other reader may use them until `read` returns.
        writer: Writes the bytes of the file.
        provider: The storage provider that gets the bytes.
        tenant: The tenant that imports the file.
        size_bytes_max: The largest size that the tenant's limits allow.
    """

    def __init__(
        self,
        first: ArchivePiece,
        coming: AsyncGenerator[ArchivePiece, None],
        *,
        writer: BlobWriter,
        provider: str,
        tenant: Tenant,
        size_bytes_max: int,
    ) -> None:
        self.sha256, self.size_bytes = file_of(first)
        self.is_here = False  # whether a live blob has the same content, so that nothing needs to be written
        self._last = first
        self._was_read = asyncio.Event()
        self._is_kept = asyncio.Event()
        self._durable: asyncio.Future[WrittenBlob] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._store(first, coming, writer, provider, tenant, size_bytes_max))

    async def read(self) -> None:
        """Wait until the last byte of the file was read from the archive, whether it is stored yet or not.

        Raises:
            ArchiveRefused: the file is incomplete.
            Errors of `written`: storing the file has already failed.
        """
        await self._was_read.wait()
        if self._task.done():
            await self._task

    async def written(self) -> WrittenBlob:
        """Wait until the file is durable, and return its blob.

        Raises:
            ArchiveRefused: its bytes do not have the declared size and hash.
            StorageFull: the storage provider has no room for the file.
            Unavailable: the storage provider or Postgres does not answer.
            UploadExpired: the lease of the file ended, and the sweeper removed its bytes.
        """
        await asyncio.wait((self._durable, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not self._durable.done():
            await self._task
        return self._durable.result()

    async def keep(self) -> None:
        """Keep the file, because its record is committed."""
        self._is_kept.set()
        await self._task

    async def drop(self) -> None:
        """Remove the file, unless it is kept. It may be called at any time."""
        await background.ended(self._task)

    async def _store(
        self,
        first: ArchivePiece,
        coming: AsyncGenerator[ArchivePiece, None],
        writer: BlobWriter,
        provider: str,
        tenant: Tenant,
        size_bytes_max: int,
    ) -> None:
        """Store the file in the background, unless a live blob has the same content already.

        It waits in the end until `keep` or `drop` is called: the bytes stay only if the file is kept.

        Raises:
            ArchiveRefused: the bytes do not have the declared size and hash.
        """
        declared = Declared(size_bytes=self.size_bytes, sha256=self.sha256)
        try:
            async with aclosing(self._bytes(first, coming)) as chunks:
                if await blob_rows.hold_content(
                    tenant, provider=provider, sha256=self.sha256, size_bytes=self.size_bytes
                ):
                    self.is_here = True
                    async for _ in chunks:
                        pass
                    return
                async with writer.written(tenant, chunks, declared=declared, size_bytes_max=size_bytes_max) as written:
                    self._durable.set_result(written)
                    await self._is_kept.wait()
        except ContextKeepError as error:
            if error.reason in ("SIZE_MISMATCH", "CHECKSUM_MISMATCH"):
                raise self._last.refused(error.message) from error
            raise
        finally:
            self._was_read.set()

    async def _bytes(
        self, first: ArchivePiece, coming: AsyncGenerator[ArchivePiece, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the file, and note the last piece, after which the archive continues."""
        async with aclosing(pieces_of(first, coming)) as pieces:
            async for piece in pieces:
                self._last = piece
                yield piece.data
        self._was_read.set()


def file_of(piece: ArchivePiece) -> tuple[bytes, int]:
    """Return the SHA-256 and the size that a piece declares for its file.

    Raises:
        ArchiveRefused: the hash or the size is missing or malformed.
    """
    sha256, size = piece.says.get("sha256"), piece.says.get("size")
    if isinstance(piece.says.get("blob"), dict):
        sha256, size = piece.says["blob"].get("sha256"), piece.says["blob"].get("size")
    if not isinstance(sha256, str) or len(sha256) != _SHA256_CHARS or type(size) is not int or size < 0:
        raise piece.refused(_NO_HASH)
    try:
        return bytes.fromhex(sha256), size
    except ValueError:
        raise piece.refused(_NO_HASH) from None


async def pieces_of(
    first: ArchivePiece, coming: AsyncGenerator[ArchivePiece, None]
) -> AsyncGenerator[ArchivePiece, None]:
    """Yield the pieces of a file, from its first to its last.

    Raises:
        ArchiveRefused: another piece is in between.
    """
    file_key = file_of(first)
    at, piece = 0, first
    while True:
        if piece.kind != "blob" or file_of(piece) != file_key or piece.says.get("at") != at:
            raise piece.refused("the file is incomplete: its next piece is missing")
        at += len(piece.data)
        yield piece
        if at >= file_key[1]:
            return
        following = await anext(coming, None)
        if following is None:
            raise piece.refused("the file is incomplete: its next piece is missing")
        if not following.data:
            raise following.refused("the file is incomplete: its next piece is missing")
        piece = following
