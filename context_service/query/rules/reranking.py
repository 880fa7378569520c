"""The order of hits by a reranker, where there is one.

Hits of a context for which models are switched off are not sent to it, and keep their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from context_service.context_settings.room import ContextSettings
from context_service.kernel.llm.reranking import RERANKED_MAX, Reranker, RerankerFailed, Reranking, in_order_of
from context_service.query.model import CONTEXT
from context_service.query.pure.fusion import Fused
from service_runtime.rpc.principal import Principal


class HitReranking:
    """Orders the first hits of a query by a reranker.

    Args:
        reranker: Reads each hit together with the query.
        settings: Says whether texts of a context may be sent to a model.
    """

    def __init__(self, reranker: Reranker, settings: ContextSettings) -> None:
        self._reranker = reranker
        self._settings = settings

    async def reranked(self, query: str, hits: Sequence[Fused], principal: Principal) -> tuple[list[Fused], Reranking]:
        """Return hits with the first `RERANKED_MAX` in the order of the reranker, and whether it answered."""
        first = hits[:RERANKED_MAX]
        refused = await refused_contexts(self._settings, first, principal)
        sent = [context_of(hit) not in refused for hit in first]
        if not any(sent):
            return list(hits), Reranking(error="models are switched off for the contexts" if refused else "")
        texts = [
            f"{hit.best.hit.title}\n{hit.best.hit.snippet}" for hit, is_sent in zip(first, sent, strict=True) if is_sent
        ]
        try:
            scores = iter(await self._reranker.scores(query, texts))
        except RerankerFailed as error:
            return list(hits), Reranking(error=str(error))
        ordered = in_order_of(first, [next(scores) if is_sent else None for is_sent in sent])
        return [*ordered, *hits[RERANKED_MAX:]], Reranking(is_done=True)


def context_of(hit: Fused) -> UUID | None:
    """Return the context that the text of a hit is from; None if it is from none."""
    return UUID(hit.best.hit.source_id.partition("/")[0]) if hit.best.provider_id == CONTEXT else None


async def refused_contexts(settings: ContextSettings, hits: Sequence[Fused], principal: Principal) -> set[UUID]:
    """Return the contexts of hits for which models are switched off."""
    contexts = {context_id for hit in hits if (context_id := context_of(hit))}
    return {
        context_id
        for context_id in contexts
        if not await settings.may_use_models(context_id, principal=principal.without_admin())
    }
