"""Vectors of nodes, and nodes like others."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from contextkeep._gen.values_entity_graph import Node
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, kept, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Embedding(Value):
    """A named vector of a node."""

    node_id: str
    name: str
    dimension: int
    model: str = ""
    text_sha256: str = ""  # of the text that it was made of; empty: unknown
    metadata_json: str = "{}"
    created_at: datetime
    vector: tuple[float, ...] = field(default=(), repr=False)  # rounded to half precision; empty unless asked for
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return self._kept_object("_metadata", self.metadata_json)

    @classmethod
    def from_proto(cls, embedding: graph_pb.Embedding) -> Embedding:
        """Return the value of a message."""
        return cls(
            node_id=embedding.node_id,
            name=embedding.name,
            dimension=embedding.dimension,
            model=embedding.model,
            text_sha256=embedding.text_sha256,
            metadata_json=embedding.metadata_json,
            created_at=time_of(embedding.created_at),
            vector=tuple(embedding.vector),
        )


class SimilarNode(NamedTuple):
    """What `embeddings.search` found."""

    node: Node
    similarity: float  # the cosine, -1 to 1

    @classmethod
    def from_proto(cls, similar: graph_pb.SimilarNode) -> SimilarNode:
        """Return the value of a message."""
        return cls(node=Node.from_proto(similar.node), similarity=similar.similarity)
