"""The records that messages and artifacts point at, as a source of the index.

Their files are read only once, not for comparing. So the texts in the index count as the origin, each at the current
place of the message or artifact that points at it; a passage that nothing points at is surplus.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_service.contexts.model import ARTIFACT_ROLE
from context_service.contexts.store.log_passages import CONTEXTS, audience_of
from context_service.contexts.store.pointed_records import ORDINALS_OF_PART
from context_service.retrieval.model import CONTEXT, Passage, PassageScope
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.terms import indexed_terms
from context_service.retrieval.room import IndexedText, PassageFeed
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_POINTING = 20  # messages and artifacts of a page; each may point at records of thousands of passages

SQL = SqlFile.of(__file__, artifact_role=ARTIFACT_ROLE, ordinals_of_part=ORDINALS_OF_PART)
_ROWS = SQL["rows"]


async def _origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
    passages = [_passage(row) for row in rows if row.ordinal is not None]
    return IndexedText(seq=rows[0].seq, audience=audience_of(rows[0]), passages=passages)


def _passage(row: Row) -> Passage:
    """Return a passage of a record that a message points at. Its author is the record's name."""
    return copied(
        Passage,
        row,
        terms=indexed_terms(row.text),
        kind=RECORD,
        is_said=False,
        marks=marks_of(row.text),
        author=row.name,
        source_id=row.record_id,
        numbers=None,
    )


POINTED = PassageFeed(
    scope_kind=CONTEXT,
    kinds=frozenset({RECORD}),
    owners=CONTEXTS,
    rows=_ROWS,
    limits={"kind": RECORD, "count": _POINTING},
    origin=_origin,
    has_header=True,
)
