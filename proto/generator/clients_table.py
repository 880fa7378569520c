"""What the clients of both languages make of messages and RPCs where the protos do not say it.

`python_table.py` and `typescript_table.py` add what only one of them does. Rows are named as messages and RPCs are in
the protos, and fields as in their messages. Lists of names are texts, with a space between two names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from model import Field, Message, Model, Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value. What its client's table does not say comes from this one."""

    name: str = ""
    always: Set[str] = frozenset()  # times and messages that the server always sets
    without: str = ""  # fields that it lacks
    flat: str = ""  # a message whose fields are fields of the value

    @property
    def aside(self) -> Set[str]:
        """Return the fields whose messages are not values in this one."""
        return frozenset()


# Names of values. An answer is a value if it has a name here; else a method returns the field that it has.
NAMES: Mapping[str, str] = {
    "CompareSourceTestsResponse": "ComparedTests",
    "CompilePagesResponse": "CompileProgress",
    "ConsolidateMemoriesResponse": "Consolidation",
    "CreateDownloadUrlResponse": "DownloadUrl",
    "CreateKeyResponse": "CreatedKey",
    "EstimateCostResponse": "CostEstimate",
    "ExpandResponse": "Original",
    "ExplainPackResponse": "ExplainedPack",
    "GetCallerResponse": "Caller",
    "GetContextSettingsResponse": "AppliedSettings",
    "GetContextSummaryResponse": "ContextSummary",
    "GetQueryPolicyResponse": "QueryPolicy",
    "GetRecentCallsResponse": "RecentCalls",
    "GetUsageResponse": "Usage",
    "GetUserContextResponse": "UserContext",
    "IssueContextKeyResponse": "ContextKey",
    "MemoryExperience": "Experience",
    "ListBackgroundWorkResponse": "PendingWork",
    "ListFacetsResponse": "FacetList",
    "MergeWindowResponse": "Merged",
    "Owned": "OwnedNodes",
    "PackResponse": "Pack",
    "Page": "WikiPage",
    "PlanErasureResponse": "ErasurePlan",
    "QueryContextResponse": "QueriedContext",
    "QueryFacetsResponse": "FacetAnswer",
    "RecordUsageResponse": "Calibrated",
    "ReflectMemoriesResponse": "Reflection",
    "RetryBackgroundWorkResponse": "RetriedWork",
    "RollbackResponse": "RolledBack",
    "SearchContextsResponse": "FoundContexts",
    "SetLearningResponse": "Learning",
    "StreamQueryContextResponse": "QueryEvent",
    "SyncHistoryResponse": "SyncedHistory",
    "TestDefinitionResponse": "TriedDefinition",
    "TraceMessageResponse": "MessageTrace",
    "WMRecordAction": "RecordAction",
    "WatchContextResponse": "ContextEvent",
    "WatchWindowResponse": "WindowEvent",
    "WindowStatsResponse": "WindowStats",
}

# Times and messages that the server always sets where a message has a field of this name. Others can be absent.
ALWAYS = (
    "ahead begins_at by_meaning called_at cold config context fold imported_at item limits memory node "
    "oldest_at omitted predicted receipt rules said_at setting sliding started_at status task time tokens_by_zone "
    "usage warm"
)

# Those that it always sets in some messages.
ALWAYS_IN: Mapping[str, str] = {
    "as_of": "Facet Page",
    "created_at": "Agent AgentTemplate ApiKey Artifact AssembledNode BlobEntry Checkpoint Context Definition Document "
    "Edge Envelope Erasure FoundContext Hold KnowledgeBase McpServer Memory Node Page PageVersion SourceTest "
    "Specialist StateEntry SubjectErasure Task WMRecord WMRecordAction Window WindowFork",
    "discovered_at": "McpTool",
    "expires_at": "CreateDownloadUrlResponse IssueContextKeyResponse",
    "happened_at": "Memory MemoryRevision",
    "message": "GivenMessage",
    "modified_at": "AssembledNode Node",
    "record": "CreateDownloadUrlResponse SearchHit",
    "replaced_at": "MemoryRevision",
    "stated_at": "UserContextLine",
    "updated_at": "Agent AgentTemplate Artifact Context ContextSetting Document FoundContext Job KnowledgeBase "
    "McpServer Memory Page Specialist Task WMRecord Window",
    "valid_from": "Memory MemoryRevision",
}

