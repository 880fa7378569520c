"""Blobs: bytes under keys that the server makes, the same over every backend.

`BlobStorage` is the portable type: it cuts uploads into blocks, counts and hashes them, refuses at the limit, and
checks what is read back. A `BlobBackend` only moves bytes; what it must hold to is its docstrings and the
conformance suite.
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
from service_runtime import tracing

_log = logging.getLogger("blobs")

BLOCK_BYTES = 1024 * 1024  # hashed, written, read and checked at once
_CRC_BYTES = 4
WRITABLE_TIMEOUT_S = 10.0  # of the proof at the start
# Held by one transfer with a provider, at most: the parts that are put together, and those that are on their way.
_WRITING_BYTES = {"s3": 24 * BLOCK_BYTES, "gcs": 24 * BLOCK_BYTES, "azure": 12 * BLOCK_BYTES}
_READING_BYTES = {"gcs": 12 * BLOCK_BYTES, "azure": 12 * BLOCK_BYTES}
_ELSEWHERE_BYTES = 2 * BLOCK_BYTES

REGISTER = "erasures/"  # keys that begin so are no blobs: see `erasure/rules/register.py`
# Lower case, because some file systems do not tell cases apart; no dots, so that no name climbs or hides.
_KEY = re.compile(r"[a-z0-9_-]{1,128}(/[a-z0-9_-]{1,128}){0,7}")


class BlobExists(AlreadyExists):
    """The key of a new blob is taken. Keys are random, so this is a fault of ours."""

    reason = "BLOB_EXISTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What an upload says beforehand that its bytes will be."""

    size_bytes: int | None = None
    sha256: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What the bytes of a blob were, as they passed."""

    size_bytes: int
    sha256: bytes
    crc32c: bytes  # of each block, four bytes each, big-endian


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    """Where a blob is, and what it must be."""

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
    """What a signed URL gives to whoever has it."""

    expires_at: datetime  # aware
    file_name: str  # the caller's text: a label, which is offered as the name of the file
    content_type: str


class BlobBackend(Protocol):
    """One place for blobs. Keys pass `check_key`, are written once and never again, and none is a folder of another.

    Every method raises `Unavailable` when the place does not answer, `ProviderNotConfigured` when it refuses our
    credentials or lacks the container, and lets a cancellation through.

    Attributes:
        retries: How often a request to it is sent again.
    """

    retries: Retries

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        """Store the blocks under `key`.

        When this returns, the blob is whole, durable and readable; before, and if it raises or is cancelled, there
        is nothing to read under the key. What is left of a write that was killed goes with `delete`.

        Args:
            key: A new one.
            blocks: `BLOCK_BYTES` each, but the last. What they raise ends the write and comes out of it.

        Raises:
            BlobExists: the key is taken, where the place can tell.
            StorageFull: it has no room left.
        """
        ...

    def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start_bytes` up to `end_bytes`, or to the end of a blob that is shorter.

        Chunks hold 1 byte to `BLOCK_BYTES`; their borders mean nothing.

        Raises:
            BlobNotFound: before the first chunk.
            Unavailable: at any chunk; what came before is a correct prefix.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove the blob, and whatever a killed write of it left; nothing there is no error."""
        ...

    def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield the blobs whose keys start with `prefix`, in pages and in no particular order.

        A blob that exists during a whole listing is in it once; one that comes or goes meanwhile may be.

        Args:
            prefix: Of the keys; empty: all of them.
            page_size: Blobs of a page at most.
            unfinished: With what writes have not finished, or never will, where the place shows it.
        """
        ...

    async def download_url(self, key: str, download: Download) -> str:
        """Return a URL that gives the blob to whoever has it; whether the blob exists is not looked at.

        Raises:
            NoDownloadUrl: this place, or its credentials, sign none.
        """
        ...

    async def check(self) -> None:
        """Ask the place for an answer: a health check.

        Raises:
            Unavailable: there is none, or nothing could be written.
        """
        ...


class BlobStorage:
    """All configured backends, and what holds for each of them.

    Args:
        backends: By provider name.
        provider: Where new blobs go.
        absent: Why other providers are not among the backends, by their names.
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
        """Return the same backends with another one for new blobs."""
        return BlobStorage(self._backends, provider=provider, absent=self._absent)

    def providers(self) -> list[str]:
        """Return the providers that can be read here."""
        return list(self._backends)

    def writing_bytes(self, size_bytes: int) -> int:
        """Return how many bytes a write to the current provider holds, of which so many have come."""
        return min(size_bytes, _WRITING_BYTES.get(self.provider, _ELSEWHERE_BYTES))

    def reading_bytes(self, provider: str, size_bytes: int) -> int:
        """Return how many bytes a read of so many holds, if its reader stands still."""
        return min(size_bytes, _READING_BYTES.get(provider, _ELSEWHERE_BYTES))

    def new_key(self, tenant_id: UUID) -> str:
        """Return a key that was never used: nothing in it comes from a caller."""
        name = secrets.token_hex(16)
        # Two letters in between keep folders small where folders are real.
        return f"{tenant_id.hex}/{name[:2]}/{name}"

    async def write(
        self, key: str, chunks: AsyncIterable[bytes], *, declared: Declared, size_bytes_max: int = sys.maxsize
    ) -> Digest:
        """Store the chunks as a blob of the current provider, and return what they were.

        Args:
            key: From `new_key`.
            chunks: Of any size.
            declared: What they must add up to.
            size_bytes_max: As many bytes are taken.

        Raises:
            BlobTooLarge, SizeMismatch, ChecksumMismatch: nothing is stored.
            StorageFull, Unavailable: nothing is stored.
        """
        check_key(key)
        started = time.monotonic()
        tally = _Tally()
        with tracing.span("blob write", provider=self.provider):
            async with aclosing(self._verified(chunks, tally, declared, size_bytes_max)) as blocks:
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
            size_bytes: Of the blob.
            start_bytes: First byte. The range of an empty blob starts at 0; of any other before its end.
            length_bytes: 0, or more than there is, reads to the end.

        Raises:
            RangePastEnd: the range starts at the end or behind it.
        """
        if start_bytes and start_bytes >= size_bytes:
            raise RangePastEnd(
                f"the range starts at byte {start_bytes} of a blob of {size_bytes}", size_bytes=size_bytes
            )
        return min(start_bytes + length_bytes, size_bytes) if length_bytes else size_bytes

    async def read(self, blob: StoredBlob, *, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield a range of a blob in chunks of up to `BLOCK_BYTES`, each checked.

        It is read from block border to block border, compared with the checksum of each block, and cut.

        Raises:
            BlobCorrupted: bytes are missing or others; what came before is to be thrown away.
            ProviderNotConfigured: the blob is where this deployment cannot read.
            Unavailable: the backend does not answer.
        """
        first_bytes = start_bytes - start_bytes % BLOCK_BYTES
        last_bytes = min(end_bytes + -end_bytes % BLOCK_BYTES, blob.size_bytes)
        backend = self._backend(blob.provider)
        position = first_bytes
        try:
            async with AsyncExitStack() as opened:
                opened.enter_context(tracing.span("blob read", provider=blob.provider))
                blocks = await opened.enter_async_context(aclosing(_resumed(backend, blob, first_bytes, last_bytes)))
                async for block in blocks:
                    if not _is_block(blob, position, block):
                        raise _corrupted(blob, position)
                    yield block[max(start_bytes - position, 0) : end_bytes - position]
                    position += len(block)
        except BlobNotFound as error:
            raise _corrupted(blob, position) from error
        if position != last_bytes:
            raise _corrupted(blob, position)

    async def delete(self, provider: str, key: str) -> None:
        """Remove a blob, and whatever a killed write of it left; nothing there is no error.

        Raises:
            ProviderNotConfigured, Unavailable: it is still there.
        """
        backend = self._backend(provider)
        await backend.retries.call(lambda: backend.delete(key))

    async def download_url(self, blob: StoredBlob, download: Download) -> str:
        """Return a URL that gives the blob to whoever has it.

        Raises:
            NoDownloadUrl: the provider, or its credentials, sign none.
            ProviderNotConfigured: it is not configured here.
            Unavailable: it does not answer.
        """
        backend = self._backend(blob.provider)
        return await backend.retries.call(lambda: backend.download_url(blob.key, download))

    async def check(self, provider: str = "") -> None:
        """Ask a provider for an answer, the current one unless another is named: a health check.

        Raises:
            Unavailable: there is none.
            ProviderNotConfigured: its settings are wrong, or it has none.
        """
        await self._backend(provider or self.provider).check()

    async def check_writable(self) -> None:
        """Write a small blob with the current provider and remove it: proof at the start that uploads can be stored.

        Raises:
            ProviderNotConfigured: the container is missing, or the credentials do not allow both.
            StorageFull: there is no room.
            Unavailable: no answer within `WRITABLE_TIMEOUT_S`.
        """
        backend = self._backend(self.provider)
        key = f"start-{secrets.token_hex(16)}"  # fsck calls it foreign, should a kill leave it

        async def blocks() -> AsyncGenerator[bytes, None]:
            yield b"contextkeep"

        try:
            async with asyncio.timeout(WRITABLE_TIMEOUT_S):
                await backend.check()
                await backend.write(key, blocks())
                await self.delete(self.provider, key)
        except TimeoutError as error:
            raise Unavailable("the provider of the blobs does not answer", dependency=self.provider) from error

    def list_pages(
        self, provider: str, prefix: str = "", *, unfinished: bool = True
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        """Yield all that is stored with a provider, in pages without an order.

        Args:
            provider: Which.
            prefix: Of the keys; empty: all of them.
            unfinished: With what writes have not finished.

        Raises:
            ProviderNotConfigured, Unavailable: at any page.
        """
        return self._backend(provider).list_pages(prefix, unfinished=unfinished)

    async def is_stored(self, provider: str, key: str, *, unfinished: bool = True) -> bool:
        """Tell whether there is anything under a key; with `unfinished`, a write that is not finished, too.

        Raises:
            ProviderNotConfigured, Unavailable: that is not known.
        """
        async with aclosing(self._backend(provider).list_pages(key, unfinished=unfinished)) as pages:
            return any([stat.key == key async for page in pages for stat in page])

    def _backend(self, provider: str) -> BlobBackend:
        try:
            return self._backends[provider]
        except KeyError:
            why = self._absent.get(provider, "this version does not know it")
            raise ProviderNotConfigured(
                f"provider {provider} is not configured here: {why}", provider=provider
            ) from None

    async def _verified(
        self, chunks: AsyncIterable[bytes], tally: _Tally, declared: Declared, size_bytes_max: int
    ) -> AsyncGenerator[bytes, None]:
        """Yield the blocks of an upload; raise behind the last one if they are not what was declared."""
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
                f"the upload has {more}{tally.size_bytes} bytes; declared were {declared.size_bytes}",
                size_bytes=tally.size_bytes,
                size_bytes_declared=declared.size_bytes,
            )
        sha256 = tally.digest().sha256
        if declared.sha256 not in (None, sha256):
            raise ChecksumMismatch("the sha256 of the upload is not the declared one", sha256=sha256.hex())


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
    """Refuse a blob that is too large, or says itself that it will be.

    Raises:
        BlobTooLarge: it is.
    """
    if size_bytes > size_bytes_max:
        raise BlobTooLarge(
            f"the blob exceeds the limit of {size_bytes_max} bytes",
            size_bytes=size_bytes,
            size_bytes_max=size_bytes_max,
            limit="blob",
            limit_max=size_bytes_max,
            value=size_bytes,
        )


