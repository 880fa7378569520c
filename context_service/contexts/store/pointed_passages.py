"""The records that messages and artifacts point at, as a source of the index.

Their files are read only once, and not to compare. So the texts in the index are the origin, each as it would be
written again where the message or artifact that points at it stands now; a passage that nothing points at is too much.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_service.contexts.model import ARTIFACT_ROLE
from context_service.contexts.store.log_passages import CONTEXTS, audience_of
from context_service.contexts.store.pointed_records import ORDINALS_OF_PART
from context_service.retrieval.model import CONTEXT, Passage, Scope
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.part_texts import RECORD
from context_service.retrieval.pure.terms import terms_of
from context_service.retrieval.store.feeds import IndexedText, PassageFeed
from service_runtime.copying import copied
from service_runtime.postgres import Row

_POINTING = 20  # messages and artifacts of a page; each may point at records of thousands of passages

_ROWS = f"""
SELECT r.seq, r.part, r.record_id, coalesce(m.session, a.place) AS session,
    coalesce(m.said_at, a.created_at) AS said_at, coalesce(m.role, '{ARTIFACT_ROLE}') AS role,
    coalesce(m.name, '') AS name, coalesce(m.task_id, a.task_id) AS task_id, p.ordinal, p.text,
    c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND deleted_at IS NULL
) c
LEFT JOIN (
    SELECT r.seq, r.part, r.record_id
    FROM context.message_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(scope_id)s AND r.seq IN (
        SELECT DISTINCT seq FROM context.message_record
        WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND seq > %(behind)s
        ORDER BY seq
        LIMIT %(count)s
    )
) r ON true
LEFT JOIN context.message m
    ON m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.seq = r.seq AND m.retracted_at IS NULL
LEFT JOIN context.artifact a
    ON a.tenant_id = c.tenant_id AND a.context_id = c.context_id AND a.place = r.seq AND a.is_newest
LEFT JOIN context.passage p
    ON p.tenant_id = c.tenant_id AND p.scope_id = c.context_id AND p.scope_kind = %(scope_kind)s
        AND p.seq = coalesce(m.seq, a.place)
        AND p.kind = %(kind)s AND p.ordinal / {ORDINALS_OF_PART} = r.part AND p.source_id = r.record_id
ORDER BY r.seq, p.ordinal
"""  # noqa: S608


async def _origin(scope: Scope, rows: Sequence[Row]) -> IndexedText:
    passages = [_passage(row) for row in rows if row.ordinal is not None]
    return IndexedText(seq=rows[0].seq, audience=audience_of(rows[0]), passages=passages)


def _passage(row: Row) -> Passage:
    return copied(
        Passage,
        row,
        terms=terms_of(row.text),
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
