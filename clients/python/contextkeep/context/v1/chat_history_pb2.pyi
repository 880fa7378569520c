import datetime

from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FileDelivery(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_DELIVERY_UNSPECIFIED: _ClassVar[FileDelivery]
    FILE_DELIVERY_INLINE: _ClassVar[FileDelivery]
    FILE_DELIVERY_REFERENCES: _ClassVar[FileDelivery]

class MessageFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_FORMAT_UNSPECIFIED: _ClassVar[MessageFormat]
    MESSAGE_FORMAT_OPENAI: _ClassVar[MessageFormat]
    MESSAGE_FORMAT_ANTHROPIC: _ClassVar[MessageFormat]
    MESSAGE_FORMAT_GEMINI: _ClassVar[MessageFormat]
    MESSAGE_FORMAT_OPENAI_RESPONSES: _ClassVar[MessageFormat]

class SkipReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SKIP_REASON_UNSPECIFIED: _ClassVar[SkipReason]
    SKIP_REASON_FILTERED: _ClassVar[SkipReason]
    SKIP_REASON_UNMATCHED: _ClassVar[SkipReason]
    SKIP_REASON_EMPTY: _ClassVar[SkipReason]
    SKIP_REASON_ROLE_UNKNOWN: _ClassVar[SkipReason]
    SKIP_REASON_FAILED: _ClassVar[SkipReason]

class HistoryEventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HISTORY_EVENT_KIND_UNSPECIFIED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_NODE_CREATED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_NODE_CHANGED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_IO_SET: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_STATUS: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_PROGRESS: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_EDGE_CREATED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_CREATED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_UPDATED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_ARCHIVED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_RESTORED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_MOVED: _ClassVar[HistoryEventKind]
    HISTORY_EVENT_KIND_RECORD_PURGED: _ClassVar[HistoryEventKind]
FILE_DELIVERY_UNSPECIFIED: FileDelivery
FILE_DELIVERY_INLINE: FileDelivery
FILE_DELIVERY_REFERENCES: FileDelivery
MESSAGE_FORMAT_UNSPECIFIED: MessageFormat
MESSAGE_FORMAT_OPENAI: MessageFormat
MESSAGE_FORMAT_ANTHROPIC: MessageFormat
MESSAGE_FORMAT_GEMINI: MessageFormat
MESSAGE_FORMAT_OPENAI_RESPONSES: MessageFormat
SKIP_REASON_UNSPECIFIED: SkipReason
SKIP_REASON_FILTERED: SkipReason
SKIP_REASON_UNMATCHED: SkipReason
SKIP_REASON_EMPTY: SkipReason
SKIP_REASON_ROLE_UNKNOWN: SkipReason
SKIP_REASON_FAILED: SkipReason
HISTORY_EVENT_KIND_UNSPECIFIED: HistoryEventKind
HISTORY_EVENT_KIND_NODE_CREATED: HistoryEventKind
HISTORY_EVENT_KIND_NODE_CHANGED: HistoryEventKind
HISTORY_EVENT_KIND_IO_SET: HistoryEventKind
HISTORY_EVENT_KIND_STATUS: HistoryEventKind
HISTORY_EVENT_KIND_PROGRESS: HistoryEventKind
HISTORY_EVENT_KIND_EDGE_CREATED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_CREATED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_UPDATED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_ARCHIVED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_RESTORED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_MOVED: HistoryEventKind
HISTORY_EVENT_KIND_RECORD_PURGED: HistoryEventKind

class GetChatHistoryRequest(_message.Message):
    __slots__ = ("node_id", "app_id", "mapping_name", "max_messages", "strict", "format", "external_id", "graph_name", "tokens_max", "files")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    app_id: str
    mapping_name: str
    max_messages: int
    strict: bool
    format: MessageFormat
    external_id: str
    graph_name: str
    tokens_max: int
    files: FileDelivery
    def __init__(self, node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., max_messages: _Optional[int] = ..., strict: _Optional[bool] = ..., format: _Optional[_Union[MessageFormat, str]] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., tokens_max: _Optional[int] = ..., files: _Optional[_Union[FileDelivery, str]] = ...) -> None: ...

class BodyFile(_message.Message):
    __slots__ = ("offset_bytes", "pointer", "working_memory_id", "sha256", "size_bytes", "media_type")
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    offset_bytes: int
    pointer: str
    working_memory_id: str
    sha256: str
    size_bytes: int
    media_type: str
    def __init__(self, offset_bytes: _Optional[int] = ..., pointer: _Optional[str] = ..., working_memory_id: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., media_type: _Optional[str] = ...) -> None: ...

class GetChatHistoryResponse(_message.Message):
    __slots__ = ("messages", "nodes_failed", "roles_unknown", "formatted_json", "tool_results_left_out", "tool_calls_unanswered", "tokens", "is_cut", "files")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NODES_FAILED_FIELD_NUMBER: _ClassVar[int]
    ROLES_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    FORMATTED_JSON_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    nodes_failed: int
    roles_unknown: int
    formatted_json: str
    tool_results_left_out: int
    tool_calls_unanswered: int
    tokens: int
    is_cut: bool
    files: _containers.RepeatedCompositeFieldContainer[BodyFile]
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., nodes_failed: _Optional[int] = ..., roles_unknown: _Optional[int] = ..., formatted_json: _Optional[str] = ..., tool_results_left_out: _Optional[int] = ..., tool_calls_unanswered: _Optional[int] = ..., tokens: _Optional[int] = ..., is_cut: _Optional[bool] = ..., files: _Optional[_Iterable[_Union[BodyFile, _Mapping]]] = ...) -> None: ...

