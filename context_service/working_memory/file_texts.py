"""Texts of files that are no texts as they are, such as PDF: read behind the upload, so that a search finds them.

An upload owes it with a row of the outbox, in the transaction that makes its record. The beginning of what is read
stands then where the beginning of a text file stands from the first. The order of locks is that of vectors: the record,
then its row.
"""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from context_service.retrieval.documents.kinds import BY_CHANCE, Kind, Reason, Unread, kind_of
from context_service.retrieval.documents.reading import FileText
from context_service.working_memory.fields import RecordInput, content_type_of_name
from context_service.working_memory.record_texts import RecordTexts
from context_service.working_memory.records import TEXT_TOPIC
from context_service.working_memory.texts import TEXT_CHARS_MAX
from contextkeep.errors import Unavailable
from service_runtime import background
from service_runtime.outbox import Outbox, Owed
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.tenants import in_turns

_log = logging.getLogger("file_texts")

CLAIMED = 4
LEASE_S = 300.0
INTERVAL_S = 1.0
DELAY_S, DELAY_S_MAX = 2.0, 3600.0  # after a first failure; then twice as long each time
ATTEMPTS_MAX = 3  # of what may have failed by chance, on a crowded machine

_READ_BEHIND = frozenset({Kind.HTML, Kind.PDF, Kind.DOCX, Kind.XLSX, Kind.PPTX})

_LOCK = "SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s FOR NO KEY UPDATE"
_PUT = """
UPDATE context.wm_record SET blob_text = %(text)s, text_state = 'INDEXED', text_error = ''
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
"""
_TELL = """
UPDATE context.wm_record
SET text_error = %(error)s, text_state = CASE WHEN %(failed)s THEN 'FAILED' ELSE text_state END
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
"""


def owes_text(said: RecordInput) -> bool:
    """Tell whether the text of a record's file is read behind its upload."""
    return kind_of([said.content_type, content_type_of_name(said.name), said.memory_type], said.name) in _READ_BEHIND


class FileTexts:
    """The worker; any number of replicas may run it at once.

    Args:
        database: Where records and outbox are.
        texts: Reads files.
    """

    def __init__(self, database: Database, texts: RecordTexts) -> None:
        self._database = database
        self._texts = texts
        self._outbox = Outbox("context", TEXT_TOPIC)

    async def keep_reading(self) -> None:
        """Read what is due, until cancelled."""
        await background.repeating(self.read_due, interval_s=INTERVAL_S)

    async def read_due(self) -> int:
        """Read what is due of all tenants, some of each in turn; return how many files that were.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await in_turns(self._database, self._read_some)

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Read some of what is due of a tenant; return how many files that were, and whether there are more."""
        claimed = await self._outbox.claim(tenant, count_max=CLAIMED, lease_s=LEASE_S)
        await asyncio.gather(*(self._read(tenant, owed) for owed in claimed))
        return len(claimed), len(claimed) == CLAIMED

    async def _read(self, tenant: Tenant, owed: Owed) -> None:
        """Read one file, and store its text or why there is none."""
        try:
            read = await self._texts.file(tenant, owed.subject_id)
        except Exception as error:
            is_away = isinstance(error, Unavailable)
            _log.warning("file not read", extra={"record_id": owed.subject_id}, exc_info=None if is_away else error)
            detail = error.message if isinstance(error, Unavailable) else "the service's log says more"
            unread = Unread(reason=Reason.BROKEN, detail=detail[:300])
            await self._tell(tenant, owed, unread, failed=not is_away and owed.attempts >= ATTEMPTS_MAX)
            return
        if isinstance(read, Unread):
            failed = read.reason not in BY_CHANCE or owed.attempts >= ATTEMPTS_MAX
            await self._tell(tenant, owed, read, failed=failed)
            return
        await self._put(tenant, owed, read)

    async def _put(self, tenant: Tenant, owed: Owed, read: FileText | None) -> None:
        """Store the text of a file; None if its record is gone."""

        async def work(transaction: Transaction) -> None:
            there = await _lock(transaction, owed.subject_id)
            if await self._outbox.done(transaction, owed) and there and read is not None:
                parameters = {**_named(transaction, owed), "text": read.text[:TEXT_CHARS_MAX]}
                await transaction.query(_PUT, parameters)

        await tenant.transaction(work)

    async def _tell(self, tenant: Tenant, owed: Owed, unread: Unread, *, failed: bool) -> None:
        """Let the record say why there is no text, and try again unless it stays so."""
        error = f"{unread.reason.value}: {unread.detail}"

        async def work(transaction: Transaction) -> None:
            await _lock(transaction, owed.subject_id)
            if failed:
                still_owed = await self._outbox.done(transaction, owed)
            else:
                delay_s = min(DELAY_S * 2.0 ** min(owed.attempts - 1, 20), DELAY_S_MAX)
                still_owed = await self._outbox.postpone(transaction, owed, delay_s=delay_s, error=error)
            if still_owed:
                await transaction.query(_TELL, {**_named(transaction, owed), "error": error, "failed": failed})

        await tenant.transaction(work)


async def _lock(transaction: Transaction, record_id: UUID) -> bool:
    return bool(await transaction.query(_LOCK, (transaction.tenant_id, record_id)))


def _named(transaction: Transaction, owed: Owed) -> dict[str, object]:
    return {"tenant_id": transaction.tenant_id, "id": owed.subject_id}
