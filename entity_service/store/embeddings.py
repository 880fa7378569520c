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
from entity_service.store.nodes import SQL as NODES_SQL
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, float_bytes=FLOAT_BYTES, nodes=NODES_SQL)
_UPSERT = SQL["upsert"]
_DELETE = SQL["delete"]
_LIST = SQL["list"]
_VECTOR = SQL["vector"]
_NEAREST = SQL["nearest"]
_DIMENSION = SQL["dimension"]


class EmbeddingStore:
    """The embeddings of all tenants' nodes; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def upsert(self, principal: Principal, new: NewEmbedding) -> Embedding:
        """Write a node's embedding with a name; an earlier one with that name is replaced.

        Raises:
            NodeNotFound: there is no such node.
            InvalidArgument: the other embeddings with this name in the node's graph have another dimension.
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
        """Remove a node's embedding with a name.

        Raises:
            NodeNotFound: there is no such node.
            EmbeddingNotFound: the node has no embedding with this name.
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
        count = rows[0][0] or 0
        embeddings: list[tuple[Embedding, Sequence[float]]] = []
        size_bytes = 0
        for row in rows[: query.page_size] if count else []:
            embedding = Embedding._make(row[2:])
            values = row[1].to_list() if query.with_vectors else []
            size_bytes += len(values) * FLOAT_BYTES + len(embedding.metadata_json)
            if embeddings and size_bytes > PAGE_BYTES_MAX:
                break
            embeddings.append((embedding, values))
        if len(embeddings) == count:
            return EmbeddingPage(embeddings, "")
        return EmbeddingPage(embeddings, encode_token(_binding(tenant, query), [embeddings[-1][0].name]))

    async def nearest(self, principal: Principal, query: SimilarityQuery) -> list[SimilarNode]:
        """Return the nodes whose embeddings are most similar to a vector, the most similar first.

        Raises:
            NodeNotFound: the node to compare with does not exist.
            EmbeddingNotFound: that node has no embedding with the name.
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
        compared, count = rows[0][:2]
        if compared > query.vectors_max:
            raise LimitExceeded(
                f"the query would compare more than {query.vectors_max} vectors; filter them by metadata, or "
                "store them under several vector names and search one of these",
                limit="vectors",
                limit_max=query.vectors_max,
                value=compared,
            )
        if not compared and query.node_id is None:
            await self._check_dimension(tenant, query)
        if count is None:
            return []
        if count > len(rows):
            raise similar_nodes_too_large()
        return [SimilarNode(row[2], Node._make(row[3:])) for row in rows]

    async def _vector(self, tenant: Tenant, node_id: str, name: str) -> Row:
        """Return the row with an embedding of a node.

        Raises:
            NodeNotFound: the caller sees no such node.
            EmbeddingNotFound: the node has no embedding with this name.
        """
        rows = await tenant.query(_VECTOR, {"node_id": node_id, "name": name})
        if not rows:
            raise node_not_found(node_id)
        if rows[0].vector is None:
            raise _embedding_not_found(node_id, name)
        return rows[0]

    async def _check_dimension(self, tenant: Tenant, query: SimilarityQuery) -> None:
        """Check that a vector has the dimension of the graph's embeddings with the name, if there are any.

        Raises:
            InvalidArgument: they have another dimension.
        """
        parameters = {"graph_name": query.graph_name, "name": query.name}
        for row in await tenant.query(_DIMENSION, parameters):
            if row.dimension != len(query.vector):
                raise _wrong_dimension(len(query.vector), row.dimension, name=query.name, graph_name=query.graph_name)


def _embedding_not_found(node_id: str, name: str) -> EmbeddingNotFound:
    return EmbeddingNotFound(f"the node has no embedding with the name {name[:100]!r}", node_id=node_id, name=name)


def _wrong_dimension(dimension: int, wanted: int, *, name: str, graph_name: str) -> InvalidArgument:
    """Return the error for a vector with another dimension than the embeddings of the same name."""
    return InvalidArgument(
        f"vector has {dimension} values; the embeddings {name!r} of graph {graph_name!r} have {wanted}",
        field="vector",
        dimension=wanted,
    )


def _binding(tenant: Tenant, query: EmbeddingQuery) -> tuple[object, ...]:
    return "ListEmbeddings", tenant.tenant_id, query.node_id, query.with_vectors


def _after(tenant: Tenant, query: EmbeddingQuery) -> str | None:
    """Return the name after which the page begins, or None for the first page.

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
