"""Records that have something to say to a question: any of its words will do, and what comes back is a passage.

The columns of records are searched, as `Searches` has it, which know the beginning of what each says; and of nodes that
are named all passages of what is longer, with the ranking of recall: what stands for a term in their index is made of
its node, too, so that one look-up serves one node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX
from context_service.retrieval.pure.terms import asked_words, masks
from context_service.retrieval.rules.search import best, few_of_each
from context_service.retrieval.store.passages import Passages
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX
from context_service.working_memory.rules.search import TEXT_CHARS_MAX as QUERY_CHARS_MAX
from context_service.working_memory.rules.search import Searches, SearchMode, SearchQuestion
from context_service.working_memory.store.passages import NODE, scope_of
from context_service.working_memory.store.record_filters import ACTIVE
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.documents import beside_the_loop
from service_runtime.postgres import Database, Row

NODES_MAX = 20  # that may be named
PASSAGES_MAX = 2  # of one record
EXCERPT_CHARS = 1_200  # of a record that has no passages: it is no longer than what its column holds
_PLACES_MAX = 20  # of a word that are looked at for an excerpt
_SEARCHED_BYTES = 4  # as which a character counts that is searched for words, for `beside_the_loop`
FILES_COUNTED = 1_000  # of what is searched; one more says that there are more
_WHOLE_PASSAGES_MAX = 4_096  # of a record that are put together again
_LOOKED_AT_MAX = 1_000  # passages of a record, from its beginning, of which the best is taken

# Each is looked up by itself: of a table that nobody has counted yet, a join would read the scope.
_SHOWN = f"""
SELECT f.n, f.ordinal, r.id, r.name, r.entity_node_id, r.memory_type, r.content_type, r.owner_user_id, r.updated_at,
    p.text
FROM json_to_recordset(%(found)s::json) f (n integer, node_id uuid, seq bigint, ordinal integer)
    CROSS JOIN LATERAL (
        SELECT p.text, p.source_id FROM context.passage p
        WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = f.node_id AND p.scope_kind = '{NODE}' AND p.seq = f.seq
            AND p.ordinal = f.ordinal
        LIMIT 1
    ) p
    CROSS JOIN LATERAL (
        SELECT r.* FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = p.source_id AND {ACTIVE}
        LIMIT 1
    ) r
ORDER BY f.n
"""  # noqa: S608

_BEST_PASSAGES = f"""
SELECT f.n, coalesce(p.ordinal, -1) AS ordinal, r.id, r.name, r.entity_node_id, r.memory_type, r.content_type,
    r.owner_user_id, r.updated_at,
    coalesce(p.text, nullif(left(coalesce(r.content_text, r.blob_text), {TEXT_CHARS_MAX}), ''),
        left(r.content::text, {TEXT_CHARS_MAX}), nullif(r.description, ''), r.name) AS text
FROM json_to_recordset(%(found)s::json) f (n integer, id uuid, terms integer[])
    CROSS JOIN LATERAL (
        SELECT r.* FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = f.id AND {ACTIVE}
        LIMIT 1
    ) r
    LEFT JOIN LATERAL (
        SELECT p.ordinal, p.text
        FROM (
            SELECT p.ordinal, p.text, p.terms FROM context.passage p
            WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = r.entity_node_id AND p.scope_kind = '{NODE}'
                AND p.seq = r.seq
            ORDER BY p.ordinal
            LIMIT {_LOOKED_AT_MAX}
        ) p
        ORDER BY (SELECT count(*) FROM unnest(f.terms) t WHERE t = ANY (p.terms)) DESC, p.ordinal
        LIMIT 1
    ) p ON true
