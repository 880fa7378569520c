"""Where values and methods differ from the rules in the Python client only. `clients_table.py` has what both share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from clients_table import ANY_JSON, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Value):
    """A value. Lists of names are texts, with a space between two names."""

    hidden: str = ""  # attributes that are not shown when the value is printed, such as a key
    late: str = ""  # long lists that few callers read: they are made from the message when they are first read
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
    """How a message, an enum, or a JSON text, of a request is given."""

    type: str
    convert: str  # the expression of the message: "{}" is the argument, "{place}" its path in the request
    imports: Mapping[str, str] = field(default_factory=dict)  # a name by its module
    takes_none: bool = False  # `convert` does
    takes_list: bool = False  # `convert` converts a whole list
    default: str = "None"
    comment: str = ""  # instead of the comment of the proto


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """A message of a request that is given as several arguments, or several fields that are given as one argument."""

    arguments: Mapping[str, str]  # types and comments by names: "str: The id."; without a comment: that of the field
    convert: str  # the expression of the message, or of the fields
    imports: Mapping[str, str] = field(default_factory=dict)  # a name by its module


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a method differs from the rules."""

    args: str = ""  # the positional arguments in their order; empty: those that must be given
    required: str = ""  # keyword arguments that must be given, though no rule says so
    without: str = ""  # fields that the method lacks
    names: Mapping[str, str] = field(default_factory=dict)  # of arguments
    defaults: Mapping[str, str] = field(default_factory=dict)  # expressions
    may_repeat: str = ""  # the condition, if a call that fails is not always sent again
    flat: str = ""  # messages whose fields are arguments, though other requests have them as a value
    whole: str = ""  # messages that are one argument, though other requests have their fields as arguments
    together: str = ""  # an argument of `TOGETHER`
    maybe: bool = False  # the answer may be without its value
    at_once: bool = False  # return a list of all pages instead of a generator
    masked: Set[str] = frozenset()  # fields next to an `update_mask`, which change only if they are given
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
    "AppendProgressResponse": _by_hand("AppendedEnvelope", "progress"),
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
    "ListChangesResponse": _by_hand("ChangePage", "graphs"),
    "Part": _by_hand("Part", "messages"),
    "PutArtifactResponse": ByHand(
        type="Artifact",
        function="artifact_of",
        imports={"contextkeep.values": "Artifact", "contextkeep.values.contexts": "artifact_of"},
    ),
    "QueryWMRecordsResponse": _by_hand("QueryAnswer", "records"),
    "SendMessageResponse": ByHand(
        type="SentMessage",
        function="SentMessage.of_answer",
        imports={"contextkeep.values.contexts": "SentMessage"},
    ),
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
    "Mapping": "ChatMapping",
    "PromotedLesson": "Lesson",
    "RecordOutcomeResponse": "Outcome",
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
    "SourceTest": Entry(
        fields={
            "query": "question.query",
            "mode": "question.mode",
            "scope": "question.scope",
            "depth": "question.depth",
            "agent_id": "question.agent_id",
            "context_ids": "question.context_ids",
            "metadata_json": "question.metadata_json",
            "limit": "question.limit",
            "provider_ids": "question.providers.ids",
            "families": "question.providers.families",
            "node_ids": "question.provider_options.workspace.node_ids",
            "memory_mode": "question.provider_options.memory.query_mode",
            "time_from": "question.time_from",
            "time_to": "question.time_to",
            "score_min": "question.score_min",
        }
    ),
    "ContextProvider": Entry(
        fields={
            "last_state": "last_test.state",
            "last_duration_ms": "last_test.duration_ms",
            "tested_at": "last_test.tested_at",
        },
    ),
    "GetQueryPolicyResponse": Entry(fields={"target_whose": "target.whose", "target_node_ids": "target.node_ids"}),
    "CompressionProfile": Entry(without="is_built_in"),
    "Window": Entry(fields={"message_format": "format"}, more={"forks": "tuple[WindowFork, ...]"}),
    "PackResponse": Entry(
        fields={
            "omitted_step_count": "omitted.step_count",
            "omitted_tokens": "omitted.tokens",
            "omitted_refs": "omitted.refs",
        },
        more={"file_bytes": "tuple[bytes, ...]"},
        hidden="file_bytes",
        late="spans",
    ),
    "BodyFile": Entry(shows="{media_type} {sha256}"),
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
    "MemoryRevision": Entry(shows="{text}"),
    "RecalledMemory": Entry(shows="{memory.text}"),
    "ReflectMemoriesResponse": Entry(shows="{statement}"),
    "ConsolidateMemoriesResponse": Entry(fields={"merged": "merged{memory_id: merged_ids}"}),
    "KnowledgeBase": Entry(fields={"bedrock_id": "bedrock.knowledge_base_id", "bedrock_region": "bedrock.region"}),
    "SearchHit": Entry(shows="{score:.3f} {record}"),
    "CreateDownloadUrlResponse": Entry(shows="{url}"),
    "Upload": Entry(fields={"id": "upload_id"}),
    "Edge": Entry(shows="{from_node_id} -{edge_type}-> {to_node_id}"),
}


