"""The life of a record after its creation: archive, restore, purge, and read its log.

An archived record is hidden, and a caller can restore it. A purged record is gone, except for its log.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from context_service.working_memory.rules.fetch import RecordName, record_has_no_blob
from context_service.working_memory.rules.retention import Purges
from context_service.working_memory.store.actions import Action, ActionLog
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.records import Records
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal


class LifeCycle:
    """Archives, restores and purges records; each call acts for its principal."""

    def __init__(self, database: Database, *, records: Records, purges: Purges, log: ActionLog) -> None:
        self._database = database
        self._records = records
        self._purges = purges
        self._log = log

    async def archive(self, name: RecordName, *, principal: Principal, with_blob: bool = False) -> Record:
        """Archive a record and return it without its content; idempotent.

        Args:
            name: The record's id, or the key of its blob.
            principal: The caller, which the record's log names.
            with_blob: Refuse a record that has no blob, as `DeleteBlob` does.

        Raises:
            RecordNotFound, BlobNotFound: no record has this id, or no blob has this key.
            RecordHasNoBlob: `with_blob` is set, and the record has no blob.
        """
        record = await self._find(principal, name)
        if with_blob and not record.blob_key:
            raise record_has_no_blob(record)
        archived = await self._records.archive(principal, record.id)
        # None means that the record was archived before, or that it was purged meanwhile; then `_find` raises.
        return archived or await self._find(principal, name)

    async def restore(self, record_id: UUID, *, principal: Principal) -> Record:
        """Restore an archived or expired record and return it without its content; idempotent.

        Raises:
            RecordNotFound: no record has this id.
        """
        restored = await self._records.restore(principal, record_id)
        return restored or await self._find(principal, RecordName(record_id=record_id))

    async def purge(self, record_id: UUID, *, principal: Principal) -> None:
        """Remove a record for good; idempotent.

        Raises:
            RecordNotFound: no record ever had this id.
        """

        async def work(transaction: Transaction) -> int:
            return await self._purges.purge(transaction, [record_id], principal=principal.subject, why="deleted")

        purged = await self._database.of(principal).transaction(work)
        if not purged and not await self._log.was_purged(principal, record_id):
            raise RecordName(record_id=record_id).not_found()

    async def actions(
        self, record_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[Sequence[Action], str]:
        """Return a page of a record's log, oldest first, and the token of the next one, empty at the end.

        Raises:
            RecordNotFound: there never was such a record.
            InvalidArgument: the page size is negative.
            InvalidPageToken: the token is malformed, or belongs to another list.
        """
        query = ("ListWMRecordActions", principal.tenant_id, record_id)
        after_seq = pages.decode_number(query, page.token)
        size = pages.page_size(page.size)
        actions = await self._log.page(principal, record_id, after_seq=after_seq or 0, count_max=size + 1)
        if not actions and after_seq is None:
            raise RecordName(record_id=record_id).not_found()
        return pages.cut(query, actions, size, key=lambda action: (action.seq,))

    async def _find(self, principal: Principal, name: RecordName) -> Record:
        """Return a record by its id or the key of its blob, without its content.

        Raises:
            RecordNotFound, BlobNotFound: no record has this id, or no blob has this key.
        """
        record_and_blob = await self._records.find(principal, record_id=name.record_id, blob_key=name.blob_key)
        if record_and_blob is None:
            raise name.not_found()
        return record_and_blob[0]
