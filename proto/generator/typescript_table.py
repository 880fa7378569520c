"""Which messages are values of the TypeScript client, and in what they differ from the rules of `typescript_values`.

Messages that are in another value need no row. A message of the Entity Service begins with "entity.".
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """What a module of the client has by hand."""

    type: str
    module: str
    function: str  # from the message to the type
    imports_type: bool = False  # the type is the module's, too
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
class Call:
    """How an RPC is a method of the TypeScript client: its other fields are options."""

    args: tuple[str, ...] = ()  # fields of the request that are arguments, in their order
    options: str = ""  # the name of the type of the options, if that is exported
    flat: Set[str] = frozenset()  # messages with the fields of which the method has them itself
    exact: Set[str] = frozenset()  # JSON that stays text, and 64-bit numbers that are `bigint`
    answer: str = ""  # the field of the answer that the method returns, if there are several


# Nouns with methods that do more than a call, and the modules that have them.
HAND_NOUNS = {
    "archives": "context/archives",
    "artifacts": "context/artifacts",
    "blobs": "context/blobs",
    "changes": "entity/changes",
    "compiled-pages": "context/compiled-pages",
    "contexts": "context/contexts",
    "definitions": "context/definitions",
    "embeddings": "entity/embeddings",
    "graph": "entity/graph",
    "history": "context/history",
    "knowledge-bases": "context/knowledge-bases",
    "mappings": "context/mappings",
    "memories": "context/memories",
    "operations": "context/operations",
    "pages": "context/pages",
    "progress": "entity/progress",
    "query": "context/query",
    "records": "context/records",
    "source-tests": "context/source-tests",
    "tasks": "context/tasks",
    "tools": "context/tools",
    "uploads": "context/uploads",
    "windows": "context/windows",
}

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

VALUES = {
    "AdministrativeCall": Value(),
    "Agent": Value(flat="policy"),
    "AgentTemplate": Value(flat="policy"),
    "AnsweredProvider": Value(always={"status"}),
    "ApiKey": Value(),
    "Artifact": Value(),
    "AssembledNode": Value(),
    "BackgroundWork": Value(),
    "BedrockKnowledgeBase": Value(name="BedrockBase"),
    "BlobEntry": Value(),
    "ChatMessage": Value(),
    "Checkpoint": Value(exact={"last_seq"}),
    "CompareSourceTestsResponse": Value(name="ComparedTests"),
    "CompilePagesResponse": Value(name="CompileProgress"),
    "CompressionProfile": Value(),
    "ConsolidateMemoriesResponse": Value(name="Consolidation"),
    "Context": Value(),
    "ContextProvider": Value(),
    "CreateKeyResponse": Value(name="CreatedKey"),
    "Definition": Value(always={"rules"}),
    "Document": Value(),
    "Erasure": Value(),
    "EstimateCostResponse": Value(name="CostEstimate", always={"warm", "cold", "fold", "ahead", "sliding"}),
    "Evaluation": Value(any_json={"value_json": ("unknown", "undefined")}),
    "ExplainPackResponse": Value(name="ExplainedPack", always={"tokens_by_zone"}),
    "ExpandResponse": Value(name="Original"),
    "ExpandedRef": Value(hands={"scope": Hand(type="string", module="query", function="expandedScopeOf")}),
    "FoldReceipt": Value(exact={"last_seq", "prepared_last_seq"}),
    "GetCallerResponse": Value(name="Caller"),
    "GetChatHistoryResponse": Value(name="FormattedHistory", names={"formatted_json": "body"}, without={"messages"}),
    "GetContextResponse": Value(name="ContextHistory", always={"context"}),
    "GetQueryPolicyResponse": Value(name="QueryPolicy"),
    "GetRecentCallsResponse": Value(name="RecentCalls"),
    "GetTaskResponse": Value(name="TaskHistory", names={"history": "messages"}, always={"task"}),
    "GetUsageResponse": Value(name="Usage", always={"limits"}),
    "GivenMessage": Value(always={"message"}),
    "HistoryEvent": Value(),
    "Hold": Value(),
    "IssueContextKeyResponse": Value(name="ContextKey"),
    "Job": Value(),
    "KnowledgeBase": Value(),
    "LearnedCount": Value(exact={"seen", "asked"}),
    "LevelStats": Value(exact={"log_tokens"}),
    "ManifestEntity": Value(),
    "Mapping": Value(always={"rules"}),
    "McpServer": Value(),
    "McpTool": Value(exact={"input_schema_json", "arguments_json"}),
    "Memory": Value(),
    "MemoryExperience": Value(name="Experience"),
    "MergeWindowResponse": Value(name="Merged"),
    "NodeTrial": Value(),
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
    "PageVersion": Value(),
    "PlanErasureResponse": Value(name="ErasurePlan"),
    "ProviderPolicy": Value(always={"setting"}),
    "QueryContextResponse": Value(name="QueriedContext", without={"asked"}),
    "Reasoning": Value(exact={"data_json"}),
    "Recalled": Value(always={"by_meaning"}),
    "RecalledMemory": Value(always={"memory"}),
    "RecordUsageResponse": Value(name="Calibrated"),
    "ReflectMemoriesResponse": Value(name="Reflection"),
    "Resource": Value(),
    "RollbackResponse": Value(name="RolledBack", exact={"left_out_message_count"}, always={"receipt"}),
    "SearchHit": Value(always={"record"}),
    "SetLearningResponse": Value(name="Learning"),
    "SourceTest": Value(
        names={"question": "query"},
        hands={"question": Hand(type="string", module="query", function="testQueryOf")},
    ),
    "Specialist": Value(),
    "StreamQueryContextResponse": Value(name="QueryEvent"),
    "SubjectErasure": Value(),
    "SyncHistoryResponse": Value(name="SyncedHistory"),
    "Tenant": Value(always={"limits"}, without={"database", "is_away"}),
    "TestDefinitionResponse": Value(name="TriedDefinition"),
    "Tool": Value(),
    "Upload": Value(),
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
    "WindowFork": Value(),
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
    "entity.BatchGetEdgesResponse": Value(name="FoundEdges"),
    "entity.BatchGetNodesResponse": Value(name="FoundNodes"),
    "entity.Edge": Value(),
    "entity.EdgeTypeCount": Value(),
    "entity.Embedding": Value(),
    "entity.Envelope": Value(
        any_json={"value_json": ("unknown", "undefined"), "error_json": ("unknown", "undefined")},
        hands={"status": Hand(type="string", module="entity/progress", function="envelopeStatusOf")},
    ),
    "entity.ExportGraphResponse": Value(name="ExportPage"),
    "entity.GetNodeByNameResponse": Value(name="NamedNode", always={"node"}),
    "entity.GraphCount": Value(),
    "entity.Node": Value(),
    "entity.NodeIO": Value(
        any_json={"input_json": ("unknown", "undefined"), "output_json": ("unknown", "undefined")},
    ),
    "entity.Owned": Value(name="OwnedNodes"),
    "entity.RowCount": Value(),
    "entity.SimilarNode": Value(always={"node"}),
    "entity.TraversedNode": Value(always={"node"}),
    "entity.WriteGraphResponse": Value(name="WrittenGraph"),
}

CALLS = {
    "ApproveDefinition": Call(args=("name", "version")),
    "ApproveMcpTool": Call(args=("server_id", "tool_name"), options="McpApproval", exact={"arguments_json"}),
    "CancelTask": Call(args=("task_id",)),
    "CloseContext": Call(args=("context_id",)),
    "CloseWindow": Call(args=("window_id",)),
    "CommitFold": Call(args=("window_id",)),
    "CompareSourceTests": Call(args=("test_id", "other_test_id")),
    "CreateCheckpoint": Call(args=("window_id",)),
    "CreateKey": Call(args=("subject", "scopes"), options="KeyFields", flat={"key"}),
    "DeleteAgent": Call(args=("agent_id",)),
    "DeleteAgentTemplate": Call(args=("template_id",)),
    "DeleteContext": Call(args=("context_id",)),
    "DeleteKnowledgeBase": Call(args=("name",)),
    "DeleteMcpServer": Call(args=("server_id",)),
    "DeleteSourceTest": Call(args=("test_id",)),
    "DeleteSpecialist": Call(args=("specialist_id",)),
    "DiscoverMcpTools": Call(args=("server_id",)),
    "Erase": Call(args=("subject",)),
    "EstimateCost": Call(args=("window_id",)),
    "Expand": Call(args=("window_id", "ref")),
    "ExplainPack": Call(args=("window_id",)),
    "FetchEntityHistory": Call(args=("node_id",)),
    "FetchWMRecord": Call(args=("working_memory_id",)),
    "Fold": Call(args=("window_id",)),
    "ForgetMemory": Call(args=("memory_id",)),
    "GetAgent": Call(args=("agent_id",)),
    "GetAgentTemplate": Call(args=("template_id",)),
    "GetCaller": Call(),
    "GetCompiledPage": Call(args=("page_id",)),
    "GetContext": Call(args=("context_id",)),
    "GetContextsByExternalId": Call(args=("external_id",)),
    "GetDefinition": Call(args=("name",)),
    "GetErasure": Call(args=("erasure_id",)),
    "GetJob": Call(args=("job_id",)),
    "GetKnowledgeBase": Call(args=("name",)),
    "GetLineage": Call(args=("window_id",)),
    "GetMessage": Call(args=("context_id", "message_id")),
    "GetQueryPolicy": Call(),
    "GetRecentCalls": Call(),
    "GetSourceTest": Call(args=("test_id",)),
    "GetSubjectErasure": Call(args=("erasure_id",)),
    "GetTask": Call(args=("task_id",)),
    "GetUpload": Call(args=("upload_id",)),
    "GetUsage": Call(),
    "IssueContextKey": Call(args=("context_id",)),
    "ListAdministrativeCalls": Call(),
    "ListAgentTemplates": Call(),
    "ListAgents": Call(),
    "ListBackgroundWork": Call(answer="work"),
    "ListCheckpoints": Call(args=("window_id",)),
    "ListCompiledPages": Call(),
    "ListContextProviders": Call(),
    "ListDefinitions": Call(),
    "ListDocuments": Call(args=("knowledge_base",)),
    "ListHolds": Call(),
    "ListJobs": Call(),
    "ListKeys": Call(),
    "ListKnowledgeBases": Call(),
    "ListMappings": Call(),
    "ListMcpServers": Call(),
    "ListMcpTools": Call(),
    "ListMessages": Call(args=("context_id",)),
    "ListPages": Call(),
    "ListProfiles": Call(),
    "ListResources": Call(args=("entity_node_id",)),
    "ListSourceTests": Call(),
    "ListSpecialists": Call(),
    "ListTenants": Call(),
    "ListTools": Call(),
    "ListWMRecordActions": Call(args=("working_memory_id",)),
    "ListWindows": Call(args=("context_id",)),
    "MergeWindow": Call(args=("window_id",)),
    "PlanErasure": Call(args=("subject",)),
    "PutAgent": Call(args=("agent_id",), options="AgentFields", flat={"agent", "policy"}),
    "PutAgentTemplate": Call(args=("template_id",), options="AgentTemplateFields", flat={"template", "policy"}),
    "PutHold": Call(args=("reason",)),
    "PutKnowledgeBase": Call(args=("name",), options="KnowledgeBaseFields", flat={"knowledge_base"}),
    "PutMcpServer": Call(args=("server_id", "url"), options="McpServerFields", flat={"server"}),
    "PutProfile": Call(args=("name", "text")),
    "PutSpecialist": Call(args=("specialist_id",), options="SpecialistFields", flat={"specialist"}),
    "PrepareFold": Call(args=("window_id",), answer="receipt"),
    "ReleaseHold": Call(args=("hold_id",)),
    "RemoveDocument": Call(args=("knowledge_base", "document_id")),
    "RestoreWMRecord": Call(args=("working_memory_id",)),
    "RetireDefinition": Call(args=("name",)),
    "RetractMessages": Call(args=("context_id", "message_ids")),
    "RevokeKey": Call(args=("prefix",)),
    "RetryBackgroundWork": Call(args=("kind",), answer="retried"),
    "Rollback": Call(args=("window_id", "checkpoint", "expected_last_seq"), exact={"expected_last_seq"}),
    "SetLearning": Call(args=("profile",)),
    "StartJob": Call(args=("kind",)),
    "UnapproveMcpTool": Call(args=("server_id", "tool_name")),
    "WindowStats": Call(args=("window_id",)),
    "entity.ArchiveNode": Call(args=("node_id",)),
    "entity.BatchGetEdges": Call(args=("edge_ids",)),
    "entity.BatchGetNodes": Call(args=("node_ids",)),
    "entity.ClearProgress": Call(args=("node_id",)),
    "entity.DeleteEmbedding": Call(args=("node_id",)),
    "entity.DeleteNode": Call(args=("node_id",)),
    "entity.EraseOwned": Call(args=("erasure_id", "subject")),
    "entity.GetEdge": Call(args=("edge_id",)),
    "entity.GetNode": Call(args=("node_id",)),
    "entity.GetNodeByExternalId": Call(args=("external_id",)),
    "entity.GetNodeByName": Call(args=("name",)),
    "entity.GetOwned": Call(),
    "entity.ListEdgeTypes": Call(),
    "entity.ListEmbeddings": Call(args=("node_id",)),
    "entity.ListGraphs": Call(),
    "entity.ResetNode": Call(args=("node_id",)),
    "entity.StartChanges": Call(),
    "entity.UpdateNodeStatus": Call(args=("node_id", "status")),
    "entity.UpsertEmbedding": Call(args=("node_id", "vector")),
}
