"""Values of all protos, made by `make proto`."""

from contextkeep._gen.values_administration import AdministrativeCall
from contextkeep._gen.values_administration import ApiKey
from contextkeep._gen.values_administration import BackgroundWork
from contextkeep._gen.values_administration import Caller
from contextkeep._gen.values_administration import CreatedKey
from contextkeep._gen.values_administration import Job
from contextkeep._gen.values_administration import JobKind
from contextkeep._gen.values_administration import JobState
from contextkeep._gen.values_administration import PendingWork
from contextkeep._gen.values_administration import RetriedWork
from contextkeep._gen.values_administration import TenantLimits
from contextkeep._gen.values_administration import Usage
from contextkeep._gen.values_agent_templates import AgentTemplate
from contextkeep._gen.values_agents import Agent
from contextkeep._gen.values_agents import AgentCallers
from contextkeep._gen.values_agents import ProviderNames
from contextkeep._gen.values_artifacts import Artifact
from contextkeep._gen.values_chat_history import AssembledNode
from contextkeep._gen.values_chat_history import BodyFile
from contextkeep._gen.values_chat_history import ChatMapping
from contextkeep._gen.values_chat_history import Evaluation
from contextkeep._gen.values_chat_history import FileDelivery
from contextkeep._gen.values_chat_history import HistoryEvent
from contextkeep._gen.values_chat_history import HistoryEventKind
from contextkeep._gen.values_chat_history import MessageFormat
from contextkeep._gen.values_chat_history import NodeTrial
from contextkeep._gen.values_chat_history import SkipReason
from contextkeep._gen.values_chat_history import SkippedRule
from contextkeep._gen.values_compiled_pages import CompileProgress
from contextkeep._gen.values_compiled_pages import CompiledPage
from contextkeep._gen.values_compiled_pages import Facet
from contextkeep._gen.values_compiled_pages import FacetKind
from contextkeep._gen.values_compiled_pages import FacetSource
from contextkeep._gen.values_compiled_pages import RuleProblem
from contextkeep._gen.values_context_query import AnsweredProvider
from contextkeep._gen.values_context_query import ContextProvider
from contextkeep._gen.values_context_query import ExpandedRef
from contextkeep._gen.values_context_query import ExplainedHit
from contextkeep._gen.values_context_query import HitSource
from contextkeep._gen.values_context_query import MemoryQueryMode
from contextkeep._gen.values_context_query import ProviderPolicy
from contextkeep._gen.values_context_query import ProviderState
from contextkeep._gen.values_context_query import ProviderStatus
from contextkeep._gen.values_context_query import QueriedContext
from contextkeep._gen.values_context_query import QueryDepth
from contextkeep._gen.values_context_query import QueryEvent
from contextkeep._gen.values_context_query import QueryHit
from contextkeep._gen.values_context_query import QueryMode
from contextkeep._gen.values_context_query import QueryPolicy
from contextkeep._gen.values_context_query import QueryScope
from contextkeep._gen.values_context_settings import AppliedSettings
from contextkeep._gen.values_context_settings import ContextSetting
from contextkeep._gen.values_context_settings import LearningMode
from contextkeep._gen.values_context_settings import ModelUse
from contextkeep._gen.values_context_windows import CacheBreakpoint
from contextkeep._gen.values_context_windows import Calibrated
from contextkeep._gen.values_context_windows import Checkpoint
from contextkeep._gen.values_context_windows import CompressionProfile
from contextkeep._gen.values_context_windows import CostEstimate
from contextkeep._gen.values_context_windows import ExplainedPack
from contextkeep._gen.values_context_windows import FoldReceipt
from contextkeep._gen.values_context_windows import ForkInheritance
from contextkeep._gen.values_context_windows import ImportanceWeights
from contextkeep._gen.values_context_windows import LearnedCount
from contextkeep._gen.values_context_windows import LearnedProfile
from contextkeep._gen.values_context_windows import Learning
from contextkeep._gen.values_context_windows import LevelStats
from contextkeep._gen.values_context_windows import Merged
from contextkeep._gen.values_context_windows import MessageTrace
from contextkeep._gen.values_context_windows import Original
from contextkeep._gen.values_context_windows import Outcome
from contextkeep._gen.values_context_windows import Pack
from contextkeep._gen.values_context_windows import PackCost
from contextkeep._gen.values_context_windows import PackPart
from contextkeep._gen.values_context_windows import PackSpan
from contextkeep._gen.values_context_windows import RolledBack
from contextkeep._gen.values_context_windows import ShownLine
from contextkeep._gen.values_context_windows import StateChange
from contextkeep._gen.values_context_windows import StateEntry
from contextkeep._gen.values_context_windows import TierRatios
from contextkeep._gen.values_context_windows import TokenPrices
from contextkeep._gen.values_context_windows import TracedBreak
from contextkeep._gen.values_context_windows import TracedMessage
from contextkeep._gen.values_context_windows import TracedSentence
from contextkeep._gen.values_context_windows import Window
from contextkeep._gen.values_context_windows import WindowConfig
from contextkeep._gen.values_context_windows import WindowEvent
from contextkeep._gen.values_context_windows import WindowFork
from contextkeep._gen.values_context_windows import WindowHit
from contextkeep._gen.values_context_windows import WindowStats
from contextkeep._gen.values_context_windows import WindowUsage
from contextkeep._gen.values_contexts import ByMeaning
from contextkeep._gen.values_contexts import Context
from contextkeep._gen.values_contexts import ContextEvent
from contextkeep._gen.values_contexts import ContextIndex
from contextkeep._gen.values_contexts import ContextKey
from contextkeep._gen.values_contexts import ContextState
from contextkeep._gen.values_contexts import Erasure
from contextkeep._gen.values_contexts import ErasureState
from contextkeep._gen.values_contexts import FoundContext
from contextkeep._gen.values_contexts import FoundContexts
from contextkeep._gen.values_contexts import LeftOutMessage
from contextkeep._gen.values_contexts import Recalled
from contextkeep._gen.values_contexts import RecalledItem
from contextkeep._gen.values_contexts import RetractedMessages
from contextkeep._gen.values_contexts import SyncedHistory
from contextkeep._gen.values_contexts import UnreadRecord
from contextkeep._gen.values_definitions import Definition
from contextkeep._gen.values_definitions import DefinitionState
from contextkeep._gen.values_definitions import TriedDefinition
from contextkeep._gen.values_erasures import ErasurePlan
from contextkeep._gen.values_erasures import Hold
from contextkeep._gen.values_erasures import SubjectErasure
from contextkeep._gen.values_knowledge_bases import Document
from contextkeep._gen.values_knowledge_bases import DocumentState
from contextkeep._gen.values_knowledge_bases import KnowledgeBase
from contextkeep._gen.values_mcp_servers import McpServer
from contextkeep._gen.values_mcp_servers import McpTool
from contextkeep._gen.values_mcp_servers import McpToolState
from contextkeep._gen.values_memories import Consolidation
from contextkeep._gen.values_memories import Experience
from contextkeep._gen.values_memories import Lesson
from contextkeep._gen.values_memories import Memory
from contextkeep._gen.values_memories import MemoryKind
from contextkeep._gen.values_memories import MemoryRevision
from contextkeep._gen.values_memories import MemorySource
from contextkeep._gen.values_memories import MemoryState
from contextkeep._gen.values_memories import RecalledMemory
from contextkeep._gen.values_memories import Reflection
from contextkeep._gen.values_message import ClaimedAuthor
from contextkeep._gen.values_message import Imported
from contextkeep._gen.values_observing import RecentCalls
from contextkeep._gen.values_observing import RecentMinute
from contextkeep._gen.values_pages import PageSource
from contextkeep._gen.values_pages import PageState
from contextkeep._gen.values_pages import PageVersion
from contextkeep._gen.values_pages import WikiPage
from contextkeep._gen.values_source_tests import ComparedHit
from contextkeep._gen.values_source_tests import ComparedTests
from contextkeep._gen.values_source_tests import SourceTest
from contextkeep._gen.values_specialists import Specialist
from contextkeep._gen.values_summaries import ContextSummary
from contextkeep._gen.values_summaries import UserContext
from contextkeep._gen.values_summaries import UserContextLine
from contextkeep._gen.values_tasks import Task
from contextkeep._gen.values_tasks import TaskState
from contextkeep._gen.values_tools import Resource
from contextkeep._gen.values_tools import Tool
from contextkeep._gen.values_working_memory import BlobEntry
from contextkeep._gen.values_working_memory import DownloadUrl
from contextkeep._gen.values_working_memory import IndexState
from contextkeep._gen.values_working_memory import ManifestEntity
from contextkeep._gen.values_working_memory import ManifestGroup
from contextkeep._gen.values_working_memory import Record
from contextkeep._gen.values_working_memory import RecordAction
from contextkeep._gen.values_working_memory import RecordActionKind
from contextkeep._gen.values_working_memory import RecordStatus
from contextkeep._gen.values_working_memory import SearchHit
from contextkeep._gen.values_working_memory import SearchMode
from contextkeep._gen.values_working_memory import Upload
from contextkeep._gen.values_entity_graph import DataUpdate
from contextkeep._gen.values_entity_graph import Direction
from contextkeep._gen.values_entity_graph import Edge
from contextkeep._gen.values_entity_graph import Envelope
from contextkeep._gen.values_entity_graph import EnvelopeStatus
from contextkeep._gen.values_entity_graph import EnvelopeType
from contextkeep._gen.values_entity_graph import FacetAnswer
from contextkeep._gen.values_entity_graph import FacetGroup
from contextkeep._gen.values_entity_graph import FacetList
from contextkeep._gen.values_entity_graph import FacetValue
from contextkeep._gen.values_entity_graph import Node
from contextkeep._gen.values_entity_graph import NodeField
from contextkeep._gen.values_entity_graph import NodeIO
from contextkeep._gen.values_entity_graph import OnExisting
from contextkeep._gen.values_entity_graph import OwnedNodes
from contextkeep._gen.values_entity_graph import TraverseColumn
from contextkeep._gen.values_entity_graph import TypeFacets

