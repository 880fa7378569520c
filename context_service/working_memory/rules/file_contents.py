"""The bytes of files in requests to models, as base64.

A request has many files, and each of them may have megabytes. So they are read in chunks, and a request that is
streamed holds one chunk at a time.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from uuid import UUID

from context_service.blobs.storage import BlobStorage, StoredBlob
from context_service.kernel.rendering import PlacedFile
from context_service.working_memory.store.records import Records, StoredFile
from contextkeep.errors import RecordNotFound
from service_runtime.rpc.calls import hold_bytes
from service_runtime.rpc.principal import Principal

CHUNK_BYTES = 768 * 1024  # of a file, or of a body: less than 1 MiB in base64


def size_with_files(size_bytes: int, files: Sequence[PlacedFile]) -> int:
    """Return the size of a body of `size_bytes` after the base64 of its files is inserted."""
    return size_bytes + sum(-(-file.size_bytes // 3) * 4 for file in files)


class FileContents:
    """Reads the bytes of files; each call acts for its principal.

    Args:
        records: The store of the records that have the files.
        storage: The providers that hold the bytes.
    """

    def __init__(self, records: Records, storage: BlobStorage) -> None:
        self._records = records
        self._storage = storage

    async def files_of(
        self, record_ids: Collection[str], *, principal: Principal, context_id: UUID | None = None
    ) -> dict[str, StoredFile]:
        """Return the files of records, by the ids of the records. Records that cannot be read are left out.

        Args:
            record_ids: The records.
            principal: The caller; its bounds limit the records that belong to no context.
            context_id: A context that the caller sees: its records can be read, too.
        """
        return await self._records.files_of(principal, record_ids, context_id=context_id) if record_ids else {}

    async def whole(self, body: bytes, files: Sequence[PlacedFile], stored: Mapping[str, StoredFile]) -> bytes:
        """Return a body with the base64 of its files.

        Raises:
            The errors of `chunks`.
        """
        with hold_bytes() as charge:
            charge.set(size_with_files(len(body), files))
            chunks = self.chunks(body, files, stored)
            async with aclosing(chunks):
                return b"".join([chunk async for chunk in chunks])

    async def chunks(
        self, body: bytes, files: Sequence[PlacedFile], stored: Mapping[str, StoredFile]
    ) -> AsyncGenerator[bytes, None]:
        """Yield a body with the base64 of its files, in chunks of up to 1 MiB.

        Args:
            body: The body with an empty base64 for each file.
            files: The files, in their order.
            stored: The stored files, by the ids of their records.

        Raises:
            RecordNotFound: a file is not stored any more.
            BlobCorrupted, ProviderNotConfigured, Unavailable: the bytes cannot be read.
            HeldBytesExceeded: the service holds too many bytes for the caller.
        """
        at = 0
        for file in files:
            for chunk in _cut(body, at, file.offset_bytes):
                yield chunk
            at = file.offset_bytes
            if file.working_memory_id not in stored:
                raise _not_found(file.working_memory_id)
            base64 = self._base64(stored[file.working_memory_id].blob)
            async with aclosing(base64):
                async for chunk in base64:
                    yield chunk
        for chunk in _cut(body, at, len(body)):
            yield chunk

    async def read(self, blob: StoredBlob, *, start_bytes: int, end_bytes: int) -> bytes:
        """Return a range of the bytes of a blob.

        Raises:
            BlobCorrupted, ProviderNotConfigured, Unavailable: the bytes cannot be read.
            HeldBytesExceeded: the service holds too many bytes for the caller.
        """
        with hold_bytes() as charge:
            charge.set(end_bytes - start_bytes)
            chunks = self._read(blob, start_bytes, end_bytes)
            async with aclosing(chunks):
                return b"".join([chunk async for chunk in chunks])

    async def _base64(self, blob: StoredBlob) -> AsyncGenerator[bytes, None]:
        """Yield the base64 of a blob; each chunk but the last is of a multiple of three bytes."""
        rest = b""
        chunks = self._read(blob, 0, blob.size_bytes)
        async with aclosing(chunks):
            async for chunk in chunks:
                data = rest + chunk
                whole = len(data) - len(data) % 3
                for part in _cut(data, 0, whole):
                    yield b64encode(part)
                rest = data[whole:]
        if rest:
            yield b64encode(rest)

    async def _read(self, blob: StoredBlob, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of the bytes of a blob, and charge the caller for those that are read ahead."""
        with hold_bytes() as charge:
            charge.set(self._storage.reading_bytes(blob.provider, end_bytes - start_bytes))
            chunks = self._storage.read(blob, start_bytes=start_bytes, end_bytes=end_bytes)
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk


def _not_found(record_id: str) -> RecordNotFound:
    """Return the error for a file that is not stored, or not for this caller."""
    return RecordNotFound(f"no file has the id {record_id}; it may have been deleted", working_memory_id=record_id)


def _cut(data: bytes, start: int, end: int) -> list[bytes]:
    """Return a range of bytes in parts of up to `CHUNK_BYTES`, which three divides."""
    return [data[at : min(at + CHUNK_BYTES, end)] for at in range(start, end, CHUNK_BYTES)]