class StreamChatHistoryRequest(_message.Message):
    __slots__ = ("node_id", "app_id", "mapping_name", "max_messages", "strict", "external_id", "graph_name", "tokens_max")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    app_id: str
    mapping_name: str
    max_messages: int
    strict: bool
    external_id: str
    graph_name: str
    tokens_max: int
    def __init__(self, node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., max_messages: _Optional[int] = ..., strict: _Optional[bool] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., tokens_max: _Optional[int] = ...) -> None: ...

class StreamChatHistoryResponse(_message.Message):
    __slots__ = ("messages", "nodes_failed", "roles_unknown", "tokens", "is_cut")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NODES_FAILED_FIELD_NUMBER: _ClassVar[int]
    ROLES_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    nodes_failed: int
    roles_unknown: int
    tokens: int
    is_cut: bool
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., nodes_failed: _Optional[int] = ..., roles_unknown: _Optional[int] = ..., tokens: _Optional[int] = ..., is_cut: _Optional[bool] = ...) -> None: ...

class AssembleContextRequest(_message.Message):
    __slots__ = ("node_id", "app_id", "mapping_name", "max_messages", "data_paths", "page_size", "page_token", "external_id", "graph_name")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    DATA_PATHS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    app_id: str
    mapping_name: str
    max_messages: int
    data_paths: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., max_messages: _Optional[int] = ..., data_paths: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class AssembleContextResponse(_message.Message):
    __slots__ = ("nodes", "next_page_token")
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[AssembledNode]
    next_page_token: str
    def __init__(self, nodes: _Optional[_Iterable[_Union[AssembledNode, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AssembledNode(_message.Message):
    __slots__ = ("node_id", "external_id", "name", "type", "general_type", "depth", "edge_id", "edge_type", "from_node_id", "created_at", "modified_at", "values_json", "messages", "skipped")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    GENERAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    VALUES_JSON_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    external_id: str
    name: str
    type: str
    general_type: str
    depth: int
    edge_id: str
    edge_type: str
    from_node_id: str
    created_at: _timestamp_pb2.Timestamp
    modified_at: _timestamp_pb2.Timestamp
    values_json: str
    messages: _containers.RepeatedCompositeFieldContainer[GivenMessage]
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedRule]
    def __init__(self, node_id: _Optional[str] = ..., external_id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., general_type: _Optional[str] = ..., depth: _Optional[int] = ..., edge_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., from_node_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., values_json: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[GivenMessage, _Mapping]]] = ..., skipped: _Optional[_Iterable[_Union[SkippedRule, _Mapping]]] = ...) -> None: ...

class GivenMessage(_message.Message):
    __slots__ = ("message", "rule")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.ChatMessage
    rule: str
    def __init__(self, message: _Optional[_Union[_message_pb2.ChatMessage, _Mapping]] = ..., rule: _Optional[str] = ...) -> None: ...

class SkippedRule(_message.Message):
    __slots__ = ("reason", "rule", "error", "elements")
    REASON_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    reason: SkipReason
    rule: str
    error: str
    elements: int
    def __init__(self, reason: _Optional[_Union[SkipReason, str]] = ..., rule: _Optional[str] = ..., error: _Optional[str] = ..., elements: _Optional[int] = ...) -> None: ...

class MappingRules(_message.Message):
    __slots__ = ("edge_types", "direction", "depth_max", "entity_types", "include_start", "include_archived", "filter", "messages", "order_by", "order", "role_field", "content_field", "order_field", "role_mapping", "ordering", "group_by")
    class RoleMappingEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_MAX_FIELD_NUMBER: _ClassVar[int]
    ENTITY_TYPES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_START_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_FIELD_NUMBER: _ClassVar[int]
    ROLE_MAPPING_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    direction: str
    depth_max: int
    entity_types: _containers.RepeatedScalarFieldContainer[str]
    include_start: bool
    include_archived: bool
    filter: str
    messages: _containers.RepeatedCompositeFieldContainer[MessageRule]
    order_by: str
    order: str
    role_field: str
    content_field: str
    order_field: str
    role_mapping: _containers.ScalarMap[str, str]
    ordering: str
    group_by: str
    def __init__(self, edge_types: _Optional[_Iterable[str]] = ..., direction: _Optional[str] = ..., depth_max: _Optional[int] = ..., entity_types: _Optional[_Iterable[str]] = ..., include_start: _Optional[bool] = ..., include_archived: _Optional[bool] = ..., filter: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[MessageRule, _Mapping]]] = ..., order_by: _Optional[str] = ..., order: _Optional[str] = ..., role_field: _Optional[str] = ..., content_field: _Optional[str] = ..., order_field: _Optional[str] = ..., role_mapping: _Optional[_Mapping[str, str]] = ..., ordering: _Optional[str] = ..., group_by: _Optional[str] = ...) -> None: ...

