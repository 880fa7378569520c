"""What holds of large blobs, with every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from context_service.blobs.storage import BLOCK_BYTES, BlobBackend, BlobStorage, Declared, Digest, StoredBlob
from tests.conformance.blob_backend import BlobBackendConformance
from tests.noise import noise

MIB = 1024 * 1024
GIB = 1024 * MIB


class LargeBlobConformance(BlobBackendConformance):
    """The suite of all backends, with blobs that do not fit into what a transfer may hold."""

    # Where it takes too much of an emulator.
    takes_1_gib = True

    async def test_64_mib_come_back(self, backend: BlobBackend, key: str):
        await there_and_back(backend, key, size_bytes=64 * MIB)

    @pytest.mark.soak
    @pytest.mark.timeout(900)
    async def test_1_gib_comes_back(self, backend: BlobBackend, key: str):
        if not self.takes_1_gib:
            pytest.skip("the emulator takes minutes and gigabytes of memory for it")
        await there_and_back(backend, key, size_bytes=GIB)


async def there_and_back(backend: BlobBackend, key: str, *, size_bytes: int) -> None:
    """Write a blob of whole blocks, each of them different, read it with its checksums, and delete it."""
    storage = storage_of(backend)
    block = noise(BLOCK_BYTES)

    async def blocks() -> AsyncIterator[bytes]:
        for number in range(size_bytes // BLOCK_BYTES):
            yield number.to_bytes(4, "big") + block[4:]

    digest = await storage.write(key, blocks(), declared=Declared(size_bytes=size_bytes))

    number = 0
    async with aclosing(storage.read(stored(key, digest), start_bytes=0, end_bytes=size_bytes)) as chunks:
        async for chunk in chunks:
            assert chunk == number.to_bytes(4, "big") + block[4:]
            number += 1
    assert number == size_bytes // BLOCK_BYTES
    await backend.delete(key)


def storage_of(backend: BlobBackend) -> BlobStorage:
    return BlobStorage({"here": backend}, provider="here")


def stored(key: str, digest: Digest) -> StoredBlob:
    return StoredBlob(provider="here", key=key, size_bytes=digest.size_bytes, crc32c=digest.crc32c)
