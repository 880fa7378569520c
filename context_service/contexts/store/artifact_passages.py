"""What tasks made, as a source of the index: the newest versions, and what they are found by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_service.contexts.pure.passages import passages_of_artifact
from context_service.contexts.store.artifacts import KIND, artifact_of, placed
from context_service.contexts.store.log_passages import CONTEXTS, audience_of
from context_service.retrieval.model import CONTEXT, Scope
from context_service.retrieval.store.feeds import IndexedText, PassageFeed
from service_runtime.postgres import Row

_ARTIFACTS = 20  # of a page

# The header next to each: a context without any gives one row, one that is gone gives none. Versions that were replaced
# are read, too: they say how far the scope goes.
_ROWS = """
SELECT a.*, a.place AS seq, c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND deleted_at IS NULL
) c
LEFT JOIN LATERAL (
    SELECT context_id, task_id, artifact_id, version, name, description, is_complete, is_newest, part_count,
        passage_count, tokens, size_bytes, place, created_by, created_at, updated_at, parts::text AS parts,
        metadata::text AS metadata, imported::text AS imported_json
    FROM context.artifact a
    WHERE a.tenant_id = c.tenant_id AND a.context_id = c.context_id AND a.place > %(behind)s
    ORDER BY place
    LIMIT %(count)s
) a ON true
ORDER BY a.place
"""


def artifact_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return what tasks of contexts made."""

    async def origin(scope: Scope, rows: Sequence[Row]) -> IndexedText:
        (row,) = rows
        artifact = artifact_of(row)
        texts = passages_of_artifact(artifact.name, artifact.description, artifact.parts, count=count_tokens)
        passages = [placed(text, artifact, ordinal=ordinal) for ordinal, text in enumerate(texts)]
        return IndexedText(seq=row.seq, audience=audience_of(row), passages=passages, is_gone=not row.is_newest)

    return PassageFeed(
        scope_kind=CONTEXT,
        kinds=frozenset({KIND}),
        owners=CONTEXTS,
        rows=_ROWS,
        limits={"count": _ARTIFACTS},
        origin=origin,
        has_header=True,
    )
