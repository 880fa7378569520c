"""The SQL of documents of knowledge bases, and of their passages.

A document may follow a record. Then its state depends on the record as it is now, not only on the text that was read:
as soon as the record changes, the document counts as waiting, and as soon as the record is gone, searches find nothing
of the document. Statements compare the two, so neither depends on a worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.knowledge_bases.model import Base, Document, DocumentInput, DocumentState
from context_service.knowledge_bases.pure import CutDocument, DocumentPiece
from context_service.knowledge_bases.store.bases import DOCUMENT_TOPIC, walls_named, walls_of
from context_service.retrieval.documents.reading import FileText
from context_service.retrieval.model import KNOWLEDGE_BASE, Audience, Passage, PassageScope
from context_service.retrieval.room import Passages
from context_service.working_memory.room import RECORD_FILTERS_SQL
from service_runtime.background_work.outbox import Outbox
from service_runtime.background_work.queue_room import QUEUED_MAX
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

KIND = "document"  # the kind of passages of documents
GONE = "record_gone: the record was archived, expired, purged, or has other bounds now"

SQL = SqlFile.of(__file__, gone=GONE, record_filters=RECORD_FILTERS_SQL)
FOLLOWED = SQL["followed"]
IS_CURRENT = SQL["is_current"]
_LIST = SQL["list"]
_RECORD = SQL["record"]
_INSERT = SQL["insert"]
_PUT_FILE = SQL["put_file"]
_REMOVE = SQL["remove"]
_LOCK = SQL["lock"]
_TO_READ = SQL["to_read"]
_SAY = SQL["say"]
_SETTLE = SQL["settle"]
_KEEP = SQL["keep"]
_PASSAGES = SQL["passages"]
_CHANGED = SQL["changed"]
_TURN = SQL["turn"]


def scope_of(base_id: UUID) -> PassageScope:
    """Return the scope of the texts of a base's documents."""
    return PassageScope(kind=KNOWLEDGE_BASE, id=base_id)


async def take_turn(transaction: Transaction, base_id: UUID) -> None:
    """Lock the passages of a base for writing until the transaction ends."""
    await transaction.query(_TURN, (base_id,))


