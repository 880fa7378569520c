"""Artifacts of tasks as a source of the index: the passages of their newest versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_service.contexts.pure.passages import passages_of_artifact
from context_service.contexts.store.artifacts import KIND, artifact_of, placed
from context_service.contexts.store.log_passages import CONTEXTS, audience_of
from context_service.retrieval.model import CONTEXT, PassageScope
from context_service.retrieval.room import IndexedText, PassageFeed
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile

_ARTIFACTS = 20  # artifacts of one page

SQL = SqlFile.of(__file__)
_ROWS = SQL["rows"]


def artifact_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that gives the index the passages of the newest version of each artifact."""

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
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
