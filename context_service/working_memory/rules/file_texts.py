"""Texts of records that a worker reads after the write: those of files such as PDF, and those too long for a column.

The write of such a record adds a row to the outbox in the same transaction. The worker reads the text and stores its
beginning in `blob_text`, where an upload stores that of a text file at once. If the record has a node, all of its text
becomes passages (`store/passages.py`), in steps, so that other writers never wait for long; after an interruption the
worker begins again with the first step. Locks are taken in the same order as for vectors: the record, then its row.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from context_service.retrieval.documents.kinds import BY_CHANCE, Kind, Reason, Unread, kind_of
from context_service.retrieval.documents.reading import FILE_BYTES_MAX, FileText
from context_service.retrieval.pure.text_pieces import NumberedTextPiece, numbered
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX
from context_service.working_memory.rules.record_texts import RecordTexts
from context_service.working_memory.store.records import TEXT_TOPIC
from context_service.working_memory.store.texts.file_texts import LOCK, NODE, PUT, TELL
from context_service.working_memory.store.texts.passages import RecordPassages
from context_service.working_memory.store.texts.record_index import index_records
from contextkeep.errors import Unavailable
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.outbox import Outbox, QueuedItem
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("file_texts")

STEP_S = 1.0  # seconds in which a tenant's files are read, one after the other, before it is another tenant's turn
READ_AT_ONCE = 2  # tenants whose files are read at the same time
PASSAGES_OF_STEP = 200  # passages that one transaction writes
PASSAGES_MAX = 100_000  # the most passages of a record; two million characters have about a tenth of that
INTERVAL_S = 1.0  # pause between two looks at the queue
DELAY_S, DELAY_S_MAX = 2.0, 3600.0  # after the first failure; doubled after each further one
ATTEMPTS_MAX = 3  # for failures that may be due to a crowded machine

_READ_LATER = frozenset({Kind.HTML, Kind.PDF, Kind.DOCX, Kind.XLSX, Kind.PPTX})


def owes_text(types: Sequence[str], name: str, *, size_bytes: int, is_inline: bool, is_encoded: bool = False) -> bool:
    """Say whether a background worker must read the text of a record's content after the write.

    Args:
        types: The possible media types of the record, the most certain first.
        name: The record's name; its extension also tells a type.
        size_bytes: The size of the record's content.
        is_inline: The content is stored in the row, not in a blob.
        is_encoded: The content is no UTF-8. If it is a text, its encoding is found out by the worker.
    """
    kind = None if is_inline else kind_of(types, name)
    if kind is not None and is_encoded and size_bytes <= FILE_BYTES_MAX:
        return True
    return kind in _READ_LATER or ((is_inline or kind is not None) and TEXT_CHARS_MAX < size_bytes <= FILE_BYTES_MAX)


class FileTexts:
    """The worker that reads the texts of files; any number of replicas may run it at the same time.

    Args:
        database: The database that holds the records and the queue of files to read.
        texts: Reads the contents of records as text.
        passages: Stores the passages of the texts.
        count: Returns the number of tokens of a text.
    """

    def __init__(
        self, database: Database, texts: RecordTexts, passages: RecordPassages, *, count: Callable[[str], int]
    ) -> None:
        self._database = database
        self._texts = texts
        self._passages = passages
        self._count = count
        self._outbox = Outbox("context", TEXT_TOPIC)
        self._rounds = Rounds(database, self._read_some, at_once=READ_AT_ONCE, queue=self._outbox.queue)

    async def keep_reading(self) -> None:
        """Read queued files until cancelled."""
        await self._rounds.keep_running(self.read_due, interval_s=INTERVAL_S)

    async def read_due(self) -> int:
        """Read the files that are queued and due, some of each tenant in turn; return how many.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Read some of a tenant's due files; return how many, and whether more are due."""
        return await self._outbox.each_due(tenant, partial(self._read, tenant), for_s=STEP_S)

    async def _read(self, tenant: Tenant, owed: QueuedItem) -> None:
        """Read one file, and store its text or the reason why it has none."""
        try:
            read = await self._texts.content(tenant, owed.subject_id)
            if isinstance(read, FileText):
                await self._put(tenant, owed, read)
                return
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
        await tenant.transaction(partial(self._outbox.done, owed=owed))  # the record is gone

    async def _put(self, tenant: Tenant, owed: QueuedItem, read: FileText) -> None:
        """Write the passages of a text in steps, then its beginning; stop if another worker has taken over."""
        # This principal is bound to no user, because passages of records have no owner.
        tenant_rows = self._database.of(Principal(tenant_id=tenant.tenant_id, subject="indexing"))
        node_id = next(
            (row.entity_node_id for row in await tenant_rows.query(NODE, (tenant.tenant_id, owed.subject_id))), None
        )
        pieces: Sequence[NumberedTextPiece] = ()
        if node_id:
            cut = partial(numbered, read.text, node_id, count=self._count, pieces_max=PASSAGES_MAX)
            pieces = await asyncio.to_thread(cut)
        for first in range(0, max(1, len(pieces)), PASSAGES_OF_STEP):
            step = pieces[first : first + PASSAGES_OF_STEP]
            is_last = first + PASSAGES_OF_STEP >= len(pieces)

            async def work(
                transaction: Transaction,
                first: int = first,
                step: Sequence[NumberedTextPiece] = step,
                is_last: bool = is_last,
            ) -> bool:
                """Write one step of passages, and last the text's beginning; return False if the lease is lost."""
                record = await _lock(transaction, owed.subject_id)
                if not await self._outbox.hold(transaction, owed):
                    return False
                if record and record.entity_node_id == node_id and step:
                    await self._passages.put(transaction, owed.subject_id, record, step, first=first)
                if is_last:
                    await transaction.query(PUT, {**_parameters(transaction, owed), "text": read.text[:TEXT_CHARS_MAX]})
                    await index_records(transaction, [owed.subject_id])
                    await self._outbox.done(transaction, owed)
                return True

            if not await tenant_rows.transaction(work):
                return

    async def _tell(self, tenant: Tenant, owed: QueuedItem, unread: Unread, *, failed: bool) -> None:
        """Store with the record why it has no text; queue a retry unless the reason is final."""
        error = f"{unread.reason.value}: {unread.detail}"

        async def work(transaction: Transaction) -> None:
            """Remove the work from the queue or postpone it; store the error, unless another worker has taken over."""
            await _lock(transaction, owed.subject_id)
            if failed:
                still_owed = await self._outbox.done(transaction, owed)
            else:
                delay_s = owed.delay_s(first_s=DELAY_S, max_s=DELAY_S_MAX)
                still_owed = await self._outbox.postpone(transaction, owed, delay_s=delay_s, error=error)
            if still_owed:
                await transaction.query(TELL, {**_parameters(transaction, owed), "error": error, "failed": failed})

        await tenant.transaction(work)


async def _lock(transaction: Transaction, record_id: UUID) -> Row | None:
    rows = await transaction.query(LOCK, (transaction.tenant_id, record_id))
    return rows[0] if rows else None


def _parameters(transaction: Transaction, owed: QueuedItem) -> dict[str, object]:
    return {"tenant_id": transaction.tenant_id, "id": owed.subject_id}
