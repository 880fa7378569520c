"""In what messages and RPCs differ from the rules of `typescript_values` and `typescript_calls`.

Messages of answers are values, and RPCs methods, without a row here. Those of the Entity Service begin with "entity.".
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """What a module of the client has by hand."""

    type: str
    module: str
    function: str  # from the message to the type
    imports_type: bool = False  # the type is the module's, too
    has_app: bool = False  # of an input: it takes the client's app
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """How a message differs from the rules. Its fields are named as in the proto."""

    name: str = ""  # else the message's
    names: Mapping[str, str] = field(default_factory=dict)  # of fields
    without: Set[str] = frozenset()
    exact: Set[str] = frozenset()  # JSON texts that stay texts, and 64-bit numbers that are `bigint`
    any_json: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # JSON that need be no object: type and empty value
    always: Set[str] = frozenset()  # messages that are never absent
    flat: str = ""  # a message with the fields of which the value has them itself
    hands: Mapping[str, Hand] = field(default_factory=dict)  # fields
    more: Mapping[str, Hand] = field(default_factory=dict)  # fields that the message does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """How what callers give differs from the message that it becomes."""

    name: str = ""  # else the message's
    names: Mapping[str, str] = field(default_factory=dict)  # of fields
    types: Mapping[str, str] = field(default_factory=dict)  # of fields, where the proto's says less
    required: Set[str] = frozenset()  # else a field may be left out
    without: Set[str] = frozenset()
    exact: Set[str] = frozenset()  # JSON that stays text, and 64-bit numbers that are `bigint`
    any_json: Set[str] = frozenset()  # JSON that need be no object
    hands: Mapping[str, Hand] = field(default_factory=dict)  # fields: functions from what is given and its path
    defaults: Mapping[str, str] = field(default_factory=dict)  # TypeScript of fields that are not given
    has_app: bool = False  # `app_id` is else the client's


REQUIRED = ("",)  # arguments: the fields that must not be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Input):
    """How an RPC is a method of the TypeScript client: its other fields are options."""

    verb: str = ""  # else that of the proto
    args: tuple[str, ...] = REQUIRED  # fields that are arguments, in their order
    options: str = ""  # the name of the type of the options; else it has one if there are many
    flat: Set[str] = frozenset()  # messages with the fields of which the method has them itself
    sparse: Set[str] = frozenset()  # of these, what is left out if nothing of it is given
    together: Mapping[str, tuple[Hand, tuple[str, ...]]] = field(default_factory=dict)  # arguments for several fields
    answer: str = ""  # the field of the answer that the method returns, if there are several
    result: Hand | None = None  # makes what the method returns
    maybe: bool = False  # the answer may be without its value
    is_void: bool = False  # the method returns nothing
    may_repeat: str = ""  # TypeScript: whether it is safe to send it twice; else it is
    has_timeout: bool = False  # a stream that ends as soon as a call


# Nouns with methods that do more than a call, and the modules that have them.
HAND_NOUNS = {
    "archives": "context/archives",
    "blobs": "context/blobs",
    "contexts": "context/contexts",
    "graph": "entity/graph",
    "history": "context/history",
    "memories": "context/memories",
    "operations": "context/operations",
    "records": "context/records",
    "uploads": "context/uploads",
    "windows": "context/windows",
}

# Nouns with handles, and the field that a handle holds.
HANDLES = {"contexts": "context_id", "windows": "window_id"}

# Nouns that both clients have.
BOTH = frozenset({"operations"})

# Lists of two fields that are a record: its key and its value.
PAIRS = {
    "BreakCount": ("reason", "count"),
    "DocumentCount": ("state", "count"),
    "ErasureCount": ("kind", "count"),
}

BY_HAND = {
    "DefinitionRules": Hand(type="DefinitionRules", module="definitions", function="rulesOf", imports_type=True),
    "MappingRules": Hand(type="MappingRules", module="history", function="rulesOf", imports_type=True),
    "Part": Hand(type="Part", module="history", function="partOf", imports_type=True),
    "ProviderSetting": Hand(type="ProviderSetting", module="query", function="settingOf", imports_type=True),
    "Task": Hand(type="Task", module="tasks", function="taskOf", imports_type=True),
}

# What callers give for a message that a module of the client converts by hand.
HAND_INPUTS = {
    "DefinitionRules": Hand(
        type="DefinitionRules", module="definitions", function="definitionRules", imports_type=True
    ),
    "MappingRules": Hand(type="MappingRules", module="history", function="mappingRules", imports_type=True),
    "MessageInput": Hand(type="MessageInput | string", module="contexts", function="messageOf", imports_type=True),
    "Part": Hand(type="PartInput", module="contexts", function="partInput", imports_type=True),
    "WindowConfig": Hand(type="WindowConfig", module="windows", function="configInput", imports_type=True),
}

# Other messages that callers give: in what they differ from the rules, and those that only modules by hand need.
_ROLES = '("user" | "assistant" | "system" | "tool")[]'
_KINDS = '("artifact" | "text" | "data" | "tool_call" | "tool_result" | "file")[]'
_SECTIONS = '"goal" | "sub_goal" | "constraint" | "value" | "decision" | "question" | "error" | "artifact" | "progress"'
INPUTS = {
    "ArtifactInput": Input(required={"parts"}),
    "ContextInput": Input(has_app=True),
    "DocumentInput": Input(name="NewDocument"),
    "FacetInput": Input(name="FacetFields", required={"slug"}),
    "MessageInput": Input(types={"role": '"user" | "assistant" | "agent" | "system" | "tool"'}),
    "QueryOrder": Input(required={"column"}),
    "RecallFilter": Input(types={"roles": _ROLES, "kinds": _KINDS}),
    "RecallOptions": Input(without={"off"}),
    "SampleNode": Input(any_json={"input_json", "output_json"}),
    "StateEntryInput": Input(types={"section": _SECTIONS}, required={"section"}),
    "StateEntryName": Input(types={"section": _SECTIONS}, required={"section"}),
    "entity.EdgeInput": Input(required={"from_node_id", "to_node_id", "edge_type"}),
    "entity.NodeInput": Input(required={"general_type_name"}),
}

# Values that callers give whole: of others, any part.
GIVEN_WHOLE = frozenset({"ExternalId"})

VALUES = {
    "Agent": Value(flat="policy"),
    "AgentTemplate": Value(flat="policy"),
    "AnsweredProvider": Value(always={"status"}),
    "BedrockKnowledgeBase": Value(name="BedrockBase"),
    "Checkpoint": Value(exact={"last_seq"}),
    "CompareSourceTestsResponse": Value(name="ComparedTests"),
    "CompilePagesResponse": Value(name="CompileProgress"),
    "ConsolidateMemoriesResponse": Value(name="Consolidation"),
    "CreateDownloadUrlResponse": Value(name="DownloadUrl", always={"record"}),
    "CreateKeyResponse": Value(name="CreatedKey"),
    "Definition": Value(always={"rules"}),
    "EstimateCostResponse": Value(name="CostEstimate", always={"warm", "cold", "fold", "ahead", "sliding"}),
    "Evaluation": Value(any_json={"value_json": ("unknown", "undefined")}),
    "ExpandResponse": Value(name="Original"),
    "ExpandedRef": Value(hands={"scope": Hand(type="string", module="query", function="expandedScopeOf")}),
    "ExplainPackResponse": Value(name="ExplainedPack", always={"tokens_by_zone"}),
    "ExportArchiveResponse": Value(name="ArchivePart"),
    "FoldReceipt": Value(exact={"last_seq", "prepared_last_seq"}),
    "GetCallerResponse": Value(name="Caller"),
    "GetChatHistoryResponse": Value(name="FormattedHistory", names={"formatted_json": "body"}, without={"messages"}),
    "GetContextResponse": Value(name="ContextHistory", always={"context"}),
    "GetQueryPolicyResponse": Value(name="QueryPolicy"),
    "GetRecentCallsResponse": Value(name="RecentCalls"),
    "GetTaskResponse": Value(name="TaskHistory", names={"history": "messages"}, always={"task"}),
    "GetUsageResponse": Value(name="Usage", always={"limits"}),
    "GivenMessage": Value(always={"message"}),
    "IssueContextKeyResponse": Value(name="ContextKey"),
    "LearnedCount": Value(exact={"seen", "asked"}),
    "LevelStats": Value(exact={"log_tokens"}),
    "Mapping": Value(always={"rules"}),
    "McpTool": Value(exact={"input_schema_json", "arguments_json"}),
    "MemoryExperience": Value(name="Experience"),
    "MergeWindowResponse": Value(name="Merged"),
    "PackCost": Value(exact={"read_tokens", "written_tokens"}),
    "PackResponse": Value(
        name="Pack",
        exact={"messages_json", "last_seq"},
        without={"offset_bytes"},
        always={"tokens_by_zone", "omitted"},
        more={
            "body": Hand(
                type="JsonObject",
                module="windows",
                function="bodyOf",
                comment="What goes into the request: `messages`, and for Anthropic `system`; for Gemini `contents`; "
                "for Responses `input`; and `tools`.",
            )
        },
    ),
    "Page": Value(name="WikiPage"),
    "PlanErasureResponse": Value(name="ErasurePlan"),
    "ProviderPolicy": Value(always={"setting"}),
    "QueryContextResponse": Value(name="QueriedContext", without={"asked"}),
    "QueryWMRecordsResponse": Value(name="QueriedRows"),
    "Reasoning": Value(exact={"data_json"}),
    "Recalled": Value(always={"by_meaning"}),
    "RecalledMemory": Value(always={"memory"}),
    "RecordUsageResponse": Value(name="Calibrated"),
    "ReflectMemoriesResponse": Value(name="Reflection"),
    "RollbackResponse": Value(name="RolledBack", exact={"left_out_message_count"}, always={"receipt"}),
    "SearchHit": Value(always={"record"}),
    "SentMessage": Value(name="StoredMessage"),
    "SetLearningResponse": Value(name="Learning"),
    "SourceTest": Value(
        names={"question": "query"},
        hands={"question": Hand(type="string", module="query", function="testQueryOf")},
    ),
    "StreamQueryContextResponse": Value(name="QueryEvent"),
    "SyncHistoryResponse": Value(name="SyncedHistory"),
    "Tenant": Value(always={"limits"}, without={"database", "is_away"}),
    "TestDefinitionResponse": Value(name="TriedDefinition"),
    "WMRecord": Value(
        exact={"content_json"},
        more={
            "content": Hand(
                type="unknown",
                module="records",
                function="contentOf",
                comment="Inline content: JSON parsed, text as it is; undefined: there is none, or a list left it out.",
            )
        },
    ),
    "WMRecordAction": Value(name="RecordAction"),
    "WatchContextResponse": Value(name="ContextEvent"),
    "WatchWindowResponse": Value(name="WindowEvent"),
    "Window": Value(
        exact={"reached_seq"},
        any_json={"tools_json": ("unknown[]", "[]")},
        always={"config"},
        hands={"format": Hand(type="string", module="windows", function="formatOf")},
    ),
    "WindowHit": Value(always={"item"}),
    "WindowStatsResponse": Value(
        name="WindowStats", exact={"log_tokens"}, always={"tokens_by_zone", "predicted", "usage"}
    ),
    "WindowUsage": Value(
        exact={
            "call_count",
            "pack_tokens",
            "input_tokens",
            "cached_tokens",
            "cache_write_tokens",
            "output_tokens",
        }
    ),
    "entity.AppendProgressResponse": Value(name="AppendedEnvelope"),
    "entity.BatchGetEdgesResponse": Value(name="FoundEdges"),
    "entity.BatchGetNodesResponse": Value(name="FoundNodes"),
    "entity.Envelope": Value(
        any_json={"value_json": ("unknown", "undefined"), "error_json": ("unknown", "undefined")},
        hands={"status": Hand(type="string", module="progress", function="envelopeStatusOf")},
    ),
    "entity.ExportGraphResponse": Value(name="ExportPage"),
    "entity.GetNodeByNameResponse": Value(name="NamedNode", always={"node"}),
    "entity.GetNodeIOResponse": Value(
        name="StoredIO", any_json={"input_json": ("unknown", "undefined"), "output_json": ("unknown", "undefined")}
    ),
    "entity.ListChangesResponse": Value(name="ChangePage"),
    "entity.NodeIO": Value(
        any_json={"input_json": ("unknown", "undefined"), "output_json": ("unknown", "undefined")},
    ),
    "entity.Owned": Value(name="OwnedNodes"),
    "entity.SimilarNode": Value(always={"node"}),
    "entity.TraversedNode": Value(always={"node"}),
    "entity.WriteGraphResponse": Value(name="WrittenGraph"),
}

# RPCs with methods by hand: they make several calls, hold a stream, or wait in their own way.
HAND_CALLS = frozenset(
    {
        "AppendUpload",
        "ConsolidateMemories",
        "FinishUpload",
        "GetBlob",
        "GetContent",
        "ImportArchive",
        "Pack",
        "SetTenantLimits",
        "StartUpload",
        "StreamChatHistory",
        "UpdateWMRecord",
        "UploadBlob",
        "WaitForIndex",
        "WatchContext",
        "WatchWindow",
        "entity.CountNodes",
        "entity.CreateEdge",
        "entity.ExportGraph",
        "entity.ImportGraph",
        "entity.SearchNodes",
        "entity.Traverse",
    }
)

# What several calls have.
_APP = {"app_id": "this.client.appId"}
_OF_PROVIDERS = frozenset({"workspace", "memory"})
_ASKED = _OF_PROVIDERS | {"provider_options"}
_ASKED_NAMES = {"query_mode": "memoryMode"}
_FORMAT = {"format": Hand(type="MessageFormat", module="history", function="formatInput", imports_type=True)}
_TOOLS = {"tools_json": Hand(type="readonly unknown[]", module="windows", function="toolsInput")}
_BLOB = {
    "blob": (
        Hand(type="BlobName", module="records", function="blobName", imports_type=True),
        ("working_memory_id", "blob_key"),
    )
}
_TASK: Mapping[str, Any] = {
    "flat": {"task", "status"},
    "sparse": {"status"},
    "names": {"message": "statusMessage"},
    "hands": {
        "message": Hand(type="MessageInput | string", module="tasks", function="statusMessageOf", imports_type=True)
    },
}
_UPDATE = {"update": Hand(type="boolean", module="writes", function="dataUpdate")}
_ENVELOPE = {
    "type": Hand(
        type="EnvelopeType | Uppercase<EnvelopeType>", module="progress", function="envelopeType", imports_type=True
    ),
    "status": Hand(
        type="EnvelopeStatus | Uppercase<EnvelopeStatus>",
        module="progress",
        function="envelopeStatus",
        imports_type=True,
    ),
}

CALLS: Mapping[str, Call | tuple[Call, ...]] = {
    "AddDocument": Call(args=("knowledge_base", "document")),
    "AppendMessages": Call(
        args=("messages",),
        options="AppendOptions",
        result=Hand(type="SentMessage[]", module="contexts", function="allSentOf", imports_type=True),
    ),
    "ApproveDefinition": Call(args=("name", "version")),
    "ApproveMcpTool": Call(options="McpApproval", exact={"arguments_json"}),
    "AssembleContext": Call(args=("node_id",), defaults=_APP),
    "CreateDownloadUrl": Call(args=("blob",), together=_BLOB),
    "CreateKey": Call(args=("subject", "scopes"), options="KeyFields", flat={"key"}),
    "CreateTask": Call(options="NewTask", **_TASK),
    "DeleteBlob": Call(args=("blob",), together=_BLOB),
    "DeleteMapping": Call(defaults=_APP),
    "DeleteWMRecord": Call(maybe=True),
    "ExecuteTool": Call(
        args=("tool_name", "arguments_json"),
        names={"arguments_json": "toolArguments"},
        defaults={"arguments_json": "{}"},
        may_repeat="options.readOnly === true",
    ),
    "Expand": Call(args=("window_id", "ref")),
    "ExportArchive": Call(
        args=("scope",),
        hands={"scope": Hand(type="ArchiveScope", module="archives", function="scopeInput", imports_type=True)},
        may_repeat="false",
    ),
    "FetchEntityHistory": Call(args=("node_id",)),
    "FetchWMManifest": Call(args=("root_node_id",), options="ManifestFilter"),
    "FetchWMRecordsByEntity": Call(args=("entity_node_id",), options="RecordFilter"),
    "ForkWindow": Call(
        options="ForkOptions",
        hands=_TOOLS,
        result=Hand(type="Forked", module="windows", function="forkedOf", imports_type=True),
    ),
    "GetArtifact": (
        Call(args=("task_id", "artifact_id"), without={"ref"}),
        Call(verb="get_at", args=("context_id", "ref"), without={"task_id", "artifact_id", "version"}),
    ),
    "GetChatHistory": Call(verb="formatted", args=("node_id", "format"), hands=_FORMAT, defaults=_APP),
    "GetContextsByExternalId": Call(args=("external_id",)),
    "GetMapping": Call(args=("mapping_name",), defaults=_APP),
    "GetMessage": Call(args=("context_id", "message_id")),
    "GetWindow": Call(
        result=Hand(type="WindowWithForks", module="windows", function="windowWithForksOf", imports_type=True),
    ),
    "InsertWMRecord": Call(
        args=("record",),
        hands={
            "record": Hand(type="NewRecord", module="records", function="recordInput", imports_type=True, has_app=True)
        },
    ),
    "ListBackgroundWork": Call(answer="work"),
    "ListBlobs": Call(args=("entity_node_id",)),
    "ListContexts": Call(options="ContextFilter"),
    "ListDocuments": Call(args=("knowledge_base",)),
    "ListMemories": Call(flat={"filter"}, options="MemoryFilter"),
    "ListResources": Call(args=("entity_node_id",)),
    "OpenWindow": Call(options="WindowOptions", hands={**_FORMAT, **_TOOLS}),
    "Pin": Call(answer="pin_id"),
    "PrepareFold": Call(answer="receipt"),
    "PutAgent": Call(options="AgentFields", flat={"agent", "policy"}),
    "PutAgentTemplate": Call(options="AgentTemplateFields", flat={"template", "policy"}),
    "PutArtifact": Call(
        args=("task_id", "artifact"),
        result=Hand(type="WrittenArtifact", module="tasks", function="writtenArtifactOf", imports_type=True),
    ),
    "PutDefinition": Call(args=("name", "rules")),
    "PutFacet": Call(args=("page_id", "facet"), maybe=True),
    "PutKnowledgeBase": Call(options="KnowledgeBaseFields", flat={"knowledge_base"}),
    "PutMcpServer": Call(options="McpServerFields", flat={"server"}),
    "PutPage": Call(options="PutPageOptions", flat={"page"}),
    "PutSpecialist": Call(options="SpecialistFields", flat={"specialist"}),
    "QueryContext": Call(options="QueryOptions", flat=_ASKED, sparse=_ASKED, names=_ASKED_NAMES),
    "QueryWMRecords": Call(required={"select"}),
    "Recall": Call(flat={"options"}, without={"off"}),
    "RecallMemories": Call(flat={"filter"}, answer="memories"),
    "RecordOutcome": Call(
        args=("window_id", "success"),
        result=Hand(type="Outcome", module="windows", function="outcomeOf", imports_type=True),
    ),
    "RecordUsage": Call(options="Billed", required={"input_tokens"}),
    "ReflectMemories": Call(flat={"filter"}),
    "RegisterMapping": Call(args=("mapping_name", "rules"), defaults=_APP, answer="mapping"),
    "ReportResponse": Call(
        args=("window_id", "pack_id", "invalid"),
        names={"pack_id": "pack"},
        exact={"expected_last_seq"},
        hands={"pack_id": Hand(type='Pick<Pack, "packId">', module="windows", function="packIdOf", imports_type=True)},
        result=Hand(type="Recovered | undefined", module="windows", function="recoveredOf", imports_type=True),
    ),
    "RetainMemory": Call(options="RetainOptions", flat={"memory"}),
    "RetractMessages": Call(args=("context_id", "message_ids")),
    "RetryBackgroundWork": Call(answer="retried"),
    "Rollback": Call(args=("window_id", "checkpoint", "expected_last_seq"), exact={"expected_last_seq"}),
    "RunSourceTest": (
        Call(args=("query",), flat={"question", *_ASKED}, sparse=_ASKED, names=_ASKED_NAMES, without={"replay_of"}),
        Call(verb="replay", args=("replay_of",), names={"replay_of": "testId"}, without={"question"}),
    ),
    "SearchContext": Call(answer="hits"),
    "SearchWMRecords": Call(
        args=(), flat={"embedding"}, sparse={"embedding"}, names={"values": "embedding", "model": "embeddingModel"}
    ),
    "SearchWindow": Call(answer="hits"),
    "SendMessage": Call(
        args=("message",),
        options="SendOptions",
        hands={
            "recall": Hand(type="RecallOptions | false", module="contexts", function="recallInput", imports_type=True)
        },
        result=Hand(type="SentMessage", module="contexts", function="sentOf", imports_type=True),
    ),
    "StartJob": Call(args=("kind",)),
    "StreamQueryContext": Call(
        options="QueryOptions", flat=_ASKED, sparse=_ASKED, names=_ASKED_NAMES, has_timeout=True
    ),
    "SyncHistory": Call(args=("node_id",), defaults=_APP),
    "TestDefinition": Call(args=("rules", "node_id")),
    "TestMapping": Call(args=("rules",)),
    "Unpin": Call(is_void=True),
    "UpdateContext": Call(options="ContextChanges", flat={"context"}, without={"app_id", "agent_bundle_id"}),
    "UpdateMemory": Call(
        args=("memory_id",), options="MemoryChanges", flat={"memory"}, without={"app_id", "agent_bundle_id"}
    ),
    "UpdateProviderSetting": Call(
        options="SettingOptions",
        flat={"setting", *_OF_PROVIDERS},
        sparse=_OF_PROVIDERS,
        names=_ASKED_NAMES,
        types={"reset": '("enabled" | "is_default" | "deadline_ms" | "workspace" | "memory")[]'},
    ),
    "UpdateWindow": Call(options="WindowChanges", hands=_TOOLS),
    "UpdateTask": Call(options="TaskChanges", without={"reference_task_ids"}, **_TASK),
    "entity.AppendProgress": Call(
        options="NewEnvelope",
        required={"type"},
        any_json={"value_json", "error_json"},
        hands=_ENVELOPE,
    ),
    "entity.BatchGetEdges": Call(args=("edge_ids",)),
    "entity.BatchGetNodes": Call(args=("node_ids",)),
    "entity.CreateNode": Call(args=(), options="NewNode", flat={"node"}, required={"general_type_name"}, answer="node"),
    "entity.DeleteEdge": Call(args=("edge_id",), without={"from_node_id", "to_node_id", "edge_type"}),
    "entity.ListProgress": Call(hands={"types": _ENVELOPE["type"]}),
    "entity.SearchSimilar": Call(options="SimilarTo"),
    "entity.SetNodeIO": Call(any_json={"input_json", "output_json"}),
    "entity.UpdateEdgeData": Call(args=("edge_id", "data_json"), hands=_UPDATE, names={"update": "replace"}),
    "entity.UpdateNodeData": Call(args=("node_id", "data_json"), hands=_UPDATE, names={"update": "replace"}),
    "entity.UpsertEmbedding": Call(args=("node_id", "vector")),
    "entity.WriteGraph": Call(options="NewRows"),
}
