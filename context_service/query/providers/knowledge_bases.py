"""The provider `knowledge-base`: passages of documents in the knowledge bases of the tenant and of the agent."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from context_service.knowledge_bases.model import BaseToSearch, DocumentPassage
from context_service.knowledge_bases.room import BaseSearch
from context_service.query.model import with_words_only
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.retrieval.model import KNOWLEDGE_BASE
from service_runtime.rpc.principal import Principal

TRUST = 2
WHOLE_CHARS_MAX = 1024 * 1024  # the most characters of all documents that one call expands
_SHOWN_MAX = 3  # bases that a status names
_BETWEEN = " > "

__all__ = ["KNOWLEDGE_BASE", "TRUST", "KnowledgeBaseDocuments"]


class KnowledgeBaseDocuments:
    """The provider that searches uploaded documents in the knowledge bases of the tenant and of the query's agent.

    Args:
        bases: Finds knowledge bases, and passages in them.
    """

    info = ProviderInfo(
        id=KNOWLEDGE_BASE, family=KNOWLEDGE_BASE, display_name="Knowledge bases", scopes=frozenset({QueryScope.TEAM})
    )

    def __init__(self, bases: BaseSearch) -> None:
        self._bases = bases

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of documents; the state is STALE if some documents are not read yet."""
        bases = await self._bases.bases(request.knowledge_bases, principal=principal)
        if not bases:
            whose = f"to agent {request.agent_id}, to its template or " if request.agent_id else ""
            reason = f"no knowledge base is attached {whose}to the tenant"
            return Answered(state=State.SKIPPED, reason=reason, target="0 knowledge bases")
        results = await self._bases.search(
            request.query,
            bases,
            limit=request.limit,
            time_from=request.time_from,
            time_to=request.time_to,
            principal=principal,
        )
        waiting = sum(base.waiting for base in bases)
        reasons = [f"{_documents(waiting)} not read yet"] if waiting else []
        if results.left_out:
            reasons.append(f"{results.left_out} of the knowledge bases are not searched")
        answer = Answered(
            hits=[_hit(document) for document in results.documents],
            state=State.STALE if reasons else State.OK,
            reason="; ".join(reasons),
            target=_target(bases),
            mode="words and meaning" if results.by_meaning else "words",
        )
        return with_words_only(answer, results.error)

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the documents that hits were taken from, if their knowledge bases are searched."""
        left_chars = WHOLE_CHARS_MAX
        expanded = []
        for source_id in source_ids:
            document_id = _document_id(source_id)
            document = document_id and await self._bases.whole(
                document_id, request.knowledge_bases, chars_max=left_chars, principal=principal
            )
            if not document:
                continue
            left_chars -= len(document.text)
            expanded.append(
                Expanded(
                    source_id=source_id,
                    text=document.text,
                    title=document.name,
                    scope=QueryScope.TEAM,
                    as_of=document.added_at,
                    is_cut=document.is_cut,
                )
            )
        return expanded


def _document_id(source_id: str) -> UUID | None:
    """Return the id of the document of a hit, or None for an id of another form."""
    name, _, ordinal = source_id.partition(".")
    try:
        document_id = UUID(name)
    except ValueError:
        return None
    return document_id if ordinal.isdecimal() and str(document_id) == name else None


def _documents(count: int) -> str:
    return "1 document is" if count == 1 else f"{count:,} documents are"


def _target(bases: Sequence[BaseToSearch]) -> str:
    """Describe the search: "2 knowledge bases (handbook, prices): 12 documents, 1 could not be read"."""
    names = ", ".join(base.name for base in bases[:_SHOWN_MAX]) + (", ..." if len(bases) > _SHOWN_MAX else "")
    documents, failed = sum(base.documents for base in bases), sum(base.failed for base in bases)
    what = "1 knowledge base" if len(bases) == 1 else f"{len(bases)} knowledge bases"
    read = f", {failed:,} could not be read" if failed else ""
    return f"{what} ({names}): {documents:,} document{'' if documents == 1 else 's'}{read}"


def _hit(hit: DocumentPassage) -> Hit:
    """Return a passage of a document as a hit, with its place in the document in the metadata."""
    where = hit.heading or (f"page {hit.page}" if hit.page else "")
    return Hit(
        source_id=f"{hit.document_id}.{hit.ordinal}",
        title=_BETWEEN.join(filter(None, (hit.name, where))),
        snippet=hit.text,
        scope=QueryScope.TEAM,
        score=hit.score,
        label=hit.name,
        uri=hit.uri or f"kb://{hit.document_id}",
        metadata={
            "knowledge_base": hit.base,
            "document_id": str(hit.document_id),
            "working_memory_id": str(hit.record_id or ""),
            "heading": hit.heading,
            "page": hit.page,
            "start": hit.start,
            "end": hit.end,
        },
        as_of=hit.added_at,
        cosine=hit.cosine,
    )
