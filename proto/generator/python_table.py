"""Where values and methods differ from the rules in the Python client only. `clients_table.py` has what both share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from clients_table import ANY_JSON, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """A value. Lists of names are texts, with a space between two names."""

    hidden: str = ""  # attributes that are not shown when the value is printed, such as a key
    # Attributes that have another name or place: "bedrock.region" is a field of a field, "counts{kind: count}" a dict
    # of a repeated message. A field that is here has no attribute of its own name.
    fields: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)  # types of attributes that another part of the answer has
    # The value as a text, with attributes in braces: "{section} {ref or source}". Empty: its base says it, or its repr.
    shows: str = ""

    @property
    def aside(self) -> Set[str]:
        """Return the fields that have no attribute of their own name."""
        return {re.split("[.{]", path)[0] for path in self.fields.values()}


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
    """How a method differs from the rules."""

    args: str = ""  # the positional arguments in their order; empty: those that must be given
    required: str = ""  # keyword arguments that must be given, though no rule says so
    without: str = ""  # fields that the method lacks
    names: Mapping[str, str] = field(default_factory=dict)  # of arguments
    defaults: Mapping[str, str] = field(default_factory=dict)  # expressions
    may_repeat: str = ""  # the condition, if a call that fails is not always sent again
    # What `clients_table.py` says:
    texts: str = ""
    is_of_client: bool = False
    needs_node: bool = True
    answer: str | None = None


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
    **dict.fromkeys(ANY_JSON, "Any"),
    "arguments_json": "Any",
    "content_json": "Any",
    "tools_json": "list[Any]",
}

BY_HAND: Mapping[str, ByHand] = {
    "BatchGetEdgesResponse": _by_hand("EdgeBatch", "edges"),
    "BatchGetNodesResponse": _by_hand("NodeBatch", "nodes"),
    "ChatMessage": _by_hand("ChatMessage", "messages"),
    "ComparedProvider": _by_hand("ComparedProvider", "query"),
    "EdgeTypeCount": _by_hand("EdgeTypeCount", "graphs"),
    "Embedding": _by_hand("Embedding", "embeddings"),
    "ForkWindowResponse": _by_hand("Forked", "windows"),
    "GetContextResponse": _by_hand("ContextHistory", "contexts"),
    "GetNodeByNameResponse": _by_hand("NamedNode", "nodes"),
    "GetTaskResponse": _by_hand("TaskHistory", "tasks"),
    "GetWindowResponse": ByHand(
        type="Window",
        function="window_with_forks",
        imports={"contextkeep.values": "Window", "contextkeep.values.windows": "window_with_forks"},
    ),
    "GraphCount": _by_hand("GraphCount", "graphs"),
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

# Names that only Python's values have.
NAMES: Mapping[str, str] = {
    "GetNodeIOResponse": "NodeIO",
    "ListBackgroundWorkResponse": "OwedWork",
    "Mapping": "ChatMapping",
    "PromotedLesson": "Lesson",
    "RecordOutcomeResponse": "Outcome",
    "RetryBackgroundWorkResponse": "RetriedWork",
    "WMRecord": "Record",
}

# Messages that differ from the rules, and those that only methods by hand return.
VALUES: Mapping[str, Entry] = {
    "CreateKeyResponse": Entry(shows="a key that begins with {prefix}", hidden="key"),
    "Mapping": Entry(fields={"rules_json": "rules"}),
    "QueryHit": Entry(shows="[{rank}] {title}: {snippet}"),
    "ExplainedHit": Entry(),
    "ExpandedRef": Entry(shows="{text}"),
    "QueryContextResponse": Entry(
        fields={
            "answer_text": "answer.text",
            "answer_refs": "answer.hit_refs",
            "answer_method": "answer.method",
            "answer_reason": "answer.reason",
            "explained": "explained{provider_id: hits}",
        },
    ),
    "SourceTest": Entry(fields={"query": "question.query"}),
    "ContextProvider": Entry(fields={"last_state": "last_test.state", "last_duration_ms": "last_test.duration_ms"}),
    "GetQueryPolicyResponse": Entry(fields={"target_whose": "target.whose", "target_node_ids": "target.node_ids"}),
    "CompressionProfile": Entry(without="is_built_in"),
    "Window": Entry(fields={"message_format": "format"}, more={"forks": "tuple[WindowFork, ...]"}),
    "PackResponse": Entry(
        fields={
            "omitted_step_count": "omitted.step_count",
            "omitted_tokens": "omitted.tokens",
            "omitted_refs": "omitted.refs",
        },
    ),
    "StateChange": Entry(shows="{section} {ref}"),
    "FoldReceipt": Entry(shows="epoch {epoch}: {tokens_before} to {tokens_after} tokens, {reason}"),
    "WindowFork": Entry(),
    "WindowHit": Entry(shows="{item}"),
    "StateEntry": Entry(shows="{section}: {text} ({ref or source})"),
    "RecalledItem": Entry(shows="[{ref}] {role}: {text}"),
    "Recalled": Entry(shows="{prompt_text}"),
    "LeftOutMessage": Entry(shows="of node {node_id}: {reason} ({detail})"),
    "IssueContextKeyResponse": Entry(hidden="key"),
    "Task": Entry(fields={"state": "status.state", "status_message": "status.message", "status_at": "status.time"}),
    "Artifact": Entry(shows="{name or artifact_id} (version {version})", more={"redacted_parts": "tuple[int, ...]"}),
    "Definition": Entry(fields={"rules_json": "rules"}),
    "Memory": Entry(shows="{text}"),
    "RecalledMemory": Entry(shows="{memory.text}"),
    "ReflectMemoriesResponse": Entry(shows="{statement}"),
    "ConsolidateMemoriesResponse": Entry(fields={"merged": "merged{memory_id: merged_ids}"}),
    "KnowledgeBase": Entry(fields={"bedrock_id": "bedrock.knowledge_base_id", "bedrock_region": "bedrock.region"}),
    "SearchHit": Entry(shows="{score:.3f} {record}"),
    "CreateDownloadUrlResponse": Entry(shows="{url}"),
    "Upload": Entry(fields={"id": "upload_id"}),
    "Edge": Entry(shows="{from_node_id} -{edge_type}-> {to_node_id}"),
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
    # contexts, context windows
    "GetMapping": Call(args="mapping_name"),
    "OpenWindow": Call(names={"format": "message_format"}),
    "ListProfiles": Call(args="name"),
    "SetLearning": Call(args="profile app_id"),
    "ForkWindow": Call(defaults={"inherits": '"state"'}),
    "Pin": Call(args="window_id text"),
    "CreateCheckpoint": Call(args="window_id label"),
    "Rollback": Call(args="window_id checkpoint"),
    "RecordUsage": Call(args="window_id", required="input_tokens"),
    "RecordOutcome": Call(args="window_id"),
    # definitions
    "RetireDefinition": Call(args="name version"),
    "GetDefinition": Call(args="name version"),
    "ListCompiledPages": Call(args="definition_name"),
    # knowledge
    "RetainMemory": Call(defaults={"kind": '"fact"'}),
    "RecallMemories": Call(defaults={"limit": "20"}),
    "ReflectMemories": Call(defaults={"limit": "8"}, without="holding_only"),
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
    "ListEdgeTypes": Call(args="graph_name"),
    "ListEdges": Call(defaults={"direction": '"out"'}),
}

_STREAM = "a stream of bytes or messages"
_MASK = "only what is given changes"
_CONTENT = "the content is given in one of several ways"

# RPCs whose methods only Python has by hand, and why.
CALLS_BY_HAND: Mapping[str, str] = {
    "AddDocument": _CONTENT,
    "AppendMessages": "retries, and messages of several kinds",
    "AppendProgress": "JSON that may be null",
    "CreateDownloadUrl": "names a blob in one of several ways",
    "CreateNode": "the fast path of nodes",
    "CreateTask": "the status is given as two arguments",
    "DeleteBlob": "names a blob in one of several ways",
    "DeleteEdge": "names an edge in one of several ways",
    "DeleteWMRecord": "the answer may have no record",
    "ExecuteTool": "JSON in and out",
    "ExportArchive": _STREAM,
    "GetArtifact": "by its ref, too",
    "GetChatHistory": "two methods: messages, and a vendor's format",
    "GetNodeIO": "JSON that may be null",
    "GetRecentCalls": "both services answer it",
    "GetState": "all pages at once",
    "InsertWMRecord": _CONTENT,
    "ListChanges": "pages without a token",
    "PatchState": "entries of two kinds of message",
    "PutArtifact": "parts, and a text as one",
    "PutFacet": "the source is given as two arguments",
    "PutKnowledgeBase": "the base of Bedrock is given as two arguments",
    "QueryContext": "options of providers",
    "QueryWMRecords": "the order is given as texts",
    "ReportResponse": "the pack that is repaired",
    "RunSourceTest": "two methods: a question, and a replay",
    "SearchSimilar": "a vector or a node",
    "SearchWMRecords": _CONTENT,
    "SendMessage": "messages of several kinds",
    "SetNodeIO": "JSON that may be null",
    "StreamQueryContext": "options of providers",
    "UpdateContext": _MASK,
    "UpdateEdgeData": "patch or replacement",
    "UpdateMemory": _MASK,
    "UpdateNodeData": "patch or replacement",
    "UpdateProviderSetting": _MASK,
    "UpdateTask": _MASK,
    "UpsertEmbedding": "the vector is required, after a node that may be named",
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
