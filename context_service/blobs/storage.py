"""Blobs: bytes under keys that the server makes, with the same behaviour over every backend.

`BlobStorage` is the portable type: it cuts uploads into blocks, counts and hashes them, enforces the size limit, and
checks the bytes that it reads back. A `BlobBackend` only moves bytes; its docstrings and the conformance suite are its
contract.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import google_crc32c

from context_service.blobs.retries import Retries
from contextkeep.errors import (
    AlreadyExists,
    BlobCorrupted,
    BlobNotFound,
    BlobTooLarge,
    ChecksumMismatch,
    ProviderNotConfigured,
    RangePastEnd,
    SizeMismatch,
    Unavailable,
)
from service_runtime.telemetry import tracing

_log = logging.getLogger("blobs")

BLOCK_BYTES = 1024 * 1024  # unit of hashing, writing, reading and checking
_CRC_BYTES = 4
WRITABLE_TIMEOUT_S = 10.0  # timeout of the write test at the start
# The most bytes that one transfer holds in memory: the part that is being filled, and the parts that are being sent or
# fetched.
_WRITING_BYTES = {"s3": 24 * BLOCK_BYTES, "gcs": 24 * BLOCK_BYTES, "azure": 12 * BLOCK_BYTES}
_READING_BYTES = {"gcs": 12 * BLOCK_BYTES, "azure": 12 * BLOCK_BYTES}
_ELSEWHERE_BYTES = 2 * BLOCK_BYTES  # the same for providers that are not in these tables

REGISTER = "erasures/"  # prefix of keys that are not blobs: see `erasure/rules/register.py`
# Lower case, because some file systems ignore case; no dots, so that no name is hidden or leaves its folder.
_KEY = re.compile(r"[a-z0-9_-]{1,128}(/[a-z0-9_-]{1,128}){0,7}")


class BlobExists(AlreadyExists):
    """The key of a new blob is taken. Keys are random, so this is a bug."""

    reason = "BLOB_EXISTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The size and hash that an upload declares before its bytes."""

    size_bytes: int | None = None
    sha256: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The size and hashes of the bytes of a blob, computed while they passed."""

    size_bytes: int
    sha256: bytes
    crc32c: bytes  # the checksum of each block, four bytes each, big-endian


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    """Where a blob is, and its size and checksums."""

    provider: str
    key: str
    size_bytes: int
    crc32c: bytes  # as in `Digest`


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobStat:
    """One entry of a backend's list."""

    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """Properties of a signed URL."""

    expires_at: datetime  # aware
    file_name: str  # the caller's text, which the browser offers as the name of the file
    content_type: str


class BlobBackend(Protocol):
    """One store of blobs. Each key passes `check_key` and is written only once; no key is a folder of another.

    Every method raises `Unavailable` when the store does not answer and `ProviderNotConfigured` when it refuses the
    credentials or lacks the container, and can be cancelled.

    Attributes:
        retries: The policy of retries of requests to this store.
    """

    retries: Retries

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`.

        When this returns, the blob is complete, durable and readable. Before that, and if it raises or is cancelled,
        nothing can be read under the key. `delete` removes the remains of a write that was killed.

        Args:
            key: A key that was never used before.
            blocks: `BLOCK_BYTES` each, except the last. Their errors end the write and are raised.

        Raises:
            BlobExists: the key is taken, if the store can detect it.
            StorageFull: the store has no room left.
        """
        ...

    def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start_bytes` up to `end_bytes`, or to the end of a blob that is shorter.

        Chunks hold 1 byte to `BLOCK_BYTES`; their borders mean nothing.

        Raises:
            BlobNotFound: before the first chunk.
            Unavailable: at any chunk; the chunks before it are a correct prefix.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove the blob, and the remains of a killed write of it; a missing blob is not an error."""
        ...

    def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs whose keys start with `prefix`, in pages and in no particular order.

        A blob that exists during the whole listing is in it once; one that is written or removed meanwhile may be.

        Args:
            prefix: The beginning of the keys; empty lists all blobs.
            page_size: The number of blobs of a page at most.
            unfinished: Include unfinished writes, if the store shows them.
        """
        ...

    async def download_url(self, key: str, download: Download) -> str:
        """Return a URL from which anyone can download the blob; it is not checked that the blob exists.

        Raises:
            NoDownloadUrl: the store, or its credentials, cannot sign URLs.
        """
        ...

    async def check(self) -> None:
        """Check the health of the store.

        Raises:
            Unavailable: it does not answer, or nothing could be written.
        """
        ...


