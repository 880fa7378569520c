"""Search: records by their words, by the cosine similarity of their vectors, or by both.

Words are found by an inverted index of the product's analyzer, and ranked. Vectors are compared one by one, all of a
slice, which is exact. If the slice is too large for that, an index that the operator made finds most of the nearest;
without one the search is refused. Both searches return ids in order; two orders are fused by reciprocal
ranks; the records are read last.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import orjson
from pgvector import HalfVector

from context_service.kernel.embedding import EMBEDDING_DIMENSION, Embedding
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.fusion import reciprocal_ranks
from context_service.retrieval.room import Passages
from context_service.working_memory.pure.fields import FILTER_VALUES_MAX
from context_service.working_memory.pure.record_terms import record_numbers
from context_service.working_memory.pure.text_query import any_word_query, has_operators, text_query
from context_service.working_memory.rules.query import check_offset
from context_service.working_memory.store.record_columns import (
    Record,
    record_of,
)
from context_service.working_memory.store.record_filters import RECORD_FIELDS
from context_service.working_memory.store.texts.search import HAS_INDEX, RECORDS, SET_INDEXED, SQL, words_sql
from context_service.working_memory.store.texts.words_in_passages import found_in_passages, score_of
from contextkeep.errors import InvalidArgument, SliceTooLarge
from service_runtime.inputs.conditions import Bindings, condition_sql
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_count, check_text
from service_runtime.values.copying import copied
from service_runtime.values.vectors import check_vector

LIMIT_DEFAULT = 10
LIMIT_MAX = 100
OFFSET_MAX = 10_000
TEXT_CHARS_MAX = 1000
ENTITIES_MAX = 1000
RANKED_MAX = 5_000  # matching records that are ranked, newest first
CANDIDATES = 100  # the first records of each of the two rankings that are fused
VECTOR_INDEX = "embedding_hnsw"  # as docs/operations.md names it
INDEX_EF_SEARCH = 200  # candidates that the index scan keeps
INDEX_VISITED_MAX = 100_000  # vectors that the index scan visits before it gives up
INDEX_KNOWN_S = 30.0  # how long a process remembers whether the index exists

SLICE_FILTERS = "entity_node_ids, memory_types, graph_name, agent_bundle_id, app_id"

_ANALYZED = 8  # finding the words of a text takes as long as parsing this many bytes for each character

# Above `vectors_max` vectors, a search uses this index, which docs/operations.md describes. It is scanned from the
# nearest vector on, until enough vectors match the filters or too many were visited. Sorting is switched off for the
# scan, so that Postgres cannot choose another plan.
_INDEX = f"context.{VECTOR_INDEX}"


EmbedText = Callable[[str], Awaitable[Embedding]]


class SearchMode(Enum):
    """How records are searched."""

    GIVEN = "text, vector or both, as the request has them"
    TEXT = "text"
    VECTOR = "vector"
    FUSED = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """A search and its filters, as the request names them."""

    text: str
    embedding: Embedding | None
    mode: SearchMode
    entity_node_ids: Sequence[UUID]
    memory_types: Sequence[str]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    where_json: str
    include_archived: bool
    limit: int
    offset: int  # records of the ranking to skip
    with_content: bool
    any_word: bool  # a record needs only one of the words of `text`, which has no operators


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRecord:
    """The id of a record, and its ranks and scores."""

    id: UUID
    score: float
    text_place: int = 0  # rank by words: 1 is the best; 0 if it was not found by them
    text_score: float = 0.0
    identifiers: int = 0  # the number of the question's rare identifiers that it has
    vector_place: int = 0
    similarity: float = 0.0  # cosine, -1 to 1
    approximate: bool = False  # `vector_place` is from an index, which may have missed nearer records


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A record that was found."""

    record: Record
    match: RankedRecord


