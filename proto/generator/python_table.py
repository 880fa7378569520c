"""Which messages are values of the Python client, which RPCs its methods, and where they differ from the rules."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """How a message, or a JSON text, of a request is given."""

    type: str
    convert: str  # the expression of the message: "{}" is the argument, "{place}" its path in the request
    imports: Mapping[str, str] = field(default_factory=dict)  # a name by its module
    takes_none: bool = False  # `convert` does
    default: str = "None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a method differs from the rules. Lists are texts; a field is named by its path in the request."""

    args: str = ""  # the positional arguments in their order; empty: the required ones
    required: str = ""  # fields that must be given, though no rule says so
    without: str = ""  # fields that the method lacks
    flat: str = ""  # messages, by the names of their fields, with the fields of which the method has them itself
    texts: str = ""  # JSON that is given as text
    of_client: str = ""  # apps that are the client's, unless another one is given
    names: Mapping[str, str] = field(default_factory=dict)  # of arguments
    defaults: Mapping[str, str] = field(default_factory=dict)  # expressions
    may_repeat: str = ""  # the condition, if a call that fails is not always sent again
    is_node_optional: bool = False  # a node that is named by `node_id` or `external_id` need not be
    answer: str = ""  # the field of the answer that the method returns, if there are several; "-": it returns nothing


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
    "Embedding": _by_hand("Embedding", "embeddings"),
    "ImportedArchive": _by_hand("ImportedArchive", "transfer"),
    "Part": _by_hand("Part", "messages"),
    "Tenant": _by_hand("Tenant", "administration"),
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
    "ProviderNames": Entry(is_input=True),
    "AgentCallers": Entry(is_input=True),
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

INPUTS: Mapping[str, Input] = {
    "ContextInput": Input(
        type="ContextInput",
        convert="contexts.context_input({}, self._options.app_id)",
        takes_none=True,
        imports={"contextkeep.inputs": "ContextInput", "contextkeep.client": "_context_messages as contexts"},
    ),
    "DefinitionRules": Input(
        type="Mapping[str, Any]",
        convert="messages.definition_rules({})",
        imports={"collections.abc": "Mapping", "typing": "Any", "contextkeep.client": "_messages as messages"},
    ),
    "ExternalId": Input(
        type="ExternalId",
        convert='contexts.external_id({}, field="{place}")',
        imports={"contextkeep.inputs": "ExternalId", "contextkeep.client": "_context_messages as contexts"},
        takes_none=True,
    ),
    "MappingRules": Input(
        type="Mapping[str, Any]",
        convert="messages.mapping_rules({})",
        imports={"collections.abc": "Mapping", "typing": "Any", "contextkeep.client": "_messages as messages"},
    ),
    "RecallFilter": Input(
        type="RecallFilter",
        convert='contexts.recall_filter({}, field="{place}")',
        imports={"contextkeep.inputs": "RecallFilter", "contextkeep.client": "_context_messages as contexts"},
        takes_none=True,
    ),
    "SampleNode": Input(
        type="SampleNode",
        convert='messages.sample_node("{place}", {})',
        imports={"contextkeep.inputs": "SampleNode", "contextkeep.client": "_messages as messages"},
    ),
    "WindowConfig": Input(
        type="WindowConfig",
        convert="window_config({})",
        imports={"contextkeep.values": "WindowConfig", "contextkeep.client._window_messages": "window_config"},
        takes_none=True,
    ),
    "tools_json": Input(
        type="Sequence[Any]",
        convert="tools_json({})",
        imports={
            "collections.abc": "Sequence",
            "typing": "Any",
            "contextkeep.client._window_messages": "tools_json",
        },
    ),
}

# What arguments mean that have no comment in the protos, as in most requests.
COMMENTS: Mapping[str, str] = {
    "subject_user_id": "The user for whom a key without a user calls.",
    "page_size": "Items of one page. 0: 100.",
    "request_id": "A UUID. The same one again answers as the first time and changes nothing. None: a new one.",
}

