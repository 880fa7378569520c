"""Texts of records as a source of the index: the passages that are in it, at the current places of their records.

A check of the index reads each file only once, when it was indexed, and compares the index with itself: passages that
belong to no record of the node are surplus, and the number of a record's passages shows whether some are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_service.retrieval.model import Audience, Passage, Scope
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.terms import masks, terms_of
from context_service.retrieval.pure.text_pieces import NumberedTextPiece, TextPiece
from context_service.retrieval.store.feeds import IndexedText, Owners, PassageFeed
from context_service.working_memory.store.passages import NODE, passage, scope_of, take_turn
from service_runtime.postgres import Row

_RECORDS = 5  # of a page; each may have thousands of passages

_NODES = Owners(
    scope_of=scope_of,
    count="""
        SELECT count(DISTINCT entity_node_id) FROM context.wm_record
        WHERE tenant_id = %(tenant_id)s AND passage_count > 0
    """,
    page="""
        SELECT DISTINCT entity_node_id, '' AS user_id FROM context.wm_record
        WHERE tenant_id = %(tenant_id)s AND entity_node_id > %(behind)s AND passage_count > 0
            AND (%(only)s::uuid IS NULL OR entity_node_id = %(only)s)
        ORDER BY entity_node_id
        LIMIT %(count)s
    """,
    owned="""
        SELECT DISTINCT entity_node_id FROM context.wm_record
        WHERE tenant_id = %(tenant_id)s AND entity_node_id = ANY (%(ids)s) AND passage_count > 0
    """,
    lock=lambda transaction, scope: take_turn(transaction, scope.id),
)
_ROWS = """
SELECT r.id, r.seq, r.created_at, r.graph_name, r.agent_bundle_id, r.app_id, p.ordinal, p.text
FROM (
    SELECT * FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND entity_node_id = %(scope_id)s AND seq > %(behind)s AND passage_count > 0
    ORDER BY seq
    LIMIT %(count)s
) r
LEFT JOIN context.passage p
    ON p.tenant_id = r.tenant_id AND p.scope_id = r.entity_node_id AND p.scope_kind = %(scope_kind)s AND p.seq = r.seq
        AND p.source_id = r.id AND p.ordinal < r.passage_count
ORDER BY r.seq, p.ordinal
"""


async def _origin(scope: Scope, rows: Sequence[Row]) -> IndexedText:
    first = rows[0]
    audience = Audience(graph_name=first.graph_name, agent_bundle_id=first.agent_bundle_id, app_id=first.app_id)
    passages = [_passage(scope, row) for row in rows if row.ordinal is not None]
    return IndexedText(seq=first.seq, audience=audience, passages=passages)


def _passage(scope: Scope, row: Row) -> Passage:
    terms = tuple(terms_of(row.text))
    piece = NumberedTextPiece(TextPiece(row.text, terms, marks_of(row.text)), masks(scope.id, terms))
    return passage(piece, row, row.id, ordinal=row.ordinal)


# A node cannot be gone: one without records has no origins.
RECORDS = PassageFeed(
    scope_kind=NODE,
    kinds=frozenset({RECORD}),
    owners=_NODES,
    rows=_ROWS,
    limits={"count": _RECORDS},
    origin=_origin,
)