ORDER BY f.n
"""  # noqa: S608

# What a long file says is in its passages, which tile it; its column has only the beginning.
_WHOLE = f"""
SELECT r.name, r.entity_node_id, r.owner_user_id, r.updated_at, t.text, length(t.text) > %(chars_max)s AS is_cut
FROM context.wm_record r
    CROSS JOIN LATERAL (
        SELECT left(coalesce(
            r.content_text,
            r.content::text,
            CASE WHEN length(r.blob_text) < {TEXT_CHARS_MAX} THEN r.blob_text END,
            (
                SELECT string_agg(p.text, '' ORDER BY p.ordinal)
                FROM (
                    SELECT p.ordinal, p.text FROM context.passage p
                    WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = r.entity_node_id AND p.scope_kind = '{NODE}'
                        AND p.seq = r.seq
                    ORDER BY p.ordinal
                    LIMIT {_WHOLE_PASSAGES_MAX}
                ) p
            ),
            nullif(r.blob_text, ''), nullif(r.description, ''), r.name
        ), %(chars_max)s + 1) AS text
    ) t
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(id)s AND {ACTIVE}
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All that a record says."""

    name: str
    entity_node_id: UUID | None
    owner_user_id: str
    updated_at: datetime
    text: str
    is_cut: bool  # at the characters that were asked for


_COUNT = f"""
SELECT count(*) AS files
FROM (
    SELECT FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND {ACTIVE}
    LIMIT {FILES_COUNTED} + 1
) one
"""  # noqa: S608
_COUNT_OF_NODES = f"""
SELECT count(*) AS files
FROM (
    SELECT FROM unnest(%(node_ids)s::uuid[]) n (id)
    CROSS JOIN LATERAL (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = n.id AND {ACTIVE}
        OFFSET 0
    ) r
    LIMIT {FILES_COUNTED} + 1
) one
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidByRecord:
    """What a record says to a question."""

    record_id: UUID
    ordinal: int  # of the passage; -1: the record has none, and it is an excerpt
    name: str
    entity_node_id: UUID | None
    memory_type: str
    content_type: str
    owner_user_id: str
    updated_at: datetime
    text: str
    score: float