__all__ = [
    "AdministrativeCall",
    "Agent",
    "AgentCallers",
    "AgentTemplate",
    "AnsweredProvider",
    "ApiKey",
    "AppliedSettings",
    "Artifact",
    "AssembledNode",
    "BackgroundWork",
    "BlobEntry",
    "BodyFile",
    "ByMeaning",
    "CacheBreakpoint",
    "Calibrated",
    "Caller",
    "ChatMapping",
    "Checkpoint",
    "ClaimedAuthor",
    "ComparedHit",
    "ComparedTests",
    "CompileProgress",
    "CompiledPage",
    "CompressionProfile",
    "Consolidation",
    "Context",
    "ContextEvent",
    "ContextIndex",
    "ContextKey",
    "ContextProvider",
    "ContextSetting",
    "ContextState",
    "ContextSummary",
    "CostEstimate",
    "CreatedKey",
    "DataUpdate",
    "Definition",
    "DefinitionState",
    "Direction",
    "Document",
    "DocumentState",
    "DownloadUrl",
    "Edge",
    "Envelope",
    "EnvelopeStatus",
    "EnvelopeType",
    "Erasure",
    "ErasurePlan",
    "ErasureState",
    "Evaluation",
    "ExpandedRef",
    "Experience",
    "ExplainedHit",
    "ExplainedPack",
    "Facet",
    "FacetAnswer",
    "FacetGroup",
    "FacetKind",
    "FacetList",
    "FacetSource",
    "FacetValue",
    "FileDelivery",
    "FoldReceipt",
    "ForkInheritance",
    "FoundContext",
    "FoundContexts",
    "HistoryEvent",
    "HistoryEventKind",
    "HitSource",
    "Hold",
    "ImportanceWeights",
    "Imported",
    "IndexState",
    "Job",
    "JobKind",
    "JobState",
    "KnowledgeBase",
    "LearnedCount",
    "LearnedProfile",
    "Learning",
    "LearningMode",
    "LeftOutMessage",
    "Lesson",
    "LevelStats",
    "ManifestEntity",
    "ManifestGroup",
    "McpServer",
    "McpTool",
    "McpToolState",
    "Memory",
    "MemoryKind",
    "MemoryQueryMode",
    "MemoryRevision",
    "MemorySource",
    "MemoryState",
    "Merged",
    "MessageFormat",
    "MessageTrace",
    "ModelUse",
    "Node",
    "NodeField",
    "NodeIO",
    "NodeTrial",
    "OnExisting",
    "Original",
    "Outcome",
    "OwnedNodes",
    "Pack",
    "PackCost",
    "PackPart",
    "PackSpan",
    "PageSource",
    "PageState",
    "PageVersion",
    "PendingWork",
    "ProviderNames",
    "ProviderPolicy",
    "ProviderState",
    "ProviderStatus",
    "QueriedContext",
    "QueryDepth",
    "QueryEvent",
    "QueryHit",
    "QueryMode",
    "QueryPolicy",
    "QueryScope",
    "Recalled",
    "RecalledItem",
    "RecalledMemory",
    "RecentCalls",
    "RecentMinute",
    "Record",
    "RecordAction",
    "RecordActionKind",
    "RecordStatus",
    "Reflection",
    "Resource",
    "RetractedMessages",
    "RetriedWork",
    "RolledBack",
    "RuleProblem",
    "SearchHit",
    "SearchMode",
    "ShownLine",
    "SkipReason",
    "SkippedRule",
    "SourceTest",
    "Specialist",
    "StateChange",
    "StateEntry",
    "SubjectErasure",
    "SyncedHistory",
    "Task",
    "TaskState",
    "TenantLimits",
    "TierRatios",
    "TokenPrices",
    "Tool",
    "TracedBreak",
    "TracedMessage",
    "TracedSentence",
    "TraverseColumn",
    "TriedDefinition",
    "TypeFacets",
    "UnreadRecord",
    "Upload",
    "Usage",
    "UserContext",
    "UserContextLine",
    "WikiPage",
    "Window",
    "WindowConfig",
    "WindowEvent",
    "WindowFork",
    "WindowHit",
    "WindowStats",
    "WindowUsage",
]
