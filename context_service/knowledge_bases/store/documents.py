"""The SQL of documents of knowledge bases, and of what finds them.

A document that follows a record is shown as what the record is now, whatever was read of it: where the record was
changed it is to be read again, and where it is gone nothing of it is found, before anybody has looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context_service.knowledge_bases.model import Base, Document, DocumentInput, DocumentState
from context_service.knowledge_bases.pure import CutDocument, DocumentPiece
from context_service.knowledge_bases.store.bases import DOCUMENT_TOPIC, walls_named, walls_of
from context_service.retrieval.documents.reading import FileText
from context_service.retrieval.model import KNOWLEDGE_BASE, Audience, Passage, Scope
from context_service.retrieval.store.passages import Passages
from context_service.working_memory.store.record_filters import ACTIVE
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.ids import new_id
from service_runtime.outbox import Outbox
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.queue_room import QUEUED_MAX

KIND = "document"  # of their passages
GONE = "record_gone: the record was archived, expired, purged, or moved behind other walls"

# The record `r` that a document `d` follows, if it may be found in the base: no user's and no context's, and with all
# the walls that the base has.
_OPEN = f"""
    {ACTIVE} AND r.owner_user_id = '' AND r.context_id IS NULL
    AND (d.graph_name = '' OR r.graph_name = d.graph_name)
    AND (d.agent_bundle_id = '' OR r.agent_bundle_id = d.agent_bundle_id)
    AND (d.app_id = '' OR r.app_id = d.app_id)
"""
FOLLOWED = f"LEFT JOIN context.wm_record r ON r.tenant_id = d.tenant_id AND r.id = d.record_id AND {_OPEN}"
# Of a document `d`, beside `FOLLOWED`: whether what was read of it is what it says.
IS_CURRENT = "(d.record_id IS NULL OR r.version = d.record_version)"

_STATE = """
    CASE WHEN d.state IN ('QUEUED', 'PARSING') OR d.record_id IS NULL
            OR r.version IS NOT DISTINCT FROM d.record_version
        THEN d.state WHEN r.id IS NULL THEN 'FAILED' ELSE 'QUEUED' END
"""
_COLUMNS = f"""
    d.document_id, d.seq, d.name, d.uri, d.content_type, d.size_bytes, d.record_id, {_STATE} AS state,
    CASE WHEN d.record_id IS NOT NULL AND r.id IS NULL AND d.state = 'INDEXED' THEN '{GONE}' ELSE d.error END AS error,
    d.passage_count, d.is_cut, d.created_by, d.created_at, d.updated_at, d.imported::text AS imported_json
"""
_LIST = f"""
SELECT {_COLUMNS}
FROM context.knowledge_document d {FOLLOWED}
WHERE d.tenant_id = %(tenant_id)s AND d.base_id = %(base_id)s AND d.seq < %(before)s
    AND (%(states)s::text[] = '{{}}' OR {_STATE} = ANY (%(states)s::text[]))
ORDER BY d.seq DESC
LIMIT %(count)s
"""  # noqa: S608 - constants
_RECORD = f"""
SELECT r.name, r.content_type, ({_OPEN}) AS is_open
FROM context.wm_record r
    CROSS JOIN (VALUES (%(graph_name)s::text, %(agent_bundle_id)s::text, %(app_id)s::text))
        d (graph_name, agent_bundle_id, app_id)
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(record_id)s
"""  # noqa: S608
_INSERT = """
INSERT INTO context.knowledge_document AS d (
    tenant_id, document_id, base_id, record_id, size_bytes, name, uri, content_type, graph_name, agent_bundle_id,
    app_id, created_by
) VALUES (
    %(tenant_id)s, %(document_id)s, %(base_id)s, %(record_id)s, %(size_bytes)s, %(name)s, %(uri)s, %(content_type)s,
    %(graph_name)s, %(agent_bundle_id)s, %(app_id)s, %(by)s
)
RETURNING d.document_id, d.seq, d.name, d.uri, d.content_type, d.size_bytes, d.record_id, d.state, d.error,
    d.passage_count, d.is_cut, d.created_by, d.created_at, d.updated_at, NULL AS imported_json
