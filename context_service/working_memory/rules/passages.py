"""Passages and excerpts of records that have any word of a question.

`Searches` searches the terms of records, which are those of the beginning of a text. For nodes that the caller names,
all passages of longer texts are searched too, with the ranking of recall. Their index combines each term with the node,
so that one lookup serves only one node.
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
from context_service.retrieval.room import Passages, best, few_of_each
from context_service.working_memory.rules.search import TEXT_CHARS_MAX as QUERY_CHARS_MAX
from context_service.working_memory.rules.search import Searches, SearchMode, SearchQuestion
from context_service.working_memory.store.texts import file_passages
from context_service.working_memory.store.texts.file_passages import BEST_PASSAGES, COUNT, COUNT_OF_NODES, SHOWN, WHOLE
from context_service.working_memory.store.texts.passages import NODE, scope_of
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

FILES_COUNTED = file_passages.FILES_COUNTED
NODES_MAX = 20  # the most nodes that a caller may name
PASSAGES_MAX = 2  # the most passages of one record in an answer
EXCERPT_CHARS = 1_200  # the length of an excerpt, which stands for a record that has no passages
_PLACES_MAX = 20  # the most occurrences of a word that are tried as the beginning of an excerpt
_SEARCHED_BYTES = 4  # searching a character takes as long as parsing this many bytes (for `beside_the_loop`)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The text of a record."""

    name: str
    entity_node_id: UUID | None
    owner_user_id: str
    updated_at: datetime
    text: str
    is_cut: bool  # at `chars_max`


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuote:
    """A passage or an excerpt of a record that answers a question."""

    record_id: UUID
    ordinal: int  # of the passage; -1 for an excerpt of a record without passages
    name: str
    entity_node_id: UUID | None
    memory_type: str
    content_type: str
    owner_user_id: str
    updated_at: datetime
    text: str
    score: float