class Searches:
    """Searches records; each call acts for its principal.

    Args:
        database: The database that holds the records and their vectors.
        vectors_max: The most vectors that one search may compare one by one.
        passages: The store of passages, for records whose text is longer than their search column.
        embed_text: Returns the vector of a text; None if no embedder is configured.
    """

    def __init__(
        self,
        database: Database,
        *,
        vectors_max: int,
        passages: Passages,
        embed_text: EmbedText | None = None,
    ) -> None:
        self._embed_text = embed_text
        self._database = database
        self._vectors_max = vectors_max
        self._passages = passages
        self._has_index = False
        self._asked_at = -INDEX_KNOWN_S

    async def search(self, question: SearchQuestion, *, principal: Principal) -> list[SearchHit]:
        """Return the best records, the best first.

        Raises:
            InvalidArgument: a field of the question is malformed or missing.
            LimitExceeded: a text or a list of the question is too long.
            SliceTooLarge: the filters leave too many vectors to compare.
            Unavailable: the embedder, or Postgres, does not answer.
        """
        mode, limit = _check_question(question, has_embedder=self._embed_text is not None)
        if mode is not SearchMode.TEXT and question.embedding is None:
            assert self._embed_text is not None
            question = dataclasses.replace(question, embedding=await self._embed_text(question.text))
        tenant = self._database.of(principal)
        last = question.offset + limit
        places_max = max(last, CANDIDATES) if mode is SearchMode.FUSED else last
        by_text: list[RankedRecord] = []
        by_vector: list[RankedRecord] = []
        if mode is SearchMode.FUSED:
            async with asyncio.TaskGroup() as both:
                text_task = both.create_task(self._by_text(tenant, question, places_max, principal))
                vector_task = both.create_task(self._by_vector(tenant, question, places_max))
            by_text, by_vector = text_task.result(), vector_task.result()
        elif mode is SearchMode.TEXT:
            by_text = await self._by_text(tenant, question, places_max, principal)
        else:
            by_vector = await self._by_vector(tenant, question, places_max)
        matches = fused(by_text, by_vector) if mode is SearchMode.FUSED else by_text or by_vector
        matches = matches[question.offset : last]
        records = await self._records(tenant, [match.id for match in matches], with_content=question.with_content)
        return [SearchHit(record=records[match.id], match=match) for match in matches if match.id in records]

    async def _by_text(
        self, tenant: Tenant, question: SearchQuestion, limit: int, principal: Principal
    ) -> list[RankedRecord]:
        """Return the best records by words.

        Scores of the records' own terms and of their passages are merged: a record keeps the higher of the two.
        """
        bindings = Bindings()
        where = condition_sql("where_json", question.where_json, RECORD_FIELDS, bindings)
        query = any_word_query(question.text) if question.any_word else text_query(question.text)
        matching, names = words_sql(query, tenant.tenant_id, bindings)
        statement = SQL.filled("by_text", matching=matching, names=names, where=where)
        parameters = {
            **bindings.values,
            **_scope(tenant, question),
            "terms": sorted(set(record_numbers(tenant.tenant_id, query.terms))),
            "identifiers": record_numbers(tenant.tenant_id, AnalyzedQuery.of(question.text).identifier_terms),
            "ranked_max": RANKED_MAX,
            "limit": limit,
        }
        rows = await tenant.query(statement, parameters, ad_hoc=True)
        scores = {row.id: row.score for row in rows}
        identifiers = {row.id: row.identifiers for row in rows}
        for record_id, score in await self._by_passages(principal, question, where, parameters):
            scores[record_id] = max(score, scores.get(record_id, 0.0))
        best = sorted(scores.items(), key=lambda item: (identifiers.get(item[0], 0), item[1], item[0]), reverse=True)[
            :limit
        ]
        return [
            RankedRecord(
                id=record_id,
                score=score,
                text_place=place,
                text_score=score,
                identifiers=identifiers.get(record_id, 0),
            )
            for place, (record_id, score) in enumerate(best, 1)
        ]

    async def _by_passages(
        self, principal: Principal, question: SearchQuestion, where: str, parameters: Mapping[str, Any]
    ) -> list[tuple[UUID, float]]:
        """Return the records of the named nodes whose passages have the words, each with its score."""
        if question.any_word or has_operators(question.text):
            return []
        node_ids = question.entity_node_ids
        candidates = await found_in_passages(self._passages, principal, node_ids, question.text)
        if not candidates:
            return []
        statement = SQL.filled("passages", where=where)
        matches = [
            {"n": number, "node_id": candidate.node_id, "seq": candidate.seq, "ordinals": candidate.ordinals}
            for number, candidate in enumerate(candidates)
        ]
        terms = candidates[0].terms
        numbers = record_numbers(principal.tenant_id, terms)
        passage_parameters = {**parameters, "terms": numbers, "found": orjson.dumps(matches).decode()}
        rows = await self._database.of(principal).query(statement, passage_parameters, ad_hoc=True)

        def scored() -> list[tuple[UUID, float]]:
            """Return the records that have all the words, each with the score of its best passage."""
            scores = []
            for row in rows:
                in_record = {term for term, number in zip(terms, numbers, strict=True) if number in row.found}
                if (score := score_of(candidates[row.n], row.texts, in_record)) is not None:
                    scores.append((row.id, score))
            return scores

        return await beside_the_loop(_ANALYZED * sum(len(text) for row in rows for text in row.texts), scored)

    async def _by_vector(self, tenant: Tenant, question: SearchQuestion, limit: int) -> list[RankedRecord]:
        """Return the records whose vectors are nearest to the question's vector.

        All vectors of the slice are compared one by one if there are few. Above `vectors_max`, the index is used.

        Raises:
            SliceTooLarge: there are more than `vectors_max` vectors, and there is no index for them.
        """
        assert question.embedding is not None
        bindings = Bindings()
        where = condition_sql("where_json", question.where_json, RECORD_FIELDS, bindings)
        parts = {
            "records": "" if where == "TRUE" else SQL["records_of_vectors"],
            "slice": slice_sql(where, dimension=len(question.embedding.values)),
        }
        parameters = {
            **bindings.values,
            **_scope(tenant, question),
            "vector": HalfVector(list(question.embedding.values)),
            "model": question.embedding.model,
            "vectors_max": self._vectors_max,
            "limit": limit,
        }
        if len(question.embedding.values) == EMBEDDING_DIMENSION and await self._index_is_valid(tenant):
            (counted,) = await tenant.query(SQL.filled("count", **parts), parameters, ad_hoc=True)
            if counted.vectors > self._vectors_max:
                return await self._by_index(tenant, parts, parameters, min(limit, counted.vectors))
        rows = await tenant.query(SQL.filled("by_vector", **parts), parameters, ad_hoc=True)
        if rows and rows[0].compared > self._vectors_max:
            raise self._too_large(rows[0].compared)
        return _nearest(rows)

    async def _by_index(
        self, tenant: Tenant, parts: Mapping[str, str], parameters: Mapping[str, Any], count: int
    ) -> list[RankedRecord]:
        """Return the nearest records by the index, which may miss some of them.

        Args:
            tenant: The tenant whose vectors are searched.
            parts: The parts of the SQL statement.
            parameters: The parameters of the statement.
            count: The number of records that are wanted.

        Raises:
            SliceTooLarge: the scan visited too many vectors before it found `count` that match the filters.
        """

        async def read(transaction: Transaction) -> list[Row]:
            await transaction.query(SET_INDEXED, (str(INDEX_EF_SEARCH), str(INDEX_VISITED_MAX)), named=False)
            return await transaction.query(SQL.filled("by_index", **parts), parameters)

        rows = await tenant.transaction(read)
        if len(rows) < count:  # the scan gave up: too many of the visited vectors did not match the filters
            raise self._too_large(self._vectors_max + 1)
        return _nearest(rows, approximate=True)

    async def _index_is_valid(self, tenant: Tenant) -> bool:
        """Tell whether the operator has made the index and it is valid."""
        if time.monotonic() - self._asked_at >= INDEX_KNOWN_S:
            (row,) = await tenant.query(HAS_INDEX, (_INDEX,))
            self._has_index, self._asked_at = row.has_index, time.monotonic()
        return self._has_index

    def _too_large(self, count: int) -> SliceTooLarge:
        """Return the error for a search over too many vectors. It names the filters that narrow the search."""
        return SliceTooLarge(
            f"the search would compare more than {self._vectors_max} vectors; filter by {SLICE_FILTERS} or where_json",
            limit="vectors",
            limit_max=self._vectors_max,
            value=count,
            filters=f"{SLICE_FILTERS}, where_json",
        )

    async def _records(self, tenant: Tenant, ids: Sequence[UUID], *, with_content: bool) -> Mapping[UUID, Record]:
        """Return the records with these ids that still exist, by id."""
        if not ids:
            return {}
        parameters = {"ids": list(ids), "with_content": with_content, "bytes_max": PAGE_BYTES_MAX}
        rows = await tenant.query(RECORDS, parameters)
        return {row.id: record_of(row, with_content=True) for row in rows}


