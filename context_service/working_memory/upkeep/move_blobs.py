"""Moves blobs from one provider to another, while the services run.

A blob is read with its checksums and written under a new key. Then one transaction points its records to the new blob
and hands the old one to the sweeper after a grace time, so that reads under way still find its bytes. An interrupted
run keeps its progress: start it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from context_service.blobs.storage import BlobStorage, Declared
from context_service.working_memory.rules.blobs import BlobWriter, upload_expired
from context_service.working_memory.store.blobs import blob_rows, stored_blobs
from context_service.working_memory.store.blobs.stored_blobs import BlobCount, BlobRow
from contextkeep.errors import Aborted, BlobCorrupted, ChecksumMismatch, InvalidArgument, SizeMismatch, Unavailable
from service_runtime.postgres import Database, Tenant, Transaction

_T = TypeVar("_T")

_log = logging.getLogger("moving")

OPERATOR = "operator"  # the principal of changes from the command line
# The bytes of a moved blob stay at least this long, even if the setting is shorter, for reads that are under way.
GRACE_S_MIN = 3600.0
_AT_ONCE = 4  # blobs that are copied at the same time
_ATTEMPTS = 5  # attempts to copy one blob
_PAUSE_S = 2.0  # the pause before the second attempt; each further pause is this much longer

DAMAGED = (BlobCorrupted, ChecksumMismatch, SizeMismatch)  # errors of a read whose bytes differ from the row


@dataclass(slots=True, kw_only=True)
class Copied:
    """The results of a copy so far."""

    to_do: BlobCount
    blobs: int = 0  # blobs that are at the target now
    size_bytes: int = 0  # the bytes of these blobs
    records: int = 0  # records that point to the target now
    blobs_shared: int = 0  # the number of these blobs whose content was at the target already
    blobs_gone: int = 0  # blobs that were purged while the copy ran
    blobs_damaged: int = 0  # damaged blobs, which stay where they are; `fsck` says more
    databases_away: tuple[str, ...] = ()  # databases that do not answer; the blobs of their tenants stay


Progress = Callable[[Copied], None]


class Mover:
    """Moves the records of a blob to another blob of the same content.

    Args:
        storage: The providers that hold the bytes.
        lease_s: Seconds without a byte after which the sweeper may remove a new blob.
        grace_s: Seconds that the bytes of a moved blob stay.
    """

    def __init__(self, storage: BlobStorage, *, lease_s: float, grace_s: float) -> None:
        self._storage = storage
        self._lease_s = lease_s
        self._grace_s = max(grace_s, GRACE_S_MIN)

    async def share(self, tenant: Tenant, blob: BlobRow, *, provider: str, details: dict[str, str]) -> int | None:
        """Point the records of a blob to another blob of the same content, if the provider has one.

        Returns:
            The number of moved records; None if the provider has no other blob, or this blob is not live any more.
        """

        async def work(transaction: Transaction) -> int | None:
            if not await stored_blobs.lock(transaction, blob.id):
                return None
            other = await stored_blobs.hold_same_content(transaction, blob, provider=provider)
            return None if other is None else await self._move(transaction, blob.id, other, provider, details)

        return await tenant.transaction(work)

    async def copy(
        self, tenant: Tenant, blob: BlobRow, source: BlobRow, *, provider: str, details: dict[str, str]
    ) -> int | None:
        """Write the bytes of `source` again and point the records of `blob` to the new blob.

        Args:
            tenant: The tenant that owns both blobs.
            blob: The blob that the records point to now.
            source: A blob with the same content to read from, which may be `blob` itself.
            provider: The provider that stores the new blob.
            details: Entries for the action log of the moved records.

        Returns:
            The number of records; None if the blob is not live any more, and nothing was stored.

        Raises:
            BlobCorrupted, ChecksumMismatch, SizeMismatch: the source is damaged.
            StorageFull, Unavailable, ProviderNotConfigured: of either provider.
        """
        writer = BlobWriter(self._storage.towards(provider), lease_s=self._lease_s)
        declared = Declared(size_bytes=blob.size_bytes, sha256=blob.sha256)
        async with (
            aclosing(self._storage.read(source.stored(), start_bytes=0, end_bytes=source.size_bytes)) as chunks,
            writer.written(tenant, chunks, declared=declared) as written,
        ):

            async def work(transaction: Transaction) -> int | None:
                if not await stored_blobs.lock(transaction, blob.id):
                    await blob_rows.give_up(transaction, written.id)
                    return None
                new_id = await blob_rows.publish(transaction, written.id, provider=provider, digest=written.digest)
                if new_id is None:
                    raise upload_expired()
                return await self._move(transaction, blob.id, new_id, provider, details)

            return await blob_rows.publishing(tenant, work)

    async def _move(
        self, transaction: Transaction, from_id: UUID, to_id: UUID, provider: str, details: dict[str, str]
    ) -> int:
        """Point the records of a locked blob to another one, and let the sweeper remove the old one later."""
        return await stored_blobs.move_records(
            transaction,
            from_id,
            to_id,
            provider=provider,
            principal=OPERATOR,
            details=details,
            grace_s=self._grace_s,
        )


class ProviderCopy:
    """Copies all blobs of all tenants from one provider to another."""

    def __init__(self, database: Database, *, storage: BlobStorage, mover: Mover) -> None:
        self._database = database
        self._storage = storage
        self._mover = mover

    async def run(self, source: str, target: str, *, dry_run: bool, on_progress: Progress) -> Copied:
        """Copy, and return the results; with `dry_run`, only count the blobs.

        Raises:
            InvalidArgument: source and target are the same.
            ProviderNotConfigured: one of the providers is not configured.
            StorageFull, Unavailable: the copy stopped; a new run continues where it stopped.
        """
        if source == target:
            raise InvalidArgument(f"source and target must differ (both are {source})", field="to")
        for provider in (source, target):
            await self._storage.check(provider)
        tenants = await self._database.tenants(reachable=True)
        to_do = BlobCount()
        for tenant in tenants:
            to_do += await stored_blobs.count(tenant, provider=source)
        done = Copied(to_do=to_do, databases_away=self._database.away)
        on_progress(done)
        if dry_run:
            return done
        for tenant in tenants:

            async def copy(blob: BlobRow, tenant: Tenant = tenant) -> None:
                await self._copy_one(tenant, blob, target, done)
                on_progress(done)

            await for_each(stored_blobs.rows(tenant, provider=source), copy, at_once=_AT_ONCE)
        return done

    async def _copy_one(self, tenant: Tenant, blob: BlobRow, target: str, done: Copied) -> None:
        """Copy one blob to the target, or use a blob there that has the same content; add the result to `done`.

        A damaged blob is counted and skipped, so that it does not end the copy of the others.
        """
        details = {"from": blob.provider, "to": target}
        try:
            records = await self._mover.share(tenant, blob, provider=target, details=details)
            done.blobs_shared += records is not None
            if records is None:
                records = await _patiently(
                    lambda: self._mover.copy(tenant, blob, blob, provider=target, details=details)
                )
        except DAMAGED as error:
            _log.error("blob not copied: it is damaged", extra={"blob_id": blob.id, "error": str(error)})
            done.blobs_damaged += 1
            return
        if records is None:
            done.blobs_gone += 1
            return
        done.blobs += 1
        done.size_bytes += blob.size_bytes
        done.records += records


async def for_each(
    items: AsyncGenerator[_T, None], work: Callable[[_T], Coroutine[Any, Any, None]], *, at_once: int
) -> None:
    """Run the work for each item, several at a time; the first error cancels the others and is raised."""
    running: set[asyncio.Task[None]] = set()
    try:
        async with aclosing(items):
            async for item in items:
                running.add(asyncio.create_task(work(item)))
                if len(running) == at_once:
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
        for task in running:
            await task
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _patiently(work: Callable[[], Awaitable[int | None]]) -> int | None:
    """Retry after a short outage or a concurrent write of the same content, since a copy may run for hours."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return await work()
        except (Aborted, Unavailable) as error:
            _log.warning("trying again", extra={"attempt": attempt, "error": str(error)})
            await asyncio.sleep(_PAUSE_S * attempt)
    return await work()