class AskedRecords:
    """Finds them; each time for a principal.

    Args:
        database: Where they are.
        passages: What they say.
        searches: Finds records of all nodes.
    """

    def __init__(self, database: Database, passages: Passages, searches: Searches) -> None:
        self._database = database
        self._passages = passages
        self._searches = searches

    async def count(self, node_ids: Sequence[UUID] = (), *, principal: Principal) -> int:
        """Return how many records there are to search, up to one more than `FILES_COUNTED`.

        Args:
            node_ids: Of which nodes; empty: of all.
            principal: Who asks.
        """
        tenant = self._database.of(principal)
        said = {"node_ids": list(node_ids)}
        (row,) = await tenant.query(_COUNT_OF_NODES if node_ids else _COUNT, said)
        files: int = row.files
        return files

    async def in_passages(
        self, text: str, node_ids: Sequence[UUID], *, limit: int, principal: Principal
    ) -> list[SaidByRecord]:
        """Return the best passages of the long records of nodes, the best first, `PASSAGES_MAX` of a record."""
        ranked: list[tuple[UUID, Ranked]] = []
        for node_id in await self._passages.scopes_with_passages(principal, NODE, node_ids, count=NODES_MAX):
            of_node = await best(
                self._passages,
                None,
                scope_of(node_id),
                text,
                wanted=lambda _: True,
                limit=2 * limit,
                principal=principal,
            )
            ranked.extend((node_id, one) for one in of_node.ranked)
        ranked.sort(key=lambda one: (-one[1].score, one[0], -one[1].row.seq, one[1].row.ordinal))
        taken = few_of_each(ranked, lambda one: (one[0], one[1].row.seq), each_max=PASSAGES_MAX)
        found = [
            {"n": number, "node_id": str(node_id), "seq": one.row.seq, "ordinal": one.row.ordinal}
            for number, (node_id, one) in enumerate(taken[: 2 * limit])
        ]
        if not found:
            return []
        rows = await self._query(_SHOWN, found, principal)
        return [_said(row, taken[row.n][1].score) for row in rows]

    async def in_columns(
        self,
        text: str,
        node_ids: Sequence[UUID] = (),
        *,
        where_json: str,
        limit: int,
        principal: Principal,
        without: Collection[UUID] = (),
    ) -> list[SaidByRecord]:
        """Return the best passage of each of the best records, the best first.

        Args:
            text: The question, any of whose words finds.
            node_ids: Of which nodes; empty: of all.
            where_json: Which records are meant; empty: all.
            limit: Records.
            principal: Who asks.
            without: Of these records, though they are among the best, nothing is looked for.
        """
        words = dict(asked_words(text))
        joined = ""
        for word in words:
            longer = f"{joined} or {word}" if joined else word
            if len(longer) > QUERY_CHARS_MAX:
                break
            joined = longer
        if not joined:
            return []
        question = SearchQuestion(
            text=joined,
            embedding=None,
            mode=SearchMode.TEXT,
            entity_node_ids=node_ids,
            memory_types=(),
            graph_name="",
            agent_bundle_id="",
            app_id="",
            where_json=where_json,
            include_archived=False,
            limit=limit,
            with_content=False,
        )
        found_by_words = await self._searches.search(question, principal=principal)
        hits = [hit for hit in found_by_words if hit.record.id not in without]
        if not hits:
            return []
        terms = list(dict.fromkeys(words.values()))[:ASKED_TERMS_MAX]
        found = [
            {
                "n": number,
                "id": str(hit.record.id),
                "terms": masks(hit.record.entity_node_id, terms) if hit.record.entity_node_id else [],
            }
            for number, hit in enumerate(hits)
        ]
        rows = await self._query(_BEST_PASSAGES, found, principal)
        size_bytes = _SEARCHED_BYTES * sum(len(row.text) for row in rows if row.ordinal < 0)
        return await beside_the_loop(
            size_bytes, lambda: [_said(row, hits[row.n].found.score, words=list(words)) for row in rows]
        )

    async def whole(self, record_id: UUID, *, chars_max: int, principal: Principal) -> Whole | None:
        """Return what a record says, `chars_max` of it at most; None: there is none that the caller sees."""
        tenant = self._database.of(principal)
        parameters = {"id": record_id, "chars_max": chars_max}
        for row in await tenant.query(_WHOLE, parameters):
            return copied(Whole, row, text=row.text[:chars_max])
        return None

    async def _query(self, statement: str, found: Sequence[Mapping[str, object]], principal: Principal) -> list[Row]:
        tenant = self._database.of(principal)
        return await tenant.query(statement, {"found": orjson.dumps(found).decode()})


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the `EXCERPT_CHARS` of a text that begin before one of the words and have most of them.

    Args:
        text: Any.
        words: In small letters; a word is also found as a part of another.
    """
    if len(text) <= EXCERPT_CHARS:
        return text
    small = text.lower() if len(text.lower()) == len(text) else text
    places = sorted({place for word in words for place in _places(small, word)})
    best, found_best = 0, 0
    for place in places:
        start = max(place - EXCERPT_CHARS // 4, 0)
        there = small[start : start + EXCERPT_CHARS]
        found = sum(word in there for word in words)
        if found > found_best:
            best, found_best = start, found
    if best:
        best = text.find(" ", best, best + 64) + 1 or best
    return text[best : best + EXCERPT_CHARS]


def _places(text: str, word: str) -> Iterator[int]:
    """Yield where a word stands, the first `_PLACES_MAX` times."""
    place = text.find(word)
    for _ in range(_PLACES_MAX):
        if place < 0:
            return
        yield place
        place = text.find(word, place + EXCERPT_CHARS // 4)


def _said(row: Row, score: float, *, words: Sequence[str] = ()) -> SaidByRecord:
    return copied(
        SaidByRecord, row, record_id=row.id, text=excerpt(row.text, words) if row.ordinal < 0 else row.text, score=score
    )
