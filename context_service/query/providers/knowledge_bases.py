"""The provider `knowledge-base`: what the documents of knowledge bases say, those of the tenant and of the agent."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from context_service.knowledge_bases.model import AskedBase, SaidByDocument
from context_service.knowledge_bases.rules.search import AskedBases
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, Scope, State
from context_service.retrieval.model import KNOWLEDGE_BASE
from service_runtime.auth import Principal

TRUST = 2
WHOLE_CHARS_MAX = 1024 * 1024  # of all documents that are expanded at once
_SHOWN_MAX = 3  # bases that a status names
_BETWEEN = " > "

__all__ = ["KNOWLEDGE_BASE", "TRUST", "KnowledgeBaseDocuments"]


class KnowledgeBaseDocuments:
    """Searches the bases of the tenant, and those that the agent of the question has.

    Args:
        bases: Finds them.
    """

    info = ProviderInfo(
        id=KNOWLEDGE_BASE, family=KNOWLEDGE_BASE, display_name="Knowledge bases", scopes=frozenset({Scope.TEAM})
    )

    def __init__(self, bases: AskedBases) -> None:
        self._bases = bases

    async def search(self, asked: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of documents; STALE, if some are not read yet."""
        bases = await self._bases.asked(asked.knowledge_bases, principal=principal)
        if not bases:
            whose = f"to agent {asked.agent_id}, to its template or " if asked.agent_id else ""
            reason = f"no knowledge base is attached {whose}to the tenant"
            return Answered(state=State.SKIPPED, reason=reason, target="0 knowledge bases")
        found = await self._bases.found(
            asked.query,
            bases,
            limit=asked.limit,
            time_from=asked.time_from,
            time_to=asked.time_to,
            principal=principal,
        )
        waiting = sum(one.waiting for one in bases)
        reasons = [f"{_documents(waiting)} not read yet"] if waiting else []
        if found.left_out:
            reasons.append(f"{found.left_out} of the knowledge bases are not searched")
        return Answered(
            hits=[_hit(one) for one in found.documents],
            state=State.STALE if reasons else State.OK,
            reason="; ".join(reasons),
            target=_target(bases),
            mode="words and meaning" if found.by_meaning else "words",
        )

    async def expand(self, source_ids: Sequence[str], asked: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the documents that hits are of, of the bases that are asked."""
        left_chars = WHOLE_CHARS_MAX
        expanded = []
        for source_id in source_ids:
            document_id = _document_id(source_id)
            document = document_id and await self._bases.whole(
                document_id, asked.knowledge_bases, chars_max=left_chars, principal=principal
            )
            if not document:
                continue
            left_chars -= len(document.text)
            expanded.append(
                Expanded(
                    source_id=source_id,
                    text=document.text,
                    title=document.name,
                    scope=Scope.TEAM,
                    as_of=document.added_at,
                    is_cut=document.is_cut,
                )
            )
        return expanded


def _document_id(source_id: str) -> UUID | None:
    """Return the id of the document that a hit is of; None: it is no hit of ours."""
    name, _, ordinal = source_id.partition(".")
    try:
        document_id = UUID(name)
    except ValueError:
        return None
    return document_id if ordinal.isdecimal() and str(document_id) == name else None


def _documents(count: int) -> str:
    return "1 document is" if count == 1 else f"{count:,} documents are"


def _target(bases: Sequence[AskedBase]) -> str:
    """Say what is searched: "2 knowledge bases (handbook, prices): 12 documents, 1 of which could not be read"."""
    names = ", ".join(one.name for one in bases[:_SHOWN_MAX]) + (", ..." if len(bases) > _SHOWN_MAX else "")
    documents, failed = sum(one.documents for one in bases), sum(one.failed for one in bases)
    what = "1 knowledge base" if len(bases) == 1 else f"{len(bases)} knowledge bases"
    read = f", {failed:,} of which could not be read" if failed else ""
    return f"{what} ({names}): {documents:,} document{'' if documents == 1 else 's'}{read}"


def _hit(one: SaidByDocument) -> Hit:
    where = one.heading or (f"page {one.page}" if one.page else "")
    return Hit(
        source_id=f"{one.document_id}.{one.ordinal}",
        title=_BETWEEN.join(filter(None, (one.name, where))),
        snippet=one.text,
        scope=Scope.TEAM,
        score=one.score,
        label=one.name,
        uri=one.uri or f"kb://{one.document_id}",
        metadata={
            "knowledge_base": one.base,
            "document_id": str(one.document_id),
            "working_memory_id": str(one.record_id or ""),
            "heading": one.heading,
            "page": one.page,
            "start": one.start,
            "end": one.end,
        },
        as_of=one.added_at,
        cosine=one.cosine,
    )
