"""Checks the rows of blobs against the stored bytes, and the stored bytes against the rows.

Every blob that a row points to is read and compared with its checksums; every stored key is looked up among the rows.
Without `repair` nothing is changed. A repair never removes bytes: bytes without a row get one, and the sweeper removes
them after the grace time, so that a repair against the wrong database can be undone.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from context_service.blobs.storage import REGISTER, BlobStat, BlobStorage
from context_service.working_memory.store.blobs import stored_blobs
from context_service.working_memory.store.blobs.stored_blobs import BlobCount, BlobRow
from context_service.working_memory.upkeep.move_blobs import DAMAGED, GRACE_S_MIN, Mover, for_each
from contextkeep.errors import BlobCorrupted, ProviderNotConfigured
from service_runtime.postgres import Database, Tenant
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

_log = logging.getLogger("fsck")

_AT_ONCE = 4
_ORPHANS_STRANGE = 10  # more orphans than this, and than half of the stored keys, suggest the wrong database
_RECORDS_SHOWN = 100  # the most records of one blob that a problem names
_KEY = re.compile(r"([0-9a-f]{32})/[0-9a-f]{2}/[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A difference between the rows and the stored bytes."""

    kind: str  # "damaged", "unreadable", "unreferenced", "orphan" or "was_damaged"
    provider: str
    key: str
    size_bytes: int
    tenant_id: str
    blob_id: str = ""
    working_memory_ids: tuple[str, ...] = ()  # of records that cannot be read; up to `_RECORDS_SHOWN`
    repaired: bool = False
    what: str = ""  # the repair that was made, or is possible


@dataclass(slots=True, kw_only=True)
class Report:
    """The results of a check so far."""

    to_do: BlobCount = field(default_factory=BlobCount)
    blobs: int = 0  # rows whose bytes were checked
    size_bytes: int = 0  # the bytes of these blobs
    stored: int = 0  # entries in the listings of the providers
    foreign: int = 0  # the number of these entries whose keys no service of this database made
    problems: list[Problem] = field(default_factory=list)
    databases_away: tuple[str, ...] = ()  # databases that do not answer; the keys of their tenants count as foreign

    @property
    def is_clean(self) -> bool:
        """Tell whether no known problem is left."""
        return not self.databases_away and all(problem.repaired for problem in self.problems)

    def counted(self) -> dict[str, int]:
        """Return the counts of the check so far."""
        return {
            "blobs_to_do": self.to_do.blobs,
            "bytes_to_do": self.to_do.size_bytes,
            "blobs": self.blobs,
            "size_bytes": self.size_bytes,
            "stored": self.stored,
            "foreign": self.foreign,
            "problem_count": len(self.problems),
            "problems_left": sum(not problem.repaired for problem in self.problems),
        }


Progress = Callable[[Report], None]


