"""What the services answer, as immutable values.

JSON stays text (`data_json`) and is parsed on first use (`data`), so a long history that is not
looks into costs nothing. Most values keep what they parsed: change a copy. Times are aware datetimes in UTC.
"""

from contextkeep._gen import values as _generated
from contextkeep._gen.values import *  # noqa: F403
from contextkeep.values.administration import Tenant
from contextkeep.values.contexts import ContextHistory, SentMessage
from contextkeep.values.edges import EdgeBatch
from contextkeep.values.embeddings import Embedding, SimilarNode
from contextkeep.values.formatted import FormattedHistory
from contextkeep.values.graphs import (
    AppendedMessage,
    Change,
    ChangePage,
    EdgeTypeCount,
    ExportedGraph,
    GraphCount,
    ImportedGraph,
    RowCount,
    WrittenGraph,
    WrittenRow,
)
from contextkeep.values.mappings import GivenMessage
from contextkeep.values.messages import (
    ChatHistory,
    ChatMessage,
    File,
    Part,
    PartKind,
    Reasoning,
    ToolCall,
    ToolResult,
)
from contextkeep.values.nodes import NamedNode, NodeBatch
from contextkeep.values.progress import AppendedEnvelope
from contextkeep.values.query import ComparedProvider, ProviderSetting
from contextkeep.values.records import QueryAnswer
from contextkeep.values.tasks import TaskHistory
from contextkeep.values.transfer import ExportedArchive, ImportConflict, ImportedArchive, ImportedRows, ImportState
from contextkeep.values.traversal import ReachedBy, TraversedNode
from contextkeep.values.windows import Forked, Recovered

__all__ = [
    "AppendedEnvelope",
    "AppendedMessage",
    "Change",
    "ChangePage",
    "ChatHistory",
    "ChatMessage",
    "ComparedProvider",
    "ContextHistory",
    "EdgeBatch",
    "EdgeTypeCount",
    "Embedding",
    "ExportedArchive",
    "ExportedGraph",
    "File",
    "Forked",
    "FormattedHistory",
    "GivenMessage",
    "GraphCount",
    "ImportConflict",
    "ImportState",
    "ImportedArchive",
    "ImportedGraph",
    "ImportedRows",
    "NamedNode",
    "NodeBatch",
    "Part",
    "PartKind",
    "ProviderSetting",
    "QueryAnswer",
    "ReachedBy",
    "Reasoning",
    "Recovered",
    "RowCount",
    "SentMessage",
    "SimilarNode",
    "TaskHistory",
    "Tenant",
    "ToolCall",
    "ToolResult",
    "TraversedNode",
    "WrittenGraph",
    "WrittenRow",
]
__all__ += _generated.__all__