"""
_PUT_FILE = """
INSERT INTO context.knowledge_file (tenant_id, document_id, graph_name, agent_bundle_id, app_id, data)
VALUES (%(tenant_id)s, %(document_id)s, %(graph_name)s, %(agent_bundle_id)s, %(app_id)s, %(data)s)
"""
_REMOVE = """
WITH file AS (
    DELETE FROM context.knowledge_file WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s
)
DELETE FROM context.knowledge_document
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s AND base_id = %(base_id)s
RETURNING seq, size_bytes
"""

_LOCK = """
SELECT base_id, seq, record_id, created_at, passage_count, graph_name, agent_bundle_id, app_id
FROM context.knowledge_document WHERE tenant_id = %s AND document_id = %s
FOR NO KEY UPDATE
"""
_TO_READ = f"""
SELECT d.base_id, d.name, d.content_type, d.record_id, r.id IS NOT NULL AS is_followed, r.version, f.data
FROM context.knowledge_document d {FOLLOWED}
LEFT JOIN context.knowledge_file f ON f.tenant_id = d.tenant_id AND f.document_id = d.document_id
WHERE d.tenant_id = %s AND d.document_id = %s
"""  # noqa: S608
_SAY = """
UPDATE context.knowledge_document SET state = %(state)s, error = %(error)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s
"""
_SETTLE = """
UPDATE context.knowledge_document
SET state = %(state)s, error = %(error)s, record_version = %(record_version)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s
"""
_KEEP = """
UPDATE context.knowledge_document
SET passage_count = 0, text = %(text)s, is_cut = %(is_cut)s, headings = %(headings)s, starts = %(starts)s,
    ends = %(ends)s, pages = %(pages)s, page_starts = %(page_starts)s
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s
"""
_PASSAGES = """
UPDATE context.knowledge_document SET passage_count = %s WHERE tenant_id = %s AND document_id = %s
"""
# Of those that follow records which are others than what was read.
_CHANGED = f"""
SELECT d.document_id FROM context.knowledge_document d {FOLLOWED}
WHERE d.tenant_id = %(tenant_id)s AND d.record_id IS NOT NULL AND d.state IN ('INDEXED', 'FAILED')
    AND r.version IS DISTINCT FROM d.record_version
