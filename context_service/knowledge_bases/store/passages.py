"""Documents of knowledge bases as a source of the index: what was read of each, cut again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from context_service.knowledge_bases.pure import cut_document
from context_service.knowledge_bases.store.bases import DROP_TOPIC
from context_service.knowledge_bases.store.documents import KIND, audience_of, passage, scope_of, take_turn
from context_service.retrieval.model import KNOWLEDGE_BASE, Scope
from context_service.retrieval.store.feeds import IndexedText, Owners, PassageFeed
from service_runtime.postgres import Row

_DOCUMENTS = 2  # of a page; each may say two million characters

_BASES = Owners(
    scope_of=scope_of,
    count="SELECT count(*) FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s",
    page="""
        SELECT base_id, '' AS user_id FROM context.knowledge_base
        WHERE tenant_id = %(tenant_id)s AND base_id > %(behind)s
            AND (%(only)s::uuid IS NULL OR base_id = %(only)s)
        ORDER BY base_id
        LIMIT %(count)s
    """,
    # One whose passages are being dropped has an owner until they are.
    owned=f"""
        SELECT base_id FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = ANY (%(ids)s)
        UNION
        SELECT subject_id FROM context.outbox
        WHERE tenant_id = %(tenant_id)s AND topic = '{DROP_TOPIC}' AND subject_id = ANY (%(ids)s)
    """,  # noqa: S608 - a constant
    lock=lambda transaction, scope: take_turn(transaction, scope.id),
)
# A base without documents gives a row without any; one that is gone gives none.
_ROWS = """
SELECT d.*
FROM (SELECT base_id FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = %(scope_id)s) b
LEFT JOIN LATERAL (
    SELECT document_id, seq, created_at, name, content_type, text, page_starts, passage_count, graph_name,
        agent_bundle_id, app_id
    FROM context.knowledge_document
    WHERE tenant_id = %(tenant_id)s AND base_id = b.base_id AND seq > %(behind)s AND passage_count > 0
    ORDER BY seq
    LIMIT %(count)s
) d ON true
ORDER BY seq
"""


def document_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return what the documents of bases say; of one that is being read, as much as is written."""

    async def origin(scope: Scope, rows: Sequence[Row]) -> IndexedText:
        (row,) = rows
        cut = partial(cut_document, row.name, row.content_type, row.text, row.page_starts, scope_id=scope.id)
        found = await asyncio.to_thread(cut, count=count_tokens)
        return IndexedText(
            seq=row.seq,
            audience=audience_of(row),
            passages=[
                passage(piece, row.document_id, ordinal=ordinal, seq=row.seq, said_at=row.created_at)
                for ordinal, piece in enumerate(found.pieces[: row.passage_count])
            ],
        )

    return PassageFeed(
        scope_kind=KNOWLEDGE_BASE,
        kinds=frozenset({KIND}),
        owners=_BASES,
        rows=_ROWS,
        limits={"count": _DOCUMENTS},
        origin=origin,
        has_header=True,
    )