class Fsck:
    """Compares the rows of blobs with the stored bytes, for all tenants and all configured providers.

    Args:
        database: The database that holds the rows of blobs.
        storage: The providers that hold the bytes.
        mover: Points the records of a damaged blob to a sound copy.
        grace_s: Seconds that bytes stay after the last record that needs them is gone.
    """

    def __init__(self, database: Database, *, storage: BlobStorage, mover: Mover, grace_s: float) -> None:
        self._database = database
        self._storage = storage
        self._mover = mover
        self._grace_s = max(grace_s, GRACE_S_MIN)

    async def check(self, *, quick: bool, repair: bool, on_progress: Progress) -> Report:
        """Check all blobs, and return the problems and repairs.

        Args:
            quick: Read the last MiB of each blob, not all of it.
            repair: Repair the problems that can be repaired.
            on_progress: Called now and then with the report so far.

        Raises:
            Unavailable: Postgres or a provider does not answer.
        """
        tenants = {tenant.tenant_id: tenant for tenant in await self._database.tenants(reachable=True)}
        report = Report(databases_away=self._database.away)
        for tenant in tenants.values():
            report.to_do += await stored_blobs.count(tenant, with_parts=True)
        on_progress(report)
        for tenant in tenants.values():

            async def check(blob: BlobRow, tenant: Tenant = tenant) -> None:
                await self._check_row(tenant, blob, report, quick=quick, repair=repair)
                on_progress(report)

            await for_each(stored_blobs.rows(tenant, with_parts=True), check, at_once=_AT_ONCE)
        for provider in self._storage.providers():
            orphans: list[tuple[Tenant, BlobStat]] = []
            before = report.stored - report.foreign
            async with aclosing(self._storage.list_pages(provider)) as pages:
                async for page in pages:
                    orphans += await self._orphans(tenants, provider, page, report)
                    on_progress(report)
            ours = report.stored - report.foreign - before
            strange = len(orphans) > _ORPHANS_STRANGE and 2 * len(orphans) > ours
            for tenant, stat in orphans:
                report.problems.append(await self._adopt(tenant, provider, stat, repair=repair, strange=strange))
        return report

    async def _check_row(self, tenant: Tenant, blob: BlobRow, report: Report, *, quick: bool, repair: bool) -> None:
        """Read one blob, compare it with its row, and add a problem to the report if they differ.

        With `repair`, a blob that no record needs is released, and a damaged blob is replaced by a sound copy if there
        is one. A blob that was removed or moved during the check is no problem.
        """
        report.blobs += 1
        report.size_bytes += blob.size_bytes
        records: list[UUID] = []
        if blob.state == "live":
            records = await stored_blobs.records_of(tenant, blob.id, count_max=_RECORDS_SHOWN)
            if not records:
                if not await stored_blobs.is_needed(tenant, blob.id):
                    return  # purged or moved meanwhile
                done = repair and await stored_blobs.let_go(tenant, blob.id, grace_s=self._grace_s)
                what = "its bytes will be removed after the grace time" if done else "can be repaired"
                report.problems.append(_problem("unreferenced", tenant, blob, repaired=done, what=what))
                return
        try:
            await self._read(blob, quick=quick)
        except ProviderNotConfigured as error:
            report.problems.append(_problem("unreadable", tenant, blob, records, what=error.message))
        except DAMAGED as error:
            if not await stored_blobs.is_needed(tenant, blob.id):
                return  # purged, moved or joined meanwhile
            done, what = await self._heal(tenant, blob) if repair else (False, "can be repaired if a copy is found")
            _log.error("blob damaged", extra={"blob_id": blob.id, "provider": blob.provider, "error": str(error)})
            report.problems.append(_problem("damaged", tenant, blob, records, repaired=done, what=what))
        else:
            if blob.damaged and not quick:
                done = repair and await stored_blobs.mark_sound(tenant, blob.id)
                what = "was marked as damaged, and is sound again"
                report.problems.append(_problem("was_damaged", tenant, blob, repaired=done, what=what))

    async def _read(self, blob: BlobRow, *, quick: bool) -> None:
        """Read a blob and compare it with its checksums.

        Raises:
            BlobCorrupted: bytes are missing or differ.
            ProviderNotConfigured, Unavailable: it cannot be read.
        """
        start_bytes = max(blob.size_bytes - 1, 0) if quick else 0
        sha256 = hashlib.sha256()
        chunks = self._storage.read(blob.stored(), start_bytes=start_bytes, end_bytes=blob.size_bytes)
        async with aclosing(chunks):
            async for chunk in chunks:
                sha256.update(chunk)
        if not quick and sha256.digest() != blob.sha256:
            raise BlobCorrupted(
                "the sha256 of the stored bytes differs from the one in their row", provider=blob.provider
            )

    async def _heal(self, tenant: Tenant, blob: BlobRow) -> tuple[bool, str]:
        """Look for a sound copy of a blob and point the records to it; return whether that succeeded, and a message."""
        await stored_blobs.mark_damaged(tenant, blob.id)
        if blob.state != "live":
            return False, "it belongs to an unfinished upload: start the upload again"
        for source in await stored_blobs.same_content(tenant, blob):
            try:
                await self._read(source, quick=False)
            except ProviderNotConfigured:
                continue
            except DAMAGED:
                await stored_blobs.mark_damaged(tenant, source.id)
                continue
            details = {"from": blob.provider, "to": blob.provider, "why": "damaged"}
            moved = await self._mover.share(tenant, blob, provider=blob.provider, details=details)
            if moved is None:
                moved = await self._mover.copy(tenant, blob, source, provider=blob.provider, details=details)
            if moved is not None:
                return True, f"{moved} records now read a sound copy from {source.provider}"
        return False, "no copy was found: upload the same content again and repair, or restore a backup"

    async def _orphans(
        self, tenants: dict[UUID, Tenant], provider: str, page: Collection[BlobStat], report: Report
    ) -> list[tuple[Tenant, BlobStat]]:
        """Return the entries of a page of a provider's listing that no row in the database names."""
        by_tenant: dict[UUID, dict[str, BlobStat]] = {}
        for stat in page:
            if stat.key.startswith(REGISTER):
                continue
            report.stored += 1
            made_by = _KEY.fullmatch(stat.key)
            tenant_id = UUID(made_by[1]) if made_by else None
            if tenant_id in tenants:
                by_tenant.setdefault(tenant_id, {})[stat.key] = stat
            else:
                report.foreign += 1
        return [
            (tenants[tenant_id], stats[key])
            for tenant_id, stats in by_tenant.items()
            for key in sorted(stats.keys() - await stored_blobs.known_keys(tenants[tenant_id], provider, stats.keys()))
            # The bytes and then the row may have been removed since the provider listed the key.
            if await self._storage.is_stored(provider, key)
        ]

    async def _adopt(self, tenant: Tenant, provider: str, stat: BlobStat, *, repair: bool, strange: bool) -> Problem:
        """Return the problem of stored bytes without a row; with `repair`, add a row so that the sweeper removes them.

        If `strange`, most stored keys are unknown, which suggests the wrong database: the bytes are left alone.
        """
        blob_id, done = new_id(), False
        if repair and not strange:
            done = await stored_blobs.adopt(
                tenant, blob_id, provider=provider, key=stat.key, size_bytes=stat.size_bytes, grace_s=self._grace_s
            )
        what = "its bytes will be removed after the grace time" if done else "can be repaired"
        if strange:
            what = "not touched: more than half of the stored keys are unknown to this database: is it the right one?"
        return Problem(
            kind="orphan",
            provider=provider,
            key=stat.key,
            size_bytes=stat.size_bytes,
            tenant_id=str(tenant.tenant_id),
            blob_id=str(blob_id) if done else "",
            repaired=done,
            what=what,
        )


def _problem(
    kind: str,
    tenant: Tenant,
    blob: BlobRow,
    records: Collection[UUID] = (),
    *,
    repaired: bool = False,
    what: str,
) -> Problem:
    """Return a problem with a blob, for the report: `kind` names it, and `what` is the sentence for the operator."""
    return copied(
        Problem,
        blob,
        kind=kind,
        tenant_id=str(tenant.tenant_id),
        blob_id=str(blob.id),
        working_memory_ids=tuple(map(str, records)),
        repaired=repaired,
        what=what,
    )
