"""Named vectors of nodes, and searches for similar nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from entity_service.model.nodes import Node

FLOAT_BYTES = 4  # bytes of a value in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEmbedding:
    """An embedding to write, checked."""

    node_id: str
    name: str
    vector: Sequence[float]
    model: str
    text_sha256: str  # hash of the embedded text, in hexadecimal; empty if it is not known
    metadata_json: str  # an object


class Embedding(NamedTuple):
    """A named vector of a node, without its values."""

    node_id: str
    name: str
    dimension: int
    model: str
    text_sha256: str
    metadata_json: str
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingQuery:
    """Which embeddings of a node a caller wants."""

    node_id: str
    with_vectors: bool
    page_size: int
    page_token: str


class EmbeddingPage(NamedTuple):
    """Some embeddings by name, with their values if those were asked for."""

    embeddings: list[tuple[Embedding, Sequence[float]]]
    next_page_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityQuery:
    """A search among the embeddings of one name in one graph."""

    vector: Sequence[float]  # empty takes the vector of the node
    node_id: str | None  # the node whose vector is compared; it is left out of the result
    graph_name: str  # the graph to search; for a node, its own
    name: str
    similarity_min: float  # -1 to 1
    metadata_json: str | None  # an object that the metadata contains
    node_types: Sequence[str]  # empty for all types
    include_archived: bool
    limit: int
    vectors_max: int  # most vectors to compare with


class SimilarNode(NamedTuple):
    """A node and the similarity of its vector to the searched one."""

    similarity: float  # cosine, -1 to 1
    node: Node