CALLS: Mapping[str, Call] = {
    # administration, agents, knowledge bases
    "CreateKey": Call(args="subject scopes", required="key.scopes"),
    "StartJob": Call(args="kind", required="kind"),
    "ListDocuments": Call(args="knowledge_base", required="knowledge_base"),
    "PutSpecialist": Call(args="specialist_id"),
    "PutMcpServer": Call(args="server_id url"),
    "ApproveMcpTool": Call(texts="arguments_json"),
    "PutHold": Call(args="reason", required="reason"),
    # chat_history, mappings
    "RegisterMapping": Call(args="mapping_name rules", required="rules", of_client="app_id", answer="mapping"),
    "GetMapping": Call(args="mapping_name", of_client="app_id"),
    "DeleteMapping": Call(of_client="app_id"),
    "TestMapping": Call(args="rules", required="rules", is_node_optional=True),
    "AssembleContext": Call(of_client="app_id"),
    # contexts
    "Recall": Call(flat="options", without="options.off"),
    "SearchContext": Call(answer="hits"),
    "GetContextsByExternalId": Call(args="external_id", required="external_id"),
    "GetMessage": Call(args="context_id message_id", required="message_id"),
    "RetractMessages": Call(args="context_id message_ids", required="message_ids"),
    "SyncHistory": Call(args="node_id", of_client="app_id"),
    # context_windows
    "OpenWindow": Call(names={"format": "message_format"}),
    "ListProfiles": Call(args="name"),
    "SetLearning": Call(args="profile app_id"),
    "Pin": Call(args="window_id text", answer="pin_id"),
    "Unpin": Call(answer="-"),
    "PrepareFold": Call(answer="receipt"),
    "CreateCheckpoint": Call(args="window_id label"),
    "Rollback": Call(args="window_id checkpoint", required="checkpoint expected_last_seq"),
    "SearchWindow": Call(answer="hits"),
    "Expand": Call(args="window_id ref", required="ref"),
    "RecordUsage": Call(args="window_id", required="input_tokens"),
    "RecordOutcome": Call(args="window_id", required="success"),
    # definitions
    "PutDefinition": Call(args="name rules", required="rules"),
    "ApproveDefinition": Call(args="name version", required="version"),
    "RetireDefinition": Call(args="name version"),
    "GetDefinition": Call(args="name version"),
    "TestDefinition": Call(args="rules node_id", required="rules", is_node_optional=True),
    "ListCompiledPages": Call(args="definition_name", is_node_optional=True),
    # knowledge
    "RetainMemory": Call(args="text", required="memory.text", defaults={"memory.kind": '"fact"'}),
    "RecallMemories": Call(answer="memories", defaults={"limit": "20"}),
    "ReflectMemories": Call(defaults={"limit": "8"}, without="filter.holding_only"),
    "PutPage": Call(args="title markdown", required="page.title page.markdown"),
    "GetPage": Call(args="slug"),
    "ListPages": Call(args="slug_prefix"),
    "ListPageVersions": Call(args="slug"),
    "DeletePage": Call(args="slug"),
    # entity_graph
    # Archiving a version again fails: the first attempt may have archived it, and made the next version.
    "ArchiveNode": Call(may_repeat="expected_version is None"),
    "UpdateNodeStatus": Call(args="node_id status"),
    "DeleteEmbedding": Call(args="node_id name"),
    "GetOwned": Call(args="subject"),
    "ListEdges": Call(defaults={"direction": '"out"'}),
}

_STREAM = "a stream of bytes or messages"
_MASK = "only what is given changes"
_CONTENT = "the content is given in one of several ways"
_SEVERAL = "a value that several fields of the answer make"