def check_key(key: str) -> None:
    """Refuse what `BlobStorage.new_key` cannot have made; every backend asks before a key becomes a name or a path.

    Raises:
        ValueError: a fault of the program.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a blob key: {key!r}")


async def in_blocks(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the same bytes in blocks of `BLOCK_BYTES`; the last one is what remains, and never empty."""
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


async def _resumed(
    backend: BlobBackend, blob: StoredBlob, start_bytes: int, end_bytes: int
) -> AsyncGenerator[bytes, None]:
    """Yield a range in blocks; where the backend breaks off, go on behind the last whole block."""
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
                attempts = backend.retries.attempts()  # it moves: only standing still uses them up
            delay_s = attempts.delay_s(error)
            if delay_s is None:
                raise
            await asyncio.sleep(delay_s)


def _is_block(blob: StoredBlob, position: int, block: bytes) -> bool:
    """Tell whether `block` is what was written at `position`."""
    at = position // BLOCK_BYTES * _CRC_BYTES
    return (
        len(block) == min(BLOCK_BYTES, blob.size_bytes - position)
        and google_crc32c.value(block).to_bytes(_CRC_BYTES, "big") == blob.crc32c[at : at + _CRC_BYTES]
    )


def _corrupted(blob: StoredBlob, position: int) -> BlobCorrupted:
    _log.error("blob corrupted", extra={"provider": blob.provider, "key": blob.key, "position_bytes": position})
    return BlobCorrupted(
        "stored bytes are missing or do not match their checksum; what came before is to be thrown away",
        provider=blob.provider,
        position_bytes=position,
    )
