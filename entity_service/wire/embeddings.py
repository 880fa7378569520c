"""Embeddings and similar nodes between messages and values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.embeddings import (
    Embedding,
    EmbeddingPage,
    EmbeddingQuery,
    NewEmbedding,
    SimilarityQuery,
    SimilarNode,
)
from entity_service.model.limits import ANSWER_BYTES_MAX, Limits
from entity_service.model.refusals import similar_nodes_too_large
from entity_service.wire.fields import fill_time, graph_name, id_of, type_names
from entity_service.wire.nodes import fill_node
from service_runtime.inputs.documents import parse_object
from service_runtime.inputs.pages import page_size
from service_runtime.values.checks import check_at_most, check_between, check_text
from service_runtime.values.vectors import check_vector

NAME_DEFAULT = "default"

LIMIT_DEFAULT = 10

LIMIT_MAX = 1000

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def new_embedding(message: pb.UpsertEmbeddingRequest, limits: Limits) -> NewEmbedding:
    """Return the embedding to write.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long.
    """
    node_id = id_of("node_id", message.node_id)
    check_vector("vector", message.vector)
    if message.text_sha256 and not _SHA256.fullmatch(message.text_sha256):
        raise InvalidArgument("text_sha256 must be 64 hexadecimal digits", field="text_sha256")
    parse_object(
        "metadata_json", message.metadata_json, size_bytes_max=limits.metadata_bytes_max, nesting_max=limits.nesting_max
    )
    return NewEmbedding(
        node_id=node_id,
        name=embedding_name(message.name, limits),
        vector=message.vector,
        model=check_text("model", message.model, chars_max=limits.type_chars_max),
        text_sha256=message.text_sha256,
        metadata_json=message.metadata_json or "{}",
    )


def embedding_name(text: str, limits: Limits) -> str:
    """Return the name of an embedding; errors as of `new_embedding`."""
    return check_text("name", text, chars_max=limits.type_chars_max) or NAME_DEFAULT


def upserted(row: Embedding) -> pb.UpsertEmbeddingResponse:
    """Return the answer to UpsertEmbedding."""
    response = pb.UpsertEmbeddingResponse()
    _fill_embedding(response.embedding, row)
    return response


def embedding_query(message: pb.ListEmbeddingsRequest) -> EmbeddingQuery:
    """Return which embeddings a caller wants; errors as of `new_embedding`."""
    return EmbeddingQuery(
        node_id=id_of("node_id", message.node_id),
        with_vectors=message.with_vectors,
        page_size=page_size(message.page_size),
        page_token=message.page_token,
    )


def embedding_page(page: EmbeddingPage) -> pb.ListEmbeddingsResponse:
    """Return the answer to ListEmbeddings."""
    response = pb.ListEmbeddingsResponse(next_page_token=page.next_page_token)
    for row, values in page.embeddings:
        embedding = response.embeddings.add(vector=values)
        _fill_embedding(embedding, row)
    return response


def similarity_query(message: pb.SearchSimilarRequest, limits: Limits) -> SimilarityQuery:
    """Return the query of SearchSimilar; errors as of `new_embedding`."""
    if bool(message.vector) == bool(message.node_id):
        raise InvalidArgument("give either vector or node_id", field="vector")
    if message.vector:
        check_vector("vector", message.vector)
    elif message.graph_name:
        raise InvalidArgument(
            "graph_name must be empty with node_id: the search is in the node's graph", field="graph_name"
        )
    least = message.similarity_min if message.HasField("similarity_min") else -1.0
    check_between("similarity_min", least, -1, 1)
    if message.limit < 0:
        raise InvalidArgument(f"limit must be 0 or more (got {message.limit})", field="limit")
    check_at_most("limit", message.limit, LIMIT_MAX)
    if message.metadata_contains_json:
        parse_object(
            "metadata_contains_json",
            message.metadata_contains_json,
            size_bytes_max=limits.metadata_bytes_max,
            nesting_max=limits.nesting_max,
        )
    return SimilarityQuery(
        vector=message.vector,
        node_id=id_of("node_id", message.node_id) if message.node_id else None,
        graph_name=graph_name(message.graph_name, limits),
        name=embedding_name(message.name, limits),
        similarity_min=least,
        metadata_json=message.metadata_contains_json or None,
        node_types=type_names("node_types", message.node_types, limits),
        include_archived=message.include_archived,
        limit=message.limit or LIMIT_DEFAULT,
        vectors_max=limits.similar_vectors_max,
    )


def similar(nodes: Sequence[SimilarNode]) -> pb.SearchSimilarResponse:
    """Return the answer to SearchSimilar.

    Raises:
        AnswerTooLarge: it does not fit one message.
    """
    response = pb.SearchSimilarResponse()
    for row in nodes:
        fill_node(response.nodes.add(similarity=row.similarity).node, row.node)
    if response.ByteSize() > ANSWER_BYTES_MAX:
        raise similar_nodes_too_large()
    return response


def _fill_embedding(message: pb.Embedding, row: Embedding) -> None:
    """Fill a protobuf message in place from an embedding."""
    message.node_id = row.node_id
    message.name = row.name
    message.dimension = row.dimension
    message.model = row.model
    message.text_sha256 = row.text_sha256
    message.metadata_json = row.metadata_json
    fill_time(message.created_at, row.created_at)