# RPCs whose methods do more than one call with what is given, and why.
CALLS_BY_HAND: Mapping[str, str] = {
    "AddDocument": _CONTENT,
    "AppendMessages": "retries, and messages of several kinds",
    "AppendProgress": "JSON that may be null",
    "AppendUpload": _STREAM,
    "BatchGetEdges": _SEVERAL,
    "BatchGetNodes": _SEVERAL,
    "ConsolidateMemories": "the plan says whether it is applied",
    "CountNodes": "the filter looks a node up",
    "CreateDownloadUrl": "names a blob in one of several ways",
    "CreateEdge": "both ends may be looked up",
    "CreateNode": "the fast path of nodes",
    "CreateTask": "the status is given as two arguments",
    "DeleteBlob": "names a blob in one of several ways",
    "DeleteEdge": "names an edge in one of several ways",
    "DeleteWMRecord": "the answer may have no record",
    "ExecuteTool": "JSON in and out",
    "ExportArchive": _STREAM,
    "ExportGraph": _STREAM,
    "FinishUpload": _STREAM,
    "ForkWindow": _SEVERAL,
    "GetArtifact": "by its ref, too",
    "GetBlob": _STREAM,
    "GetChatHistory": "two methods: messages, and a vendor's format",
    "GetContent": "names a blob in one of several ways",
    "GetContext": _SEVERAL,
    "GetNodeByName": _SEVERAL,
    "GetNodeIO": "JSON that may be null",
    "GetRecentCalls": "both services answer it",
    "GetState": "all pages at once",
    "GetTask": _SEVERAL,
    "GetWindow": _SEVERAL,
    "ImportArchive": _STREAM,
    "ImportGraph": _STREAM,
    "InsertWMRecord": _CONTENT,
    "ListChanges": "pages without a token",
    "ListEdgeTypes": "a value without `from_proto`",
    "ListGraphs": "a value without `from_proto`",
    "Pack": "only what is new is sent",
    "PatchState": "entries of two kinds of message",
    "PutArtifact": "parts, and a text as one",
    "PutFacet": "the source is given as two arguments",
    "PutKnowledgeBase": "the base of Bedrock is given as two arguments",
    "QueryContext": "options of providers",
    "QueryWMRecords": "the order is given as texts",
    "ReportResponse": "the pack that is repaired",
    "RunSourceTest": "two methods: a question, and a replay",
    "SearchNodes": "the filter looks a node up",
    "SearchSimilar": "a vector or a node",
    "SearchWMRecords": _CONTENT,
    "SendMessage": "messages of several kinds",
    "SetNodeIO": "JSON that may be null",
    "SetTenantLimits": _MASK,
    "StartUpload": _STREAM,
    "StreamChatHistory": _STREAM,
    "StreamQueryContext": "options of providers",
    "Traverse": _STREAM,
    "UpdateContext": _MASK,
    "UpdateEdgeData": "patch or replacement",
    "UpdateMemory": _MASK,
    "UpdateNodeData": "patch or replacement",
    "UpdateProviderSetting": _MASK,
    "UpdateTask": _MASK,
    "UpdateWMRecord": _MASK,
    "UploadBlob": _STREAM,
    "UpsertEmbedding": "the vector is required, after a node that may be named",
    "WaitForIndex": "its deadline follows from its wait",
    "WatchContext": "goes on where it was when a replica stops",
    "WatchWindow": "goes on where it was when a replica stops",
    "WriteGraph": "the fast path of nodes",
}

# What a class of calls says of itself, where no class by hand does.
NOUNS: Mapping[str, str] = {
    "agent_templates": "Templates of agents.",
    "agents": "Agents. An agent that the caller may not name is reported like one that does not exist.",
    "definitions": "Definitions of compiled pages.",
    "erasures": "Erasures of subjects. All calls need the scope admin, of a key without bounds.",
    "holds": "Holds. All calls need the scope admin, of a key without bounds.",
    "jobs": "Jobs. All calls need the scope operator, which only the command line gives.",
    "keys": "API keys. All calls but `get_caller` need the scope admin.",
    "mappings": "Mappings: how nodes become messages.",
    "mcp_servers": "MCP servers. All calls need the scope admin; a bound key cannot write.",
    "pages": "Wiki pages of a user: the key's, or `subject_user_id`, for which a key needs the scope `delegate`.",
    "profiles": "Compression profiles.",
    "specialists": "Specialists. All calls need the scope admin; a bound key cannot write.",
}