LIMIT %(count)s
"""  # noqa: S608
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('passages of ' || %s::text, 0))"


def scope_of(base_id: UUID) -> Scope:
    """Return the scope of what the documents of a base say."""
    return Scope(kind=KNOWLEDGE_BASE, id=base_id)


async def take_turn(transaction: Transaction, base_id: UUID) -> None:
    """Let nobody else write passages of a base until the transaction ends."""
    await transaction.query(_TURN, (base_id,))


class DocumentRows:
    """The documents of bases.

    Args:
        database: Where they are.
        passages: What they are found by.
        queued_max: Documents of a tenant that wait to be read.
    """

    def __init__(self, database: Database, passages: Passages, *, queued_max: int = QUEUED_MAX) -> None:
        self._database = database
        self._passages = passages
        self.outbox = Outbox("context", DOCUMENT_TOPIC, queued_max=queued_max)

    async def record(self, transaction: Transaction, base: Base, record_id: UUID) -> Row | None:
        """Return the `name` and `content_type` of a record, and whether it `is_open` to a base; None: none is there."""
        named = {"record_id": record_id, **walls_named(base.said.walls)}
        rows = await transaction.query(_RECORD, named)
        return rows[0] if rows else None

    async def add(self, transaction: Transaction, base: Base, said: DocumentInput, *, by: str) -> Document:
        """Write a document that is to be read, in a transaction that has locked its base.

        Raises:
            LimitExceeded: too many documents of the tenant wait to be read.
        """
        await self.outbox.take_room(transaction)
        named = {
            "document_id": new_id(),
            "base_id": base.base_id,
            "record_id": said.record_id,
            "size_bytes": len(said.data or b""),
            "name": said.name,
            "uri": said.uri,
            "content_type": said.content_type,
            "by": by,
            **walls_named(base.said.walls),
        }
        (row,) = await transaction.query(_INSERT, named)
        if said.data is not None:
            await transaction.query(_PUT_FILE, {**named, "data": said.data})
        await self.outbox.put(transaction, row.document_id)
        return _document(row, base.said.name)

    async def page(
        self, principal: Principal, base: Base, states: Sequence[DocumentState], *, before: int, count: int
    ) -> list[tuple[int, Document]]:
        """Return documents with their `seq`, those that were added last first."""
        named = {
            "base_id": base.base_id,
            "states": [one.value for one in states],
            "before": before,
            "count": count,
        }
        rows = await self._database.of(principal).query(_LIST, named)
        return [(row.seq, _document(row, base.said.name)) for row in rows]

    async def remove(self, transaction: Transaction, base: Base, document_id: UUID) -> int | None:
        """Remove a document and what finds it; return how many bytes came with it. None: there is none."""
        named = {"document_id": document_id, "base_id": base.base_id}
        for row in await transaction.query(_REMOVE, named):
            await self.outbox.drop(transaction, document_id)
            await take_turn(transaction, base.base_id)
            await self._passages.remove_documents(transaction, scope_of(base.base_id), [row.seq])
            return int(row.size_bytes)
        return None

    # What is done behind the call.

    async def to_read(self, transaction: Transaction, document_id: UUID) -> Row | None:
        """Return what is to be read of a document, and that the record which it follows is there."""
        rows = await transaction.query(_TO_READ, (transaction.tenant_id, document_id))
        return rows[0] if rows else None

    async def lock(self, transaction: Transaction, document_id: UUID) -> Row | None:
        """Return a document that stays until the transaction ends; None: it is gone."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, document_id))
        return rows[0] if rows else None

    async def say(self, transaction: Transaction, document_id: UUID, state: DocumentState, error: str = "") -> None:
        """Say how far a document is."""
        named = {"document_id": document_id, "state": state.value, "error": error}
        await transaction.query(_SAY, named)

    async def settle(
        self,
        transaction: Transaction,
        document_id: UUID,
        state: DocumentState,
        error: str = "",
        *,
        record_version: int | None,
    ) -> None:
        """Say what became of a document, as its record was when it was read."""
        named = {
            "document_id": document_id,
            "state": state.value,
            "error": error,
            "record_version": record_version,
        }
        await transaction.query(_SETTLE, named)

    async def keep(
        self, transaction: Transaction, document_id: UUID, document: Row, read: FileText, found_by: CutDocument
    ) -> None:
        """Keep what was read of a locked document, and where in it is found what; what found it before is gone."""
        if document.passage_count:
            await take_turn(transaction, document.base_id)
            await self._passages.remove_documents(transaction, scope_of(document.base_id), [document.seq])
        named = {
            "document_id": document_id,
            "text": read.text,
            "is_cut": read.is_cut,
            "headings": list(found_by.headings),
            "starts": [one.start for one in found_by.pieces],
            "ends": [one.end for one in found_by.pieces],
            "pages": [one.page for one in found_by.pieces],
            "page_starts": list(read.page_starts),
        }
        await transaction.query(_KEEP, named)

    async def put(
        self, transaction: Transaction, document_id: UUID, document: Row, pieces: Sequence[DocumentPiece], *, first: int
    ) -> None:
        """Write pieces of a locked document from the number `first` on."""
        await take_turn(transaction, document.base_id)
        placed = [
            passage(one, document_id, ordinal=first + number, seq=document.seq, said_at=document.created_at)
            for number, one in enumerate(pieces)
        ]
        await self._passages.put(transaction, scope_of(document.base_id), audience_of(document), placed)
        await transaction.query(_PASSAGES, (first + len(pieces), transaction.tenant_id, document_id))

    async def queue_changed(self, transaction: Transaction, *, count: int) -> int:
        """Owe those again that follow records which were changed or are gone; return how many these were."""
        named = {"count": count}
        changed = [row.document_id for row in await transaction.query(_CHANGED, named)]
        queued = 0
        for document_id in changed:
            if await self.lock(transaction, document_id):
                await self.say(transaction, document_id, DocumentState.QUEUED)
                await self.outbox.put(transaction, document_id)
                queued += 1
        return queued


def audience_of(row: Row) -> Audience:
    """Return who may see what is found of a row with walls."""
    walls = walls_of(row)
    return Audience(graph_name=walls.graph_name, agent_bundle_id=walls.agent_bundle_id, app_id=walls.app_id)


def passage(one: DocumentPiece, document_id: UUID, *, ordinal: int, seq: int, said_at: Any) -> Passage:
    """Return a passage where it stands."""
    return Passage(
        seq=seq,
        ordinal=ordinal,
        session=seq,  # each is a document of its own
        text=one.piece.text,
        terms=one.piece.terms,
        numbers=one.numbers,
        kind=KIND,
        said_at=said_at,
        is_said=False,
        marks=one.piece.marks,
        part=one.section,
        source_id=document_id,
    )


def _document(row: Row, base: str) -> Document:
    return copied(Document, row, base=base, state=DocumentState(row.state))