class MessageRule(_message.Message):
    __slots__ = ("role", "content", "when", "for_each", "name", "parts", "metadata", "turn")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    FOR_EACH_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    role: str
    content: str
    when: str
    for_each: str
    name: str
    parts: str
    metadata: str
    turn: str
    def __init__(self, role: _Optional[str] = ..., content: _Optional[str] = ..., when: _Optional[str] = ..., for_each: _Optional[str] = ..., name: _Optional[str] = ..., parts: _Optional[str] = ..., metadata: _Optional[str] = ..., turn: _Optional[str] = ...) -> None: ...

class Mapping(_message.Message):
    __slots__ = ("app_id", "mapping_name", "rules", "rules_version", "version", "built_in", "error", "created_at", "updated_at", "imported")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    RULES_VERSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BUILT_IN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    mapping_name: str
    rules: MappingRules
    rules_version: int
    version: int
    built_in: bool
    error: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., rules: _Optional[_Union[MappingRules, _Mapping]] = ..., rules_version: _Optional[int] = ..., version: _Optional[int] = ..., built_in: _Optional[bool] = ..., error: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class RegisterMappingRequest(_message.Message):
    __slots__ = ("app_id", "mapping_name", "rules", "rules_version", "replace")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    RULES_VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    mapping_name: str
    rules: MappingRules
    rules_version: int
    replace: bool
    def __init__(self, app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., rules: _Optional[_Union[MappingRules, _Mapping]] = ..., rules_version: _Optional[int] = ..., replace: _Optional[bool] = ...) -> None: ...

class RegisterMappingResponse(_message.Message):
    __slots__ = ("mapping", "changed")
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    mapping: Mapping
    changed: bool
    def __init__(self, mapping: _Optional[_Union[Mapping, _Mapping]] = ..., changed: _Optional[bool] = ...) -> None: ...

class GetMappingRequest(_message.Message):
    __slots__ = ("app_id", "mapping_name")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    mapping_name: str
    def __init__(self, app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ...) -> None: ...

class GetMappingResponse(_message.Message):
    __slots__ = ("mapping",)
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    mapping: Mapping
    def __init__(self, mapping: _Optional[_Union[Mapping, _Mapping]] = ...) -> None: ...