class DocumentRows:
    """The SQL statements on documents.

    Args:
        database: The database that holds the documents.
        passages: The search index, which gets the passages of documents.
        queued_max: The number of a tenant's documents that may wait to be read.
    """

    def __init__(self, database: Database, passages: Passages, *, queued_max: int = QUEUED_MAX) -> None:
        self._database = database
        self._passages = passages
        self.outbox = Outbox("context", DOCUMENT_TOPIC, queued_max=queued_max)

    async def record(self, transaction: Transaction, base: Base, record_id: UUID) -> Row | None:
        """Return the `name` and `content_type` of a record, and whether it `is_open` to a base; None if it is gone."""
        parameters = {"record_id": record_id, **walls_named(base.content.walls)}
        rows = await transaction.query(_RECORD, parameters)
        return rows[0] if rows else None

    async def add(self, transaction: Transaction, base: Base, document_input: DocumentInput, *, by: str) -> Document:
        """Insert a document that is to be read, in a transaction that has locked its base.

        Raises:
            LimitExceeded: too many documents of the tenant wait to be read.
        """
        await self.outbox.take_room(transaction)
        parameters = {
            "document_id": new_id(),
            "base_id": base.base_id,
            "record_id": document_input.record_id,
            "size_bytes": len(document_input.data or b""),
            "name": document_input.name,
            "uri": document_input.uri,
            "content_type": document_input.content_type,
            "by": by,
            **walls_named(base.content.walls),
        }
        (row,) = await transaction.query(_INSERT, parameters)
        if document_input.data is not None:
            await transaction.query(_PUT_FILE, {**parameters, "data": document_input.data})
        await self.outbox.put(transaction, row.document_id)
        return _document(row, base.content.name)

    async def page(
        self, principal: Principal, base: Base, states: Sequence[DocumentState], *, before: int, count: int
    ) -> list[tuple[int, Document]]:
        """Return documents with their `seq`, the newest first."""
        parameters = {
            "base_id": base.base_id,
            "states": [state.value for state in states],
            "before": before,
            "count": count,
        }
        rows = await self._database.of(principal).query(_LIST, parameters)
        return [(row.seq, _document(row, base.content.name)) for row in rows]

    async def remove(self, transaction: Transaction, base: Base, document_id: UUID) -> int | None:
        """Remove a document and its passages, and return its size in bytes, or None if there is none."""
        parameters = {"document_id": document_id, "base_id": base.base_id}
        for row in await transaction.query(_REMOVE, parameters):
            await self.outbox.drop(transaction, document_id)
            await take_turn(transaction, base.base_id)
            await self._passages.remove_documents(transaction, scope_of(base.base_id), [row.seq])
            return int(row.size_bytes)
        return None

    # Background work.

    async def to_read(self, transaction: Transaction, document_id: UUID) -> Row | None:
        """Return the source of a document, and whether the record that it follows exists."""
        rows = await transaction.query(_TO_READ, (transaction.tenant_id, document_id))
        return rows[0] if rows else None

    async def lock(self, transaction: Transaction, document_id: UUID) -> Row | None:
        """Lock a document until the transaction ends, and return it, or None if it is gone."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, document_id))
        return rows[0] if rows else None

    async def say(self, transaction: Transaction, document_id: UUID, state: DocumentState, error: str = "") -> None:
        """Store the state of a document, and its error."""
        parameters = {"document_id": document_id, "state": state.value, "error": error}
        await transaction.query(_SAY, parameters)

    async def settle(
        self,
        transaction: Transaction,
        document_id: UUID,
        state: DocumentState,
        error: str = "",
        *,
        record_version: int | None,
    ) -> None:
        """Store the final state of a document, and the version of the record that was read for it."""
        parameters = {
            "document_id": document_id,
            "state": state.value,
            "error": error,
            "record_version": record_version,
        }
        await transaction.query(_SETTLE, parameters)

    async def keep(
        self, transaction: Transaction, document_id: UUID, document: Row, file_text: FileText, found_by: CutDocument
    ) -> None:
        """Store the text of a locked document and the positions of its pieces; remove its old passages."""
        if document.passage_count:
            await take_turn(transaction, document.base_id)
            await self._passages.remove_documents(transaction, scope_of(document.base_id), [document.seq])
        parameters = {
            "document_id": document_id,
            "text": file_text.text,
            "is_cut": file_text.is_cut,
            "headings": list(found_by.headings),
            "starts": [piece.start for piece in found_by.pieces],
            "ends": [piece.end for piece in found_by.pieces],
            "pages": [piece.page for piece in found_by.pieces],
            "page_starts": list(file_text.page_starts),
        }
        await transaction.query(_KEEP, parameters)

    async def put(
        self, transaction: Transaction, document_id: UUID, document: Row, pieces: Sequence[DocumentPiece], *, first: int
    ) -> None:
        """Write pieces of a locked document from the number `first` on."""
        await take_turn(transaction, document.base_id)
        placed = [
            passage(piece, document_id, ordinal=first + number, seq=document.seq, said_at=document.created_at)
            for number, piece in enumerate(pieces)
        ]
        await self._passages.put(transaction, scope_of(document.base_id), audience_of(document), placed)
        await transaction.query(_PASSAGES, (first + len(pieces), transaction.tenant_id, document_id))

    async def queue_changed(self, transaction: Transaction, *, count: int) -> int:
        """Queue documents again whose records changed or are gone; return their number."""
        parameters = {"count": count}
        changed = [row.document_id for row in await transaction.query(_CHANGED, parameters)]
        queued = 0
        for document_id in changed:
            if await self.lock(transaction, document_id):
                await self.say(transaction, document_id, DocumentState.QUEUED)
                await self.outbox.put(transaction, document_id)
                queued += 1
        return queued


def audience_of(row: Row) -> Audience:
    """Return the audience of the passages of a row with bounds."""
    walls = walls_of(row)
    return Audience(graph_name=walls.graph_name, agent_bundle_id=walls.agent_bundle_id, app_id=walls.app_id)


def passage(piece: DocumentPiece, document_id: UUID, *, ordinal: int, seq: int, said_at: Any) -> Passage:
    """Return a passage of a document at its place in the index."""
    return Passage(
        seq=seq,
        ordinal=ordinal,
        session=seq,  # each is a document of its own
        text=piece.piece.text,
        terms=piece.piece.terms,
        numbers=piece.numbers,
        kind=KIND,
        said_at=said_at,
        is_said=False,
        marks=piece.piece.marks,
        part=piece.section,
        source_id=document_id,
    )


def _document(row: Row, base: str) -> Document:
    return copied(Document, row, base=base, state=DocumentState(row.state))
