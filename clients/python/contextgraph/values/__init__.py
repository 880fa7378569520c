"""What the services answer, as immutable values.

JSON stays the text that came (`data_json`) and is parsed when it is asked for (`data`), so a long history that nobody
looks into costs nothing. Most values keep what they parsed: change a copy. Times are aware datetimes in UTC.
"""

from contextgraph.values.blobs import BlobEntry, DownloadUrl, Upload
from contextgraph.values.edges import Edge, EdgeBatch
from contextgraph.values.embeddings import Embedding, SimilarNode
from contextgraph.values.events import HistoryEvent
from contextgraph.values.graphs import (
    AppendedMessage,
    EdgeTypeCount,
    ExportedGraph,
    GraphCount,
    ImportedGraph,
    RowCount,
    WrittenGraph,
    WrittenRow,
)
from contextgraph.values.manifests import ManifestEntity, ManifestGroup
from contextgraph.values.mappings import AssembledNode, ChatMapping, Evaluation, GivenMessage, NodeTrial, SkippedRule
from contextgraph.values.messages import (
    ChatHistory,
    ChatMessage,
    FormattedHistory,
    Part,
    PartKind,
    ToolCall,
    ToolResult,
)
from contextgraph.values.nodes import NamedNode, Node, NodeBatch, NodeIO
from contextgraph.values.progress import AppendedEnvelope, Envelope, EnvelopeStatus, EnvelopeType
from contextgraph.values.records import (
    IndexState,
    QueryAnswer,
    Record,
    RecordAction,
    RecordActionKind,
    RecordStatus,
    SearchHit,
)
from contextgraph.values.tools import Resource, Tool
from contextgraph.values.traversal import ReachedBy, TraversedNode

__all__ = [
    "AppendedEnvelope",
    "AppendedMessage",
    "AssembledNode",
    "BlobEntry",
    "ChatHistory",
    "ChatMapping",
    "ChatMessage",
    "DownloadUrl",
    "Edge",
    "EdgeBatch",
    "EdgeTypeCount",
    "Embedding",
    "Envelope",
    "EnvelopeStatus",
    "EnvelopeType",
    "Evaluation",
    "ExportedGraph",
    "FormattedHistory",
    "GivenMessage",
    "GraphCount",
    "HistoryEvent",
    "ImportedGraph",
    "IndexState",
    "ManifestEntity",
    "ManifestGroup",
    "NamedNode",
    "Node",
    "NodeBatch",
    "NodeIO",
    "NodeTrial",
    "Part",
    "PartKind",
    "QueryAnswer",
    "ReachedBy",
    "Record",
    "RecordAction",
    "RecordActionKind",
    "RecordStatus",
    "Resource",
    "RowCount",
    "SearchHit",
    "SimilarNode",
    "SkippedRule",
    "Tool",
    "ToolCall",
    "ToolResult",
    "TraversedNode",
    "Upload",
    "WrittenGraph",
    "WrittenRow",
]
