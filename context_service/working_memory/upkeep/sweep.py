"""The sweeper: purges records whose retention is over, removes bytes that no record needs, deletes old request ids.

It works from rows alone, so one pass is enough and any number of replicas may sweep at once: it claims a row, removes
the bytes, then the row. If a sweeper dies in between, another takes the row when its lease has expired.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from context_service.blobs.storage import BlobStorage
from context_service.working_memory.rules.retention import Purges
from context_service.working_memory.store.blobs import blob_rows, upload_rows
from context_service.working_memory.store.blobs.blob_rows import DueBlob
from contextkeep.errors import ContextKeepError
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.long_work import Pause
from service_runtime.postgres import Database, Tenant
from service_runtime.statements.requests import Requests

_log = logging.getLogger("sweep")

# How long a claimed row belongs to its sweeper. If the removal takes longer, another sweeper does it too, which is
# harmless.
LEASE_S = 30.0
_BATCH = 100  # rows of each kind that one step of a tenant claims
_DELETES_MAX = 8  # bytes of this many blobs are removed at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The results of a pass."""

    records_purged: int = 0  # records whose retention was over
    uploads_given_up: int = 0  # resumable uploads that got no new part for too long
    blobs_removed: int = 0  # blobs whose bytes were removed
    uploads_abandoned: int = 0  # the number of these blobs that come from uploads that were never finished
    blobs_failed: int = 0  # blobs whose bytes could not be removed; a later pass tries again
    databases_away: tuple[str, ...] = ()  # databases that do not answer, so that they were not swept

    def __add__(self, other: Swept) -> Swept:
        """Return the sums of two results."""
        return Swept(
            records_purged=self.records_purged + other.records_purged,
            uploads_given_up=self.uploads_given_up + other.uploads_given_up,
            blobs_removed=self.blobs_removed + other.blobs_removed,
            uploads_abandoned=self.uploads_abandoned + other.uploads_abandoned,
            blobs_failed=self.blobs_failed + other.blobs_failed,
            databases_away=self.databases_away or other.databases_away,
        )


class Sweeper:
    """Removes expired uploads and the bytes of released blobs, for all tenants, a batch of each in turn."""

    def __init__(
        self,
        database: Database,
        *,
        requests: Requests,
        storage: BlobStorage,
        purges: Purges,
    ) -> None:
        self._database = database
        self._requests = requests
        self._storage = storage
        self._purges = purges

    async def sweep(self, on_progress: Callable[[Swept], None] = lambda _: None) -> Swept:
        """Do one pass over all tenants, and return its results.

        Args:
            on_progress: Called after each step of a tenant, with the results so far.

        Raises:
            Unavailable: Postgres does not answer. Errors of a storage provider are counted, not raised.
        """
        swept = Swept()

        async def sweep_some(tenant: Tenant) -> tuple[int, bool]:
            nonlocal swept
            removed, more = await self._sweep_some(tenant)
            swept += removed
            on_progress(swept)
            return int(removed != Swept()), more

        await Rounds(self._database, sweep_some).run()
        if swept != Swept():
            _log.info("swept", extra=dataclasses.asdict(swept))
        return dataclasses.replace(swept, databases_away=self._database.away)

    async def keep_sweeping(self, interval_s: float) -> None:
        """Sweep until cancelled, at random intervals, so that replicas that start together drift apart."""
        while True:
            await asyncio.sleep(background.apart(interval_s, 0.5, 1.0))
            await background.attempted(self.sweep, "sweep", otherwise=None)

    async def _sweep_some(self, tenant: Tenant) -> tuple[Swept, bool]:
        """Remove a batch of each kind of a tenant; return whether there may be more."""
        _, more_requests = await self._requests.sweep(tenant)
        # Records are purged before blobs are removed, so that blobs without a grace time are removed in the same pass.
        swept = Swept(
            records_purged=await self._purges.purge_due(tenant, count_max=_BATCH),
            uploads_given_up=await upload_rows.give_up_due(tenant, count_max=_BATCH),
        )
        removed, more = await self._remove_some_bytes(tenant)
        return swept + removed, more or more_requests or swept != Swept()

    async def remove_bytes(self, tenant: Tenant, pause: Pause) -> Swept:
        """Remove all bytes of a tenant that are due, with a pause after each batch."""
        swept, more = Swept(), True
        while more:
            removed, more = await self._remove_some_bytes(tenant)
            swept += removed
            await pause()
        return swept

    async def _remove_some_bytes(self, tenant: Tenant) -> tuple[Swept, bool]:
        """Remove a batch of bytes and pause as long as that took, so that calls are served; say if more may be due."""
        began = time.monotonic()
        due = await blob_rows.claim_due(tenant, count_max=_BATCH, lease_s=LEASE_S)
        at_once = asyncio.Semaphore(_DELETES_MAX)
        tried = await asyncio.gather(*(self._remove(blob, at_once) for blob in due))
        gone = [blob for blob, is_removed in zip(due, tried, strict=True) if is_removed]
        if gone:  # one commit for all rows, because each commit makes Postgres sync its disk
            await blob_rows.forget(tenant, [blob.id for blob in gone])
        more = len(due) == _BATCH
        if more:
            await asyncio.sleep(time.monotonic() - began)
        swept = Swept(
            blobs_removed=len(gone),
            uploads_abandoned=sum(blob.was_abandoned for blob in gone),
            blobs_failed=len(due) - len(gone),
        )
        return swept, more

    async def _remove(self, blob: DueBlob, at_once: asyncio.Semaphore) -> bool:
        """Delete the bytes of a blob, and return whether that succeeded.

        A failure is logged, and the next sweep retries.
        """
        try:
            async with at_once:
                await self._storage.delete(blob.provider, blob.key)
        except ContextKeepError as error:
            _log.warning("blob not removed", extra={"blob_id": blob.id, "provider": blob.provider, "error": str(error)})
            return False
        return True
