"""What tasks made, as a source of the index beside the log: the newest versions, and what they are found by."""

from __future__ import annotations

from collections.abc import Iterator

from context_service.contexts.artifact_rows import KIND, artifact_of, placed
from context_service.contexts.indexing import passages_of_artifact
from context_service.contexts.log_source import LogSource, audience_of
from context_service.retrieval.passages import Passage, Scope
from context_service.retrieval.sources import Origin
from service_runtime.postgres import Row, Transaction

_ARTIFACTS = 20  # of a page

# The header beside each: a context without any gives one row, one that is gone gives none. What was replaced was there,
# and so says how far the scope goes.
_PAGE = """
SELECT a.*, c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND deleted_at IS NULL
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


class ArtifactSource(LogSource):
    """What tasks of contexts made."""

    kinds = frozenset({KIND})
    says = False

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`."""
        named = {"tenant_id": transaction.tenant_id, "context_id": scope.id}
        rows = await transaction.query(_PAGE, {**named, "behind": behind, "count": _ARTIFACTS})
        if not rows:
            return None
        return [
            Origin(
                seq=row.place,
                audience=audience_of(row),
                passages=tuple(self._made(row)),
                is_gone=not row.is_newest,
            )
            for row in rows
            if row.place is not None
        ]

    def _made(self, row: Row) -> Iterator[Passage]:
        artifact = artifact_of(row)
        texts = passages_of_artifact(artifact.name, artifact.description, artifact.parts, count=self._count_tokens)
        for ordinal, one in enumerate(texts):
            yield placed(one, artifact, ordinal=ordinal)
