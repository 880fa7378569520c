"""Search the documents of knowledge bases: the best passages, each with its position in the document.

The statement that finds the bases decides which ones to search: those of the tenant, and those that an agent names.
Each base is a scope of its own, so a base that is not searched does not affect the ranking of another. The passages are
found first, and the documents are read after them. A document is left out if it was removed, if it is being read again,
or if the record that it follows changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from uuid import UUID

import orjson

from context_service.knowledge_bases.model import (
    BaseResults,
    BaseToSearch,
    Bedrock,
    BedrockBase,
    DocumentPassage,
    WholeDocument,
)
from context_service.knowledge_bases.store.documents import scope_of
from context_service.knowledge_bases.store.search import ASKED, ASKED_BEDROCK, SHOWN, WHOLE
from context_service.retrieval.model import KNOWLEDGE_BASE
from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.room import Meaning, Passages, best, few_of_each
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

PASSAGES_MAX = 2  # passages of one document in an answer
BASES_MAX = 20  # bases that a question searches: those with most passages
FOUND_MAX = 10  # the most passages of one base that are merged with those of other bases


class BaseSearch:
    """Searches knowledge bases; each call acts for its principal, with the base names of its agent.

    Args:
        database: The database that holds the knowledge bases.
        passages: The search index of the documents.
        meaning: Compares texts by their embeddings, or None to search by words only.
    """

    def __init__(self, database: Database, passages: Passages, *, meaning: Meaning | None) -> None:
        self._database = database
        self._passages = passages
        self._meaning = meaning

    async def bases(self, names: Sequence[str], *, principal: Principal) -> list[BaseToSearch]:
        """Return the bases of the tenant and those with the names, as far as the principal's bounds let it see them."""
        rows = await self._database.of(principal.without_admin()).query(ASKED, _parameters(names, principal))
        return [copied(BaseToSearch, row, documents=row.document_count) for row in rows]

    async def bedrock_bases(self, names: Sequence[str], *, principal: Principal) -> list[BedrockBase]:
        """Return the bases of Amazon Bedrock, of the tenant and with the names, as far as the principal sees them."""
        rows = await self._database.of(principal.without_admin()).query(ASKED_BEDROCK, _parameters(names, principal))
        return [
            BedrockBase(
                base_id=row.base_id,
                name=row.name,
                bedrock=Bedrock(bedrock_id=row.bedrock_id, region=row.bedrock_region),
            )
            for row in rows
        ]

    async def search(
        self,
        text: str,
        bases: Sequence[BaseToSearch],
        *,
        limit: int,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        principal: Principal,
    ) -> BaseResults:
        """Return the best passages of bases, `PASSAGES_MAX` of each document.

        Args:
            text: The text of the question.
            bases: The bases to search, which `bases` returned for the same principal.
            limit: The number of passages at most.
            time_from: Only documents that were added then or later; None sets no limit.
            time_to: Only documents that were added before then; None sets no limit.
            principal: The caller; its tenant and bounds limit the rows.
        """
        principal = principal.without_admin()
        with_text = await self._passages.scopes_with_passages(
            principal, KNOWLEDGE_BASE, [base.base_id for base in bases], count=len(bases)
        )

        by_meaning, error, of_bases = False, "", []
        for base_id in with_text[:BASES_MAX]:
            scope = scope_of(base_id)
            matches = await best(
                self._passages,
                self._meaning,
                scope,
                text,
                wanted=lambda row: row.is_said_within(time_from, time_to),
                limit=2 * FOUND_MAX,
                principal=principal,
            )
            by_meaning = by_meaning or matches.by_meaning
            error = error or matches.error
            best_places = few_of_each(matches.ranked, lambda one: one.row.seq, each_max=PASSAGES_MAX)
            of_bases.append([(base_id, ranked) for ranked in best_places[:FOUND_MAX]])
        # Scores of different bases cannot be compared, so their passages are interleaved by rank.
        places = [place for together in zip_longest(*of_bases) for place in together if place is not None]
        shown = await self._visible_hits(places, [base.name for base in bases], principal)
        return BaseResults(
            documents=shown[:limit],
            by_meaning=by_meaning,
            left_out=max(0, len(with_text) - BASES_MAX),
            error=error,
        )

    async def whole(
        self, document_id: UUID, names: Sequence[str], *, chars_max: int, principal: Principal
    ) -> WholeDocument | None:
        """Return up to `chars_max` characters of a document, or None if the searched bases do not have it."""
        parameters = {**_parameters(names, principal), "document_id": document_id, "chars": chars_max}
        for row in await self._database.of(principal.without_admin()).query(WHOLE, parameters):
            return copied(WholeDocument, row, is_cut=row.is_cut or row.chars > chars_max, added_at=row.created_at)
        return None

    async def _visible_hits(
        self, places: Sequence[tuple[UUID, Ranked]], names: Sequence[str], principal: Principal
    ) -> list[DocumentPassage]:
        """Return the texts of ranked passages with their documents, as far as the documents may still be shown."""
        if not places:
            return []
        found = [
            {"n": number, "scope_id": str(base_id), "seq": place.row.seq, "ordinal": place.row.ordinal}
            for number, (base_id, place) in enumerate(places)
        ]
        parameters = {**_parameters(names, principal), "found": orjson.dumps(found).decode()}
        rows = await self._database.of(principal).query(SHOWN, parameters)
        return [_hit_of(row, places[row.n][1]) for row in rows]


def _parameters(names: Sequence[str], principal: Principal) -> Mapping[str, object]:
    return {"tenant_id": principal.tenant_id, "names": list(names)}


def _hit_of(row: Row, ranked: Ranked) -> DocumentPassage:
    """Return a passage with its document, its place and its score."""
    return copied(
        DocumentPassage,
        row,
        heading=row.heading or "",
        added_at=row.created_at,
        score=ranked.score,
        cosine=ranked.cosine,
    )
