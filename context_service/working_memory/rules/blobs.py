"""A blob on its way in: a row with a lease, the bytes, and the block in which whoever sent them makes them count.

The row comes before the first byte, so whatever happens in between is known to the sweeper. Uploads of all kinds come
this way; what differs is the block.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from uuid import UUID

from context_service.blobs.storage import BlobStorage, Declared, Digest
from context_service.working_memory.store import blob_rows
from contextkeep.errors import ContextKeepError, UploadExpired
from service_runtime.calls import hold_bytes, raise_if_cancelled
from service_runtime.ids import new_id
from service_runtime.postgres import Tenant

_log = logging.getLogger("working_memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBlob:
    """Bytes that are durable, under a row that is still `writing`."""

    id: UUID
    provider: str
    digest: Digest


class BlobWriter:
    """Writes blobs of all tenants.

    Args:
        storage: Where the bytes go.
        lease_s: How long a writer may be silent.
    """

    def __init__(self, storage: BlobStorage, *, lease_s: float) -> None:
        self._storage = storage
        self._lease_s = lease_s
        self._clearing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def written(
        self,
        tenant: Tenant,
        chunks: AsyncIterable[bytes],
        *,
        declared: Declared,
        size_bytes_max: int = sys.maxsize,
    ) -> AsyncIterator[WrittenBlob]:
        """Store the chunks for a block that takes the blob out of the state `writing`, in a transaction.

        If anything fails, in the block too, nothing of it stays.

        Args:
            tenant: Whose.
            chunks: The bytes.
            declared: What they must add up to.
            size_bytes_max: As many bytes are taken.

        Raises:
            BlobTooLarge, SizeMismatch, ChecksumMismatch, StorageFull, Unavailable: see `BlobStorage.write`.
            UploadExpired: no byte came for as long as the lease lasts.
            HeldBytesExceeded: too much is held for the caller.
            Whatever `chunks` raise.
        """
        blob_id, key, provider = new_id(), self._storage.new_key(tenant.tenant_id), self._storage.provider
        try:
            await blob_rows.start(tenant, blob_id, provider=provider, key=key, lease_s=self._lease_s)
            async with aclosing(self._charged(self._leased(tenant, blob_id, chunks))) as leased:
                digest = await self._storage.write(key, leased, declared=declared, size_bytes_max=size_bytes_max)
            yield WrittenBlob(id=blob_id, provider=provider, digest=digest)
        except BaseException:
            await self._clear(tenant, blob_id, provider, key)
            raise

    async def _charged(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, and charge the caller for what the provider's library holds of them."""
        size_bytes = 0
        with hold_bytes() as held:
            async with aclosing(chunks):
                async for chunk in chunks:
                    size_bytes += len(chunk)
                    held.set(self._storage.writing_bytes(size_bytes))
                    yield chunk

    async def _leased(self, tenant: Tenant, blob_id: UUID, chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, keeping the sweeper away while they come.

        Raises:
            UploadExpired: none came for the time of the lease, or the sweeper was here.
        """
        renew_at = time.monotonic() + self._lease_s / 3
        coming: AsyncIterator[bytes] = aiter(chunks)
        chunk: bytes | None = b""
        while chunk is not None:
            try:
                async with asyncio.timeout(self._lease_s):
                    chunk = await anext(coming, None)
            except TimeoutError:
                raise upload_expired() from None
            # Also behind the last chunk: the file gets its name next.
            if time.monotonic() >= renew_at:
                if not await blob_rows.renew(tenant, blob_id, lease_s=self._lease_s):
                    raise upload_expired()
                renew_at = time.monotonic() + self._lease_s / 3
            if chunk:
                yield chunk
        # grpc ends the stream of a cancelled call as it ends a whole one.
        raise_if_cancelled()

    async def _clear(self, tenant: Tenant, blob_id: UUID, provider: str, key: str) -> None:
        """Hand what is left of a failed upload to the sweeper, also if the call is cancelled again meanwhile.

        In a context of its own: the call may have no time left, but this must be done.
        """
        task = asyncio.create_task(self._hand_over(tenant, blob_id, provider, key), context=Context())
        self._clearing.add(task)
        task.add_done_callback(self._clearing.discard)
        await asyncio.shield(task)

    async def _hand_over(self, tenant: Tenant, blob_id: UUID, provider: str, key: str) -> None:
        try:
            if await blob_rows.give_up(tenant, blob_id) or await blob_rows.is_used(tenant, blob_id):
                return
            # The sweeper has been here, and may have looked for the bytes before they had their name.
            await self._storage.delete(provider, key)
        except ContextKeepError as error:
            # The row is still `writing`: the sweeper finds it when the lease is over.
            _log.warning("failed upload not handed over", extra={"blob_id": blob_id, "error": str(error)})


def upload_expired() -> UploadExpired:
    """Return the error that says that the sweeper may have taken what was written."""
    return UploadExpired("the upload was silent for too long, and was given up; nothing was stored")
