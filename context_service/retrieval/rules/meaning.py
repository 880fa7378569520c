"""Comparison of queries with passages by embeddings, which also finds rows without a word of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context_service.kernel.llm.questions import NoVector, QuestionVectors
from context_service.retrieval.model import PassageScope
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.rows import Matching
from context_service.retrieval.store.nearest import Near, Nearest, Place
from context_service.retrieval.store.passages import Passages
from service_runtime.rpc.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Compares texts by their embeddings."""

    questions: QuestionVectors
    nearest: Nearest

    async def vector(self, text: str, principal: Principal) -> tuple[Sequence[float] | None, str]:
        """Return the vector of a query; if there is none, also the reason."""
        try:
            return await self.questions.of(text, tenant_id=principal.tenant_id), ""
        except NoVector as error:
            return None, str(error)

    async def near(
        self,
        vector: Sequence[float],
        question: AnalyzedQuery,
        matching: Matching,
        *,
        passages: Passages,
        scope: PassageScope,
        principal: Principal,
        places: Sequence[Place],
        seq_from: int,
        seq_to: int,
    ) -> tuple[Near | None, Matching]:
        """Compare passages with a query, and add the near passages that share no word with it to the rows.

        Returns:
            The similarities and the rows. The similarities are None if no passage has a vector, so that only words
            count.

        Args:
            vector: The vector of the query.
            question: The analyzed query.
            matching: The rows that share words with the query.
            passages: The store of passages.
            scope: The scope to search.
            principal: The caller; only passages that it may see are compared.
            places: The places of passages that are always compared.
            seq_from: The first `seq` of the range in which near passages are looked for.
            seq_to: The last `seq` of that range.
        """
        near = await self.nearest.to(
            vector,
            principal=principal,
            scope=scope,
            whole=matching.is_whole,
            places=places,
            seq_from=seq_from,
            seq_to=seq_to,
        )
        if not near.cosines:
            return None, matching
        unread = near.nearest - {(row.seq, row.ordinal) for row in matching.rows}
        if unread:
            rows = await passages.at(principal, scope, question.terms, sorted(unread), question.spellings)
            matching = replace(matching, rows=[*matching.rows, *rows])
        return near, matching
