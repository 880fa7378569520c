import datetime

from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecordStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_STATUS_UNSPECIFIED: _ClassVar[RecordStatus]
    RECORD_STATUS_ACTIVE: _ClassVar[RecordStatus]
    RECORD_STATUS_ARCHIVED: _ClassVar[RecordStatus]

class IndexState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INDEX_STATE_UNSPECIFIED: _ClassVar[IndexState]
    INDEX_STATE_NONE: _ClassVar[IndexState]
    INDEX_STATE_PENDING: _ClassVar[IndexState]
    INDEX_STATE_INDEXED: _ClassVar[IndexState]
    INDEX_STATE_FAILED: _ClassVar[IndexState]

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_TEXT: _ClassVar[SearchMode]
    SEARCH_MODE_VECTOR: _ClassVar[SearchMode]
    SEARCH_MODE_FUSED: _ClassVar[SearchMode]

class RecordActionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_ACTION_KIND_UNSPECIFIED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_CREATED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_UPDATED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_ARCHIVED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_RESTORED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_MOVED: _ClassVar[RecordActionKind]
    RECORD_ACTION_KIND_PURGED: _ClassVar[RecordActionKind]
RECORD_STATUS_UNSPECIFIED: RecordStatus
RECORD_STATUS_ACTIVE: RecordStatus
RECORD_STATUS_ARCHIVED: RecordStatus
INDEX_STATE_UNSPECIFIED: IndexState
INDEX_STATE_NONE: IndexState
INDEX_STATE_PENDING: IndexState
INDEX_STATE_INDEXED: IndexState
INDEX_STATE_FAILED: IndexState
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_TEXT: SearchMode
SEARCH_MODE_VECTOR: SearchMode
SEARCH_MODE_FUSED: SearchMode
RECORD_ACTION_KIND_UNSPECIFIED: RecordActionKind
RECORD_ACTION_KIND_CREATED: RecordActionKind
RECORD_ACTION_KIND_UPDATED: RecordActionKind
RECORD_ACTION_KIND_ARCHIVED: RecordActionKind
RECORD_ACTION_KIND_RESTORED: RecordActionKind
RECORD_ACTION_KIND_MOVED: RecordActionKind
RECORD_ACTION_KIND_PURGED: RecordActionKind

