"""Documents of knowledge bases, read in the background: each in a sandboxed process.

A call that adds a document writes a row of the outbox in the same transaction. A worker claims the document, reads it,
and writes its passages in steps, so that no call waits for long. If a step is interrupted or the worker dies, another
worker begins at the first step. A document that follows a record is read again when the record changes. The order of
locks is the document, then its row of the outbox, then the lock of its base.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial

from context_service.knowledge_bases.model import DocumentState
from context_service.knowledge_bases.pure import CutDocument, cut_document
from context_service.knowledge_bases.store.documents import GONE, DocumentRows
from context_service.retrieval.documents.kinds import BY_CHANCE, Reason, Unread, charset_of, kind_of
from context_service.retrieval.documents.reading import DocumentReader, FileText
from context_service.working_memory.pure.fields import content_type_of_name
from context_service.working_memory.room import (
    ATTEMPTS_MAX,
    DELAY_S,
    DELAY_S_MAX,
    INTERVAL_S,
    PASSAGES_OF_STEP,
    READ_AT_ONCE,
    STEP_S,
    RecordTexts,
)
from contextkeep.errors import Unavailable
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("document_texts")

FOLLOWED_INTERVAL_S = 5.0  # the pause between two checks of the records that documents follow
FOLLOWED = 200  # the most documents of a tenant that are queued again at a time
_EMPTY = "empty: no text is in it"
_NOTHING = FileText(text="", is_cut=False)
_FOUND_BY_NOTHING = CutDocument(headings=(), pieces=())


class DocumentTexts:
    """The worker that reads documents; any number of replicas may run it at once.

    Args:
        database: The database that holds the documents and the queue of those to read.
        rows: The SQL statements on documents.
        records: Reads the text of a record that a document follows.
        reader: Reads the text of a document's bytes, in a sandboxed process.
        count: A function that counts the tokens of a text.
    """

    def __init__(
        self,
        database: Database,
        rows: DocumentRows,
        records: RecordTexts,
        reader: DocumentReader,
        *,
        count: Callable[[str], int],
    ) -> None:
        self._database = database
        self._rows = rows
        self._records = records
        self._reader = reader
        self._count = count
        self._reading = Rounds(database, self._read_some, at_once=READ_AT_ONCE, queue=rows.outbox.queue)
        self._following = Rounds(database, self._follow_some)

    async def keep_reading(self) -> None:
        """Read due documents until cancelled."""
        await self._reading.keep_running(self.read_due, interval_s=INTERVAL_S)

    async def keep_following(self) -> None:
        """Queue documents again whose records changed, until cancelled."""
        await background.repeating(self.follow_records, interval_s=FOLLOWED_INTERVAL_S)

    async def read_due(self) -> int:
        """Read due documents, some of each tenant in turn; return their number.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._reading.run()

    async def follow_records(self) -> int:
        """Queue documents again whose records changed or are gone; return their number.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._following.run()

    async def _follow_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Queue some documents of a tenant whose records changed; return how many, and whether there may be more."""
        if not await self._rows.outbox.is_below(tenant, due_max=FOLLOWED):
            return 0, False  # a hundred thousand documents may follow a record: queue some at a time
        queued = await tenant.transaction(partial(self._rows.queue_changed, count=FOLLOWED))
        return queued, queued == FOLLOWED

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Read some of a tenant's due documents; return how many, and whether more are due."""
        # This principal is bound to no user, because documents have no owner.
        tenant_rows = self._database.of(Principal(tenant_id=tenant.tenant_id, subject="indexing"))
        return await self._rows.outbox.each_due(tenant, partial(self._read, tenant_rows), for_s=STEP_S)

    async def _read(self, tenant: Tenant, item: QueuedItem) -> None:
        """Read one document, and store its passages, or why it has none."""
        document = await tenant.transaction(partial(self._begin, item=item))
        if document is None:
            return
        try:
            file_text = await self._text(tenant, document)
            if isinstance(file_text, FileText):
                found_by = await self._cut(document, file_text)
                if found_by.pieces:
                    await self._put(tenant, item, document, file_text, found_by)
                else:
                    await self._tell(tenant, item, _EMPTY, document, is_final=True)
                return
        except Exception as error:
            is_away = isinstance(error, Unavailable)
            _log.warning(
                "document not read", extra={"document_id": item.subject_id}, exc_info=None if is_away else error
            )
            detail = error.message if isinstance(error, Unavailable) else "the service's log says more"
            is_final = not is_away and item.attempts >= ATTEMPTS_MAX
            await self._tell(tenant, item, f"{Reason.BROKEN.value}: {detail[:300]}", document, is_final=is_final)
            return
        if file_text is None:
            await self._tell(tenant, item, GONE, document, is_final=True)
        else:
            is_final = file_text.reason not in BY_CHANCE or item.attempts >= ATTEMPTS_MAX
            await self._tell(tenant, item, f"{file_text.reason.value}: {file_text.detail}", document, is_final=is_final)

    async def _begin(self, transaction: Transaction, *, item: QueuedItem) -> Row | None:
        """Claim a document, and return its source, or None if there is nothing to do."""
        if not await self._rows.lock(transaction, item.subject_id):
            await self._rows.outbox.done(transaction, item)
            return None
        if not await self._rows.outbox.hold(transaction, item):
            return None
        await self._rows.say(transaction, item.subject_id, DocumentState.PARSING)
        return await self._rows.to_read(transaction, item.subject_id)

    async def _text(self, tenant: Tenant, document: Row) -> FileText | Unread | None:
        """Return the text of a document or the error, or None if its record is gone."""
        if document.record_id is not None:
            return await self._records.content(tenant, document.record_id) if document.is_followed else None
        kind = kind_of([document.content_type, content_type_of_name(document.name)], document.name)
        if kind is None:
            said = document.content_type or "this type"
            return Unread(reason=Reason.UNSUPPORTED, detail=f"files of {said} have no text that is read")
        charset = charset_of(document.content_type)
        return await self._reader.read(kind, _chunks(document.data), tenant_id=tenant.tenant_id, charset=charset)

    async def _cut(self, document: Row, file_text: FileText) -> CutDocument:
        """Cut the text of a document into passages, in a thread."""
        split = partial(
            cut_document,
            document.name,
            document.content_type,
            file_text.text,
            file_text.page_starts,
            scope_id=document.base_id,
            count=self._count,
        )
        return await asyncio.to_thread(split)

    async def _put(
        self, tenant: Tenant, item: QueuedItem, document: Row, file_text: FileText, found_by: CutDocument
    ) -> None:
        """Write the passages of a document in steps. Stop if another worker has claimed it."""
        for first in range(0, len(found_by.pieces), PASSAGES_OF_STEP):
            is_last = first + PASSAGES_OF_STEP >= len(found_by.pieces)

            async def work(transaction: Transaction, first: int = first, is_last: bool = is_last) -> bool:
                """Write one step of passages; return False if another worker has claimed the document."""
                locked = await self._rows.lock(transaction, item.subject_id)
                if not await self._rows.outbox.hold(transaction, item) or locked is None:
                    return False
                if not first:
                    await self._rows.keep(transaction, item.subject_id, locked, file_text, found_by)
                step = found_by.pieces[first : first + PASSAGES_OF_STEP]
                await self._rows.put(transaction, item.subject_id, locked, step, first=first)
                if is_last:
                    indexed, version = DocumentState.INDEXED, document.version
                    await self._rows.settle(transaction, item.subject_id, indexed, record_version=version)
                    await self._rows.outbox.done(transaction, item)
                return True

            if not await tenant.transaction(work):
                return

    async def _tell(self, tenant: Tenant, item: QueuedItem, error: str, document: Row, *, is_final: bool) -> None:
        """Store the error of a document, and retry later unless the error is final."""

        async def work(transaction: Transaction) -> None:
            """Remove the work from the queue or postpone it; store the error, unless another worker has taken over."""
            locked = await self._rows.lock(transaction, item.subject_id)
            if is_final:
                still_owed = await self._rows.outbox.done(transaction, item)
            else:
                delay_s = item.delay_s(first_s=DELAY_S, max_s=DELAY_S_MAX)
                still_owed = await self._rows.outbox.postpone(transaction, item, delay_s=delay_s, error=error)
            if not still_owed or locked is None:
                return
            if not is_final:
                await self._rows.say(transaction, item.subject_id, DocumentState.QUEUED, error)
                return
            await self._rows.keep(transaction, item.subject_id, locked, _NOTHING, _FOUND_BY_NOTHING)
            failed, version = DocumentState.FAILED, document.version
            await self._rows.settle(transaction, item.subject_id, failed, error, record_version=version)

        await tenant.transaction(work)


async def _chunks(data: bytes | None) -> AsyncIterator[bytes]:
    yield data or b""