class RecordQuotes:
    """Finds passages of records; each call acts for its principal.

    Args:
        database: The database that holds the records.
        passages: The store of the records' passages.
        searches: Finds records of all nodes by words and by vectors.
    """

    def __init__(self, database: Database, passages: Passages, searches: Searches) -> None:
        self._database = database
        self._passages = passages
        self._searches = searches

    async def count(self, node_ids: Sequence[UUID] = (), *, principal: Principal) -> int:
        """Return how many records a search would cover; counting stops at `FILES_COUNTED` + 1.

        Args:
            node_ids: Count only records of these nodes; empty counts the records of all nodes.
            principal: The caller; only records that it may see count.
        """
        tenant = self._database.of(principal)
        (row,) = await tenant.query(COUNT_OF_NODES if node_ids else COUNT, {"node_ids": list(node_ids)})
        files: int = row.files
        return files

    async def in_passages(
        self, text: str, node_ids: Sequence[UUID], *, limit: int, principal: Principal
    ) -> list[RecordQuote]:
        """Return the best passages of the nodes' long records, best first, at most `PASSAGES_MAX` for each record."""
        ranked: list[tuple[UUID, Ranked]] = []
        for node_id in await self._passages.scopes_with_passages(principal, NODE, node_ids, count=NODES_MAX):
            answer = await best(
                self._passages,
                None,
                scope_of(node_id),
                text,
                wanted=lambda _: True,
                limit=2 * limit,
                principal=principal,
            )
            ranked.extend((node_id, passage) for passage in answer.ranked)
        ranked.sort(key=lambda pair: (-pair[1].score, pair[0], -pair[1].row.seq, pair[1].row.ordinal))
        chosen = few_of_each(ranked, lambda pair: (pair[0], pair[1].row.seq), each_max=PASSAGES_MAX)
        places = [
            {"n": number, "node_id": str(node_id), "seq": passage.row.seq, "ordinal": passage.row.ordinal}
            for number, (node_id, passage) in enumerate(chosen[: 2 * limit])
        ]
        if not places:
            return []
        rows = await self._query(SHOWN, places, principal)
        return [_quote(row, chosen[row.n][1].score) for row in rows]

    async def in_columns(
        self,
        text: str,
        node_ids: Sequence[UUID] = (),
        *,
        where_json: str,
        limit: int,
        principal: Principal,
        without: Collection[UUID] = (),
    ) -> list[RecordQuote]:
        """Return the best passage of each of the best records, the best first.

        Args:
            text: The question; a record that has any of its words matches.
            node_ids: Search only records of these nodes; empty searches the records of all nodes.
            where_json: A condition on the records, as JSON; empty means no condition.
            limit: The largest number of records to return.
            principal: The caller; only records that it may see are returned.
            without: Records to leave out of the result, even if they are among the best.
        """
        text = text[:QUERY_CHARS_MAX]
        words = {word.word: word.term for word in asked_words(text)}
        if not words:
            return []
        question = SearchQuestion(
            text=text,
            any_word=True,
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
            offset=0,
            with_content=False,
        )
        hits = await self._searches.search(question, principal=principal)
        hits = [hit for hit in hits if hit.record.id not in without]
        if not hits:
            return []
        terms = list(dict.fromkeys(words.values()))[:ASKED_TERMS_MAX]
        wanted_passages = [
            {
                "n": number,
                "id": str(hit.record.id),
                "terms": masks(hit.record.entity_node_id, terms) if hit.record.entity_node_id else [],
            }
            for number, hit in enumerate(hits)
        ]
        rows = await self._query(BEST_PASSAGES, wanted_passages, principal)
        size_bytes = _SEARCHED_BYTES * sum(len(row.text) for row in rows if row.ordinal < 0)
        return await beside_the_loop(
            size_bytes, lambda: [_quote(row, hits[row.n].match.score, words=list(words)) for row in rows]
        )

    async def whole(self, record_id: UUID, *, chars_max: int, principal: Principal) -> Whole | None:
        """Return the first `chars_max` characters of a record's text; None if the caller sees no such record."""
        tenant = self._database.of(principal)
        parameters = {"id": record_id, "chars_max": chars_max}
        for row in await tenant.query(WHOLE, parameters):
            return copied(Whole, row, text=row.text[:chars_max])
        return None

    async def _query(self, statement: str, items: Sequence[Mapping[str, object]], principal: Principal) -> list[Row]:
        tenant = self._database.of(principal)
        return await tenant.query(statement, {"found": orjson.dumps(items).decode()})


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the `EXCERPT_CHARS` characters of a text that begin just before one of the words and contain most of them.

    Args:
        text: The text to cut the excerpt from.
        words: The words to show, in lower case. A word also matches inside a longer word.
    """
    if len(text) <= EXCERPT_CHARS:
        return text
    # A few characters have a lower case of another length, which would shift all positions: then match case exactly.
    small = text.lower() if len(text.lower()) == len(text) else text
    places = sorted({place for word in words for place in _places(small, word)})
    best, most_words = 0, 0
    for place in places:
        start = max(place - EXCERPT_CHARS // 4, 0)
        there = small[start : start + EXCERPT_CHARS]
        word_count = sum(word in there for word in words)
        if word_count > most_words:
            best, most_words = start, word_count
    if best:
        best = text.find(" ", best, best + 64) + 1 or best
    return text[best : best + EXCERPT_CHARS]


def _places(text: str, word: str) -> Iterator[int]:
    """Yield the positions of a word in the text, at most `_PLACES_MAX`."""
    place = text.find(word)
    for _ in range(_PLACES_MAX):
        if place < 0:
            return
        yield place
        place = text.find(word, place + EXCERPT_CHARS // 4)


def _quote(row: Row, score: float, *, words: Sequence[str] = ()) -> RecordQuote:
    return copied(
        RecordQuote, row, record_id=row.id, text=excerpt(row.text, words) if row.ordinal < 0 else row.text, score=score
    )
