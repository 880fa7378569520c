"""Rows and batches of exports and imports of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from entity_service.model.embeddings import NewEmbedding
from entity_service.model.progress import NewEnvelope
from entity_service.model.writes import GraphWrite


class ExportedNode(NamedTuple):
    """A node with its input and output, in the order of the columns of the export."""

    id: str
    external_id: str | None
    agent_bundle_id: str
    general_type_name: str
    specific_type_name: str
    name: str
    status: str
    is_archived: bool
    created_at: int
    data_json: str
    owner_user_id: str
    input_json: str | None
    output_json: str | None


class ExportedEdge(NamedTuple):
    """An edge, in the order of the columns of the export."""

    id: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    created_at: int
    data_json: str


class ExportedEmbedding(NamedTuple):
    """An embedding, in the order of the columns of the export."""

    node_id: str
    name: str
    model: str
    text_sha256: str
    metadata_json: str
    vector_json: str


class ExportedEnvelope(NamedTuple):
    """An envelope, in the order of the columns of the export."""

    node_id: str
    type: str
    status: str
    sub_type: str
    message: str
    created_at: int
    error_json: str | None
    value_json: str | None


class NewSide(NamedTuple):
    """The input or the output of a node, to write."""

    node_id: str
    side: str  # "input" or "output"
    value_json: str
    path: str


@dataclass(slots=True, kw_only=True)
class ImportBatch:
    """Lines that are written in one transaction."""

    write: GraphWrite
    archived_ids: set[str] = field(default_factory=set)
    sides: Sequence[NewSide] = ()
    embeddings: Sequence[tuple[str, NewEmbedding]] = ()  # with the path of each
    envelopes: Sequence[tuple[str, NewEnvelope, int]] = ()  # with the path and the time of each
    lines: int  # number of lines of the import up to here


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """A request for an export."""

    graph_name: str
    resume_token: str


class ExportPage(NamedTuple):
    """Some whole lines, and the token with which the export goes on after them."""

    lines: bytes
    kind: str  # of the rows: "graph", "node", "embedding", "envelope", "edge"; empty: there are none
    rows: int
    resume_token: str


@dataclass(slots=True)
class RowCount:
    """The outcome of the rows of one kind."""

    written: int = 0
    existed: int = 0

    def add(self, *, written: int, rows: int) -> None:
        """Count the rows of a batch, and those of them that were written."""
        self.written += written
        self.existed += rows - written


@dataclass(slots=True)
class Imported:
    """The outcome of an import."""

    lines: int = 0
    nodes: RowCount = field(default_factory=RowCount)
    edges: RowCount = field(default_factory=RowCount)
    embeddings: RowCount = field(default_factory=RowCount)
    envelopes: RowCount = field(default_factory=RowCount)
