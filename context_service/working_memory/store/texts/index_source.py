"""The feed that verifies the passages of records, at the current places of the records.

A check of the index reads each file only once, when it was indexed, and compares the index with itself: passages that
belong to no record of the node are surplus, and the number of a record's passages shows whether some are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.terms import indexed_terms, masks
from context_service.retrieval.pure.text_pieces import NumberedTextPiece, TextPiece
from context_service.retrieval.room import IndexedText, Owners, PassageFeed
from context_service.working_memory.store.texts.passages import NODE, passage, scope_of, take_turn
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile

_RECORDS = 5  # records that one statement reads; each may have thousands of passages

SQL = SqlFile.of(__file__)
_ROWS = SQL["rows"]
_NODES = Owners(
    scope_of=scope_of,
    count=SQL["nodes_count"],
    page=SQL["nodes_page"],
    owned=SQL["nodes_owned"],
    lock=lambda transaction, scope: take_turn(transaction, scope.id),
)


async def _origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
    """Make a record's passages again from their stored texts and the current place of the record."""
    first = rows[0]
    audience = Audience(graph_name=first.graph_name, agent_bundle_id=first.agent_bundle_id, app_id=first.app_id)
    passages = [_passage(scope, row) for row in rows if row.ordinal is not None]
    return IndexedText(seq=first.seq, audience=audience, passages=passages)


def _passage(scope: PassageScope, row: Row) -> Passage:
    terms = indexed_terms(row.text)
    piece = NumberedTextPiece(TextPiece(row.text, terms, marks_of(row.text)), masks(scope.id, terms))
    return passage(piece, row, row.id, ordinal=row.ordinal)


# This feed has no header row (`has_header`), because a node cannot be gone: a node without records only has no texts.
RECORDS = PassageFeed(
    scope_kind=NODE,
    kinds=frozenset({RECORD}),
    owners=_NODES,
    rows=_ROWS,
    limits={"count": _RECORDS},
    origin=_origin,
)