class ListMappingsRequest(_message.Message):
    __slots__ = ("app_id", "page_size", "page_token")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    page_size: int
    page_token: str
    def __init__(self, app_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMappingsResponse(_message.Message):
    __slots__ = ("mappings", "next_page_token")
    MAPPINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    mappings: _containers.RepeatedCompositeFieldContainer[Mapping]
    next_page_token: str
    def __init__(self, mappings: _Optional[_Iterable[_Union[Mapping, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteMappingRequest(_message.Message):
    __slots__ = ("app_id", "mapping_name")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    mapping_name: str
    def __init__(self, app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ...) -> None: ...

class DeleteMappingResponse(_message.Message):
    __slots__ = ("mapping",)
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    mapping: Mapping
    def __init__(self, mapping: _Optional[_Union[Mapping, _Mapping]] = ...) -> None: ...

class TestMappingRequest(_message.Message):
    __slots__ = ("rules", "node_id", "nodes", "root", "page_size", "page_token", "external_id", "graph_name")
    RULES_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    rules: MappingRules
    node_id: str
    nodes: _containers.RepeatedCompositeFieldContainer[SampleNode]
    root: SampleNode
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, rules: _Optional[_Union[MappingRules, _Mapping]] = ..., node_id: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[SampleNode, _Mapping]]] = ..., root: _Optional[_Union[SampleNode, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class SampleNode(_message.Message):
    __slots__ = ("id", "external_id", "name", "type", "general_type", "status", "data_json", "input_json", "output_json", "created_at", "modified_at", "edge_type", "depth", "edge_data_json", "edges_json", "path_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    GENERAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    EDGE_DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    EDGES_JSON_FIELD_NUMBER: _ClassVar[int]
    PATH_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    external_id: str
    name: str
    type: str
    general_type: str
    status: str
    data_json: str
    input_json: str
    output_json: str
    created_at: _timestamp_pb2.Timestamp
    modified_at: _timestamp_pb2.Timestamp
    edge_type: str
    depth: int
    edge_data_json: str
    edges_json: str
    path_json: str
    def __init__(self, id: _Optional[str] = ..., external_id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[str] = ..., general_type: _Optional[str] = ..., status: _Optional[str] = ..., data_json: _Optional[str] = ..., input_json: _Optional[str] = ..., output_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., edge_type: _Optional[str] = ..., depth: _Optional[int] = ..., edge_data_json: _Optional[str] = ..., edges_json: _Optional[str] = ..., path_json: _Optional[str] = ...) -> None: ...

class TestMappingResponse(_message.Message):
    __slots__ = ("nodes", "next_page_token")
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeTrial]
    next_page_token: str
    def __init__(self, nodes: _Optional[_Iterable[_Union[NodeTrial, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class NodeTrial(_message.Message):
    __slots__ = ("node_id", "included", "decided_by", "messages", "skipped", "evaluations", "evaluations_left_out", "duration_us")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDED_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    EVALUATIONS_FIELD_NUMBER: _ClassVar[int]
    EVALUATIONS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    included: bool
    decided_by: str
    messages: _containers.RepeatedCompositeFieldContainer[GivenMessage]
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedRule]
    evaluations: _containers.RepeatedCompositeFieldContainer[Evaluation]
    evaluations_left_out: int
    duration_us: int
    def __init__(self, node_id: _Optional[str] = ..., included: _Optional[bool] = ..., decided_by: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[GivenMessage, _Mapping]]] = ..., skipped: _Optional[_Iterable[_Union[SkippedRule, _Mapping]]] = ..., evaluations: _Optional[_Iterable[_Union[Evaluation, _Mapping]]] = ..., evaluations_left_out: _Optional[int] = ..., duration_us: _Optional[int] = ...) -> None: ...

class Evaluation(_message.Message):
    __slots__ = ("rule", "element", "value_json", "value_left_out", "error", "duration_us")
    RULE_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    VALUE_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    rule: str
    element: int
    value_json: str
    value_left_out: bool
    error: str
    duration_us: int
    def __init__(self, rule: _Optional[str] = ..., element: _Optional[int] = ..., value_json: _Optional[str] = ..., value_left_out: _Optional[bool] = ..., error: _Optional[str] = ..., duration_us: _Optional[int] = ...) -> None: ...

class FetchEntityHistoryRequest(_message.Message):
    __slots__ = ("node_id", "descending", "page_size", "page_token", "external_id", "graph_name")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    descending: bool
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, node_id: _Optional[str] = ..., descending: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class FetchEntityHistoryResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[HistoryEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[HistoryEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class HistoryEvent(_message.Message):
    __slots__ = ("kind", "time", "principal", "node_id", "edge_id", "working_memory_id", "request_id", "document_json")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_JSON_FIELD_NUMBER: _ClassVar[int]
    kind: HistoryEventKind
    time: _timestamp_pb2.Timestamp
    principal: str
    node_id: str
    edge_id: str
    working_memory_id: str
    request_id: str
    document_json: str
    def __init__(self, kind: _Optional[_Union[HistoryEventKind, str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., principal: _Optional[str] = ..., node_id: _Optional[str] = ..., edge_id: _Optional[str] = ..., working_memory_id: _Optional[str] = ..., request_id: _Optional[str] = ..., document_json: _Optional[str] = ...) -> None: ...
