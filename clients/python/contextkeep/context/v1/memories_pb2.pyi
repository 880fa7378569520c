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

class MemoryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_KIND_UNSPECIFIED: _ClassVar[MemoryKind]
    MEMORY_KIND_FACT: _ClassVar[MemoryKind]
    MEMORY_KIND_PREFERENCE: _ClassVar[MemoryKind]
    MEMORY_KIND_EXPERIENCE: _ClassVar[MemoryKind]
    MEMORY_KIND_OBSERVATION: _ClassVar[MemoryKind]
    MEMORY_KIND_EVENT: _ClassVar[MemoryKind]
    MEMORY_KIND_COMMITMENT: _ClassVar[MemoryKind]

class MemoryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATE_UNSPECIFIED: _ClassVar[MemoryState]
    MEMORY_STATE_PENDING: _ClassVar[MemoryState]
    MEMORY_STATE_INDEXED: _ClassVar[MemoryState]
    MEMORY_STATE_FAILED: _ClassVar[MemoryState]
MEMORY_KIND_UNSPECIFIED: MemoryKind
MEMORY_KIND_FACT: MemoryKind
MEMORY_KIND_PREFERENCE: MemoryKind
MEMORY_KIND_EXPERIENCE: MemoryKind
MEMORY_KIND_OBSERVATION: MemoryKind
MEMORY_KIND_EVENT: MemoryKind
MEMORY_KIND_COMMITMENT: MemoryKind
MEMORY_STATE_UNSPECIFIED: MemoryState
MEMORY_STATE_PENDING: MemoryState
MEMORY_STATE_INDEXED: MemoryState
MEMORY_STATE_FAILED: MemoryState

class MemoryInput(_message.Message):
    __slots__ = ("text", "kind", "confidence", "source", "happened_at", "key", "experience", "app_id", "agent_bundle_id", "valid_from", "valid_to", "expires_at", "metadata_json", "tags")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_AT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    text: str
    kind: MemoryKind
    confidence: float
    source: MemorySource
    happened_at: _timestamp_pb2.Timestamp
    key: str
    experience: MemoryExperience
    app_id: str
    agent_bundle_id: str
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    metadata_json: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., confidence: _Optional[float] = ..., source: _Optional[_Union[MemorySource, _Mapping]] = ..., happened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., key: _Optional[str] = ..., experience: _Optional[_Union[MemoryExperience, _Mapping]] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata_json: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class MemorySource(_message.Message):
    __slots__ = ("label", "uri", "context_id", "ref")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    label: str
    uri: str
    context_id: str
    ref: str
    def __init__(self, label: _Optional[str] = ..., uri: _Optional[str] = ..., context_id: _Optional[str] = ..., ref: _Optional[str] = ...) -> None: ...

