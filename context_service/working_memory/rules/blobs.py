"""Writes a blob: inserts a row with a lease, stores the bytes, and runs a block of the caller that commits them.

The row is inserted before the first byte, so that the sweeper finds the bytes that a failure leaves. A lease is the
time for which the sweeper leaves the row alone; it is renewed while bytes arrive. All kinds of uploads use this writer;
they differ in the block.
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
from context_service.working_memory.store.blobs import blob_rows
from contextkeep.errors import ContextKeepError, UploadExpired
from service_runtime.postgres import Tenant
from service_runtime.rpc.calls import hold_bytes, raise_if_cancelled
from service_runtime.values.ids import new_id

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
        storage: The providers that store the bytes.
        lease_s: Seconds without a byte after which the sweeper may remove an upload.
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
        """Store the chunks, and yield to a block whose transaction takes the blob out of the state `writing`.

        If anything fails, in the block too, the bytes are removed.

        Args:
            tenant: The tenant whose storage and limits the upload counts against.
            chunks: The bytes of the blob, in order.
            declared: The size and hash that the bytes must have, as the caller announced them.
            size_bytes_max: The upload fails if there are more bytes than this.

        Raises:
            BlobTooLarge, SizeMismatch, ChecksumMismatch, StorageFull, Unavailable: see `BlobStorage.write`.
            UploadExpired: no byte arrived for the time of the lease.
            HeldBytesExceeded: the service holds too many bytes for the caller.
            Errors of `chunks`.
        """
        blob_id, key, provider = new_id(), self._storage.new_key(tenant.tenant_id), self._storage.provider
        try:
            await blob_rows.start(tenant, blob_id, provider=provider, key=key, lease_s=self._lease_s)
            async with aclosing(self._charge(self._keep_lease(tenant, blob_id, chunks))) as leased:
                digest = await self._storage.write(key, leased, declared=declared, size_bytes_max=size_bytes_max)
            yield WrittenBlob(id=blob_id, provider=provider, digest=digest)
        except BaseException:
            await self._clear(tenant, blob_id, provider, key)
            raise

    async def _charge(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, and charge the caller for the bytes that the provider's library buffers."""
        size_bytes = 0
        with hold_bytes() as held_bytes:
            async with aclosing(chunks):
                async for chunk in chunks:
                    size_bytes += len(chunk)
                    held_bytes.set(self._storage.writing_bytes(size_bytes))
                    yield chunk

    async def _keep_lease(
        self, tenant: Tenant, blob_id: UUID, chunks: AsyncIterable[bytes]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, and renew the blob's lease meanwhile so that the sweeper leaves it alone.

        Raises:
            UploadExpired: no chunk came before the lease ended, or the sweeper has taken the blob.
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
            # The lease is renewed after the last chunk, too, because the store still has to publish the file.
            if time.monotonic() >= renew_at:
                if not await blob_rows.renew(tenant, blob_id, lease_s=self._lease_s):
                    raise upload_expired()
                renew_at = time.monotonic() + self._lease_s / 3
            if chunk:
                yield chunk
        # grpc ends the stream of a cancelled call in the same way as a complete one.
        raise_if_cancelled()

    async def _clear(self, tenant: Tenant, blob_id: UUID, provider: str, key: str) -> None:
        """Hand the bytes of a failed upload to the sweeper, even if the call is cancelled again meanwhile.

        The task has an empty context, and so not the deadline of the call, which may have passed.
        """
        task = asyncio.create_task(self._hand_over(tenant, blob_id, provider, key), context=Context())
        self._clearing.add(task)
        task.add_done_callback(self._clearing.discard)
        await asyncio.shield(task)

    async def _hand_over(self, tenant: Tenant, blob_id: UUID, provider: str, key: str) -> None:
        """Give the blob's row to the sweeper; if the sweeper has removed the row already, remove the bytes here."""
        try:
            if await blob_rows.give_up(tenant, blob_id) or await blob_rows.is_used(tenant, blob_id):
                return
            # The sweeper has taken the row, perhaps before the bytes had their name.
            await self._storage.delete(provider, key)
        except ContextKeepError as error:
            # The row is still `writing`: the sweeper finds it when its lease has expired.
            _log.warning(
                "parts of a failed upload not scheduled for removal", extra={"blob_id": blob_id, "error": str(error)}
            )


def upload_expired() -> UploadExpired:
    """Return the error for an upload whose bytes the sweeper may have removed."""
    return UploadExpired("no byte arrived for too long, so the upload was given up; nothing was stored: start it again")