# Fields that values lack.
WITHOUT: Mapping[str, str] = {"PackResponse": "offset_bytes", "QueryContextResponse": "asked"}

# The message of a value whose fields are fields of the value itself.
FLAT: Mapping[str, str] = {"Agent": "policy", "AgentTemplate": "policy"}

# JSON that need not be an object. `tools_json` is a list.
ANY_JSON = frozenset({"edges_json", "error_json", "input_json", "output_json", "path_json", "value_json"})

# Messages of requests that callers give as one value. A method has the fields of all others itself.
GIVEN = (
    "AgentCallers ArtifactInput BedrockKnowledgeBase ContextInput DefinitionRules DocumentInput ExternalId FacetInput "
    "MappingRules MemoryExperience MemorySource MessageInput PageSource ProviderNames ProviderSelection RecallFilter "
    "SampleNode WindowConfig"
)

# What must be given, in the order of a method's arguments. Of other RPCs that is what their protos require, and a node
# that has other names, too.
ARGS: Mapping[str, str] = {
    "AddDocument": "knowledge_base document",
    "AppendMessages": "messages",
    "ApproveDefinition": "name version",
    "BatchGetEdges": "edge_ids",
    "BatchGetNodes": "node_ids",
    "CreateKey": "subject scopes",
    "CreateNode": "",
    "DeleteEdge": "edge_id",
    "ExecuteTool": "tool_name arguments_json",
    "Expand": "window_id ref",
    "ExportArchive": "scope",
    "GetChatHistory": "node_id format",
    "GetContextsByExternalId": "external_id",
    "GetMessage": "context_id message_id",
    "InsertWMRecord": "record",
    "ListDocuments": "knowledge_base",
    "PutArtifact": "task_id artifact",
    "PutDefinition": "name rules",
    "PutFacet": "page_id facet",
    "RecordOutcome": "window_id success",
    "RegisterMapping": "mapping_name rules",
    "ReportResponse": "window_id pack_id invalid",
    "RetractMessages": "context_id message_ids",
    "Rollback": "window_id checkpoint expected_last_seq",
    "SearchWMRecords": "",
    "SendMessage": "message",
    "StartJob": "kind",
    "TestDefinition": "rules node_id",
    "TestMapping": "rules",
    "UpdateEdgeData": "edge_id data_json",
    "UpdateMemory": "memory_id",
    "UpdateNodeData": "node_id data_json",
    "UpsertEmbedding": "node_id vector",
}

# RPCs that need no node, though they take one.
NODE_OPTIONAL = frozenset({"ExecuteTool", "ListCompiledPages", "SearchSimilar", "TestDefinition", "TestMapping"})

# RPCs whose `app_id` is the client's if none is given.
OF_CLIENT = frozenset(
    {"AssembleContext", "DeleteMapping", "GetChatHistory", "GetMapping", "RegisterMapping", "SyncHistory"}
)

# Messages of requests that lack fields in both clients, by RPC.
NOT_GIVEN: Mapping[str, str] = {"Recall": "off"}

# JSON of requests that is given as text.
TEXTS: Mapping[str, str] = {"ApproveMcpTool": "arguments_json"}

# The field of the answer that a method returns, if there are several. Empty: it returns nothing.
ANSWERS: Mapping[str, str] = {
    "CreateNode": "node",
    "Pin": "pin_id",
    "PrepareFold": "receipt",
    "RecallMemories": "memories",
    "RegisterMapping": "mapping",
    "SearchContext": "hits",
    "SearchWindow": "hits",
    "Unpin": "",
}

