"""Context Service from Python: working memory, the entity graph, and chat history read off it.

    from contextkeep import ContextClient, EntityClient

    with EntityClient() as graph, ContextClient() as context:
        graph.append_message(role="user", content="Where is my file?", external_id="thread-42", create=True)
        graph.append_message(role="assistant", content="Here.", external_id="thread-42")
        for message in context.chat_history(external_id="thread-42"):
            print(message)

Public is what is exported here, every class of `contextkeep.errors`, and the generated messages and stubs in
`contextkeep.context.v1` and `contextkeep.entity.v1`. What comes from the clients is imported when it is first asked
for: the servers import this package too, for its errors and stubs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contextkeep.address import Address, parse_address
from contextkeep.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    ContextKeepError,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    FieldViolation,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from contextkeep.ids import new_id
from contextkeep.inputs import (
    ArtifactInput,
    ConnectedTo,
    ContextInput,
    EdgeInput,
    ExternalId,
    MessageInput,
    NodeInput,
    PartInput,
    RecallFilter,
    RecallOptions,
    SampleNode,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.memory_types import MemoryType
from contextkeep.version import __version__

if TYPE_CHECKING:
    from contextkeep.client._context_messages import ContextChanges
    from contextkeep.client._messages import RecordChanges, RecordFields
    from contextkeep.client.aio import AsyncBlobReader, AsyncContextClient, AsyncEntityClient
    from contextkeep.client.sync import BlobReader, ContextClient, EntityClient
    from contextkeep.values import (
        AppendedEnvelope,
        AppendedMessage,
        Artifact,
        AssembledNode,
        BlobEntry,
        ByMeaning,
        Calibrated,
        ChatHistory,
        ChatMapping,
        ChatMessage,
        Context,
        ContextEvent,
        ContextHistory,
        ContextIndex,
        ContextKey,
        DownloadUrl,
        Edge,
        EdgeBatch,
        EdgeTypeCount,
        Embedding,
        Envelope,
        Erasure,
        Evaluation,
        ExplainedPack,
        ExportedGraph,
        FoldReceipt,
        FormattedHistory,
        GivenMessage,
        GraphCount,
        HistoryEvent,
        ImportanceWeights,
        ImportedGraph,
        LeftOutMessage,
        ManifestEntity,
        ManifestGroup,
        NamedNode,
        Node,
        NodeBatch,
        NodeIO,
        NodeTrial,
        Original,
        Pack,
        PackPart,
        Part,
        QueryAnswer,
        ReachedBy,
        Reasoning,
        Recalled,
        RecalledItem,
        Record,
        RecordAction,
        Resource,
        RetractedMessages,
        RowCount,
        SearchHit,
        SentMessage,
        SimilarNode,
        SkippedRule,
        StateChange,
        StateEntry,
        SyncedHistory,
        Task,
        TaskHistory,
        TierRatios,
        TokenPrices,
        Tool,
        ToolCall,
        ToolResult,
        TraversedNode,
        UnreadRecord,
        Upload,
        Window,
        WindowConfig,
        WindowHit,
        WrittenGraph,
        WrittenRow,
    )

# Of what is imported late; all else is in `contextkeep.values`.
_MODULE_OF = {
    "ContextChanges": "contextkeep.client._context_messages",
    "RecordChanges": "contextkeep.client._messages",
    "RecordFields": "contextkeep.client._messages",
    "AsyncBlobReader": "contextkeep.client.aio",
    "AsyncContextClient": "contextkeep.client.aio",
    "AsyncEntityClient": "contextkeep.client.aio",
    "BlobReader": "contextkeep.client.sync",
    "ContextClient": "contextkeep.client.sync",
    "EntityClient": "contextkeep.client.sync",
}

__all__ = [
    "Aborted",
    "Address",
    "AlreadyExists",
    "AppendedEnvelope",
    "AppendedMessage",
    "Artifact",
    "ArtifactInput",
    "AssembledNode",
    "AsyncBlobReader",
    "AsyncContextClient",
    "AsyncEntityClient",
    "BlobEntry",
    "BlobReader",
    "ByMeaning",
    "Calibrated",
    "Cancelled",
    "ChatHistory",
    "ChatMapping",
    "ChatMessage",
    "ConnectedTo",
    "Context",
    "ContextChanges",
    "ContextClient",
    "ContextEvent",
    "ContextHistory",
    "ContextIndex",
    "ContextInput",
    "ContextKeepError",
    "ContextKey",
    "DataLoss",
    "DeadlineExceeded",
    "DownloadUrl",
    "Edge",
    "EdgeBatch",
    "EdgeInput",
    "EdgeTypeCount",
    "Embedding",
    "EntityClient",
    "Envelope",
    "Erasure",
    "Evaluation",
    "ExplainedPack",
    "ExportedGraph",
    "ExternalId",
    "FailedPrecondition",
    "FieldViolation",
    "FoldReceipt",
    "FormattedHistory",
    "GivenMessage",
    "GraphCount",
    "HistoryEvent",
    "ImportanceWeights",
    "ImportedGraph",
    "Internal",
    "InvalidArgument",
    "LeftOutMessage",
    "ManifestEntity",
    "ManifestGroup",
    "MemoryType",
    "MessageInput",
    "NamedNode",
    "Node",
    "NodeBatch",
    "NodeIO",
    "NodeInput",
    "NodeTrial",
    "NotFound",
    "Original",
    "OutOfRange",
    "Pack",
    "PackPart",
    "Part",
    "PartInput",
    "PermissionDenied",
    "QueryAnswer",
    "ReachedBy",
    "Reasoning",
    "RecallFilter",
    "RecallOptions",
    "Recalled",
    "RecalledItem",
    "Record",
    "RecordAction",
    "RecordChanges",
    "RecordFields",
    "Resource",
    "ResourceExhausted",
    "RetractedMessages",
    "RowCount",
    "SampleNode",
    "SearchHit",
    "SentMessage",
    "SimilarNode",
    "SkippedRule",
    "StateChange",
    "StateEntry",
    "SyncedHistory",
    "Task",
    "TaskHistory",
    "TierRatios",
    "TokenPrices",
    "Tool",
    "ToolCall",
    "ToolCallInput",
    "ToolResult",
    "ToolResultInput",
    "TraversedNode",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnreadRecord",
    "Upload",
    "Window",
    "WindowConfig",
    "WindowHit",
    "WrittenGraph",
    "WrittenRow",
    "__version__",
    "new_id",
    "parse_address",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for the first time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULE_OF.get(name, "contextkeep.values")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