class BlobStorage:
    """All configured backends, with the checks that all of them need.

    Args:
        backends: The configured backends, by the name of the provider.
        provider: The name of the provider that stores new blobs.
        absent: For each provider without a backend, why it is not configured.
    """

    def __init__(
        self,
        backends: Mapping[str, BlobBackend],
        *,
        provider: str,
        absent: Mapping[str, str] | None = None,
    ) -> None:
        self._backends = backends
        self._absent = absent or {}
        self.provider = provider

    def towards(self, provider: str) -> BlobStorage:
        """Return a storage with the same backends that stores new blobs with another provider."""
        return BlobStorage(self._backends, provider=provider, absent=self._absent)

    def providers(self) -> list[str]:
        """Return the configured providers."""
        return list(self._backends)

    def writing_bytes(self, size_bytes: int) -> int:
        """Return how many bytes a write to the current provider holds after it received `size_bytes`."""
        return min(size_bytes, _WRITING_BYTES.get(self.provider, _ELSEWHERE_BYTES))

    def reading_bytes(self, provider: str, size_bytes: int) -> int:
        """Return how many bytes a read of `size_bytes` holds while its reader stalls."""
        return min(size_bytes, _READING_BYTES.get(provider, _ELSEWHERE_BYTES))

    def new_key(self, tenant_id: UUID) -> str:
        """Return a new random key, with no text from a caller."""
        name = secrets.token_hex(16)
        # Two letters in between keep folders small on file systems.
        return f"{tenant_id.hex}/{name[:2]}/{name}"

    async def write(
        self, key: str, chunks: AsyncIterable[bytes], *, declared: Declared, size_bytes_max: int = sys.maxsize
    ) -> Digest:
        """Store the chunks as a blob of the current provider, and return their size and hashes.

        Args:
            key: A key that `new_key` returned.
            chunks: The bytes of the blob, in chunks of any size.
            declared: The size and hash that the bytes must have.
            size_bytes_max: The upload is refused as soon as it has more bytes.

        Raises:
            BlobTooLarge: the upload has more than `size_bytes_max` bytes.
            SizeMismatch, ChecksumMismatch: the bytes do not have the declared size or hash.
            StorageFull, Unavailable: the provider has no room, or does not answer.

        After each of these errors, nothing is stored.
        """
        check_key(key)
        started = time.monotonic()
        tally = _Tally()
        with tracing.span("blob write", provider=self.provider):
            async with aclosing(self._verify(chunks, tally, declared, size_bytes_max)) as blocks:
                await self._backend(self.provider).write(key, blocks)
        digest = tally.digest()
        _log.debug(
            "blob written",
            extra={
                "provider": self.provider,
                "key": key,
                "size_bytes": digest.size_bytes,
                "duration_s": time.monotonic() - started,
            },
        )
        return digest

    def end_of_range(self, size_bytes: int, start_bytes: int, length_bytes: int) -> int:
        """Return where a range ends in a blob of `size_bytes`.

        Args:
            size_bytes: The size of the blob.
            start_bytes: The first byte. It must be before the end of the blob, except that 0 is allowed for an empty
                blob.
            length_bytes: The number of bytes to read. 0 reads to the end, and so does a number past the end.

        Raises:
            RangePastEnd: the range starts at the end or after it.
        """
        if start_bytes and start_bytes >= size_bytes:
            raise RangePastEnd(
                f"the range must start before byte {size_bytes}, the end of the blob (got {start_bytes})",
                size_bytes=size_bytes,
            )
        return min(start_bytes + length_bytes, size_bytes) if length_bytes else size_bytes

    async def read(self, blob: StoredBlob, *, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of a blob in chunks of up to `BLOCK_BYTES`, each checked.

        Whole blocks are read, compared with their checksums, and cut to the range.

        Raises:
            BlobCorrupted: bytes are missing or differ; discard the chunks before.
            ProviderNotConfigured: the provider of the blob is not configured here.
            Unavailable: the backend does not answer.
        """
        first_bytes = start_bytes - start_bytes % BLOCK_BYTES
        last_bytes = min(end_bytes + -end_bytes % BLOCK_BYTES, blob.size_bytes)
        backend = self._backend(blob.provider)
        position = first_bytes
        try:
            async with AsyncExitStack() as opened:
                opened.enter_context(tracing.span("blob read", provider=blob.provider))
                blocks = await opened.enter_async_context(aclosing(_read_on(backend, blob, first_bytes, last_bytes)))
                async for block in blocks:
                    if not _is_block(blob, position, block):
                        raise _corruption(blob, position)
                    yield block[max(start_bytes - position, 0) : end_bytes - position]
                    position += len(block)
        except BlobNotFound as error:
            raise _corruption(blob, position) from error
        if position != last_bytes:
            raise _corruption(blob, position)

    async def delete(self, provider: str, key: str) -> None:
        """Remove a blob, and the remains of a killed write of it; a missing blob is not an error.

        Raises:
            ProviderNotConfigured, Unavailable: it was not removed.
        """
        backend = self._backend(provider)
        await backend.retries.call(lambda: backend.delete(key))

    async def download_url(self, blob: StoredBlob, download: Download) -> str:
        """Return a URL from which anyone can download the blob.

        Raises:
            NoDownloadUrl: the provider, or its credentials, cannot sign URLs.
            ProviderNotConfigured: it is not configured here.
            Unavailable: the backend does not answer.
        """
        backend = self._backend(blob.provider)
        return await backend.retries.call(lambda: backend.download_url(blob.key, download))

    async def check(self, provider: str = "") -> None:
        """Check the health of a provider, by default of the current one.

        Raises:
            Unavailable: the backend does not answer.
            ProviderNotConfigured: its settings are missing or wrong.
        """
        await self._backend(provider or self.provider).check()

    async def check_writable(self) -> None:
        """Write a small blob to the current provider and remove it, to prove at the start that uploads can be stored.

        Raises:
            ProviderNotConfigured: the container is missing, or the credentials do not allow writing and removing.
            StorageFull: the provider has no room.
            Unavailable: no answer within `WRITABLE_TIMEOUT_S`.
        """
        backend = self._backend(self.provider)
        key = f"start-{secrets.token_hex(16)}"  # if a kill leaves it, fsck counts it as foreign

        async def blocks() -> AsyncGenerator[bytes, None]:
            yield b"contextkeep"

        try:
            async with asyncio.timeout(WRITABLE_TIMEOUT_S):
                await backend.check()
                await backend.write(key, blocks())
                await self.delete(self.provider, key)
        except TimeoutError as error:
            raise Unavailable(
                f"the blob provider {self.provider} did not answer within {WRITABLE_TIMEOUT_S:g} s",
                dependency=self.provider,
            ) from error

    def list_pages(
        self, provider: str, prefix: str = "", *, unfinished: bool = True
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield everything that is stored with a provider, in pages without an order.

        Args:
            provider: The name of a configured provider.
            prefix: The beginning of the keys; empty lists everything.
            unfinished: Whether unfinished writes are listed, too.

        Raises:
            ProviderNotConfigured, Unavailable: at any page.
        """
        return self._backend(provider).list_pages(prefix, unfinished=unfinished)

    async def is_stored(self, provider: str, key: str, *, unfinished: bool = True) -> bool:
        """Tell whether anything is stored under a key; with `unfinished`, also an unfinished write.

        Raises:
            ProviderNotConfigured, Unavailable: the provider could not answer.
        """
        async with aclosing(self._backend(provider).list_pages(key, unfinished=unfinished)) as pages:
            return any([stat.key == key async for page in pages for stat in page])

    def _backend(self, provider: str) -> BlobBackend:
        """Return the backend of a provider.

        Raises:
            ProviderNotConfigured: this process has no settings for the provider.
        """
        try:
            return self._backends[provider]
        except KeyError:
            why = self._absent.get(provider, "this release does not support it")
            raise ProviderNotConfigured(
                f"provider {provider} is not configured here: {why}", provider=provider
            ) from None

    async def _verify(
        self, chunks: AsyncIterable[bytes], tally: _Tally, declared: Declared, size_bytes_max: int
    ) -> AsyncGenerator[bytes, None]:
        """Yield the blocks of an upload; raise after the last one if their size or hash is not the declared one."""
        async with aclosing(in_blocks(chunks)) as blocks:
            async for block in blocks:
                tally.add(block)
                check_blob_size(tally.size_bytes, size_bytes_max=size_bytes_max)
                if declared.size_bytes is not None and tally.size_bytes > declared.size_bytes:
                    break
                yield block
        if declared.size_bytes not in (None, tally.size_bytes):
            more = "at least " if tally.size_bytes > (declared.size_bytes or 0) else ""
            raise SizeMismatch(
                f"the upload has {more}{tally.size_bytes} bytes, but {declared.size_bytes} were declared",
                size_bytes=tally.size_bytes,
                size_bytes_declared=declared.size_bytes,
            )
        sha256 = tally.digest().sha256
        if declared.sha256 not in (None, sha256):
            raise ChecksumMismatch(
                "the sha256 of the uploaded bytes differs from the declared one; upload them again", sha256=sha256.hex()
            )


class _Tally:
    """Counts and hashes blocks as they pass."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._sha256 = hashlib.sha256()
        self._crc32c = bytearray()

    def add(self, block: bytes) -> None:
        self.size_bytes += len(block)
        self._sha256.update(block)
        self._crc32c += google_crc32c.value(block).to_bytes(_CRC_BYTES, "big")

    def digest(self) -> Digest:
        return Digest(size_bytes=self.size_bytes, sha256=self._sha256.digest(), crc32c=bytes(self._crc32c))


def check_blob_size(size_bytes: int, *, size_bytes_max: int) -> None:
    """Refuse a blob that is too large already, or by its declared size.

    Raises:
        BlobTooLarge: the blob has more than `size_bytes_max` bytes.
    """
    if size_bytes > size_bytes_max:
        raise BlobTooLarge(
            f"a blob may have up to {size_bytes_max} bytes (got {size_bytes} or more)",
            size_bytes=size_bytes,
            size_bytes_max=size_bytes_max,
            limit="blob",
            limit_max=size_bytes_max,
            value=size_bytes,
        )


def check_key(key: str) -> None:
    """Refuse a key that `BlobStorage.new_key` cannot have made, before a backend uses it as a name or a path.

    Raises:
        ValueError: the key is malformed, which is a bug.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a valid blob key")


async def in_blocks(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the same bytes in blocks of `BLOCK_BYTES`; the last one has the rest, and is never empty."""
    buffer = bytearray()
    async for chunk in chunks:
        if not buffer and len(chunk) == BLOCK_BYTES:
            yield chunk  # the usual case: nothing is copied
            continue
        buffer += chunk
        while len(buffer) >= BLOCK_BYTES:
            yield bytes(memoryview(buffer)[:BLOCK_BYTES])
            del buffer[:BLOCK_BYTES]
    if buffer:
        yield bytes(buffer)


async def _read_on(
    backend: BlobBackend, blob: StoredBlob, start_bytes: int, end_bytes: int
) -> AsyncGenerator[bytes, None]:
    """Yield a range in blocks; if the backend breaks off, continue after the last complete block."""
    position = start_bytes
    attempts = backend.retries.attempts()
    while True:
        begun = position
        try:
            async with (
                aclosing(backend.read(blob.key, position, end_bytes)) as chunks,
                aclosing(in_blocks(chunks)) as blocks,
            ):
                async for block in blocks:
                    yield block
                    position += len(block)
            attempts.succeeded()
            return
        except Unavailable as error:
            if position > begun:
                attempts = backend.retries.attempts()  # progress restores all attempts
            delay_s = attempts.delay_s(error)
            if delay_s is None:
                raise
            await asyncio.sleep(delay_s)


def _is_block(blob: StoredBlob, position: int, block: bytes) -> bool:
    """Tell whether `block` has the length and the checksum of the block at `position`."""
    at = position // BLOCK_BYTES * _CRC_BYTES
    return (
        len(block) == min(BLOCK_BYTES, blob.size_bytes - position)
        and google_crc32c.value(block).to_bytes(_CRC_BYTES, "big") == blob.crc32c[at : at + _CRC_BYTES]
    )


def _corruption(blob: StoredBlob, position: int) -> BlobCorrupted:
    """Log that stored bytes are damaged from a position on, and return the error for the caller."""
    _log.error("blob corrupted", extra={"provider": blob.provider, "key": blob.key, "position_bytes": position})
    return BlobCorrupted(
        "stored bytes are missing or do not match their checksum; discard the bytes read so far",
        provider=blob.provider,
        position_bytes=position,
    )