class WMRecord(_message.Message):
    __slots__ = ("working_memory_id", "entity_node_id", "memory_type", "subtype", "semantic_purpose", "name", "description", "reasoning", "content_type", "metadata_json", "content_json", "provider", "blob_key", "size_bytes", "sha256", "status", "tags", "graph_name", "agent_bundle_id", "app_id", "context_id", "created_by", "owner_user_id", "agent_id", "expires_at", "created_at", "updated_at", "version", "index_state", "index_error", "content_text", "text_state", "text_error", "imported")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    SUBTYPE_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_PURPOSE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INDEX_STATE_FIELD_NUMBER: _ClassVar[int]
    INDEX_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_STATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_ERROR_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    entity_node_id: str
    memory_type: str
    subtype: str
    semantic_purpose: str
    name: str
    description: str
    reasoning: str
    content_type: str
    metadata_json: str
    content_json: str
    provider: str
    blob_key: str
    size_bytes: int
    sha256: str
    status: RecordStatus
    tags: _containers.RepeatedScalarFieldContainer[str]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    context_id: str
    created_by: str
    owner_user_id: str
    agent_id: str
    expires_at: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    version: int
    index_state: IndexState
    index_error: str
    content_text: str
    text_state: IndexState
    text_error: str
    imported: _message_pb2.Imported
    def __init__(self, working_memory_id: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., memory_type: _Optional[str] = ..., subtype: _Optional[str] = ..., semantic_purpose: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., reasoning: _Optional[str] = ..., content_type: _Optional[str] = ..., metadata_json: _Optional[str] = ..., content_json: _Optional[str] = ..., provider: _Optional[str] = ..., blob_key: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., status: _Optional[_Union[RecordStatus, str]] = ..., tags: _Optional[_Iterable[str]] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., app_id: _Optional[str] = ..., context_id: _Optional[str] = ..., created_by: _Optional[str] = ..., owner_user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., index_state: _Optional[_Union[IndexState, str]] = ..., index_error: _Optional[str] = ..., content_text: _Optional[str] = ..., text_state: _Optional[_Union[IndexState, str]] = ..., text_error: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class WMRecordInput(_message.Message):
    __slots__ = ("working_memory_id", "entity_node_id", "memory_type", "subtype", "semantic_purpose", "name", "description", "reasoning", "content_type", "metadata_json", "content_json", "tags", "graph_name", "agent_bundle_id", "app_id", "expires_at", "embedding", "content_text")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    SUBTYPE_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_PURPOSE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TEXT_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    entity_node_id: str
    memory_type: str
    subtype: str
    semantic_purpose: str
    name: str
    description: str
    reasoning: str
    content_type: str
    metadata_json: str
    content_json: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    expires_at: _timestamp_pb2.Timestamp
    embedding: Embedding
    content_text: str
    def __init__(self, working_memory_id: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., memory_type: _Optional[str] = ..., subtype: _Optional[str] = ..., semantic_purpose: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., reasoning: _Optional[str] = ..., content_type: _Optional[str] = ..., metadata_json: _Optional[str] = ..., content_json: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., app_id: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., embedding: _Optional[_Union[Embedding, _Mapping]] = ..., content_text: _Optional[str] = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("values", "model")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    model: str
    def __init__(self, values: _Optional[_Iterable[float]] = ..., model: _Optional[str] = ...) -> None: ...

class InsertWMRecordRequest(_message.Message):
    __slots__ = ("record", "request_id")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    record: WMRecordInput
    request_id: str
    def __init__(self, record: _Optional[_Union[WMRecordInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class InsertWMRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class FetchWMRecordRequest(_message.Message):
    __slots__ = ("working_memory_id", "include_archived")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    include_archived: bool
    def __init__(self, working_memory_id: _Optional[str] = ..., include_archived: _Optional[bool] = ...) -> None: ...

class FetchWMRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class UpdateWMRecordRequest(_message.Message):
    __slots__ = ("record", "update_mask", "expected_version", "request_id")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    record: WMRecordInput
    update_mask: _field_mask_pb2.FieldMask
    expected_version: int
    request_id: str
    def __init__(self, record: _Optional[_Union[WMRecordInput, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateWMRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class FetchWMRecordsByEntityRequest(_message.Message):
    __slots__ = ("entity_node_id", "memory_types", "subtypes", "semantic_purposes", "names", "name_prefix", "tags", "metadata_contains_json", "include_archived", "with_content", "page_size", "page_token", "external_id", "graph_name")
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPES_FIELD_NUMBER: _ClassVar[int]
    SUBTYPES_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_PURPOSES_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    WITH_CONTENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    entity_node_id: str
    memory_types: _containers.RepeatedScalarFieldContainer[str]
    subtypes: _containers.RepeatedScalarFieldContainer[str]
    semantic_purposes: _containers.RepeatedScalarFieldContainer[str]
    names: _containers.RepeatedScalarFieldContainer[str]
    name_prefix: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata_contains_json: str
    include_archived: bool
    with_content: bool
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, entity_node_id: _Optional[str] = ..., memory_types: _Optional[_Iterable[str]] = ..., subtypes: _Optional[_Iterable[str]] = ..., semantic_purposes: _Optional[_Iterable[str]] = ..., names: _Optional[_Iterable[str]] = ..., name_prefix: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata_contains_json: _Optional[str] = ..., include_archived: _Optional[bool] = ..., with_content: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class FetchWMRecordsByEntityResponse(_message.Message):
    __slots__ = ("records", "next_page_token")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[WMRecord]
    next_page_token: str
    def __init__(self, records: _Optional[_Iterable[_Union[WMRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FetchWMManifestRequest(_message.Message):
    __slots__ = ("root_node_id", "depth_max", "edge_types", "memory_types", "subtypes", "semantic_purposes", "names", "name_prefix", "tags", "metadata_contains_json", "include_archived", "counts_only", "records_max", "page_size", "page_token", "external_id", "graph_name")
    ROOT_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DEPTH_MAX_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPES_FIELD_NUMBER: _ClassVar[int]
    SUBTYPES_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_PURPOSES_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_ONLY_FIELD_NUMBER: _ClassVar[int]
    RECORDS_MAX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    root_node_id: str
    depth_max: int
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    memory_types: _containers.RepeatedScalarFieldContainer[str]
    subtypes: _containers.RepeatedScalarFieldContainer[str]
    semantic_purposes: _containers.RepeatedScalarFieldContainer[str]
    names: _containers.RepeatedScalarFieldContainer[str]
    name_prefix: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata_contains_json: str
    include_archived: bool
    counts_only: bool
    records_max: int
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, root_node_id: _Optional[str] = ..., depth_max: _Optional[int] = ..., edge_types: _Optional[_Iterable[str]] = ..., memory_types: _Optional[_Iterable[str]] = ..., subtypes: _Optional[_Iterable[str]] = ..., semantic_purposes: _Optional[_Iterable[str]] = ..., names: _Optional[_Iterable[str]] = ..., name_prefix: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata_contains_json: _Optional[str] = ..., include_archived: _Optional[bool] = ..., counts_only: _Optional[bool] = ..., records_max: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class FetchWMManifestResponse(_message.Message):
    __slots__ = ("entities", "next_page_token")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[ManifestEntity]
    next_page_token: str
    def __init__(self, entities: _Optional[_Iterable[_Union[ManifestEntity, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ManifestEntity(_message.Message):
    __slots__ = ("entity_node_id", "name", "specific_type_name", "parent_node_id", "edge_type", "depth", "path", "groups")
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPECIFIC_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    PARENT_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    entity_node_id: str
    name: str
    specific_type_name: str
    parent_node_id: str
    edge_type: str
    depth: int
    path: _containers.RepeatedScalarFieldContainer[str]
    groups: _containers.RepeatedCompositeFieldContainer[ManifestGroup]
    def __init__(self, entity_node_id: _Optional[str] = ..., name: _Optional[str] = ..., specific_type_name: _Optional[str] = ..., parent_node_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., depth: _Optional[int] = ..., path: _Optional[_Iterable[str]] = ..., groups: _Optional[_Iterable[_Union[ManifestGroup, _Mapping]]] = ...) -> None: ...

class ManifestGroup(_message.Message):
    __slots__ = ("memory_type", "record_count", "size_bytes", "records")
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    memory_type: str
    record_count: int
    size_bytes: int
    records: _containers.RepeatedCompositeFieldContainer[WMRecord]
    def __init__(self, memory_type: _Optional[str] = ..., record_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., records: _Optional[_Iterable[_Union[WMRecord, _Mapping]]] = ...) -> None: ...

class SearchWMRecordsRequest(_message.Message):
    __slots__ = ("text", "embedding", "mode", "entity_node_ids", "memory_types", "graph_name", "agent_bundle_id", "app_id", "where_json", "include_archived", "limit", "with_content", "offset")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPES_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    WHERE_JSON_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WITH_CONTENT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    text: str
    embedding: Embedding
    mode: SearchMode
    entity_node_ids: _containers.RepeatedScalarFieldContainer[str]
    memory_types: _containers.RepeatedScalarFieldContainer[str]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    where_json: str
    include_archived: bool
    limit: int
    with_content: bool
    offset: int
    def __init__(self, text: _Optional[str] = ..., embedding: _Optional[_Union[Embedding, _Mapping]] = ..., mode: _Optional[_Union[SearchMode, str]] = ..., entity_node_ids: _Optional[_Iterable[str]] = ..., memory_types: _Optional[_Iterable[str]] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., app_id: _Optional[str] = ..., where_json: _Optional[str] = ..., include_archived: _Optional[bool] = ..., limit: _Optional[int] = ..., with_content: _Optional[bool] = ..., offset: _Optional[int] = ...) -> None: ...

class SearchWMRecordsResponse(_message.Message):
    __slots__ = ("hits",)
    HITS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("record", "score", "text_place", "text_score", "vector_place", "similarity", "approximate")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TEXT_PLACE_FIELD_NUMBER: _ClassVar[int]
    TEXT_SCORE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_PLACE_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    APPROXIMATE_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    score: float
    text_place: int
    text_score: float
    vector_place: int
    similarity: float
    approximate: bool
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ..., score: _Optional[float] = ..., text_place: _Optional[int] = ..., text_score: _Optional[float] = ..., vector_place: _Optional[int] = ..., similarity: _Optional[float] = ..., approximate: _Optional[bool] = ...) -> None: ...

class QueryWMRecordsRequest(_message.Message):
    __slots__ = ("select", "where_json", "group_by", "order_by", "limit", "include_archived", "offset")
    SELECT_FIELD_NUMBER: _ClassVar[int]
    WHERE_JSON_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    select: _containers.RepeatedScalarFieldContainer[str]
    where_json: str
    group_by: _containers.RepeatedScalarFieldContainer[str]
    order_by: _containers.RepeatedCompositeFieldContainer[QueryOrder]
    limit: int
    include_archived: bool
    offset: int
    def __init__(self, select: _Optional[_Iterable[str]] = ..., where_json: _Optional[str] = ..., group_by: _Optional[_Iterable[str]] = ..., order_by: _Optional[_Iterable[_Union[QueryOrder, _Mapping]]] = ..., limit: _Optional[int] = ..., include_archived: _Optional[bool] = ..., offset: _Optional[int] = ...) -> None: ...

class QueryOrder(_message.Message):
    __slots__ = ("column", "descending")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    column: str
    descending: bool
    def __init__(self, column: _Optional[str] = ..., descending: _Optional[bool] = ...) -> None: ...

class QueryWMRecordsResponse(_message.Message):
    __slots__ = ("rows_json", "has_more")
    ROWS_JSON_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    rows_json: _containers.RepeatedScalarFieldContainer[str]
    has_more: bool
    def __init__(self, rows_json: _Optional[_Iterable[str]] = ..., has_more: _Optional[bool] = ...) -> None: ...

class DeleteWMRecordRequest(_message.Message):
    __slots__ = ("working_memory_id", "purge")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    purge: bool
    def __init__(self, working_memory_id: _Optional[str] = ..., purge: _Optional[bool] = ...) -> None: ...

class DeleteWMRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class RestoreWMRecordRequest(_message.Message):
    __slots__ = ("working_memory_id",)
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    def __init__(self, working_memory_id: _Optional[str] = ...) -> None: ...

class RestoreWMRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class ListWMRecordActionsRequest(_message.Message):
    __slots__ = ("working_memory_id", "page_size", "page_token")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    page_size: int
    page_token: str
    def __init__(self, working_memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWMRecordActionsResponse(_message.Message):
    __slots__ = ("actions", "next_page_token")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedCompositeFieldContainer[WMRecordAction]
    next_page_token: str
    def __init__(self, actions: _Optional[_Iterable[_Union[WMRecordAction, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WMRecordAction(_message.Message):
    __slots__ = ("kind", "created_at", "principal", "request_id", "details_json")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DETAILS_JSON_FIELD_NUMBER: _ClassVar[int]
    kind: RecordActionKind
    created_at: _timestamp_pb2.Timestamp
    principal: str
    request_id: str
    details_json: str
    def __init__(self, kind: _Optional[_Union[RecordActionKind, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., principal: _Optional[str] = ..., request_id: _Optional[str] = ..., details_json: _Optional[str] = ...) -> None: ...

class UploadBlobRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: UploadHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[UploadHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class UploadHeader(_message.Message):
    __slots__ = ("record", "size_bytes", "sha256", "request_id")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    record: WMRecordInput
    size_bytes: int
    sha256: str
    request_id: str
    def __init__(self, record: _Optional[_Union[WMRecordInput, _Mapping]] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UploadBlobResponse(_message.Message):
    __slots__ = ("working_memory_id", "blob_key", "size_bytes", "sha256", "record")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    size_bytes: int
    sha256: str
    record: WMRecord
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class StartUploadRequest(_message.Message):
    __slots__ = ("record", "size_bytes", "sha256", "request_id")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    record: WMRecordInput
    size_bytes: int
    sha256: str
    request_id: str
    def __init__(self, record: _Optional[_Union[WMRecordInput, _Mapping]] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class StartUploadResponse(_message.Message):
    __slots__ = ("upload",)
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    upload: Upload
    def __init__(self, upload: _Optional[_Union[Upload, _Mapping]] = ...) -> None: ...

class Upload(_message.Message):
    __slots__ = ("upload_id", "offset_bytes", "size_bytes", "expires_at", "part_bytes_max", "record")
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    PART_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    offset_bytes: int
    size_bytes: int
    expires_at: _timestamp_pb2.Timestamp
    part_bytes_max: int
    record: WMRecord
    def __init__(self, upload_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., size_bytes: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., part_bytes_max: _Optional[int] = ..., record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class AppendUploadRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: AppendHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[AppendHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class AppendHeader(_message.Message):
    __slots__ = ("upload_id", "offset_bytes")
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    offset_bytes: int
    def __init__(self, upload_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ...) -> None: ...

class AppendUploadResponse(_message.Message):
    __slots__ = ("upload",)
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    upload: Upload
    def __init__(self, upload: _Optional[_Union[Upload, _Mapping]] = ...) -> None: ...

class AppendUploadPartRequest(_message.Message):
    __slots__ = ("upload_id", "offset_bytes", "content")
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    offset_bytes: int
    content: bytes
    def __init__(self, upload_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class AppendUploadPartResponse(_message.Message):
    __slots__ = ("upload",)
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    upload: Upload
    def __init__(self, upload: _Optional[_Union[Upload, _Mapping]] = ...) -> None: ...

class GetUploadRequest(_message.Message):
    __slots__ = ("upload_id",)
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    def __init__(self, upload_id: _Optional[str] = ...) -> None: ...

class GetUploadResponse(_message.Message):
    __slots__ = ("upload",)
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    upload: Upload
    def __init__(self, upload: _Optional[_Union[Upload, _Mapping]] = ...) -> None: ...

class FinishUploadRequest(_message.Message):
    __slots__ = ("upload_id", "size_bytes", "sha256")
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    size_bytes: int
    sha256: str
    def __init__(self, upload_id: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class FinishUploadResponse(_message.Message):
    __slots__ = ("working_memory_id", "blob_key", "size_bytes", "sha256", "record")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    size_bytes: int
    sha256: str
    record: WMRecord
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., record: _Optional[_Union[WMRecord, _Mapping]] = ...) -> None: ...

class GetBlobRequest(_message.Message):
    __slots__ = ("working_memory_id", "blob_key", "offset_bytes", "length_bytes", "include_archived", "subject_user_id")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_BYTES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    offset_bytes: int
    length_bytes: int
    include_archived: bool
    subject_user_id: str
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., length_bytes: _Optional[int] = ..., include_archived: _Optional[bool] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetBlobResponse(_message.Message):
    __slots__ = ("record", "chunk")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    chunk: bytes
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class GetContentRequest(_message.Message):
    __slots__ = ("working_memory_id", "blob_key", "include_archived", "subject_user_id", "offset_bytes", "length_bytes")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_BYTES_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    include_archived: bool
    subject_user_id: str
    offset_bytes: int
    length_bytes: int
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ..., include_archived: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., length_bytes: _Optional[int] = ...) -> None: ...

class GetContentResponse(_message.Message):
    __slots__ = ("record", "content")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    content: bytes
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ..., content: _Optional[bytes] = ...) -> None: ...

class CreateDownloadUrlRequest(_message.Message):
    __slots__ = ("working_memory_id", "blob_key", "include_archived", "lifetime_s")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_S_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    include_archived: bool
    lifetime_s: int
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ..., include_archived: _Optional[bool] = ..., lifetime_s: _Optional[int] = ...) -> None: ...

class CreateDownloadUrlResponse(_message.Message):
    __slots__ = ("record", "url", "expires_at")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    record: WMRecord
    url: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, record: _Optional[_Union[WMRecord, _Mapping]] = ..., url: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeleteBlobRequest(_message.Message):
    __slots__ = ("working_memory_id", "blob_key")
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    blob_key: str
    def __init__(self, working_memory_id: _Optional[str] = ..., blob_key: _Optional[str] = ...) -> None: ...

class DeleteBlobResponse(_message.Message):
    __slots__ = ("working_memory_id",)
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    working_memory_id: str
    def __init__(self, working_memory_id: _Optional[str] = ...) -> None: ...

class ListBlobsRequest(_message.Message):
    __slots__ = ("entity_node_id", "include_archived", "page_size", "page_token", "external_id", "graph_name")
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    entity_node_id: str
    include_archived: bool
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, entity_node_id: _Optional[str] = ..., include_archived: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class ListBlobsResponse(_message.Message):
    __slots__ = ("blobs", "next_page_token")
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    blobs: _containers.RepeatedCompositeFieldContainer[BlobEntry]
    next_page_token: str
    def __init__(self, blobs: _Optional[_Iterable[_Union[BlobEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class BlobEntry(_message.Message):
    __slots__ = ("blob_key", "working_memory_id", "name", "memory_type", "content_type", "size_bytes", "sha256", "created_at")
    BLOB_KEY_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    blob_key: str
    working_memory_id: str
    name: str
    memory_type: str
    content_type: str
    size_bytes: int
    sha256: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, blob_key: _Optional[str] = ..., working_memory_id: _Optional[str] = ..., name: _Optional[str] = ..., memory_type: _Optional[str] = ..., content_type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