class MemoryExperience(_message.Message):
    __slots__ = ("goal", "outcome", "quality")
    GOAL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    QUALITY_FIELD_NUMBER: _ClassVar[int]
    goal: str
    outcome: str
    quality: float
    def __init__(self, goal: _Optional[str] = ..., outcome: _Optional[str] = ..., quality: _Optional[float] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("memory_id", "text", "kind", "confidence", "sources", "happened_at", "key", "experience", "state", "superseded_by", "contradicts", "version", "owner_user_id", "app_id", "agent_bundle_id", "created_by", "created_at", "updated_at", "imported", "valid_from", "valid_to", "expires_at", "metadata_json", "tags", "is_learned")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_AT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    IS_LEARNED_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    text: str
    kind: MemoryKind
    confidence: float
    sources: _containers.RepeatedCompositeFieldContainer[MemorySource]
    happened_at: _timestamp_pb2.Timestamp
    key: str
    experience: MemoryExperience
    state: MemoryState
    superseded_by: str
    contradicts: _containers.RepeatedScalarFieldContainer[str]
    version: int
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    metadata_json: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    is_learned: bool
    def __init__(self, memory_id: _Optional[str] = ..., text: _Optional[str] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., confidence: _Optional[float] = ..., sources: _Optional[_Iterable[_Union[MemorySource, _Mapping]]] = ..., happened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., key: _Optional[str] = ..., experience: _Optional[_Union[MemoryExperience, _Mapping]] = ..., state: _Optional[_Union[MemoryState, str]] = ..., superseded_by: _Optional[str] = ..., contradicts: _Optional[_Iterable[str]] = ..., version: _Optional[int] = ..., owner_user_id: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata_json: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., is_learned: _Optional[bool] = ...) -> None: ...

class RetainMemoryRequest(_message.Message):
    __slots__ = ("memory", "subject_user_id", "request_id")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory: MemoryInput
    subject_user_id: str
    request_id: str
    def __init__(self, memory: _Optional[_Union[MemoryInput, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetainMemoryResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class RecallMemoriesRequest(_message.Message):
    __slots__ = ("query", "limit", "filter", "subject_user_id", "score_min")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_MIN_FIELD_NUMBER: _ClassVar[int]
    query: str
    limit: int
    filter: MemoryFilter
    subject_user_id: str
    score_min: float
    def __init__(self, query: _Optional[str] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[MemoryFilter, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., score_min: _Optional[float] = ...) -> None: ...

class MemoryFilter(_message.Message):
    __slots__ = ("kinds", "key", "holding_only", "happened_from", "happened_to", "as_of", "tags", "metadata_contains_json")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    HOLDING_ONLY_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_FROM_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_TO_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[MemoryKind]
    key: str
    holding_only: bool
    happened_from: _timestamp_pb2.Timestamp
    happened_to: _timestamp_pb2.Timestamp
    as_of: _timestamp_pb2.Timestamp
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata_contains_json: str
    def __init__(self, kinds: _Optional[_Iterable[_Union[MemoryKind, str]]] = ..., key: _Optional[str] = ..., holding_only: _Optional[bool] = ..., happened_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., happened_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., metadata_contains_json: _Optional[str] = ...) -> None: ...

class RecallMemoriesResponse(_message.Message):
    __slots__ = ("memories", "mode", "meaning_error")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MEANING_ERROR_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[RecalledMemory]
    mode: str
    meaning_error: str
    def __init__(self, memories: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., mode: _Optional[str] = ..., meaning_error: _Optional[str] = ...) -> None: ...

class RecalledMemory(_message.Message):
    __slots__ = ("memory", "score")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    score: float
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class ReflectMemoriesRequest(_message.Message):
    __slots__ = ("query", "limit", "filter", "subject_user_id", "tokens_max")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    query: str
    limit: int
    filter: MemoryFilter
    subject_user_id: str
    tokens_max: int
    def __init__(self, query: _Optional[str] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[MemoryFilter, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., tokens_max: _Optional[int] = ...) -> None: ...

class ReflectMemoriesResponse(_message.Message):
    __slots__ = ("statement", "memory_ids", "superseded_ids", "method", "mode", "meaning_error")
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_IDS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MEANING_ERROR_FIELD_NUMBER: _ClassVar[int]
    statement: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    superseded_ids: _containers.RepeatedScalarFieldContainer[str]
    method: str
    mode: str
    meaning_error: str
    def __init__(self, statement: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., superseded_ids: _Optional[_Iterable[str]] = ..., method: _Optional[str] = ..., mode: _Optional[str] = ..., meaning_error: _Optional[str] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("filter", "subject_user_id", "page_size", "page_token")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: MemoryFilter
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[MemoryFilter, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[Memory]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("memory_id", "memory", "update_mask", "expected_version", "subject_user_id", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    memory: MemoryInput
    update_mask: _field_mask_pb2.FieldMask
    expected_version: int
    subject_user_id: str
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., memory: _Optional[_Union[MemoryInput, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., expected_version: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateMemoryResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class ListMemoryRevisionsRequest(_message.Message):
    __slots__ = ("memory_id", "subject_user_id", "page_size", "page_token")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, memory_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMemoryRevisionsResponse(_message.Message):
    __slots__ = ("revisions", "next_page_token")
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    revisions: _containers.RepeatedCompositeFieldContainer[MemoryRevision]
    next_page_token: str
    def __init__(self, revisions: _Optional[_Iterable[_Union[MemoryRevision, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class MemoryRevision(_message.Message):
    __slots__ = ("version", "text", "kind", "confidence", "sources", "happened_at", "key", "experience", "valid_from", "valid_to", "expires_at", "metadata_json", "tags", "replaced_at", "replaced_by", "imported")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_AT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    REPLACED_AT_FIELD_NUMBER: _ClassVar[int]
    REPLACED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    version: int
    text: str
    kind: MemoryKind
    confidence: float
    sources: _containers.RepeatedCompositeFieldContainer[MemorySource]
    happened_at: _timestamp_pb2.Timestamp
    key: str
    experience: MemoryExperience
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    metadata_json: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    replaced_at: _timestamp_pb2.Timestamp
    replaced_by: str
    imported: _message_pb2.Imported
    def __init__(self, version: _Optional[int] = ..., text: _Optional[str] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., confidence: _Optional[float] = ..., sources: _Optional[_Iterable[_Union[MemorySource, _Mapping]]] = ..., happened_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., key: _Optional[str] = ..., experience: _Optional[_Union[MemoryExperience, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata_json: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., replaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., replaced_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class ForgetMemoryRequest(_message.Message):
    __slots__ = ("memory_id", "subject_user_id", "request_id")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, memory_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForgetMemoryResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConsolidateMemoriesRequest(_message.Message):
    __slots__ = ("run_context_ids", "apply", "plan", "subject_user_id", "request_id")
    RUN_CONTEXT_IDS_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    run_context_ids: _containers.RepeatedScalarFieldContainer[str]
    apply: bool
    plan: str
    subject_user_id: str
    request_id: str
    def __init__(self, run_context_ids: _Optional[_Iterable[str]] = ..., apply: _Optional[bool] = ..., plan: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ConsolidateMemoriesResponse(_message.Message):
    __slots__ = ("plan", "merged", "promoted", "has_more", "is_applied")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    PROMOTED_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    IS_APPLIED_FIELD_NUMBER: _ClassVar[int]
    plan: str
    merged: _containers.RepeatedCompositeFieldContainer[MergedMemories]
    promoted: _containers.RepeatedCompositeFieldContainer[PromotedLesson]
    has_more: bool
    is_applied: bool
    def __init__(self, plan: _Optional[str] = ..., merged: _Optional[_Iterable[_Union[MergedMemories, _Mapping]]] = ..., promoted: _Optional[_Iterable[_Union[PromotedLesson, _Mapping]]] = ..., has_more: _Optional[bool] = ..., is_applied: _Optional[bool] = ...) -> None: ...

class MergedMemories(_message.Message):
    __slots__ = ("memory_id", "text", "merged_ids")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MERGED_IDS_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    text: str
    merged_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory_id: _Optional[str] = ..., text: _Optional[str] = ..., merged_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class PromotedLesson(_message.Message):
    __slots__ = ("memory_id", "text", "experience_ids")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_IDS_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    text: str
    experience_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory_id: _Optional[str] = ..., text: _Optional[str] = ..., experience_ids: _Optional[_Iterable[str]] = ...) -> None: ...
