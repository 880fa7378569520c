"""Documents of knowledge bases as a source of the index: the stored text of each, cut again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from context_service.knowledge_bases.pure import cut_document
from context_service.knowledge_bases.store.bases import DROP_TOPIC
from context_service.knowledge_bases.store.documents import KIND, audience_of, passage, scope_of, take_turn
from context_service.retrieval.model import KNOWLEDGE_BASE, PassageScope
from context_service.retrieval.room import IndexedText, Owners, PassageFeed
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile

_DOCUMENTS = 2  # documents of one page; each may have two million characters

SQL = SqlFile.of(__file__, drop_topic=DROP_TOPIC)
_ROWS = SQL["rows"]
_BASES = Owners(
    scope_of=scope_of,
    count=SQL["bases_count"],
    page=SQL["bases_page"],
    # A base whose passages are being removed counts as existing until they are gone.
    owned=SQL["bases_owned"],
    lock=lambda transaction, scope: take_turn(transaction, scope.id),
)


def document_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that gives the index the passages of documents.

    While a document is being read, these are the passages that were written so far.
    """

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
        """Make the passages of a document again from its text; each document has one row."""
        (row,) = rows
        split = partial(cut_document, row.name, row.content_type, row.text, row.page_starts, scope_id=scope.id)
        pieces = await asyncio.to_thread(split, count=count_tokens)
        return IndexedText(
            seq=row.seq,
            audience=audience_of(row),
            passages=[
                passage(piece, row.document_id, ordinal=ordinal, seq=row.seq, said_at=row.created_at)
                for ordinal, piece in enumerate(pieces.pieces[: row.passage_count])
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