def _given(type: str, function: str, module: str = "_context_messages as contexts", **others: Any) -> Input:
    """Return how a value of `contextkeep.inputs` is given."""
    alias = module.partition(" as ")[2]
    imports = {"contextkeep.inputs": re.split(r"\W", type)[0], "contextkeep.client": module}
    return Input(type=type, convert=f"{alias}.{function}", imports={**imports, **others.pop("imports", {})}, **others)


def _enum_given(type: str, enum: str, default: str = '""') -> Input:
    """Return how an enum is given whose names callers may write in upper case."""
    return Input(
        type=type,
        convert=f'messages.choice_of("{{place}}", {{}}, entity_graph_pb.{enum})',
        imports={"contextkeep.client._messages": type, "contextkeep.client": "_messages as messages"},
        default=default,
    )


INPUTS: Mapping[str, Input] = {
    "ArtifactInput": _given(
        "ArtifactInput | PartInput | str",
        "artifact_input({})",
        comment="The artifact; or a part, or a text, which is an artifact of its own.",
    ),
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
    "DataUpdate": Input(
        type="bool",
        convert="messages.data_update({})",
        imports={"contextkeep.client": "_messages as messages"},
        default="False",
        comment="Replace the data. Otherwise `data` is a JSON merge patch (RFC 7396): None removes a key.",
    ),
    "EnvelopeStatus": _enum_given("GivenEnvelopeStatus", "EnvelopeStatus"),
    "EnvelopeType": _enum_given("GivenEnvelopeType", "EnvelopeType"),
    "ExternalId": _given("ExternalId", 'external_id({}, field="{place}")', takes_none=True),
    "MappingRules": Input(
        type="Mapping[str, Any]",
        convert="messages.mapping_rules({})",
        imports={"collections.abc": "Mapping", "typing": "Any", "contextkeep.client": "_messages as messages"},
    ),
    "MessageInput": _given(
        "MessageInput | str", 'message_input({}, field="{place}")', comment="The message, or the text of a user."
    ),
    "QueryOrder": Input(
        type="str",
        convert='messages.query_orders("{place}", {})',
        imports={"contextkeep.client": "_messages as messages"},
        takes_list=True,
        comment="Columns to sort by; `-column` sorts in descending order. Texts sort by code points; for a path, "
        "numbers come before texts; missing values come last. Empty: newest first, or groups by their values.",
    ),
    "RecallFilter": _given("RecallFilter", 'recall_filter({}, field="{place}")', takes_none=True),
    "RecallOptions": _given(
        "RecallOptions | Literal[False]",
        "recall_for_message({})",
        takes_none=True,
        imports={"typing": "Literal"},
        comment="Options of the recall for the message; False recalls nothing. By default a message of a user in a "
        "context that existed before recalls passages, and other messages recall nothing.",
    ),
    "SampleNode": _given("SampleNode", 'sample_node("{place}", {})', "_messages as messages"),
    "StateEntryInput": _given("StateEntryInput", 'state_entry({}, field="{place}")'),
    "StateEntryName": _given("StateEntryInput", 'state_entry_name({}, field="{place}")'),
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

# Messages of requests that are several arguments.
APART: Mapping[str, Several] = {
    "BedrockKnowledgeBase": Several(
        arguments={"bedrock_id": "str", "bedrock_region": "str"},
        convert="messages.bedrock_base(bedrock_id, bedrock_region)",
        imports={"contextkeep.client": "_messages as messages"},
    ),
    "MemoryOptions": Several(
        arguments={"memory_mode": "MemoryQueryMode | None"},
        convert="query_messages.memory_options(memory_mode)",
        imports={"contextkeep.client": "_query_messages as query_messages", "contextkeep.values": "MemoryQueryMode"},
    ),
    "TaskStatusInput": Several(
        arguments={"state": "TaskState | None", "status_message": "MessageInput | str | None"},
        convert="contexts.task_status(state, status_message)",
        imports={
            "contextkeep.client": "_context_messages as contexts",
            "contextkeep.inputs": "MessageInput",
            "contextkeep.values": "TaskState",
        },
    ),
    "WorkspaceOptions": Several(
        arguments={"node_ids": "Iterable[Id] | None"},
        convert="query_messages.workspace_options(node_ids)",
        imports={
            "collections.abc": "Iterable",
            "contextkeep.client": "_query_messages as query_messages",
            "contextkeep.client._messages": "Id",
        },
    ),
}

# Arguments that are several fields of requests, which the values name.
TOGETHER: Mapping[str, tuple[str, Several]] = {
    "blob": (
        "working_memory_id blob_key",
        Several(
            arguments={"blob": "BlobName: A record, the id of a record, or the key of a blob."},
            convert="**messages.blob_name(blob)",
            imports={"contextkeep.client": "_messages as messages", "contextkeep.client._messages": "BlobName"},
        ),
    ),
}

# What arguments mean that have no comment in the protos, as in most requests.
COMMENTS: Mapping[str, str] = {
    "subject_user_id": "The user for whom a key without a user calls.",
    "page_size": "Items of one page. 0: 100.",
    "request_id": "A UUID. The same one again answers as the first time and changes nothing. Default: a new one.",
}

CALLS: Mapping[str, Call] = {
    # contexts, context windows
    "SendMessage": Call(args="message context_id", whole="recall"),
    "PutArtifact": Call(args="task_id artifact"),
    "UpdateTask": Call(args="task_id", without="reference_task_ids"),
    "PatchState": Call(args="window_id entries", names={"set": "entries"}),
    "GetState": Call(args="window_id sections", defaults={"page_size": "1_000"}, at_once=True),
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
    "PutFacet": Call(args="page_id slug text", flat="facet", defaults={"heading": '""'}, maybe=True),
    # records
    "CreateDownloadUrl": Call(args="blob", together="blob", defaults={"lifetime_s": "900"}),
    "DeleteBlob": Call(args="blob", together="blob"),
    "DeleteWMRecord": Call(maybe=True),
    "ExecuteTool": Call(args="tool_name arguments", defaults={"arguments_json": "None"}, may_repeat="read_only"),
    "QueryWMRecords": Call(args="select", required="select"),
    # knowledge
    "UpdateMemory": Call(without="app_id agent_bundle_id"),
    "UpdateProviderSetting": Call(args="provider_id", required="provider_id"),
    "RetainMemory": Call(defaults={"kind": '"fact"'}),
    "RecallMemories": Call(defaults={"limit": "20"}),
    "ReflectMemories": Call(defaults={"limit": "3"}, without="holding_only"),
    "GetPage": Call(args="slug"),
    "ListPages": Call(args="slug_prefix"),
    "ListPageVersions": Call(args="slug"),
    "DeletePage": Call(args="slug"),
    # entity_graph
    # Archiving a version again fails: the first attempt may have archived it, and made the next version.
    "ArchiveNode": Call(may_repeat="expected_version is None"),
    "UpdateNodeStatus": Call(args="node_id status"),
    "UpdateNodeData": Call(args="node_id data", names={"update": "replace"}),
    "UpdateEdgeData": Call(args="edge_id data", names={"update": "replace"}),
    "UpsertEmbedding": Call(args="node_id vector"),
    "AppendProgress": Call(args="node_id type", defaults={"type": '"message"'}),
    "ListChanges": Call(args="place"),
    "DeleteEmbedding": Call(args="node_id name"),
    "GetOwned": Call(args="subject"),
    "ListEdgeTypes": Call(args="graph_name"),
    "ListEdges": Call(defaults={"direction": '"out"'}),
}

_STREAM = "a stream of bytes or messages"
_MASK = "only given fields change"
_CONTENT = "the content is given in one of several ways"

# RPCs whose methods only Python has by hand, and why.
CALLS_BY_HAND: Mapping[str, str] = {
    "AddDocument": _CONTENT,
    "AppendMessages": "retries, and messages of several kinds",
    "CreateNode": "the fast path of nodes",
    "DeleteEdge": "names an edge in one of several ways",
    "ExportArchive": _STREAM,
    "GetArtifact": "by its ref, too",
    "GetChatHistory": "two methods: messages, and a vendor's format",
    "GetRecentCalls": "both services answer it",
    "InsertWMRecord": _CONTENT,
    "QueryContext": "options of providers",
    "ReportResponse": "the pack that is repaired",
    "RunSourceTest": "two methods: a question, and a replay",
    "SearchSimilar": "a vector or a node",
    "SearchWMRecords": _CONTENT,
    "StreamQueryContext": "options of providers",
    "UpdateContext": _MASK,
    "WriteGraph": "the fast path of nodes",
}

# What a class of calls says of itself, where no class by hand does.
NOUNS: Mapping[str, str] = {
    "agent_templates": "Templates of agents.",
    "agents": "Agents. An agent that the caller may not name is reported like one that does not exist.",
    "changes": "Changes of graphs.",
    "context_settings": "Settings for contexts: what the service may do with those of a tenant, an app or an agent.",
    "compiled_pages": "Pages compiled by definitions.",
    "definitions": "Definitions of compiled pages.",
    "erasures": "Erasures of subjects. All calls need the scope admin, of a key without bounds.",
    "holds": "Holds. All calls need the scope admin, of a key without bounds.",
    "jobs": "Jobs. All calls need the scope operator, which only the command line gives.",
    "keys": "API keys. All calls but `get_caller` need the scope admin.",
    "mappings": "Mappings: how nodes become messages.",
    "mcp_servers": "MCP servers. All calls need the scope admin; a bound key cannot write.",
    "pages": "Wiki pages of a user: the key's, or `subject_user_id`, for which a key needs the scope `delegate`.",
    "profiles": "Compression profiles.",
    "progress": "Timelines of nodes.",
    "specialists": "Specialists. All calls need the scope admin; a bound key cannot write.",
    "tasks": "Tasks of contexts. Without a `context_id`, a method uses the context of the task.",
    "tools": "Tools for models.",
}