def slice_sql(where: str, *, dimension: int = EMBEDDING_DIMENSION) -> str:
    """Return the SQL condition of the vectors that are compared.

    Args:
        where: A SQL condition on the records of the vectors.
        dimension: The length of the vectors, which is also that of the question's vector.
    """
    return SQL.filled("slice", dimension=dimension, where=where)


def _nearest(rows: Sequence[Row], *, approximate: bool = False) -> list[RankedRecord]:
    """Return the rows of a search by vectors as a ranking. `approximate` says that an index was used."""
    return [
        RankedRecord(id=row.id, score=row.score, vector_place=place, similarity=row.score, approximate=approximate)
        for place, row in enumerate(rows, 1)
    ]


def fused(by_text: Sequence[RankedRecord], by_vector: Sequence[RankedRecord]) -> list[RankedRecord]:
    """Merge two rankings by the sum of reciprocal ranks; the text rank breaks ties, then the vector rank.

    Records with more identifiers of the question come first.
    """
    texts = {match.id: match for match in by_text}
    vectors = {match.id: match for match in by_vector}
    nowhere = RankedRecord(id=UUID(int=0), score=0.0)
    both = []
    for record_id, score in reciprocal_ranks(list(texts), list(vectors)).items():
        text, vector = texts.get(record_id, nowhere), vectors.get(record_id, nowhere)
        both.append(
            copied(
                RankedRecord,
                vector,
                id=record_id,
                score=score,
                text_place=text.text_place,
                text_score=text.text_score,
                identifiers=text.identifiers,
            )
        )
    return sorted(both, key=lambda match: -match.identifiers)


