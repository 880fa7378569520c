"""Named vectors of nodes, and which of them are near another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgvector import HalfVector

from contextkeep.errors import EmbeddingNotFound, InvalidArgument, InvalidPageToken, LimitExceeded
from entity_service.model.embeddings import (
    FLOAT_BYTES,
    Embedding,
    EmbeddingPage,
    EmbeddingQuery,
    NewEmbedding,
    SimilarityQuery,
    SimilarNode,
)
from entity_service.model.limits import ANSWER_BYTES_MAX
from entity_service.model.nodes import Node
from entity_service.model.refusals import node_not_found, similar_nodes_too_large
from entity_service.store.nodes import NODE_COLUMNS, NODE_IS_WANTED
from service_runtime.auth import Principal
from service_runtime.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Row, Tenant

# The columns of `Embedding`, in its order, of a table named e.
_COLUMNS = """
    e.owner_id::text, e.name, e.dimension, e.model, coalesce(encode(e.text_sha256, 'hex'), ''), e.metadata::text,
    (extract(epoch FROM e.created_at) * 1000000)::bigint
"""

# One of the other vectors of the name tells the dimension of all. FOR KEY SHARE: a node that another call is deleting
# is waited for and then not found, so that no vector outlives its node.
_UPSERT = f"""
WITH there AS (
    SELECT
        n.id, n.graph_name, n.context_id, (
            SELECT o.dimension
            FROM entity.embedding o
            WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = n.graph_name AND o.name = %(name)s
                AND o.owner_kind = 'node' AND o.owner_id <> n.id
            LIMIT 1
        ) AS dimension
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    FOR KEY SHARE
), written AS (
    INSERT INTO entity.embedding AS e (
        tenant_id, owner_kind, owner_id, name, graph_name, context_id, created_at, dimension, model, text_sha256,
        metadata, vector
    )
    SELECT
        %(tenant_id)s, 'node', t.id, %(name)s, t.graph_name, t.context_id, clock_timestamp(), %(dimension)s,
        %(model)s, decode(nullif(%(text_sha256)s, ''), 'hex'), %(metadata)s::jsonb, %(vector)s::public.halfvec
    FROM there t
    WHERE coalesce(t.dimension = %(dimension)s, true)
    ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE SET
        created_at = greatest(excluded.created_at, e.created_at), dimension = excluded.dimension,
        model = excluded.model, text_sha256 = excluded.text_sha256, metadata = excluded.metadata,
        vector = excluded.vector
    RETURNING {_COLUMNS}
)
SELECT t.dimension AS wanted, t.graph_name AS graph_name, w.*
FROM there t
LEFT JOIN written w ON true
"""  # noqa: S608

_DELETE = """
WITH gone AS (
    DELETE FROM entity.embedding
    WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = %(node_id)s AND name = %(name)s
    RETURNING name
)
SELECT
    EXISTS (SELECT FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(node_id)s) AS there,
    EXISTS (SELECT FROM gone) AS gone
