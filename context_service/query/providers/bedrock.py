"""The provider `knowledge-base-bedrock`: passages from Amazon Bedrock knowledge bases of the tenant and the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from urllib.parse import unquote, urlsplit
from uuid import UUID

from context_service.knowledge_bases.bedrock import BedrockClient, BedrockPassage
from context_service.knowledge_bases.model import BedrockBase
from context_service.knowledge_bases.room import BaseSearch
from context_service.query.providers import Answered, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.retrieval.model import KNOWLEDGE_BASE
from contextkeep.errors import ContextKeepError
from service_runtime.rpc.principal import Principal

BEDROCK = "knowledge-base-bedrock"
BASES_MAX = 5  # the most knowledge bases that one query searches, all at the same time
# The time for one knowledge base, of a quick and of a deep query. It is shorter than the provider's deadline, so that
# the hits of other bases are not lost if one base does not answer.
ONE_QUICK_S, ONE_DEEP_S = 2.2, 7.5


class BedrockKnowledgeBases:
    """The provider that queries Amazon Bedrock knowledge bases: those of the tenant and of the query's agent.

    Args:
        bases: Returns the knowledge bases that a query may search.
        client: Calls Amazon Bedrock.
        allowed: The knowledge bases that a tenant may name at present.
    """

    info = ProviderInfo(
        id=BEDROCK,
        family=KNOWLEDGE_BASE,
        display_name="Knowledge bases of Amazon Bedrock",
        scopes=frozenset({QueryScope.TEAM}),
    )

    def __init__(self, bases: BaseSearch, client: BedrockClient, *, allowed: Mapping[UUID, Collection[str]]) -> None:
        self._bases = bases
        self._client = client
        self._allowed = allowed

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of the knowledge bases; the state is STALE if some of them failed.

        Raises:
            AddressRefused, KnowledgeBaseFailed: all knowledge bases failed.
            TimeoutError: no knowledge base answered in time.
        """
        known = await self._bases.bedrock_bases(request.knowledge_bases, principal=principal)
        allowed = self._allowed.get(principal.tenant_id, ())
        bases = [known_base for known_base in known if known_base.bedrock.bedrock_id in allowed]
        if not known:
            return Answered(state=State.SKIPPED, reason="no knowledge base of Amazon Bedrock is attached")
        if not bases:
            reason = "the tenant may use none of its Amazon Bedrock knowledge bases; ask the operator of the service"
            return Answered(state=State.SKIPPED, reason=reason)
        asking = bases[:BASES_MAX]
        seconds = ONE_DEEP_S if request.is_deep else ONE_QUICK_S
        results = await asyncio.gather(*(self._retrieve(searched_base, request, seconds) for searched_base in asking))
        failed = [(base, answer) for base, answer in zip(asking, results, strict=True) if isinstance(answer, Exception)]
        if len(failed) == len(asking):
            raise failed[0][1]
        reasons = [f"{base.name}: {_failure(error, seconds)}" for base, error in failed]
        reasons += [
            f"{known_base.name}: the operator does not list it" for known_base in known if known_base not in bases
        ]
        if len(bases) > BASES_MAX:
            reasons.append(f"{len(bases) - BASES_MAX} of the knowledge bases are not asked")
        hits = [
            [_hit(base, passage) for passage in answer]
            for base, answer in zip(asking, results, strict=True)
            if not isinstance(answer, Exception)
        ]
        return Answered(
            # Scores of different bases cannot be compared, so their hits are interleaved by rank.
            hits=[hit for together in zip_longest(*hits) for hit in together if hit is not None][: request.limit],
            state=State.STALE if reasons else State.OK,
            reason="; ".join(reasons),
            target=_target(asking),
        )

    async def _retrieve(
        self, base: BedrockBase, request: ProviderQuery, seconds: float
    ) -> list[BedrockPassage] | Exception:
        """Search a knowledge base of Bedrock, and return its passages, or the error that its state will show."""
        try:
            async with asyncio.timeout(seconds):
                return await self._client.retrieve(base.bedrock, request.query, limit=request.limit)
        except (ContextKeepError, TimeoutError) as error:
            return error


def _failure(error: Exception, seconds: float) -> str:
    return error.message if isinstance(error, ContextKeepError) else f"no answer within {seconds:.1f} s"


def _target(bases: Sequence[BedrockBase]) -> str:
    names = ", ".join(base.name for base in bases)
    return f"{len(bases)} knowledge base{'' if len(bases) == 1 else 's'} of Amazon Bedrock ({names})"


def _hit(base: BedrockBase, passage: BedrockPassage) -> Hit:
    """Return a passage as a hit; its title is the last part of the document's address, and the page."""
    label = unquote(urlsplit(passage.uri).path.rstrip("/").rpartition("/")[2]) if _is_url(passage.uri) else passage.uri
    label = label or base.name
    return Hit(
        source_id=f"{base.base_id}.{passage.passage_id}",
        title=f"{label} > page {passage.page}" if passage.page else label,
        snippet=passage.text,
        scope=QueryScope.TEAM,
        score=passage.score,
        label=label,
        uri=passage.uri,
        metadata={"knowledge_base": base.name, "page": passage.page, "document": passage.metadata},
    )


def _is_url(uri: str) -> bool:
    """Return whether a source is a URL, so that a reader can open it."""
    try:
        return bool(urlsplit(uri).scheme)
    except ValueError:
        return False