def _check_question(question: SearchQuestion, *, has_embedder: bool) -> tuple[SearchMode, int]:
    """Check a question, and return its mode and limit.

    Raises:
        InvalidArgument: a field is malformed, or the mode needs a text or an embedding that is missing.
        LimitExceeded: a text or a list is too long.
    """
    check_text("text", question.text, chars_max=TEXT_CHARS_MAX)
    if question.embedding is not None:
        check_vector("embedding.values", question.embedding.values, dimension=EMBEDDING_DIMENSION)
        check_text("embedding.model", question.embedding.model, chars_max=128)
    check_count("entity_node_ids", len(question.entity_node_ids), ENTITIES_MAX)
    check_count("memory_types", len(question.memory_types), FILTER_VALUES_MAX)
    for memory_type in question.memory_types:
        check_text("memory_types", memory_type, chars_max=TEXT_CHARS_MAX)
    for field in ("graph_name", "agent_bundle_id", "app_id"):
        check_text(field, getattr(question, field), chars_max=TEXT_CHARS_MAX)
    if question.limit < 0:
        raise InvalidArgument(f"limit must be 0 or more (got {question.limit})", field="limit")
    check_offset(question.offset, OFFSET_MAX)
    return _mode(question, has_embedder=has_embedder), min(question.limit or LIMIT_DEFAULT, LIMIT_MAX)


def _mode(question: SearchQuestion, *, has_embedder: bool) -> SearchMode:
    """Return how to search: the mode of the question, or the one that follows from its text and embedding.

    Raises:
        InvalidArgument: the mode needs a text or an embedding that the question does not have.
    """
    mode = question.mode
    has_text, has_vector = bool(question.text.strip()), question.embedding is not None
    if mode is SearchMode.GIVEN:
        mode = SearchMode.FUSED if has_text and has_vector else SearchMode.VECTOR if has_vector else SearchMode.TEXT
    if mode is not SearchMode.VECTOR and not has_text:
        raise InvalidArgument("text must not be empty for a search by words", field="text")
    if mode is not SearchMode.TEXT and not has_vector and not (has_embedder and has_text):
        raise InvalidArgument("set embedding, or text if the service has an embedder", field="embedding")
    return mode


def _scope(tenant: Tenant, question: SearchQuestion) -> dict[str, Any]:
    """Return the SQL parameters of the filters."""
    return {
        "tenant_id": tenant.tenant_id,
        "entity_node_ids": list(question.entity_node_ids),
        "memory_types": list(question.memory_types),
        "graph_name": question.graph_name,
        "agent_bundle_id": question.agent_bundle_id,
        "app_id": question.app_id,
        "include_archived": question.include_archived,
    }
