"""Documents of knowledge bases that have something to say to a question: passages, each with where it stands.

Which bases are asked is decided here, in the statement that finds them: those of the tenant, and those that are named
for an agent. Each is a scope of its own, so nothing of one that is not asked counts in what is found in another. What
is shown is looked at once more behind the passages: of a document that was removed, is being read anew, or follows a
record that is another by now, nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from uuid import UUID

import orjson

from context_service.knowledge_bases.model import (
    AskedBase,
    AskedBedrock,
    Bedrock,
    FoundInBases,
    SaidByDocument,
    WholeDocument,
)
from context_service.knowledge_bases.store.documents import scope_of
from context_service.knowledge_bases.store.search import ASKED, ASKED_BEDROCK, SHOWN, WHOLE
from context_service.retrieval.model import KNOWLEDGE_BASE
from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.rules.meaning import Meaning
from context_service.retrieval.rules.search import best, few_of_each
from context_service.retrieval.store.passages import Passages
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Database, Row

PASSAGES_MAX = 2  # of one document
BASES_MAX = 20  # that are searched for a question: those with most passages
FOUND_MAX = 10  # in one base


class AskedBases:
    """Finds them; each time for a principal, and for the names that an agent brings.

    Args:
        database: Where they are.
        passages: What their documents say.
        meaning: Compares texts by what they mean; None: words are all.
    """

    def __init__(self, database: Database, passages: Passages, *, meaning: Meaning | None) -> None:
        self._database = database
        self._passages = passages
        self._meaning = meaning

    async def asked(self, names: Sequence[str], *, principal: Principal) -> list[AskedBase]:
        """Return the bases of the tenant and those with the names, as far as the principal's bounds let it see them."""
        rows = await self._database.of(principal.without_admin()).query(ASKED, _named(names, principal))
        return [copied(AskedBase, row, documents=row.document_count) for row in rows]

    async def asked_bedrock(self, names: Sequence[str], *, principal: Principal) -> list[AskedBedrock]:
        """Return those of Amazon Bedrock, as `asked` does the others."""
        rows = await self._database.of(principal.without_admin()).query(ASKED_BEDROCK, _named(names, principal))
        return [
            AskedBedrock(
                base_id=row.base_id,
                name=row.name,
                bedrock=Bedrock(bedrock_id=row.bedrock_id, region=row.bedrock_region),
            )
            for row in rows
        ]

    async def found(
        self,
        text: str,
        bases: Sequence[AskedBase],
        *,
        limit: int,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        principal: Principal,
    ) -> FoundInBases:
        """Return the best passages of bases, `PASSAGES_MAX` of each document.

        Args:
            text: The question.
            bases: As of `asked`, for the same principal.
            limit: Passages.
            time_from: Only of documents that were added from then on.
            time_to: Only of those that were added before.
            principal: Who asks.
        """
        principal = principal.without_admin()
        with_text = await self._passages.scopes_with_passages(
            principal, KNOWLEDGE_BASE, [one.base_id for one in bases], count=len(bases)
        )

        by_meaning, of_bases = False, []
        for base_id in with_text[:BASES_MAX]:
            scope = scope_of(base_id)
            found = await best(
                self._passages,
                self._meaning,
                scope,
                text,
                wanted=lambda row: row.is_said_within(time_from, time_to),
                limit=2 * FOUND_MAX,
                principal=principal,
            )
            by_meaning = by_meaning or found.by_meaning
            taken = few_of_each(found.ranked, lambda one: one.row.seq, each_max=PASSAGES_MAX)
            of_bases.append([(base_id, one) for one in taken[:FOUND_MAX]])
        # Scores of two bases do not compare.
        places = [one for together in zip_longest(*of_bases) for one in together if one is not None]
        shown = await self._shown(places, [one.name for one in bases], principal)
        return FoundInBases(documents=shown[:limit], by_meaning=by_meaning, left_out=max(0, len(with_text) - BASES_MAX))

    async def whole(
        self, document_id: UUID, names: Sequence[str], *, chars_max: int, principal: Principal
    ) -> WholeDocument | None:
        """Return what a document says, `chars_max` characters of it; None: the bases that are asked have none such."""
        named = {**_named(names, principal), "document_id": document_id, "chars": chars_max}
        for row in await self._database.of(principal.without_admin()).query(WHOLE, named):
            return copied(WholeDocument, row, is_cut=row.is_cut or row.chars > chars_max, added_at=row.created_at)
        return None

    async def _shown(
        self, places: Sequence[tuple[UUID, Ranked]], names: Sequence[str], principal: Principal
    ) -> list[SaidByDocument]:
        if not places:
            return []
        found = [
            {"n": number, "scope_id": str(base_id), "seq": one.row.seq, "ordinal": one.row.ordinal}
            for number, (base_id, one) in enumerate(places)
        ]
        named = {**_named(names, principal), "found": orjson.dumps(found).decode()}
        rows = await self._database.of(principal).query(SHOWN, named)
        return [_said(row, places[row.n][1]) for row in rows]


def _named(names: Sequence[str], principal: Principal) -> Mapping[str, object]:
    return {"tenant_id": principal.tenant_id, "names": list(names)}


def _said(row: Row, one: Ranked) -> SaidByDocument:
    return copied(
        SaidByDocument, row, heading=row.heading or "", added_at=row.created_at, score=one.score, cosine=one.cosine
    )
