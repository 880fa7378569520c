"""What the services answer, as immutable values.

JSON stays the text that came (`data_json`) and is parsed when it is first asked for (`data`), so a long history that
nobody looks into costs nothing. Parsed values are shared: change a copy. Times are aware datetimes in UTC.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, NamedTuple, overload

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from contextgraph.context.v1 import chat_history_pb2 as history_pb
from contextgraph.context.v1 import message_pb2 as message_pb
from contextgraph.context.v1 import tools_pb2
from contextgraph.context.v1 import working_memory_pb2 as memory_pb
from contextgraph.entity.v1 import entity_graph_pb2 as graph_pb

RecordStatus = Literal["active", "archived"]
RecordActionKind = Literal["created", "updated", "archived", "restored", "moved", "purged", "unknown"]
IndexState = Literal["none", "pending", "indexed", "failed"]
EnvelopeType = Literal["status", "message", "error", "bot_progress", "value", "waiting", "unknown"]
EnvelopeStatus = Literal["", "started", "running", "completed", "failed", "cancelled"]
PartKind = Literal["", "text", "data_json", "working_memory_id", "url", "tool_call", "tool_result"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN_CHARS_MAX = 80


class _Value:
    """Shows what is set, shortened: a node has eighteen fields, and most are empty."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        shown = []
        for each in dataclasses.fields(self):
            value = getattr(self, each.name) if each.repr else None
            if value is None or value in ("", 0, ()):  # False is 0
                continue
            shown.append(f"{each.name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _cached() -> Any:
    """Return a field that holds parsed JSON; it is no part of the value."""
    return field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Node(_Value):
    """A vertex of the entity graph."""

    id: str
    external_id: str = ""  # the caller's own id
    graph_name: str = ""
    agent_bundle_id: str = ""
    general_type_name: str
    specific_type_name: str = ""
    name: str = ""
    status: str = ""  # "Created", "Running", "Completed", "Failed", "Cancelled", or an app's own
    data_json: str = "{}"
    is_archived: bool = False
    seq: int = 0  # the server's order of writing
    created_at: datetime
    modified_at: datetime
    version: int = 1  # counts the changes
    created_by: str = ""
    owner_user_id: str = ""
    agent_id: str = ""
    context_id: str = ""
    _data: Any = _cached()

    @property
    def data(self) -> dict[str, Any]:
        """Return the node's JSON object."""
        if self._data is None:
            object.__setattr__(self, "_data", json.loads(self.data_json or "{}"))
        data: dict[str, Any] = self._data
        return data

    def __str__(self) -> str:
        name = f' "{self.name}"' if self.name else ""
        return f"{self.specific_type_name or self.general_type_name}{name} ({self.id})"

    @classmethod
    def from_proto(cls, node: graph_pb.Node) -> Node:
        """Return the value of a message."""
        return cls(
            id=node.id,
            external_id=node.external_id,
            graph_name=node.graph_name,
            agent_bundle_id=node.agent_bundle_id,
            general_type_name=node.general_type_name,
            specific_type_name=node.specific_type_name,
            name=node.name,
            status=node.status,
            data_json=node.data_json,
            is_archived=node.is_archived,
            seq=node.seq,
            created_at=_time(node.created_at),
            modified_at=_time(node.modified_at),
            version=node.version,
            created_by=node.created_by,
            owner_user_id=node.owner_user_id,
            agent_id=node.agent_id,
            context_id=node.context_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Edge(_Value):
    """A directed relation between two nodes."""

    id: str
    graph_name: str = ""
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str = "{}"
    created_at: datetime
    version: int = 1
    context_id: str = ""
    _data: Any = _cached()

    @property
    def data(self) -> dict[str, Any]:
        """Return the edge's JSON object."""
        if self._data is None:
            object.__setattr__(self, "_data", json.loads(self.data_json or "{}"))
        data: dict[str, Any] = self._data
        return data

    def __str__(self) -> str:
        return f"{self.from_node_id} -{self.edge_type}-> {self.to_node_id}"

    @classmethod
    def from_proto(cls, edge: graph_pb.Edge) -> Edge:
        """Return the value of a message."""
        return cls(
            id=edge.id,
            graph_name=edge.graph_name,
            from_node_id=edge.from_node_id,
            to_node_id=edge.to_node_id,
            edge_type=edge.edge_type,
            data_json=edge.data_json,
            created_at=_time(edge.created_at),
            version=edge.version,
            context_id=edge.context_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReachedBy(_Value):
    """The edge by which a walk reached a node."""

    edge_id: str
    edge_type: str
    node_id: str  # the node at the near end, from which the walk came
    data_json: str = "{}"
    _data: Any = _cached()

    @property
    def data(self) -> dict[str, Any]:
        """Return the edge's JSON object."""
        if self._data is None:
            object.__setattr__(self, "_data", json.loads(self.data_json or "{}"))
        data: dict[str, Any] = self._data
        return data


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeIO(_Value):
    """What went into a node and what came out of it."""

    input_json: str = ""  # empty: it was never set; "null": it was set to null
    output_json: str = ""
    modified_at: datetime | None = None  # None: neither was ever set, or a walk brought them
    _input: Any = _cached()
    _output: Any = _cached()

    @property
    def input(self) -> Any:
        """Return the input, parsed; None where it was never set."""
        if self._input is None and self.input_json:
            object.__setattr__(self, "_input", json.loads(self.input_json))
        return self._input

    @property
    def output(self) -> Any:
        """Return the output, parsed; None where it was never set."""
        if self._output is None and self.output_json:
            object.__setattr__(self, "_output", json.loads(self.output_json))
        return self._output

    @classmethod
    def from_proto(cls, io: graph_pb.GetNodeIOResponse) -> NodeIO:
        """Return the value of a message."""
        return cls(
            input_json=io.input_json,
            output_json=io.output_json,
            modified_at=_time(io.modified_at) if io.HasField("modified_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Envelope(_Value):
    """One entry of a node's timeline."""

    node_id: str  # of a caller's list: the node that was called
    seq: int  # the server's order of writing
    type: EnvelopeType  # "unknown": this client is older than the service
    status: EnvelopeStatus = ""
    sub_type: str = ""  # "return" marks the result
    message: str = ""
    value_json: str = ""  # empty: there is none
    error_json: str = ""
    created_at: datetime
    created_by: str = ""
    _value: Any = _cached()
    _error: Any = _cached()

    @property
    def value(self) -> Any:
        """Return the value, parsed; None where there is none."""
        if self._value is None and self.value_json:
            object.__setattr__(self, "_value", json.loads(self.value_json))
        return self._value

    @property
    def error(self) -> Any:
        """Return the error, parsed; None where there is none."""
        if self._error is None and self.error_json:
            object.__setattr__(self, "_error", json.loads(self.error_json))
        return self._error

    def __str__(self) -> str:
        return " ".join(filter(None, (_shown(self.created_at), self.type, self.sub_type, self.status, self.message)))

    @classmethod
    def from_proto(cls, envelope: graph_pb.Envelope) -> Envelope:
        """Return the value of a message."""
        return cls(
            node_id=envelope.node_id,
            seq=envelope.seq,
            type=_ENVELOPE_TYPES.get(envelope.type, "unknown"),
            status=_ENVELOPE_STATUSES.get(envelope.status, ""),
            sub_type=envelope.sub_type,
            message=envelope.message,
            value_json=envelope.value_json,
            error_json=envelope.error_json,
            created_at=_time(envelope.created_at),
            created_by=envelope.created_by,
        )


_ENVELOPE_TYPES: dict[int, EnvelopeType] = {
    graph_pb.ENVELOPE_TYPE_STATUS: "status",
    graph_pb.ENVELOPE_TYPE_MESSAGE: "message",
    graph_pb.ENVELOPE_TYPE_ERROR: "error",
    graph_pb.ENVELOPE_TYPE_BOT_PROGRESS: "bot_progress",
    graph_pb.ENVELOPE_TYPE_VALUE: "value",
    graph_pb.ENVELOPE_TYPE_WAITING: "waiting",
}
_ENVELOPE_STATUSES: dict[int, EnvelopeStatus] = {
    graph_pb.ENVELOPE_STATUS_STARTED: "started",
    graph_pb.ENVELOPE_STATUS_RUNNING: "running",
    graph_pb.ENVELOPE_STATUS_COMPLETED: "completed",
    graph_pb.ENVELOPE_STATUS_FAILED: "failed",
    graph_pb.ENVELOPE_STATUS_CANCELLED: "cancelled",
}


class GraphCount(NamedTuple):
    """How much is in a graph."""

    graph_name: str
    nodes: int  # archived ones, too
    edges: int


class EdgeTypeCount(NamedTuple):
    """How many edges there are of a type."""

    edge_type: str
    edges: int


class RowCount(NamedTuple):
    """What became of the rows of a kind."""

    written: int = 0
    existed: int = 0  # were there before and are as they were

    def plus(self, count: graph_pb.RowCount) -> RowCount:
        """Return the sum with that of a message."""
        return RowCount(self.written + count.written, self.existed + count.existed)


class ImportedGraph(NamedTuple):
    """What `import_graph` came to."""

    graph_name: str = ""
    lines: int = 0
    nodes: RowCount = RowCount()
    edges: RowCount = RowCount()
    embeddings: RowCount = RowCount()
    envelopes: RowCount = RowCount()

    def plus(self, answer: graph_pb.ImportGraphResponse) -> ImportedGraph:
        """Return the sum with what one call came to."""
        return ImportedGraph(
            graph_name=answer.graph_name,
            lines=answer.lines,
            nodes=self.nodes.plus(answer.nodes),
            edges=self.edges.plus(answer.edges),
            embeddings=self.embeddings.plus(answer.embeddings),
            envelopes=self.envelopes.plus(answer.envelopes),
        )


class ExportedGraph(NamedTuple):
    """What `export_graph` wrote."""

    size_bytes: int = 0
    nodes: int = 0
    edges: int = 0
    embeddings: int = 0
    envelopes: int = 0

    def plus(self, page: graph_pb.ExportGraphResponse) -> ExportedGraph:
        """Return the sum with what one message brought."""
        return ExportedGraph(
            size_bytes=self.size_bytes + len(page.lines),
            nodes=self.nodes + page.nodes,
            edges=self.edges + page.edges,
            embeddings=self.embeddings + page.embeddings,
            envelopes=self.envelopes + page.envelopes,
        )


class AppendedEnvelope(NamedTuple):
    """What `append_progress` wrote."""

    seq: int
    created_at: datetime

    @classmethod
    def from_proto(cls, answer: graph_pb.AppendProgressResponse) -> AppendedEnvelope:
        """Return the value of a message."""
        return cls(seq=answer.seq, created_at=_time(answer.created_at))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Embedding(_Value):
    """A named vector of a node."""

    node_id: str
    name: str
    dimension: int
    model: str = ""
    text_sha256: str = ""  # of the text that it was made of; empty: unknown
    metadata_json: str = "{}"
    created_at: datetime
    vector: tuple[float, ...] = field(default=(), repr=False)  # rounded to half precision; empty unless asked for
    _metadata: Any = _cached()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        if self._metadata is None:
            object.__setattr__(self, "_metadata", json.loads(self.metadata_json or "{}"))
        metadata: dict[str, Any] = self._metadata
        return metadata

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
            created_at=_time(embedding.created_at),
            vector=tuple(embedding.vector),
        )


class SimilarNode(NamedTuple):
    """What `search_similar` found."""

    node: Node
    similarity: float  # the cosine, -1 to 1

    @classmethod
    def from_proto(cls, similar: graph_pb.SimilarNode) -> SimilarNode:
        """Return the value of a message."""
        return cls(node=Node.from_proto(similar.node), similarity=similar.similarity)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TraversedNode(_Value):
    """A node and how a walk reached it."""

    node: Node
    depth: int  # 0 for a start node
    reached_by: ReachedBy | None = None  # None for a start node
    io: NodeIO | None = None  # None where neither side was ever set, or the walk was without `include_io`

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.node}"

    @classmethod
    def from_proto(cls, reached: graph_pb.TraversedNode) -> TraversedNode:
        """Return the value of a message."""
        edge = reached.reached_by
        return cls(
            node=Node.from_proto(reached.node),
            depth=reached.depth,
            reached_by=ReachedBy(
                edge_id=edge.edge_id, edge_type=edge.edge_type, node_id=edge.node_id, data_json=edge.data_json
            )
            if reached.HasField("reached_by")
            else None,
            io=NodeIO(input_json=reached.io.input_json, output_json=reached.io.output_json)
            if reached.HasField("io")
            else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WrittenRow(_Value):
    """What became of one row of `write_graph`."""

    id: str
    created_at: datetime
    seq: int = 0  # of a node; 0 for an edge
    existed: bool = False  # it was there before and is unchanged

    @classmethod
    def from_proto(cls, row: graph_pb.WrittenRow) -> WrittenRow:
        """Return the value of a message."""
        return cls(id=row.id, created_at=_time(row.created_at), seq=row.seq, existed=row.existed)


class WrittenGraph(NamedTuple):
    """What `write_graph` wrote: rows in the order of the input."""

    nodes: list[WrittenRow]
    edges: list[WrittenRow]


class NodeBatch(NamedTuple):
    """What `batch_get_nodes` found."""

    nodes: list[Node]  # in the order of the ids
    missing_ids: list[str]


class EdgeBatch(NamedTuple):
    """What `batch_get_edges` found."""

    edges: list[Edge]  # in the order of the ids
    missing_ids: list[str]


class NamedNode(NamedTuple):
    """What `get_node_by_name` found."""

    node: Node  # the newest
    matches: int  # how many nodes share the name, this one included


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record(_Value):
    """One item of working memory: metadata, and inline JSON or a blob as its content."""

    working_memory_id: str
    entity_node_id: str = ""
    memory_type: str
    subtype: str = ""
    semantic_purpose: str = ""
    name: str
    description: str = ""
    reasoning: str = ""
    content_type: str = ""
    metadata_json: str = "{}"
    content_json: str = ""  # inline content, byte for byte as it was given; empty: none, or left out of a list
    provider: str = ""  # "postgres" for inline content, else where the blob lives; empty without content
    blob_key: str = ""
    size_bytes: int = 0
    sha256: str = ""  # of the content, in hexadecimal; empty without content
    status: RecordStatus = "active"
    tags: tuple[str, ...] = ()
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""
    context_id: str = ""
    created_by: str = ""
    owner_user_id: str = ""
    agent_id: str = ""
    expires_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1
    index_state: IndexState = "none"
    index_error: str = ""  # what went wrong last, of a pending or failed one
    _metadata: Any = _cached()
    _content: Any = _cached()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        if self._metadata is None:
            object.__setattr__(self, "_metadata", json.loads(self.metadata_json or "{}"))
        metadata: dict[str, Any] = self._metadata
        return metadata

    @property
    def content(self) -> Any:
        """Return the inline content, parsed; None where there is none."""
        if self._content is None and self.content_json:
            object.__setattr__(self, "_content", json.loads(self.content_json))
        return self._content

    def __str__(self) -> str:
        archived = ", archived" if self.status == "archived" else ""
        return f"{self.name} ({self.memory_type}, {_shown_size(self.size_bytes)}{archived})"

    @classmethod
    def from_proto(cls, record: memory_pb.WMRecord) -> Record:
        """Return the value of a message."""
        return cls(
            working_memory_id=record.working_memory_id,
            entity_node_id=record.entity_node_id,
            memory_type=record.memory_type,
            subtype=record.subtype,
            semantic_purpose=record.semantic_purpose,
            name=record.name,
            description=record.description,
            reasoning=record.reasoning,
            content_type=record.content_type,
            metadata_json=record.metadata_json,
            content_json=record.content_json,
            provider=record.provider,
            blob_key=record.blob_key,
            size_bytes=record.size_bytes,
            sha256=record.sha256,
            status="archived" if record.status == memory_pb.RECORD_STATUS_ARCHIVED else "active",
            tags=tuple(record.tags),
            graph_name=record.graph_name,
            agent_bundle_id=record.agent_bundle_id,
            app_id=record.app_id,
            context_id=record.context_id,
            created_by=record.created_by,
            owner_user_id=record.owner_user_id,
            agent_id=record.agent_id,
            expires_at=_time(record.expires_at) if record.HasField("expires_at") else None,
            created_at=_time(record.created_at),
            updated_at=_time(record.updated_at),
            version=record.version,
            index_state=_INDEX_STATES.get(record.index_state, "none"),
            index_error=record.index_error,
        )


_INDEX_STATES: dict[int, IndexState] = {
    memory_pb.INDEX_STATE_PENDING: "pending",
    memory_pb.INDEX_STATE_INDEXED: "indexed",
    memory_pb.INDEX_STATE_FAILED: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BlobEntry(_Value):
    """One blob of an entity, as `list_blobs` shows it."""

    blob_key: str
    working_memory_id: str
    name: str
    memory_type: str
    content_type: str = ""
    size_bytes: int
    sha256: str
    created_at: datetime

    def __str__(self) -> str:
        return f"{self.name} ({self.memory_type}, {_shown_size(self.size_bytes)})"

    @classmethod
    def from_proto(cls, blob: memory_pb.BlobEntry) -> BlobEntry:
        """Return the value of a message."""
        return cls(
            blob_key=blob.blob_key,
            working_memory_id=blob.working_memory_id,
            name=blob.name,
            memory_type=blob.memory_type,
            content_type=blob.content_type,
            size_bytes=blob.size_bytes,
            sha256=blob.sha256,
            created_at=_time(blob.created_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownloadUrl(_Value):
    """A URL that gives a blob to whoever has it."""

    url: str
    expires_at: datetime
    record: Record  # with the sha256 that the bytes must have

    def __str__(self) -> str:
        return self.url

    @classmethod
    def from_proto(cls, response: memory_pb.CreateDownloadUrlResponse) -> DownloadUrl:
        """Return the value of a message."""
        return cls(url=response.url, expires_at=_time(response.expires_at), record=Record.from_proto(response.record))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchHit(_Value):
    """A record that was found, and why."""

    record: Record
    score: float  # what the hits are ordered by: a rank, a cosine, or a sum of reciprocal ranks
    text_place: int = 0  # among what was found by text, from 1; 0: not found by it
    text_score: float = 0.0
    vector_place: int = 0
    similarity: float = 0.0  # cosine, -1 to 1
    approximate: bool = False  # its place by vector is from the operator's index, which may have missed nearer ones

    def __str__(self) -> str:
        return f"{self.score:.3f} {self.record}"

    @classmethod
    def from_proto(cls, hit: memory_pb.SearchHit) -> SearchHit:
        """Return the value of a message."""
        return cls(
            record=Record.from_proto(hit.record),
            score=hit.score,
            text_place=hit.text_place,
            text_score=hit.text_score,
            vector_place=hit.vector_place,
            similarity=hit.similarity,
            approximate=hit.approximate,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestGroup(_Value):
    """The records of an entity that have one memory type."""

    memory_type: str
    record_count: int  # of all of them
    size_bytes: int
    records: list[Record] = field(default_factory=list)  # newest first; not more than were asked for

    @classmethod
    def from_proto(cls, group: memory_pb.ManifestGroup) -> ManifestGroup:
        """Return the value of a message."""
        return cls(
            memory_type=group.memory_type,
            record_count=group.record_count,
            size_bytes=group.size_bytes,
            records=[Record.from_proto(record) for record in group.records],
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestEntity(_Value):
    """An entity that has records, and where it hangs below the root of a manifest."""

    entity_node_id: str
    name: str = ""  # of the node; empty, as its type, if the root is no node
    specific_type_name: str = ""
    parent_node_id: str = ""  # empty for the root, as the next one
    edge_type: str = ""
    depth: int = 0
    path: tuple[str, ...] = ()  # node ids from the root to this one
    groups: list[ManifestGroup] = field(default_factory=list)  # by memory type

    @property
    def record_count(self) -> int:
        """Return how many records there are, of all memory types."""
        return sum(group.record_count for group in self.groups)

    def __str__(self) -> str:
        label = " ".join(filter(None, (self.specific_type_name, self.name))) or self.entity_node_id
        counts = ", ".join(f"{group.record_count} {group.memory_type}" for group in self.groups)
        return f"{'  ' * self.depth}{label}: {counts}"

    @classmethod
    def from_proto(cls, entity: memory_pb.ManifestEntity) -> ManifestEntity:
        """Return the value of a message."""
        return cls(
            entity_node_id=entity.entity_node_id,
            name=entity.name,
            specific_type_name=entity.specific_type_name,
            parent_node_id=entity.parent_node_id,
            edge_type=entity.edge_type,
            depth=entity.depth,
            path=tuple(entity.path),
            groups=[ManifestGroup.from_proto(group) for group in entity.groups],
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryAnswer(_Value):
    """The rows that answer a question about records."""

    rows: list[dict[str, Any]]  # the columns by the names that they were asked for by
    has_more: bool = False  # there are rows behind the limit

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def from_proto(cls, answer: memory_pb.QueryWMRecordsResponse) -> QueryAnswer:
        """Return the value of a message."""
        return cls(rows=[json.loads(row) for row in answer.rows_json], has_more=answer.has_more)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordAction(_Value):
    """One entry of a record's log, as `list_wm_record_actions` shows it."""

    kind: RecordActionKind  # "unknown": this client is older than the service
    created_at: datetime
    principal: str  # whom the key of the call stood for; "sweeper": the service itself, when a retention ended
    request_id: str = ""
    details_json: str = "{}"
    _details: Any = _cached()

    @property
    def details(self) -> dict[str, Any]:
        """Return what is known of the change, parsed: the fields of an update, the reason of a purge."""
        if self._details is None:
            object.__setattr__(self, "_details", json.loads(self.details_json or "{}"))
        details: dict[str, Any] = self._details
        return details

    def __str__(self) -> str:
        return f"{self.kind} by {self.principal} at {_shown(self.created_at)}"

    @classmethod
    def from_proto(cls, action: memory_pb.WMRecordAction) -> RecordAction:
        """Return the value of a message."""
        return cls(
            kind=_ACTION_KINDS.get(action.kind, "unknown"),
            created_at=_time(action.created_at),
            principal=action.principal,
            request_id=action.request_id,
            details_json=action.details_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Upload(_Value):
    """How far a resumable upload is."""

    id: str
    offset_bytes: int = 0  # that are durable; the next part begins here
    size_bytes: int | None = None  # of the whole, where it was declared
    expires_at: datetime | None = None  # it is given up then, unless a part comes; None: it is finished
    part_bytes_max: int = 0
    record: Record | None = None  # once it is finished

    def __str__(self) -> str:
        return f"{self.id} ({_shown_size(self.offset_bytes)} so far)"

    @classmethod
    def from_proto(cls, upload: memory_pb.Upload) -> Upload:
        """Return the value of a message."""
        return cls(
            id=upload.upload_id,
            offset_bytes=upload.offset_bytes,
            size_bytes=upload.size_bytes if upload.HasField("size_bytes") else None,
            expires_at=_time(upload.expires_at) if upload.HasField("expires_at") else None,
            part_bytes_max=upload.part_bytes_max,
            record=Record.from_proto(upload.record) if upload.HasField("record") else None,
        )


_ACTION_KINDS: dict[int, RecordActionKind] = {
    memory_pb.RECORD_ACTION_KIND_CREATED: "created",
    memory_pb.RECORD_ACTION_KIND_UPDATED: "updated",
    memory_pb.RECORD_ACTION_KIND_ARCHIVED: "archived",
    memory_pb.RECORD_ACTION_KIND_RESTORED: "restored",
    memory_pb.RECORD_ACTION_KIND_MOVED: "moved",
    memory_pb.RECORD_ACTION_KIND_PURGED: "purged",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCall(_Value):
    """A model asks for a tool."""

    id: str
    name: str
    arguments_json: str = ""

    @property
    def arguments(self) -> Any:
        """Return the arguments, parsed; None where there are none."""
        return _parsed(self.arguments_json)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolResult(_Value):
    """What a tool answered."""

    tool_call_id: str  # the id of the call that it answers
    content_json: str = ""
    is_error: bool = False

    @property
    def content(self) -> Any:
        """Return the answer, parsed; None where there is none."""
        return _parsed(self.content_json)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Part(_Value):
    """One piece of a message. `kind` names the one field of the first six that holds it."""

    kind: PartKind
    text: str = ""
    data_json: str = ""
    working_memory_id: str = ""
    url: str = ""
    tool_call: ToolCall | None = None
    tool_result: ToolResult | None = None
    media_type: str = ""
    file_name: str = ""
    metadata_json: str = ""

    @property
    def data(self) -> Any:
        """Return the piece of JSON, parsed; None in a part of another kind."""
        return _parsed(self.data_json)

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        metadata: dict[str, Any] = _parsed(self.metadata_json) or {}
        return metadata

    @classmethod
    def from_proto(cls, part: message_pb.Part) -> Part:
        """Return the value of a message. A kind that this version does not know is empty."""
        call, result = part.tool_call, part.tool_result
        return cls(
            kind=part.WhichOneof("content") or "",
            text=part.text,
            data_json=part.data_json,
            working_memory_id=part.working_memory_id,
            url=part.url,
            tool_call=ToolCall(id=call.id, name=call.name, arguments_json=call.arguments_json)
            if part.HasField("tool_call")
            else None,
            tool_result=ToolResult(
                tool_call_id=result.tool_call_id, content_json=result.content_json, is_error=result.is_error
            )
            if part.HasField("tool_result")
            else None,
            media_type=part.media_type,
            file_name=part.file_name,
            metadata_json=part.metadata_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatMessage(_Value):
    """One turn, as a prompt wants it."""

    role: str  # "user", "assistant", "system" or "tool"
    content: str
    node_id: str  # the node it was read from
    created_at: datetime
    name: str = ""  # who speaks, where several share a role
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        metadata: dict[str, Any] = _parsed(self.metadata_json) or {}
        return metadata

    def __str__(self) -> str:
        return f"{self.role}: {self.content}"

    @classmethod
    def from_proto(cls, message: message_pb.ChatMessage) -> ChatMessage:
        """Return the value of a message."""
        return cls(
            role=message.role,
            content=message.content,
            node_id=message.node_id,
            created_at=_time(message.created_at),
            name=message.name,
            parts=tuple(map(Part.from_proto, message.parts)),
            metadata_json=message.metadata_json,
        )


class GivenMessage(NamedTuple):
    """A message, and the rule that gave it."""

    message: ChatMessage
    rule: str  # "rules.messages[0]", as if the rules had no shorthands


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRule:
    """A rule that gave no message of a node."""

    reason: str  # "filtered", "unmatched", "empty", "role_unknown" or "failed"
    rule: str  # the expression that decided, such as "rules.messages[0].when"
    error: str = ""  # what is wrong, of the last two reasons
    elements: int = 1  # how many of a `for_each` it happened to

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}" + (f" ({self.error})" if self.error else "")

    @classmethod
    def from_proto(cls, skipped: history_pb.SkippedRule) -> SkippedRule:
        """Return the value of a message."""
        reason = history_pb.SkipReason.Name(skipped.reason).removeprefix("SKIP_REASON_").lower()
        return cls(reason=reason, rule=skipped.rule, error=skipped.error, elements=skipped.elements)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AssembledNode(_Value):
    """A node that a mapping has read, and what came of it."""

    node_id: str
    external_id: str
    name: str
    type: str
    general_type: str
    depth: int  # steps from the start node
    edge_id: str  # that reached it; empty for the start node, as the next two
    edge_type: str
    from_node_id: str  # that edge's other end
    created_at: datetime
    modified_at: datetime
    values_json: str  # what is at the paths that were asked for
    messages: tuple[GivenMessage, ...]
    skipped: tuple[SkippedRule, ...]  # rules that gave none

    @property
    def values(self) -> dict[str, Any]:
        """Return what is at the paths that were asked for, by path."""
        values: dict[str, Any] = _parsed(self.values_json) or {}
        return values

    def __str__(self) -> str:
        given = [str(given.message) for given in self.messages]
        return "; ".join(given or map(str, self.skipped)) or self.node_id

    @classmethod
    def from_proto(cls, node: history_pb.AssembledNode) -> AssembledNode:
        """Return the value of a message."""
        return cls(
            node_id=node.node_id,
            external_id=node.external_id,
            name=node.name,
            type=node.type,
            general_type=node.general_type,
            depth=node.depth,
            edge_id=node.edge_id,
            edge_type=node.edge_type,
            from_node_id=node.from_node_id,
            created_at=_time(node.created_at),
            modified_at=_time(node.modified_at),
            values_json=node.values_json,
            messages=tuple(GivenMessage(ChatMessage.from_proto(one.message), one.rule) for one in node.messages),
            skipped=tuple(map(SkippedRule.from_proto, node.skipped)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run of one expression."""

    rule: str  # "rules.messages[0].when", as if the rules had no shorthands
    element: int | None  # of a `for_each`
    value_json: str  # empty: it failed, or `value_left_out`
    value_left_out: bool  # the value is larger than 16 KiB
    error: str  # why it failed; empty: it did not
    duration_us: int

    @property
    def value(self) -> Any:
        """Return the value; None if there is none."""
        return _parsed(self.value_json)

    def __str__(self) -> str:
        place = self.rule if self.element is None else f"{self.rule} of element {self.element}"
        return f"{place}: {self.error or self.value_json or 'a large value'}"

    @classmethod
    def from_proto(cls, evaluation: history_pb.Evaluation) -> Evaluation:
        """Return the value of a message."""
        return cls(
            rule=evaluation.rule,
            element=evaluation.element if evaluation.HasField("element") else None,
            value_json=evaluation.value_json,
            value_left_out=evaluation.value_left_out,
            error=evaluation.error,
            duration_us=evaluation.duration_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrial:
    """A node, and what rules did on it."""

    node_id: str
    included: bool  # it gives a message
    decided_by: str  # the rule of its first message, or the expression because of which there is none
    messages: tuple[GivenMessage, ...]
    skipped: tuple[SkippedRule, ...]  # rules that gave none
    evaluations: tuple[Evaluation, ...]  # in the order in which they ran; the first 256 KiB of them
    evaluations_left_out: int  # how many more ran
    duration_us: int  # of all of them

    def __str__(self) -> str:
        given = "; ".join(str(given.message) for given in self.messages)
        return f"{self.node_id}: {given or 'no message'} ({self.decided_by})"

    @classmethod
    def from_proto(cls, trial: history_pb.NodeTrial) -> NodeTrial:
        """Return the value of a message."""
        return cls(
            node_id=trial.node_id,
            included=trial.included,
            decided_by=trial.decided_by,
            messages=tuple(GivenMessage(ChatMessage.from_proto(one.message), one.rule) for one in trial.messages),
            skipped=tuple(map(SkippedRule.from_proto, trial.skipped)),
            evaluations=tuple(map(Evaluation.from_proto, trial.evaluations)),
            evaluations_left_out=trial.evaluations_left_out,
            duration_us=trial.duration_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryEvent(_Value):
    """Something that happened to an entity."""

    kind: str  # "node_created", "status", "record_purged", ...: the proto has all of them, with their documents
    time: datetime
    node_id: str  # the entity
    principal: str = ""  # whom the key of the call stood for, where that is kept
    edge_id: str = ""
    working_memory_id: str = ""
    request_id: str = ""
    document_json: str = "{}"

    @property
    def document(self) -> dict[str, Any]:
        """Return what is known of it."""
        document: dict[str, Any] = _parsed(self.document_json) or {}
        return document

    def __str__(self) -> str:
        return f"{self.time.isoformat()} {self.kind}"

    @classmethod
    def from_proto(cls, event: history_pb.HistoryEvent) -> HistoryEvent:
        """Return the value of a message."""
        return cls(
            kind=history_pb.HistoryEventKind.Name(event.kind).removeprefix("HISTORY_EVENT_KIND_").lower(),
            time=_time(event.time),
            node_id=event.node_id,
            principal=event.principal,
            edge_id=event.edge_id,
            working_memory_id=event.working_memory_id,
            request_id=event.request_id,
            document_json=event.document_json,
        )


@dataclass(frozen=True, slots=True)
class ChatHistory(Sequence[ChatMessage]):
    """The messages of a conversation, oldest first, and what was left out of it."""

    messages: tuple[ChatMessage, ...] = ()
    nodes_failed: int = 0  # nodes that gave no message because a rule failed on them
    roles_unknown: int = 0  # messages whose role is none of user, assistant, system and tool

    @overload
    def __getitem__(self, index: int) -> ChatMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ChatMessage, ...]: ...
    def __getitem__(self, index: int | slice) -> ChatMessage | tuple[ChatMessage, ...]:
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[ChatMessage]:
        return iter(self.messages)

    def __repr__(self) -> str:
        return (
            f"ChatHistory({len(self)} messages, nodes_failed={self.nodes_failed}, roles_unknown={self.roles_unknown})"
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FormattedHistory(_Value):
    """A conversation for the body of a request to a model."""

    formatted_json: str
    nodes_failed: int = 0  # as in ChatHistory, the next too
    roles_unknown: int = 0
    tool_results_left_out: int = 0  # their calls are not among the messages, or a later result replaces them
    tool_calls_unanswered: int = 0  # before the last turn; they got a result that says so

    @property
    def body(self) -> dict[str, Any]:
        """Return what goes into the request: `messages`, and for Anthropic `system`, if there is one."""
        body: dict[str, Any] = _parsed(self.formatted_json)
        return body

    def __str__(self) -> str:
        return self.formatted_json

    @classmethod
    def from_proto(cls, response: history_pb.GetChatHistoryResponse) -> FormattedHistory:
        """Return the value of a message."""
        return cls(
            formatted_json=response.formatted_json,
            nodes_failed=response.nodes_failed,
            roles_unknown=response.roles_unknown,
            tool_results_left_out=response.tool_results_left_out,
            tool_calls_unanswered=response.tool_calls_unanswered,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatMapping(_Value):
    """A named rule set that makes messages of nodes, registered or built in."""

    app_id: str = ""  # empty: the tenant's shared scope
    mapping_name: str
    rules_json: str = "{}"
    rules_version: int = 0  # the author's own number; 0: none was given
    version: int = 0  # counts the changes; 0 for a built-in one
    built_in: bool = False
    error: str = ""  # why the rules no longer compile, after an upgrade; empty: they do
    created_at: datetime | None = None  # None for a built-in one
    updated_at: datetime | None = None
    _rules: Any = _cached()

    @property
    def rules(self) -> dict[str, Any]:
        """Return the rules as a dict, as `register_mapping` takes them."""
        if self._rules is None:
            object.__setattr__(self, "_rules", json.loads(self.rules_json))
        rules: dict[str, Any] = self._rules
        return rules

    def __str__(self) -> str:
        return f"{self.app_id}/{self.mapping_name}" if self.app_id else self.mapping_name

    @classmethod
    def from_proto(cls, mapping: history_pb.Mapping) -> ChatMapping:
        """Return the value of a message."""
        return cls(
            app_id=mapping.app_id,
            mapping_name=mapping.mapping_name,
            rules_json=json.dumps(MessageToDict(mapping.rules, preserving_proto_field_name=True), ensure_ascii=False),
            rules_version=mapping.rules_version,
            version=mapping.version,
            built_in=mapping.built_in,
            error=mapping.error,
            created_at=_time(mapping.created_at) if mapping.HasField("created_at") else None,
            updated_at=_time(mapping.updated_at) if mapping.HasField("updated_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tool(_Value):
    """What a model may call by itself: `execute_tool`."""

    tool_name: str
    context_type: str  # "WM", "History" or "RAG"
    description: str
    input_schema_json: str
    read_only: bool
    destructive: bool
    idempotent: bool
    _input_schema: Any = _cached()

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        if self._input_schema is None:
            object.__setattr__(self, "_input_schema", json.loads(self.input_schema_json))
        schema: dict[str, Any] = self._input_schema
        return schema

    @classmethod
    def from_proto(cls, tool: tools_pb2.Tool) -> Tool:
        """Return the value of a message."""
        return cls(
            tool_name=tool.tool_name,
            context_type=tool.context_type,
            description=tool.description,
            input_schema_json=tool.input_schema_json,
            read_only=tool.read_only,
            destructive=tool.destructive,
            idempotent=tool.idempotent,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resource(_Value):
    """A record of an entity, as the Model Context Protocol names it."""

    uri: str  # "wm://{working_memory_id}"
    name: str
    description: str = ""
    content_type: str = ""
    size_bytes: int

    @classmethod
    def from_proto(cls, resource: tools_pb2.Resource) -> Resource:
        """Return the value of a message."""
        return cls(
            uri=resource.uri,
            name=resource.name,
            description=resource.description,
            content_type=resource.content_type,
            size_bytes=resource.size_bytes,
        )


def _time(timestamp: Timestamp) -> datetime:
    # ToDatetime() does the same at five times the cost; a history has thousands of them.
    return _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1000)


def _parsed(text: str) -> Any:
    return json.loads(text) if text else None


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str) and len(value) > _SHOWN_CHARS_MAX:
        return f"{value[:_SHOWN_CHARS_MAX]!r}..."
    return repr(value)


def _shown_size(size_bytes: int) -> str:
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    for unit_bytes, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size_bytes >= unit_bytes * 0.99995:  # what would be shown as 1000.0 of the smaller unit
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes / 1e3:.1f} kB"
