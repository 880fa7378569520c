"""Passages of records: what a record and its file say, in the scope of the record's node, at the record's `seq`.

They are written behind the record, in steps, and removed in the transaction that removes the record, or moves it to
another node or into other bounds: then they are written anew. Writers of a node take turns, behind the record's lock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.pieces import NumberedTextPiece
from context_service.retrieval.store.passages import Audience, Passage, Passages, Scope
from service_runtime.postgres import Row, Transaction

NODE = "node"  # the kind of scope whose passages are those of a node's records

PLACE = "entity_node_id, seq, created_at, graph_name, agent_bundle_id, app_id, passage_count"  # what `put` needs

# Until the transaction ends. A lock of its own: before the first passage of a node there is no row to lock.
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('passages of ' || %s::text, 0))"
_PLACE = f"SELECT {PLACE} FROM context.wm_record WHERE tenant_id = %s AND id = %s"  # noqa: S608 - a constant
_COUNT = "UPDATE context.wm_record SET passage_count = %s WHERE tenant_id = %s AND id = %s"
_FORGET = "UPDATE context.wm_record SET passage_count = NULL WHERE tenant_id = %s AND id = %s"


def scope_of(node_id: UUID) -> Scope:
    """Return the scope of what the records of a node say."""
    return Scope(kind=NODE, id=node_id)


async def take_turn(transaction: Transaction, node_id: UUID) -> None:
    """Let nobody else write passages of a node until the transaction ends."""
    await transaction.query(_TURN, (node_id,))


class RecordPassages:
    """Writes and removes them, in transactions that have locked the record.

    Args:
        passages: What they are among.
    """

    def __init__(self, passages: Passages) -> None:
        self._passages = passages

    async def put(
        self, transaction: Transaction, record_id: UUID, record: Row, pieces: Sequence[NumberedTextPiece], *, first: int
    ) -> None:
        """Write the pieces of a record from the number `first` on; with 0, instead of all that it has.

        Args:
            transaction: In which the record is locked.
            record_id: Which.
            record: Its `PLACE`, with a node.
            pieces: So many as shall be written at once.
            first: The number of the first of them.
        """
        if not first and record.passage_count:
            await self.remove(transaction, [record])
        else:
            await take_turn(transaction, record.entity_node_id)
        audience = Audience(graph_name=record.graph_name, agent_bundle_id=record.agent_bundle_id, app_id=record.app_id)
        placed = [passage(one, record, record_id, ordinal=first + number) for number, one in enumerate(pieces)]
        await self._passages.put(transaction, scope_of(record.entity_node_id), audience, placed)
        await transaction.query(_COUNT, (first + len(pieces), transaction.tenant_id, record_id))

    async def remove(self, transaction: Transaction, records: Collection[Row]) -> None:
        """Remove all passages of records that may be gone already.

        Args:
            transaction: In which they are locked.
            records: Each with its `entity_node_id`, `seq` and `passage_count`.
        """
        by_node: dict[UUID, list[int]] = {}
        for record in records:
            if record.passage_count:
                by_node.setdefault(record.entity_node_id, []).append(record.seq)
        for node_id, seqs in sorted(by_node.items()):
            await take_turn(transaction, node_id)
            await self._passages.remove_documents(transaction, scope_of(node_id), seqs)

    async def forget(self, transaction: Transaction, record_id: UUID) -> None:
        """Remove all passages of a locked record that stays, and may be read again."""
        key = (transaction.tenant_id, record_id)
        await self.remove(transaction, await transaction.query(_PLACE, key))
        await transaction.query(_FORGET, key)


def passage(one: NumberedTextPiece, record: Row, record_id: UUID, *, ordinal: int) -> Passage:
    """Return a passage where it stands."""
    return Passage(
        seq=record.seq,
        ordinal=ordinal,
        session=record.seq,  # a record is a document of its own
        text=one.piece.text,
        terms=one.piece.terms,
        numbers=one.numbers,
        kind=RECORD,
        said_at=record.created_at,
        is_said=False,
        marks=one.piece.marks,
        source_id=record_id,
    )
