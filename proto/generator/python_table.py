"""Which messages are values of the Python client, and where a value differs from its message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A value. Lists of names are texts, with a space between two names."""

    name: str = ""  # of the value; empty: its message's
    always: str = ""  # times and messages that the server always sets
    without: str = ""  # fields that the value lacks
    hidden: str = ""  # attributes that are not shown when the value is printed, such as a key
    # Attributes that have another name or place: "bedrock.region" is a field of a field, "counts{kind: count}" a dict
    # of a repeated message. A field that is here has no attribute of its own name.
    fields: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)  # types of attributes that another part of the answer has
    # The value as a text, with attributes in braces: "{section} {ref or source}". Empty: its base says it, or its repr.
    shows: str = ""
    is_input: bool = False  # requests have it, too, so that it has `to_proto`


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What reads a message that no generated value is made of."""

    type: str
    function: str
    imports: Mapping[str, str]  # a name by its module


def _read_by(function: str, type: str, imports: Mapping[str, str] = {}) -> ByHand:
    return ByHand(type=type, function=function, imports={"contextkeep.values.conversions": function, **imports})


def _by_hand(name: str, module: str) -> ByHand:
    return ByHand(type=name, function=f"{name}.from_proto", imports={f"contextkeep.values.{module}": name})


# How an unspecified or unknown value of an enum is called, where that is not "".
UNKNOWN: Mapping[str, str] = {
    "ContextState": "open",
    "EnvelopeType": "unknown",
    "ErasureState": "running",
    "IndexState": "none",
    "RecordActionKind": "unknown",
    "RecordStatus": "active",
    "TaskState": "unknown",
}

# What JSON texts hold that need not be objects.
JSON_TYPES: Mapping[str, str] = {
    "arguments_json": "Any",
    "content_json": "Any",
    "error_json": "Any",
    "input_json": "Any",
    "output_json": "Any",
    "value_json": "Any",
    "tools_json": "list[Any]",
}

BY_HAND: Mapping[str, ByHand] = {
    "ChatMessage": _by_hand("ChatMessage", "messages"),
    "ComparedProvider": _by_hand("ComparedProvider", "query"),
    "Part": _by_hand("Part", "messages"),
    "GivenMessage": _by_hand("GivenMessage", "mappings"),
    "ProviderSetting": _by_hand("ProviderSetting", "query"),
    "DefinitionRules": _read_by("definition_rules_json", "str"),
    "MappingRules": _read_by("mapping_rules_json", "str"),
    "PackZones": _read_by("tokens_by_zone", "dict[str, int]"),
    "ExternalId": _read_by("external_id", "ExternalId", {"contextkeep.inputs": "ExternalId"}),
}

_POLICY = {"allowed": "policy.allowed", "defaults": "policy.defaults"}
_CHANGED = "created_at updated_at"

VALUES: Mapping[str, Entry] = {
    # administration
    "GetCallerResponse": Entry(name="Caller"),
    "ApiKey": Entry(),
    "CreateKeyResponse": Entry(shows="a key that begins with {prefix}", name="CreatedKey", hidden="key"),
    "AdministrativeCall": Entry(always="called_at"),
    "TenantLimits": Entry(),
    "GetUsageResponse": Entry(name="Usage", always="limits"),
    "BackgroundWork": Entry(always="oldest_at"),
    "ListBackgroundWorkResponse": Entry(name="OwedWork"),
    "RetryBackgroundWorkResponse": Entry(name="RetriedWork"),
    "Job": Entry(always="started_at updated_at"),
    # agents
    "ProviderNames": Entry(),
    "AgentCallers": Entry(),
    "AgentTemplate": Entry(fields=_POLICY),
    "Agent": Entry(fields=_POLICY),
    # chat_history
    "HistoryEvent": Entry(always="time"),
    "Mapping": Entry(name="ChatMapping", fields={"rules_json": "rules"}, always="rules_json"),
    "SkippedRule": Entry(),
    "AssembledNode": Entry(always="created_at modified_at"),
    "Evaluation": Entry(),
    "NodeTrial": Entry(),
    # context_query
    "HitSource": Entry(),
    "QueryHit": Entry(shows="[{rank}] {title}: {snippet}"),
    "ProviderStatus": Entry(),
    "ExplainedHit": Entry(),
    "ExpandedRef": Entry(shows="{text}"),
    "QueryContextResponse": Entry(
        name="QueriedContext",
        without="asked",
        fields={
            "answer_text": "answer.text",
            "answer_refs": "answer.hit_refs",
            "answer_method": "answer.method",
            "answer_reason": "answer.reason",
            "explained": "explained{provider_id: hits}",
        },
    ),
    "SourceTest": Entry(always="created_at", fields={"query": "question.query"}),
    "ComparedHit": Entry(),
    "CompareSourceTestsResponse": Entry(name="ComparedTests"),
    "AnsweredProvider": Entry(always="status"),
    "StreamQueryContextResponse": Entry(name="QueryEvent"),
    "ContextProvider": Entry(fields={"last_state": "last_test.state", "last_duration_ms": "last_test.duration_ms"}),
    "ProviderPolicy": Entry(always="setting"),
    "GetQueryPolicyResponse": Entry(
        name="QueryPolicy", fields={"target_whose": "target.whose", "target_node_ids": "target.node_ids"}
    ),
    # context_windows
    "ImportanceWeights": Entry(),
    "TierRatios": Entry(),
    "TokenPrices": Entry(),
    "WindowConfig": Entry(),
    "LearnedCount": Entry(),
    "LearnedProfile": Entry(),
    "SetLearningResponse": Entry(name="Learning"),
    "CompressionProfile": Entry(without="is_built_in"),
    "WindowFork": Entry(always="created_at"),
    "Window": Entry(
        always=f"{_CHANGED} config",
        fields={"message_format": "format"},
        more={"forks": "tuple[WindowFork, ...]"},
    ),
    "CacheBreakpoint": Entry(),
    "PackResponse": Entry(
        name="Pack",
        always="tokens_by_zone",
        without="offset_bytes",
        fields={
            "omitted_step_count": "omitted.step_count",
            "omitted_tokens": "omitted.tokens",
            "omitted_refs": "omitted.refs",
        },
    ),
    "PackPart": Entry(),
    "StateChange": Entry(shows="{section} {ref}"),
    "FoldReceipt": Entry(shows="epoch {epoch}: {tokens_before} to {tokens_after} tokens, {reason}"),
    "Checkpoint": Entry(always="created_at"),
    "RollbackResponse": Entry(name="RolledBack", always="receipt"),
    "MergeWindowResponse": Entry(name="Merged"),
    "RecordOutcomeResponse": Entry(name="Outcome"),
    "RecordUsageResponse": Entry(name="Calibrated"),
    "PackCost": Entry(),
    "EstimateCostResponse": Entry(name="CostEstimate", always="warm cold fold ahead sliding"),
    "LevelStats": Entry(),
    "WindowUsage": Entry(),
    "WindowStatsResponse": Entry(
        name="WindowStats", always="tokens_by_zone predicted usage", fields={"breaks": "breaks{reason: count}"}
    ),
    "ExpandResponse": Entry(name="Original"),
    "WindowHit": Entry(shows="{item}", always="item"),
    "ExplainPackResponse": Entry(name="ExplainedPack", always="tokens_by_zone"),
    "StateEntry": Entry(shows="{section}: {text} ({ref or source})", always="created_at"),
    "WatchWindowResponse": Entry(name="WindowEvent"),
    # contexts
    "UnreadRecord": Entry(),
    "ContextIndex": Entry(),
    "Context": Entry(always=_CHANGED),
    "RecalledItem": Entry(shows="[{ref}] {role}: {text}", always="said_at"),
    "ByMeaning": Entry(),
    "Recalled": Entry(shows="{prompt_text}", always="by_meaning"),
    "LeftOutMessage": Entry(shows="of node {node_id}: {reason} ({detail})"),
    "SyncHistoryResponse": Entry(name="SyncedHistory"),
    "IssueContextKeyResponse": Entry(name="ContextKey", always="expires_at", hidden="key"),
    "Erasure": Entry(always="created_at"),
    "Task": Entry(
        always=f"{_CHANGED} status_at",
        fields={"state": "status.state", "status_message": "status.message", "status_at": "status.time"},
    ),
    "Artifact": Entry(
        shows="{name or artifact_id} (version {version})", always=_CHANGED, more={"redacted_parts": "tuple[int, ...]"}
    ),
    "RetractedMessages": Entry(),
    "WatchContextResponse": Entry(name="ContextEvent"),
    # definitions
    "Definition": Entry(fields={"rules_json": "rules"}, always="rules_json"),
    "FacetSource": Entry(),
    "Facet": Entry(),
    "CompiledPage": Entry(),
    "RuleProblem": Entry(),
    "TestDefinitionResponse": Entry(name="TriedDefinition"),
    "CompilePagesResponse": Entry(name="CompileProgress"),
    # erasures
    "Hold": Entry(always="created_at"),
    "PlanErasureResponse": Entry(name="ErasurePlan", fields={"counts": "counts{kind: count}"}),
    "SubjectErasure": Entry(always="created_at", fields={"removed": "removed{kind: count}"}),
    # knowledge
    "MemorySource": Entry(is_input=True),
    "MemoryExperience": Entry(name="Experience", is_input=True),
    "Memory": Entry(shows="{text}"),
    "RecalledMemory": Entry(shows="{memory.text}", always="memory"),
    "ReflectMemoriesResponse": Entry(shows="{statement}", name="Reflection"),
    "PromotedLesson": Entry(name="Lesson"),
    "ConsolidateMemoriesResponse": Entry(name="Consolidation", fields={"merged": "merged{memory_id: merged_ids}"}),
    "PageSource": Entry(is_input=True),
    "Page": Entry(name="WikiPage"),
    "PageVersion": Entry(),
    # knowledge_bases
    "KnowledgeBase": Entry(
        fields={
            "bedrock_id": "bedrock.knowledge_base_id",
            "bedrock_region": "bedrock.region",
            "documents": "documents{state: count}",
        }
    ),
    "Document": Entry(),
    # mcp_servers
    "McpServer": Entry(),
    "McpTool": Entry(),
    # message
    "ClaimedAuthor": Entry(),
    "Imported": Entry(always="imported_at"),
    # observing, specialists, tools
    "RecentMinute": Entry(always="begins_at"),
    "GetRecentCallsResponse": Entry(name="RecentCalls", always="started_at"),
    "Specialist": Entry(),
    "Tool": Entry(),
    "Resource": Entry(),
    # working_memory
    "WMRecord": Entry(name="Record", always=_CHANGED),
    "WMRecordAction": Entry(name="RecordAction", always="created_at"),
    "SearchHit": Entry(shows="{score:.3f} {record}", always="record"),
    "BlobEntry": Entry(always="created_at"),
    "CreateDownloadUrlResponse": Entry(shows="{url}", name="DownloadUrl", always="expires_at record"),
    "Upload": Entry(fields={"id": "upload_id"}),
    "ManifestGroup": Entry(),
    "ManifestEntity": Entry(),
    # entity_graph
    "Node": Entry(always="created_at modified_at"),
    "GetNodeIOResponse": Entry(name="NodeIO"),
    "Edge": Entry(shows="{from_node_id} -{edge_type}-> {to_node_id}", always="created_at"),
    "Envelope": Entry(always="created_at"),
    "Owned": Entry(name="OwnedNodes"),
}
