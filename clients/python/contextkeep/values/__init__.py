"""What the services answer, as immutable values.

JSON stays the text that came (`data_json`) and is parsed when it is asked for (`data`), so a long history that nobody
looks into costs nothing. Most values keep what they parsed: change a copy. Times are aware datetimes in UTC.
"""

from contextkeep.values.blobs import BlobEntry, DownloadUrl, Upload
from contextkeep.values.contexts import (
    ByMeaning,
    Context,
    ContextHistory,
    ContextIndex,
    ContextKey,
    ContextState,
    Erasure,
    ErasureState,
    LeftOutMessage,
    Recalled,
    RecalledItem,
    SentMessage,
    SyncedHistory,
    UnreadRecord,
)
from contextkeep.values.edges import Edge, EdgeBatch
from contextkeep.values.embeddings import Embedding, SimilarNode
from contextkeep.values.events import HistoryEvent
from contextkeep.values.graphs import (
    AppendedMessage,
    EdgeTypeCount,
    ExportedGraph,
    GraphCount,
    ImportedGraph,
    RowCount,
    WrittenGraph,
    WrittenRow,
)
from contextkeep.values.manifests import ManifestEntity, ManifestGroup
from contextkeep.values.mappings import AssembledNode, ChatMapping, Evaluation, GivenMessage, NodeTrial, SkippedRule
from contextkeep.values.messages import (
    ChatHistory,
    ChatMessage,
    FormattedHistory,
    Part,
    PartKind,
    Reasoning,
    ToolCall,
    ToolResult,
)
from contextkeep.values.nodes import NamedNode, Node, NodeBatch, NodeIO
from contextkeep.values.progress import AppendedEnvelope, Envelope, EnvelopeStatus, EnvelopeType
from contextkeep.values.records import (
    IndexState,
    QueryAnswer,
    Record,
    RecordAction,
    RecordActionKind,
    RecordStatus,
    SearchHit,
)
from contextkeep.values.tasks import Artifact, Task, TaskHistory, TaskState
from contextkeep.values.tools import Resource, Tool
from contextkeep.values.traversal import ReachedBy, TraversedNode
from contextkeep.values.watching import ContextEvent, RetractedMessages
from contextkeep.values.windows import (
    ExplainedPack,
    FoldReceipt,
    Original,
    Pack,
    PackPart,
    StateChange,
    StateEntry,
    Window,
    WindowHit,
)

__all__ = [
    "AppendedEnvelope",
    "AppendedMessage",
    "Artifact",
    "AssembledNode",
    "BlobEntry",
    "ByMeaning",
    "ChatHistory",
    "ChatMapping",
    "ChatMessage",
    "Context",
    "ContextEvent",
    "ContextHistory",
    "ContextIndex",
    "ContextKey",
    "ContextState",
    "DownloadUrl",
    "Edge",
    "EdgeBatch",
    "EdgeTypeCount",
    "Embedding",
    "Envelope",
    "EnvelopeStatus",
    "EnvelopeType",
    "Erasure",
    "ErasureState",
    "Evaluation",
    "ExplainedPack",
    "ExportedGraph",
    "FoldReceipt",
    "FormattedHistory",
    "GivenMessage",
    "GraphCount",
    "HistoryEvent",
    "ImportedGraph",
    "IndexState",
    "LeftOutMessage",
    "ManifestEntity",
    "ManifestGroup",
    "NamedNode",
    "Node",
    "NodeBatch",
    "NodeIO",
    "NodeTrial",
    "Original",
    "Pack",
    "PackPart",
    "Part",
    "PartKind",
    "QueryAnswer",
    "ReachedBy",
    "Reasoning",
    "Recalled",
    "RecalledItem",
    "Record",
    "RecordAction",
    "RecordActionKind",
    "RecordStatus",
    "Resource",
    "RetractedMessages",
    "RowCount",
    "SearchHit",
    "SentMessage",
    "SimilarNode",
    "SkippedRule",
    "StateChange",
    "StateEntry",
    "SyncedHistory",
    "Task",
    "TaskHistory",
    "TaskState",
    "Tool",
    "ToolCall",
    "ToolResult",
    "TraversedNode",
    "UnreadRecord",
    "Upload",
    "Window",
    "WindowHit",
    "WrittenGraph",
    "WrittenRow",
]