"""

# There is one row at least, if there is the node.
_LIST = f"""
SELECT e.found, e.vector, {_COLUMNS}
FROM entity.node n
LEFT JOIN LATERAL (
    SELECT
        count(*) OVER () AS found,
        sum(e.dimension * {FLOAT_BYTES} * %(vectors)s + entity.document_bytes(e.metadata)) OVER (
            ORDER BY e.name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before,
        CASE WHEN %(vectors)s > 0 THEN e.vector END AS vector,
        e.owner_id, e.name, e.dimension, e.model, e.text_sha256, e.metadata, e.created_at
    FROM (
        SELECT e.owner_id, e.name, e.dimension, e.model, e.text_sha256, e.metadata, e.created_at, e.vector
        FROM entity.embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.owner_kind = 'node' AND e.owner_id = n.id
            AND (%(first)s OR e.name > %(after_name)s)
        ORDER BY e.name
        LIMIT %(rows)s
    ) e
) e ON coalesce(e.bytes_before, 0) < %(bytes_max)s
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
ORDER BY e.name
"""  # noqa: S608

_VECTOR = """
SELECT n.graph_name, n.context_id::text AS context_id, e.dimension, e.vector
FROM entity.node n
LEFT JOIN entity.embedding e
    ON e.tenant_id = n.tenant_id AND e.owner_kind = 'node' AND e.owner_id = n.id AND e.name = %(name)s
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
"""

# All distances of a slice, and then the nearest: exact. MATERIALIZED, so that no planner takes an index that finds
# most of the nearest instead. Nodes are looked up from the nearest on, until there are enough, so that their filters
# cost nothing for the rest. No more documents than may be answered are read; `found` says whether that left any out.
_NEAREST = f"""
WITH slice AS MATERIALIZED (
    SELECT e.owner_id, e.vector OPERATOR(public.<=>) %(vector)s::public.halfvec AS distance
    FROM entity.embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = %(name)s
        AND e.owner_kind = 'node' AND e.dimension = %(dimension)s
        AND (%(metadata)s::jsonb IS NULL OR e.metadata @> %(metadata)s::jsonb)
        AND (%(without_id)s::uuid IS NULL OR e.owner_id <> %(without_id)s::uuid)
        AND (%(context_id)s::uuid IS NULL OR e.context_id = %(context_id)s::uuid)
    LIMIT %(vectors_max)s + 1
), nearest AS (
    SELECT s.distance, n.*
    FROM (
        SELECT s.owner_id, s.distance FROM slice s WHERE s.distance <= %(distance_max)s ORDER BY s.distance, s.owner_id
    ) s
    CROSS JOIN LATERAL (
        SELECT n.*
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = s.owner_id
            AND {NODE_IS_WANTED}
        OFFSET 0
    ) n
    ORDER BY s.distance, s.owner_id
    LIMIT %(rows)s
), sized AS (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY n.distance, n.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM nearest n
)
SELECT (SELECT count(*) FROM slice), n.found, 1 - n.distance, {NODE_COLUMNS}
FROM (VALUES (1)) AS one
LEFT JOIN sized n ON coalesce(n.bytes_before, 0) < 4 * %(bytes_max)s
ORDER BY n.distance, n.id
"""  # noqa: S608

_DIMENSION = """
SELECT e.dimension
FROM entity.embedding e
WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = %(name)s AND e.owner_kind = 'node'
LIMIT 1
"""


class EmbeddingStore:
    """The embeddings of all tenants' nodes; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def upsert(self, principal: Principal, new: NewEmbedding) -> Embedding:
        """Write a node's embedding of a name, in the place of the one before.

        Raises:
            NodeNotFound: there is no such node.
            InvalidArgument: the other embeddings of the name in the node's graph have another dimension.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(
            _UPSERT,
            {
                "node_id": new.node_id,
                "name": new.name,
                "dimension": len(new.vector),
                "model": new.model,
                "text_sha256": new.text_sha256,
                "metadata": new.metadata_json,
                "vector": HalfVector(list(new.vector)),
            },
            named=False,
        )
        if not rows:
            raise node_not_found(new.node_id)
        wanted, graph_name, *embedding = rows[0]
        if embedding[0] is None:
            raise _wrong_dimension(len(new.vector), wanted, name=new.name, graph_name=graph_name)
        return Embedding._make(embedding)

    async def delete(self, principal: Principal, node_id: str, name: str) -> None:
        """Remove a node's embedding of a name.

        Raises:
            NodeNotFound, EmbeddingNotFound: there is no such node, or it has none of the name.
        """
        tenant = self._database.of(principal)
        (row,) = await tenant.query(_DELETE, {"node_id": node_id, "name": name})
        if not row.there:
            raise node_not_found(node_id)
        if not row.gone:
            raise _embedding_not_found(node_id, name)

    async def page(self, principal: Principal, query: EmbeddingQuery) -> EmbeddingPage:
        """Return a page of a node's embeddings, by name.

        Raises:
            NodeNotFound: there is no such node.
            InvalidPageToken: the token is of another query.
        """
        tenant = self._database.of(principal)
        after_name = _after(tenant, query)
        rows = await tenant.query(
            _LIST,
            {
                "node_id": query.node_id,
                "vectors": int(query.with_vectors),
                "first": after_name is None,
                "after_name": after_name or "",
                "rows": query.page_size + 1,  # one more than wanted says whether there are more
                "bytes_max": PAGE_BYTES_MAX,
            },
            named=False,
        )
        if not rows:
            raise node_not_found(query.node_id)
        found = rows[0][0] or 0
        embeddings: list[tuple[Embedding, Sequence[float]]] = []
        size_bytes = 0
        for row in rows[: query.page_size] if found else []:
            embedding = Embedding._make(row[2:])
            values = row[1].to_list() if query.with_vectors else []
            size_bytes += len(values) * FLOAT_BYTES + len(embedding.metadata_json)
            if embeddings and size_bytes > PAGE_BYTES_MAX:
                break
            embeddings.append((embedding, values))
        if len(embeddings) == found:
            return EmbeddingPage(embeddings, "")
        return EmbeddingPage(embeddings, encode_token(_binding(tenant, query), [embeddings[-1][0].name]))

    async def nearest(self, principal: Principal, query: SimilarityQuery) -> list[SimilarNode]:
        """Return the nodes whose embeddings are most like a vector, the most similar first.

        Raises:
            NodeNotFound, EmbeddingNotFound: the node to compare with is not there, or has no embedding of the name.
            InvalidArgument: the vector has another dimension than the embeddings of the name.
            LimitExceeded: there are more vectors to compare with than one call may.
            AnswerTooLarge: the documents of the nodes do not fit one answer.
        """
        tenant = self._database.of(principal)
        parameters = {
            "graph_name": query.graph_name,
            "context_id": None,
            "name": query.name,
            "dimension": len(query.vector),
            "vector": HalfVector(list(query.vector)),
            "without_id": query.node_id,
            "metadata": query.metadata_json,
            "distance_max": 1 - query.similarity_min,
            "vectors_max": query.vectors_max,
            "node_types": list(query.node_types),
            "all_node_types": not query.node_types,
            "include_archived": query.include_archived,
            "rows": query.limit,
            "bytes_max": ANSWER_BYTES_MAX,
        }
        if query.node_id is not None:
            node = await self._vector(tenant, query.node_id, query.name)
            parameters |= {
                "graph_name": node.graph_name,
                "context_id": node.context_id,
                "dimension": node.dimension,
                "vector": node.vector,
            }
        rows = await tenant.query(_NEAREST, parameters, named=False)
        compared, found = rows[0][:2]
        if compared > query.vectors_max:
            raise LimitExceeded(
                f"there are more than {query.vectors_max} vectors to compare with; narrow them by their metadata, or "
                "give them names of their own",
                limit="vectors",
                limit_max=query.vectors_max,
                value=compared,
            )
        if not compared and query.node_id is None:
            await self._check_dimension(tenant, query)
        if found is None:
            return []
        if found > len(rows):
            raise similar_nodes_too_large()
        return [SimilarNode(row[2], Node._make(row[3:])) for row in rows]

    async def _vector(self, tenant: Tenant, node_id: str, name: str) -> Row:
        rows = await tenant.query(_VECTOR, {"node_id": node_id, "name": name})
        if not rows:
            raise node_not_found(node_id)
        if rows[0].vector is None:
            raise _embedding_not_found(node_id, name)
        return rows[0]

    async def _check_dimension(self, tenant: Tenant, query: SimilarityQuery) -> None:
        """Refuse a vector that nothing can be compared with, where there are embeddings of the name at all.

        Raises:
            InvalidArgument: they have another dimension.
        """
        parameters = {"graph_name": query.graph_name, "name": query.name}
        for row in await tenant.query(_DIMENSION, parameters):
            if row.dimension != len(query.vector):
                raise _wrong_dimension(len(query.vector), row.dimension, name=query.name, graph_name=query.graph_name)


def _embedding_not_found(node_id: str, name: str) -> EmbeddingNotFound:
    return EmbeddingNotFound("the node has no embedding of this name", node_id=node_id, name=name)


def _wrong_dimension(dimension: int, wanted: int, *, name: str, graph_name: str) -> InvalidArgument:
    return InvalidArgument(
        f"vector has {dimension} values; the embeddings {name!r} of graph {graph_name!r} have {wanted}",
        field="vector",
        dimension=wanted,
    )


def _binding(tenant: Tenant, query: EmbeddingQuery) -> tuple[object, ...]:
    return "ListEmbeddings", tenant.tenant_id, query.node_id, query.with_vectors


def _after(tenant: Tenant, query: EmbeddingQuery) -> str | None:
    """Return the name behind which the page begins, or None for the first page.

    Raises:
        InvalidPageToken: the token is malformed, or of another query.
    """
    key: list[Any] | None = decode_token(_binding(tenant, query), query.page_token, parts=1)
    if key is None:
        return None
    (name,) = key
    if not isinstance(name, str) or "\0" in name:
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return name
