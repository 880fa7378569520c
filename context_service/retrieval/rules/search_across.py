"""Search of many contexts at once: their passages are ranked together, by words and by embeddings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from context_service.retrieval.profiles import profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.ranking import ranking
from context_service.retrieval.pure.rows import Row
from context_service.retrieval.rules.meaning import Meaning
from context_service.retrieval.rules.search import Best, chosen_profile
from context_service.retrieval.store.across import AcrossContexts, SearchedContexts
from service_runtime.rpc.calls import in_slices
from service_runtime.rpc.principal import Principal


async def best_across(
    across: AcrossContexts,
    meaning: Meaning | None,
    searched: SearchedContexts,
    question: AnalyzedQuery,
    *,
    wanted: Callable[[Row], bool],
    limit: int,
    principal: Principal,
    profile_name: str = "",
) -> Best:
    """Return the passages of several contexts that answer a question; the rows have places of `SearchedContexts`.

    Args:
        across: The store of passages.
        meaning: Compares texts by embeddings. None to search by words alone.
        searched: The contexts to search, with the terms of the question.
        question: The analyzed question.
        wanted: Says whether a passage may be returned.
        limit: The largest number of passages to return.
        principal: The caller; only passages that it may see are returned.
        profile_name: The name of the ranking profile; empty chooses one by who speaks.
    """
    vector, error = await meaning.vector(question.text, principal) if meaning else (None, "")
    matching = await across.matching(searched, principal=principal)
    near = None
    if vector and meaning:
        near, rows = await across.near(
            vector,
            searched,
            matching,
            model=meaning.nearest.model,
            unrelated=meaning.nearest.unrelated,
            principal=principal,
        )
        matching = replace(matching, rows=[*matching.rows, *rows])
    nearest = near.nearest if near else frozenset()

    def is_wanted(row: Row) -> bool:
        return (bool(row.found) or (row.seq, row.ordinal) in nearest) and wanted(row)

    ranked_passages = await in_slices(
        ranking(
            question,
            matching,
            profile(profile_name or chosen_profile(matching.rows)),
            cosines=near.cosines if near else None,
            wanted=is_wanted,
            limit=limit,
            with_features=False,
        )
    )
    return Best(ranked=ranked_passages, by_meaning=near is not None, error=error)