# RPCs whose methods make more than one call or convert their arguments, and why. So do those with a stream of
# requests.
CALLS_BY_HAND: Mapping[str, str] = {
    "ConsolidateMemories": "the plan says whether it is applied",
    "CountNodes": "the filter looks a node up",
    "CreateEdge": "both ends may be looked up",
    "Expand": "a large file comes in ranges",
    "ExportGraph": "bytes",
    "FinishUpload": "a step of an upload",
    "GetBlob": "bytes",
    "GetContent": "names a blob in one of several ways",
    "Pack": "only the new part is sent, and the bytes of files are inserted",
    "PackBody": "bytes",
    "SearchNodes": "the filter looks a node up",
    "SetTenantLimits": "only given fields change",
    "StartUpload": "a step of an upload",
    "StreamChatHistory": "messages as they come",
    "Traverse": "goes on after a page",
    "UpdateWMRecord": "only given fields change",
    "WaitForIndex": "its deadline follows from its wait",
    "WatchContext": "goes on where it was when a replica stops",
    "WatchWindow": "goes on where it was when a replica stops",
}


def is_by_hand(rpc: Rpc) -> bool:
    """Return whether no client's method of an RPC is generated."""
    return rpc.client_streaming or rpc.name in CALLS_BY_HAND


def is_flat(model: Model, field: Field) -> bool:
    """Return whether a method has the fields of a message itself."""
    is_one = field.type_name in model.messages and not field.is_repeated and not field.map_of
    return is_one and model.messages[field.type_name].name not in GIVEN.split()


def always(message: Message) -> Set[str]:
    """Return the times and messages that the server always sets in a message."""
    return {
        field.name
        for field in message.fields
        if field.is_optional
        and field.type_name
        and not field.is_enum
        and not field.oneof
        and (field.name in ALWAYS.split() or message.name in ALWAYS_IN.get(field.name, "").split())
    }


def pair(message: Message) -> tuple[str, ...]:
    """Return the two fields of a count: a list of such messages is a record of counts by their keys. Else nothing."""
    names = tuple(field.name for field in message.fields)
    return names if len(names) == 2 and names[1] == "count" else ()


_V = TypeVar("_V", bound=Value)


def values_of(
    model: Model,
    methods: Iterable[Rpc],
    rows: Mapping[str, _V],
    row: _V,
    names: Mapping[str, str],
    by_hand: Collection[str],
) -> dict[str, _V]:
    """Return the values that answers have and those that are in them, by the full names of messages.

    Args:
        model: The protos.
        methods: The RPCs with answers that count.
        rows: What a client's table says; all its messages are values.
        row: What it says of others.
        names: Names that only this client's values have.
        by_hand: Messages that no value is generated of.
    """
    named = {*NAMES, *names, *rows}
    todo = [message for message in model.messages.values() if message.name in named]
    todo += [
        message
        for rpc in methods
        if rpc.response.name not in {*named, *by_hand}
        for message in _messages(model, rpc.response.fields)
    ]
    values: dict[str, _V] = {}
    while todo:
        message = todo.pop()
        name = message.name
        if message.full_name in values or name in by_hand or pair(message):
            continue
        value = values[message.full_name] = replace(
            rows.get(name, row),
            name=names.get(name) or NAMES.get(name) or name,
            always=always(message),
            without=f"{WITHOUT.get(name, '')} {rows.get(name, row).without}",
            flat=FLAT.get(name, ""),
        )
        inner = [model.messages[field.type_name].fields for field in message.fields if field.name == value.flat]
        aside = {value.flat, *value.without.split(), *value.aside}
        todo += _messages(model, [field for field in chain(message.fields, *inner) if field.name not in aside])
    return values


def _messages(model: Model, fields: Iterable[Field]) -> list[Message]:
    """Return the messages that fields have."""
    kinds = [field.map_of[1].type_name if field.map_of else field.type_name for field in fields]
    return [model.messages[kind] for kind in kinds if kind in model.messages]
