"""Where values and methods differ from the rules in the TypeScript client only. `clients_table.py` has what both share.

Messages of answers are values, and RPCs methods, without a row here. Lists of names are texts, with a space between two
names.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from clients_table import Value


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
class Entry(Value):
    """A value. Its fields are named as in the proto."""

    names: Mapping[str, str] = field(default_factory=dict)  # of fields
    exact: str = ""  # JSON texts that stay texts, and 64-bit numbers that are `bigint`
    hands: Mapping[str, Hand] = field(default_factory=dict)  # fields
    more: Mapping[str, Hand] = field(default_factory=dict)  # fields that the message does not have

    @property
    def aside(self) -> Set[str]:
        """Return the fields that are converted by hand."""
        return self.hands.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """How what callers give differs from the message that it becomes."""

    name: str = ""  # else the message's
    names: Mapping[str, str] = field(default_factory=dict)  # of fields
    types: Mapping[str, str] = field(default_factory=dict)  # of fields, where the proto's says less
    required: str = ""  # else a field may be left out
    without: str = ""
    exact: str = ""  # JSON that stays text, and 64-bit numbers that are `bigint`
    hands: Mapping[str, Hand] = field(default_factory=dict)  # fields: functions of the given value and its path
    defaults: Mapping[str, str] = field(default_factory=dict)  # TypeScript of fields that are not given
    has_app: bool = False  # `app_id` is else the client's


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Input):
    """How an RPC is a method of the TypeScript client: its other fields are options."""

    verb: str = ""  # else that of the proto
    args: str = ""  # fields that are arguments, in their order; else those that must be given
    options: str = ""  # the name of the type of the options; else it has one if there are many
    flat: str = ""  # a message whose fields are options of the method, though other methods take it as a whole
    sparse: str = ""  # messages of fields of the method; fields that are not given are left out
    together: Mapping[str, tuple[Hand, str]] = field(default_factory=dict)  # arguments for several fields
    answer: str | None = None  # the field of the answer that the method returns, if only TypeScript's does
    result: Hand | None = None  # makes what the method returns
    maybe: bool = False  # the answer may be without its value
    may_repeat: str = ""  # TypeScript: whether it is safe to send it twice; else it is
    has_timeout: bool = False  # a stream that ends as soon as a call


# Nouns with methods that do more than a call, and the modules that have them.
HAND_NOUNS = {
    "archives": "context/archives",
    "artifacts": "context/artifacts",
    "blobs": "context/blobs",
    "contexts": "context/contexts",
    "graph": "entity/graph",
    "history": "context/history",
    "memories": "context/memories",
    "operations": "context/operations",
    "records": "context/records",
    "tasks": "context/tasks",
    "uploads": "context/uploads",
    "windows": "context/windows",
}

# Nouns with handles, and the field that a handle holds.
HANDLES = {"contexts": "context_id", "windows": "window_id"}

# Nouns that both clients have.
BOTH = frozenset({"operations"})

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

# Other messages that callers give: exceptions from the rules, and messages that only modules by hand need.
_ROLES = '("user" | "assistant" | "system" | "tool")[]'
_KINDS = '("artifact" | "text" | "data" | "tool_call" | "tool_result" | "file")[]'
_SECTIONS = '"goal" | "sub_goal" | "constraint" | "value" | "decision" | "question" | "error" | "artifact" | "progress"'
INPUTS = {
    "ArtifactInput": Input(required="parts"),
    "ContextInput": Input(has_app=True),
    "DocumentInput": Input(name="NewDocument"),
    "FacetInput": Input(name="FacetFields", required="slug"),
    "MessageInput": Input(types={"role": '"user" | "assistant" | "agent" | "system" | "tool"'}),
    "QueryOrder": Input(required="column"),
    "RecallFilter": Input(types={"roles": _ROLES, "kinds": _KINDS}),
    "RecallOptions": Input(without="off"),
    "StateEntryInput": Input(types={"section": _SECTIONS}, required="section"),
    "StateEntryName": Input(types={"section": _SECTIONS}, required="section"),
    "EdgeInput": Input(required="from_node_id to_node_id edge_type"),
    "NodeInput": Input(required="general_type_name"),
}

# Values that callers give whole: of others, any part.
GIVEN_WHOLE = frozenset({"ExternalId"})

# Names that only TypeScript's values have.
NAMES = {
    "AppendProgressResponse": "AppendedEnvelope",
    "BatchGetEdgesResponse": "FoundEdges",
    "BatchGetNodesResponse": "FoundNodes",
    "BedrockKnowledgeBase": "BedrockBase",
    "ExportArchiveResponse": "ArchivePart",
    "ExportGraphResponse": "ExportPage",
    "GetChatHistoryResponse": "FormattedHistory",
    "GetContextResponse": "ContextHistory",
    "GetNodeByNameResponse": "NamedNode",
    "GetNodeIOResponse": "StoredIO",
    "GetTaskResponse": "TaskHistory",
    "ListChangesResponse": "ChangePage",
    "QueryWMRecordsResponse": "QueriedRows",
    "SentMessage": "StoredMessage",
    "WriteGraphResponse": "WrittenGraph",
}

# Messages that differ from the rules, and those that only methods by hand return.
VALUES = {
    "Checkpoint": Entry(exact="last_seq"),
    "Envelope": Entry(hands={"status": Hand(type="string", module="progress", function="envelopeStatusOf")}),
    "ExpandedRef": Entry(hands={"scope": Hand(type="string", module="query", function="expandedScopeOf")}),
    "FoldReceipt": Entry(exact="last_seq prepared_last_seq"),
    "GetChatHistoryResponse": Entry(names={"formatted_json": "body"}, without="messages"),
    "GetTaskResponse": Entry(names={"history": "messages"}),
    "LearnedCount": Entry(exact="seen asked"),
    "LevelStats": Entry(exact="log_tokens"),
    "McpTool": Entry(exact="input_schema_json arguments_json"),
    "PackCost": Entry(exact="read_tokens written_tokens"),
    "PackResponse": Entry(
        exact="messages_json last_seq",
        more={
            "body": Hand(
                type="JsonObject",
                module="windows",
                function="bodyOf",
                comment="The body of the request: `messages`, and for Anthropic `system`; for Gemini `contents`; "
                "for Responses `input`; and `tools`.",
            )
        },
    ),
    "Reasoning": Entry(exact="data_json"),
    "RollbackResponse": Entry(exact="left_out_message_count"),
    "SourceTest": Entry(
        names={"question": "query"},
        hands={"question": Hand(type="string", module="query", function="testQueryOf")},
    ),
    "Tenant": Entry(without="database is_away"),
    "WMRecord": Entry(
        exact="content_json",
        more={
            "content": Hand(
                type="unknown",
                module="records",
                function="contentOf",
                comment="Inline content: JSON parsed, text as it is; undefined: there is none, or a list left it out.",
            )
        },
    ),
    "Window": Entry(exact="reached_seq", hands={"format": Hand(type="string", module="windows", function="formatOf")}),
    "WindowStatsResponse": Entry(exact="log_tokens"),
    "WindowUsage": Entry(exact="call_count pack_tokens input_tokens cached_tokens cache_write_tokens output_tokens"),
}

# What several calls have.
_ASKED = "workspace memory provider_options"
_ASKED_NAMES = {"query_mode": "memoryMode"}
_FORMAT = {"format": Hand(type="MessageFormat", module="history", function="formatInput", imports_type=True)}
_TOOLS = {"tools_json": Hand(type="readonly unknown[]", module="windows", function="toolsInput")}
_BLOB = {
    "blob": (
        Hand(type="BlobName", module="records", function="blobName", imports_type=True),
        "working_memory_id blob_key",
    )
}
_TASK: Mapping[str, Any] = {
    "sparse": "status",
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
    "AppendMessages": Call(
        options="AppendOptions",
        result=Hand(type="SentMessage[]", module="contexts", function="allSentOf", imports_type=True),
    ),
    "ApproveMcpTool": Call(options="McpApproval"),
    "CreateDownloadUrl": Call(args="blob", together=_BLOB),
    "CreateKey": Call(options="KeyFields"),
    "CreateTask": Call(options="NewTask", **_TASK),
    "DeleteBlob": Call(args="blob", together=_BLOB),
    "DeleteWMRecord": Call(maybe=True),
    "ExecuteTool": Call(
        names={"arguments_json": "toolArguments"},
        defaults={"arguments_json": "{}"},
        may_repeat="options.readOnly === true",
    ),
    "ExportArchive": Call(
        hands={"scope": Hand(type="ArchiveScope", module="archives", function="scopeInput", imports_type=True)},
        may_repeat="false",
    ),
    "FetchWMManifest": Call(options="ManifestFilter"),
    "FetchWMRecordsByEntity": Call(options="RecordFilter"),
    "ForkWindow": Call(
        options="ForkOptions",
        hands=_TOOLS,
        result=Hand(type="Forked", module="windows", function="forkedOf", imports_type=True),
    ),
    "GetArtifact": (
        Call(args="task_id artifact_id", without="ref"),
        Call(verb="get_at", args="context_id ref", without="task_id artifact_id version"),
    ),
    "GetChatHistory": Call(verb="formatted", hands=_FORMAT),
    "GetMapping": Call(args="mapping_name"),
    "GetWindow": Call(
        result=Hand(type="WindowWithForks", module="windows", function="windowWithForksOf", imports_type=True),
    ),
    "InsertWMRecord": Call(
        hands={
            "record": Hand(type="NewRecord", module="records", function="recordInput", imports_type=True, has_app=True)
        },
    ),
    "ListContexts": Call(options="ContextFilter"),
    "ListMemories": Call(options="MemoryFilter"),
    "OpenWindow": Call(options="WindowOptions", hands={**_FORMAT, **_TOOLS}),
    "PutAgent": Call(options="AgentFields"),
    "PutAgentTemplate": Call(options="AgentTemplateFields"),
    "PutArtifact": Call(
        result=Hand(type="WrittenArtifact", module="tasks", function="writtenArtifactOf", imports_type=True),
    ),
    "PutFacet": Call(maybe=True),
    "PutKnowledgeBase": Call(options="KnowledgeBaseFields"),
    "PutMcpServer": Call(options="McpServerFields"),
    "PutPage": Call(options="PutPageOptions"),
    "PutSpecialist": Call(options="SpecialistFields"),
    "QueryContext": Call(options="QueryOptions", sparse=_ASKED, names=_ASKED_NAMES),
    "QueryWMRecords": Call(required="select"),
    "RecordOutcome": Call(
        result=Hand(type="Outcome", module="windows", function="outcomeOf", imports_type=True),
    ),
    "RecordUsage": Call(options="Billed", required="input_tokens"),
    "ReportResponse": Call(
        names={"pack_id": "pack"},
        exact="expected_last_seq",
        hands={"pack_id": Hand(type='Pick<Pack, "packId">', module="windows", function="packIdOf", imports_type=True)},
        result=Hand(type="Recovered | undefined", module="windows", function="recoveredOf", imports_type=True),
    ),
    "RetainMemory": Call(options="RetainOptions"),
    "Rollback": Call(exact="expected_last_seq"),
    "RunSourceTest": (
        Call(args="query", sparse=_ASKED, names=_ASKED_NAMES, without="replay_of"),
        Call(verb="replay", args="replay_of", names={"replay_of": "testId"}, without="question"),
    ),
    "SearchWMRecords": Call(sparse="embedding", names={"values": "embedding", "model": "embeddingModel"}),
    "SendMessage": Call(
        options="SendOptions",
        hands={
            "recall": Hand(type="RecallOptions | false", module="contexts", function="recallInput", imports_type=True)
        },
        result=Hand(type="SentMessage", module="contexts", function="sentOf", imports_type=True),
    ),
    "StreamQueryContext": Call(options="QueryOptions", sparse=_ASKED, names=_ASKED_NAMES, has_timeout=True),
    "UpdateContext": Call(options="ContextChanges", flat="context", without="app_id agent_bundle_id"),
    "UpdateMemory": Call(options="MemoryChanges", without="app_id agent_bundle_id"),
    "UpdateProviderSetting": Call(
        options="SettingOptions",
        sparse="workspace memory",
        names=_ASKED_NAMES,
        types={"reset": '("enabled" | "is_default" | "deadline_ms" | "workspace" | "memory")[]'},
    ),
    "UpdateWindow": Call(options="WindowChanges", hands=_TOOLS),
    "UpdateTask": Call(options="TaskChanges", without="reference_task_ids", **_TASK),
    "AppendProgress": Call(
        options="NewEnvelope",
        required="type",
        hands=_ENVELOPE,
    ),
    "CreateNode": Call(options="NewNode", required="general_type_name"),
    "DeleteEdge": Call(without="from_node_id to_node_id edge_type"),
    "ListProgress": Call(hands={"types": _ENVELOPE["type"]}),
    "SearchSimilar": Call(options="SimilarTo"),
    "UpdateEdgeData": Call(hands=_UPDATE, names={"update": "replace"}),
    "UpdateNodeData": Call(hands=_UPDATE, names={"update": "replace"}),
    "WriteGraph": Call(options="NewRows"),
}
