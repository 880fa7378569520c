"""Passages of records: the texts of a record and its file, in the scope of the record's node, at the record's `seq`.

They are written after the record, in steps. The transaction that removes the record, or moves it to another node or
into other bounds, removes them; after a move they are written again. A writer locks the record, then the node's
passages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.text_pieces import NumberedTextPiece
from context_service.retrieval.room import Passages
from service_runtime.postgres import Row, Transaction
from service_runtime.statements.sql_files import SqlFile

NODE = "node"  # the kind of scope whose passages are those of a node's records

SQL = SqlFile.of(__file__)
PLACE = SQL["place"]
_TURN = SQL["turn"]
_PLACE = SQL["place_text"]
_COUNT = SQL["count"]
_FORGET = SQL["forget"]


def scope_of(node_id: UUID) -> PassageScope:
    """Return the scope of the passages of a node's records."""
    return PassageScope(kind=NODE, id=node_id)


async def take_turn(transaction: Transaction, node_id: UUID) -> None:
    """Lock the passages of a node against other writers until the transaction ends."""
    await transaction.query(_TURN, (node_id,))


class RecordPassages:
    """Writes and removes passages of records, in transactions that have locked the record.

    Args:
        passages: The store of the passages of all kinds of texts.
    """

    def __init__(self, passages: Passages) -> None:
        self._passages = passages

    async def put(
        self, transaction: Transaction, record_id: UUID, record: Row, pieces: Sequence[NumberedTextPiece], *, first: int
    ) -> None:
        """Write pieces of a record, numbered from `first`; if `first` is 0, they replace all passages of the record.

        Args:
            transaction: The transaction, which has locked the record.
            record_id: The id of the record.
            record: A row with the columns of `PLACE`, which names a node.
            pieces: The pieces of this step, in order.
            first: The number of the first of `pieces` within the record.
        """
        if not first and record.passage_count:
            await self.remove(transaction, [record])
        else:
            await take_turn(transaction, record.entity_node_id)
        audience = Audience(graph_name=record.graph_name, agent_bundle_id=record.agent_bundle_id, app_id=record.app_id)
        placed = [passage(piece, record, record_id, ordinal=first + number) for number, piece in enumerate(pieces)]
        await self._passages.put(transaction, scope_of(record.entity_node_id), audience, placed)
        await transaction.query(_COUNT, (first + len(pieces), transaction.tenant_id, record_id))

    async def remove(self, transaction: Transaction, records: Collection[Row]) -> None:
        """Remove all passages of records that may be gone already.

        Args:
            transaction: The transaction, which has locked the records.
            records: Rows with `entity_node_id`, `seq` and `passage_count`.
        """
        by_node: dict[UUID, list[int]] = {}
        for record in records:
            if record.passage_count:
                by_node.setdefault(record.entity_node_id, []).append(record.seq)
        for node_id, seqs in sorted(by_node.items()):
            await take_turn(transaction, node_id)
            await self._passages.remove_documents(transaction, scope_of(node_id), seqs)

    async def forget(self, transaction: Transaction, record_id: UUID) -> None:
        """Remove all passages of a locked record that stays stored, so that its text can be read again."""
        key = (transaction.tenant_id, record_id)
        await self.remove(transaction, await transaction.query(_PLACE, key))
        await transaction.query(_FORGET, key)


def passage(piece: NumberedTextPiece, record: Row, record_id: UUID, *, ordinal: int) -> Passage:
    """Return the passage to store for a piece of a record."""
    return Passage(
        seq=record.seq,
        ordinal=ordinal,
        session=record.seq,  # a record is a document of its own
        text=piece.piece.text,
        terms=piece.piece.terms,
        numbers=piece.numbers,
        kind=RECORD,
        said_at=record.created_at,
        is_said=False,
        marks=piece.piece.marks,
        source_id=record_id,
    )
