import datetime

from contextkeep.context.v1 import artifacts_pb2 as _artifacts_pb2
from contextkeep.context.v1 import context_settings_pb2 as _context_settings_pb2
from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep.context.v1 import tasks_pb2 as _tasks_pb2
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

class ErasureState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASURE_STATE_UNSPECIFIED: _ClassVar[ErasureState]
    ERASURE_STATE_RUNNING: _ClassVar[ErasureState]
    ERASURE_STATE_FINISHED: _ClassVar[ErasureState]

class ContextState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTEXT_STATE_UNSPECIFIED: _ClassVar[ContextState]
    CONTEXT_STATE_OPEN: _ClassVar[ContextState]
    CONTEXT_STATE_CLOSED: _ClassVar[ContextState]
ERASURE_STATE_UNSPECIFIED: ErasureState
ERASURE_STATE_RUNNING: ErasureState
ERASURE_STATE_FINISHED: ErasureState
CONTEXT_STATE_UNSPECIFIED: ContextState
CONTEXT_STATE_OPEN: ContextState
CONTEXT_STATE_CLOSED: ContextState

class WatchContextRequest(_message.Message):
    __slots__ = ("until_now", "context_id", "seq_from", "change_after", "subject_user_id")
    UNTIL_NOW_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FROM_FIELD_NUMBER: _ClassVar[int]
    CHANGE_AFTER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    until_now: bool
    context_id: str
    seq_from: int
    change_after: int
    subject_user_id: str
    def __init__(self, until_now: _Optional[bool] = ..., context_id: _Optional[str] = ..., seq_from: _Optional[int] = ..., change_after: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class WatchContextResponse(_message.Message):
    __slots__ = ("message", "task", "artifact", "retracted", "context", "seq_from", "change_after")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FROM_FIELD_NUMBER: _ClassVar[int]
    CHANGE_AFTER_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.ChatMessage
    task: _tasks_pb2.Task
    artifact: _artifacts_pb2.Artifact
    retracted: RetractedMessages
    context: Context
    seq_from: int
    change_after: int
    def __init__(self, message: _Optional[_Union[_message_pb2.ChatMessage, _Mapping]] = ..., task: _Optional[_Union[_tasks_pb2.Task, _Mapping]] = ..., artifact: _Optional[_Union[_artifacts_pb2.Artifact, _Mapping]] = ..., retracted: _Optional[_Union[RetractedMessages, _Mapping]] = ..., context: _Optional[_Union[Context, _Mapping]] = ..., seq_from: _Optional[int] = ..., change_after: _Optional[int] = ...) -> None: ...

class RetractedMessages(_message.Message):
    __slots__ = ("seqs", "message_ids")
    SEQS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    seqs: _containers.RepeatedScalarFieldContainer[int]
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seqs: _Optional[_Iterable[int]] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Erasure(_message.Message):
    __slots__ = ("erasure_id", "context_id", "state", "created_at", "finished_at", "requested_by", "message_count", "messages_removed", "passages_removed", "vectors_removed", "external_ids_removed", "answers_removed", "keys_ended", "tasks_removed", "artifacts_removed", "windows_removed", "window_steps_removed")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_BY_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_REMOVED_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_REMOVED_FIELD_NUMBER: _ClassVar[int]
    VECTORS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_IDS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    KEYS_ENDED_FIELD_NUMBER: _ClassVar[int]
    TASKS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    WINDOW_STEPS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    context_id: str
    state: ErasureState
    created_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    requested_by: str
    message_count: int
    messages_removed: int
    passages_removed: int
    vectors_removed: int
    external_ids_removed: int
    answers_removed: int
    keys_ended: int
    tasks_removed: int
    artifacts_removed: int
    windows_removed: int
    window_steps_removed: int
    def __init__(self, erasure_id: _Optional[str] = ..., context_id: _Optional[str] = ..., state: _Optional[_Union[ErasureState, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requested_by: _Optional[str] = ..., message_count: _Optional[int] = ..., messages_removed: _Optional[int] = ..., passages_removed: _Optional[int] = ..., vectors_removed: _Optional[int] = ..., external_ids_removed: _Optional[int] = ..., answers_removed: _Optional[int] = ..., keys_ended: _Optional[int] = ..., tasks_removed: _Optional[int] = ..., artifacts_removed: _Optional[int] = ..., windows_removed: _Optional[int] = ..., window_steps_removed: _Optional[int] = ...) -> None: ...

class ExternalId(_message.Message):
    __slots__ = ("system", "id")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    system: str
    id: str
    def __init__(self, system: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Context(_message.Message):
    __slots__ = ("context_id", "title", "external_ids", "metadata_json", "entity_node_id", "agent_ids", "app_id", "agent_bundle_id", "owner_user_id", "created_by", "created_at", "updated_at", "expires_at", "state", "recall_profile", "last_seq", "message_count", "token_count", "index", "ancestor_ids", "imported", "models", "is_findable", "learning")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_IDS_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_IDS_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RECALL_PROFILE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ANCESTOR_IDS_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    IS_FINDABLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    title: str
    external_ids: _containers.RepeatedCompositeFieldContainer[ExternalId]
    metadata_json: str
    entity_node_id: str
    agent_ids: _containers.RepeatedScalarFieldContainer[str]
    app_id: str
    agent_bundle_id: str
    owner_user_id: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    state: ContextState
    recall_profile: str
    last_seq: int
    message_count: int
    token_count: int
    index: ContextIndex
    ancestor_ids: _containers.RepeatedScalarFieldContainer[str]
    imported: _message_pb2.Imported
    models: _context_settings_pb2.ModelUse
    is_findable: bool
    learning: _context_settings_pb2.LearningMode
    def __init__(self, context_id: _Optional[str] = ..., title: _Optional[str] = ..., external_ids: _Optional[_Iterable[_Union[ExternalId, _Mapping]]] = ..., metadata_json: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., agent_ids: _Optional[_Iterable[str]] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., owner_user_id: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[ContextState, str]] = ..., recall_profile: _Optional[str] = ..., last_seq: _Optional[int] = ..., message_count: _Optional[int] = ..., token_count: _Optional[int] = ..., index: _Optional[_Union[ContextIndex, _Mapping]] = ..., ancestor_ids: _Optional[_Iterable[str]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ..., models: _Optional[_Union[_context_settings_pb2.ModelUse, str]] = ..., is_findable: _Optional[bool] = ..., learning: _Optional[_Union[_context_settings_pb2.LearningMode, str]] = ...) -> None: ...

class ContextIndex(_message.Message):
    __slots__ = ("passage_count", "indexed_count", "pending_count", "failed_count", "oldest_pending_at", "error", "unread", "without_text_count")
    PASSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    INDEXED_COUNT_FIELD_NUMBER: _ClassVar[int]
    PENDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OLDEST_PENDING_AT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_TEXT_COUNT_FIELD_NUMBER: _ClassVar[int]
    passage_count: int
    indexed_count: int
    pending_count: int
    failed_count: int
    oldest_pending_at: _timestamp_pb2.Timestamp
    error: str
    unread: _containers.RepeatedCompositeFieldContainer[UnreadRecord]
    without_text_count: int
    def __init__(self, passage_count: _Optional[int] = ..., indexed_count: _Optional[int] = ..., pending_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., oldest_pending_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., error: _Optional[str] = ..., unread: _Optional[_Iterable[_Union[UnreadRecord, _Mapping]]] = ..., without_text_count: _Optional[int] = ...) -> None: ...

class UnreadRecord(_message.Message):
    __slots__ = ("seq", "part", "working_memory_id", "reason", "detail", "task_id", "artifact_id")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    seq: int
    part: int
    working_memory_id: str
    reason: str
    detail: str
    task_id: str
    artifact_id: str
    def __init__(self, seq: _Optional[int] = ..., part: _Optional[int] = ..., working_memory_id: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ..., task_id: _Optional[str] = ..., artifact_id: _Optional[str] = ...) -> None: ...

class ContextInput(_message.Message):
    __slots__ = ("title", "external_ids", "metadata_json", "entity_node_id", "app_id", "agent_bundle_id", "expires_at", "recall_profile", "models", "is_findable", "learning")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_IDS_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    RECALL_PROFILE_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    IS_FINDABLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    title: str
    external_ids: _containers.RepeatedCompositeFieldContainer[ExternalId]
    metadata_json: str
    entity_node_id: str
    app_id: str
    agent_bundle_id: str
    expires_at: _timestamp_pb2.Timestamp
    recall_profile: str
    models: _context_settings_pb2.ModelUse
    is_findable: bool
    learning: _context_settings_pb2.LearningMode
    def __init__(self, title: _Optional[str] = ..., external_ids: _Optional[_Iterable[_Union[ExternalId, _Mapping]]] = ..., metadata_json: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recall_profile: _Optional[str] = ..., models: _Optional[_Union[_context_settings_pb2.ModelUse, str]] = ..., is_findable: _Optional[bool] = ..., learning: _Optional[_Union[_context_settings_pb2.LearningMode, str]] = ...) -> None: ...

class SentMessage(_message.Message):
    __slots__ = ("message_id", "seq", "created_at", "tokens", "redacted_parts")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    REDACTED_PARTS_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    seq: int
    created_at: _timestamp_pb2.Timestamp
    tokens: int
    redacted_parts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, message_id: _Optional[str] = ..., seq: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tokens: _Optional[int] = ..., redacted_parts: _Optional[_Iterable[int]] = ...) -> None: ...

class SendMessageRequest(_message.Message):
    __slots__ = ("context_id", "message", "context", "get_or_create", "standalone", "subject_user_id", "request_id", "recall")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    GET_OR_CREATE_FIELD_NUMBER: _ClassVar[int]
    STANDALONE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    message: _message_pb2.MessageInput
    context: ContextInput
    get_or_create: ExternalId
    standalone: bool
    subject_user_id: str
    request_id: str
    recall: RecallOptions
    def __init__(self, context_id: _Optional[str] = ..., message: _Optional[_Union[_message_pb2.MessageInput, _Mapping]] = ..., context: _Optional[_Union[ContextInput, _Mapping]] = ..., get_or_create: _Optional[_Union[ExternalId, _Mapping]] = ..., standalone: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ..., recall: _Optional[_Union[RecallOptions, _Mapping]] = ...) -> None: ...

class SendMessageResponse(_message.Message):
    __slots__ = ("context_id", "message", "created", "recall")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    message: SentMessage
    created: bool
    recall: Recalled
    def __init__(self, context_id: _Optional[str] = ..., message: _Optional[_Union[SentMessage, _Mapping]] = ..., created: _Optional[bool] = ..., recall: _Optional[_Union[Recalled, _Mapping]] = ...) -> None: ...

class RecallOptions(_message.Message):
    __slots__ = ("off", "tokens_max", "items_max", "profile", "not_after_seq", "filter", "with_features", "score_min")
    OFF_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    ITEMS_MAX_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    NOT_AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    WITH_FEATURES_FIELD_NUMBER: _ClassVar[int]
    SCORE_MIN_FIELD_NUMBER: _ClassVar[int]
    off: bool
    tokens_max: int
    items_max: int
    profile: str
    not_after_seq: int
    filter: RecallFilter
    with_features: bool
    score_min: float
    def __init__(self, off: _Optional[bool] = ..., tokens_max: _Optional[int] = ..., items_max: _Optional[int] = ..., profile: _Optional[str] = ..., not_after_seq: _Optional[int] = ..., filter: _Optional[_Union[RecallFilter, _Mapping]] = ..., with_features: _Optional[bool] = ..., score_min: _Optional[float] = ...) -> None: ...

class RecallFilter(_message.Message):
    __slots__ = ("roles", "kinds", "authors", "said_from", "said_to", "seq_from", "seq_to", "task_ids", "entity_node_ids")
    ROLES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AUTHORS_FIELD_NUMBER: _ClassVar[int]
    SAID_FROM_FIELD_NUMBER: _ClassVar[int]
    SAID_TO_FIELD_NUMBER: _ClassVar[int]
    SEQ_FROM_FIELD_NUMBER: _ClassVar[int]
    SEQ_TO_FIELD_NUMBER: _ClassVar[int]
    TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    authors: _containers.RepeatedScalarFieldContainer[str]
    said_from: _timestamp_pb2.Timestamp
    said_to: _timestamp_pb2.Timestamp
    seq_from: int
    seq_to: int
    task_ids: _containers.RepeatedScalarFieldContainer[str]
    entity_node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, roles: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., authors: _Optional[_Iterable[str]] = ..., said_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., said_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seq_from: _Optional[int] = ..., seq_to: _Optional[int] = ..., task_ids: _Optional[_Iterable[str]] = ..., entity_node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RecalledItem(_message.Message):
    __slots__ = ("ref", "kind", "seq", "message_id", "role", "name", "said_at", "text", "tokens", "score", "features", "task_id", "artifact_id", "superseded_by", "is_imported")
    class FeaturesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    REF_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    IS_IMPORTED_FIELD_NUMBER: _ClassVar[int]
    ref: str
    kind: str
    seq: int
    message_id: str
    role: str
    name: str
    said_at: _timestamp_pb2.Timestamp
    text: str
    tokens: int
    score: float
    features: _containers.ScalarMap[str, float]
    task_id: str
    artifact_id: str
    superseded_by: str
    is_imported: bool
    def __init__(self, ref: _Optional[str] = ..., kind: _Optional[str] = ..., seq: _Optional[int] = ..., message_id: _Optional[str] = ..., role: _Optional[str] = ..., name: _Optional[str] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ..., tokens: _Optional[int] = ..., score: _Optional[float] = ..., features: _Optional[_Mapping[str, float]] = ..., task_id: _Optional[str] = ..., artifact_id: _Optional[str] = ..., superseded_by: _Optional[str] = ..., is_imported: _Optional[bool] = ...) -> None: ...

class Recalled(_message.Message):
    __slots__ = ("items", "prompt_text", "tokens", "left_out_count", "error", "by_meaning", "irrelevant_count")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BY_MEANING_FIELD_NUMBER: _ClassVar[int]
    IRRELEVANT_COUNT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RecalledItem]
    prompt_text: str
    tokens: int
    left_out_count: int
    error: str
    by_meaning: ByMeaning
    irrelevant_count: int
    def __init__(self, items: _Optional[_Iterable[_Union[RecalledItem, _Mapping]]] = ..., prompt_text: _Optional[str] = ..., tokens: _Optional[int] = ..., left_out_count: _Optional[int] = ..., error: _Optional[str] = ..., by_meaning: _Optional[_Union[ByMeaning, _Mapping]] = ..., irrelevant_count: _Optional[int] = ...) -> None: ...

class ByMeaning(_message.Message):
    __slots__ = ("is_compared", "error", "pending_count", "is_reranked", "reranker_error")
    IS_COMPARED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PENDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_RERANKED_FIELD_NUMBER: _ClassVar[int]
    RERANKER_ERROR_FIELD_NUMBER: _ClassVar[int]
    is_compared: bool
    error: str
    pending_count: int
    is_reranked: bool
    reranker_error: str
    def __init__(self, is_compared: _Optional[bool] = ..., error: _Optional[str] = ..., pending_count: _Optional[int] = ..., is_reranked: _Optional[bool] = ..., reranker_error: _Optional[str] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("context_id", "text", "options", "subject_user_id", "reference_task_ids")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    text: str
    options: RecallOptions
    subject_user_id: str
    reference_task_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, context_id: _Optional[str] = ..., text: _Optional[str] = ..., options: _Optional[_Union[RecallOptions, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., reference_task_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("recalled",)
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    recalled: Recalled
    def __init__(self, recalled: _Optional[_Union[Recalled, _Mapping]] = ...) -> None: ...

class SearchContextRequest(_message.Message):
    __slots__ = ("context_id", "query", "limit", "profile", "filter", "with_features", "subject_user_id", "score_min")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    WITH_FEATURES_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_MIN_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    query: str
    limit: int
    profile: str
    filter: RecallFilter
    with_features: bool
    subject_user_id: str
    score_min: float
    def __init__(self, context_id: _Optional[str] = ..., query: _Optional[str] = ..., limit: _Optional[int] = ..., profile: _Optional[str] = ..., filter: _Optional[_Union[RecallFilter, _Mapping]] = ..., with_features: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., score_min: _Optional[float] = ...) -> None: ...

class SearchContextResponse(_message.Message):
    __slots__ = ("hits", "by_meaning")
    HITS_FIELD_NUMBER: _ClassVar[int]
    BY_MEANING_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[RecalledItem]
    by_meaning: ByMeaning
    def __init__(self, hits: _Optional[_Iterable[_Union[RecalledItem, _Mapping]]] = ..., by_meaning: _Optional[_Union[ByMeaning, _Mapping]] = ...) -> None: ...

class SearchContextsRequest(_message.Message):
    __slots__ = ("query", "limit", "passages_max", "agent_id", "external_id", "metadata_contains_json", "app_id", "entity_node_id", "created_from", "created_to", "state", "roles", "kinds", "authors", "said_from", "said_to", "profile", "subject_user_id", "cursor", "score_min")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_MAX_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    CREATED_TO_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AUTHORS_FIELD_NUMBER: _ClassVar[int]
    SAID_FROM_FIELD_NUMBER: _ClassVar[int]
    SAID_TO_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SCORE_MIN_FIELD_NUMBER: _ClassVar[int]
    query: str
    limit: int
    passages_max: int
    agent_id: str
    external_id: ExternalId
    metadata_contains_json: str
    app_id: str
    entity_node_id: str
    created_from: _timestamp_pb2.Timestamp
    created_to: _timestamp_pb2.Timestamp
    state: ContextState
    roles: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    authors: _containers.RepeatedScalarFieldContainer[str]
    said_from: _timestamp_pb2.Timestamp
    said_to: _timestamp_pb2.Timestamp
    profile: str
    subject_user_id: str
    cursor: str
    score_min: float
    def __init__(self, query: _Optional[str] = ..., limit: _Optional[int] = ..., passages_max: _Optional[int] = ..., agent_id: _Optional[str] = ..., external_id: _Optional[_Union[ExternalId, _Mapping]] = ..., metadata_contains_json: _Optional[str] = ..., app_id: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., created_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[ContextState, str]] = ..., roles: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., authors: _Optional[_Iterable[str]] = ..., said_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., said_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., profile: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., cursor: _Optional[str] = ..., score_min: _Optional[float] = ...) -> None: ...

class SearchContextsResponse(_message.Message):
    __slots__ = ("contexts", "searched_count", "by_meaning", "next_cursor")
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    SEARCHED_COUNT_FIELD_NUMBER: _ClassVar[int]
    BY_MEANING_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    contexts: _containers.RepeatedCompositeFieldContainer[FoundContext]
    searched_count: int
    by_meaning: ByMeaning
    next_cursor: str
    def __init__(self, contexts: _Optional[_Iterable[_Union[FoundContext, _Mapping]]] = ..., searched_count: _Optional[int] = ..., by_meaning: _Optional[_Union[ByMeaning, _Mapping]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class FoundContext(_message.Message):
    __slots__ = ("context_id", "title", "external_ids", "owner_user_id", "created_at", "updated_at", "message_count", "score", "passages")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_IDS_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    title: str
    external_ids: _containers.RepeatedCompositeFieldContainer[ExternalId]
    owner_user_id: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    message_count: int
    score: float
    passages: _containers.RepeatedCompositeFieldContainer[RecalledItem]
    def __init__(self, context_id: _Optional[str] = ..., title: _Optional[str] = ..., external_ids: _Optional[_Iterable[_Union[ExternalId, _Mapping]]] = ..., owner_user_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., message_count: _Optional[int] = ..., score: _Optional[float] = ..., passages: _Optional[_Iterable[_Union[RecalledItem, _Mapping]]] = ...) -> None: ...

class AppendMessagesRequest(_message.Message):
    __slots__ = ("context_id", "messages", "context", "get_or_create", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    GET_OR_CREATE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.MessageInput]
    context: ContextInput
    get_or_create: ExternalId
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.MessageInput, _Mapping]]] = ..., context: _Optional[_Union[ContextInput, _Mapping]] = ..., get_or_create: _Optional[_Union[ExternalId, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class AppendMessagesResponse(_message.Message):
    __slots__ = ("context_id", "messages", "created")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    messages: _containers.RepeatedCompositeFieldContainer[SentMessage]
    created: bool
    def __init__(self, context_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[SentMessage, _Mapping]]] = ..., created: _Optional[bool] = ...) -> None: ...

class GetContextRequest(_message.Message):
    __slots__ = ("context_id", "history_length", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    HISTORY_LENGTH_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    history_length: int
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., history_length: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetContextResponse(_message.Message):
    __slots__ = ("context", "messages", "history_is_partial")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_IS_PARTIAL_FIELD_NUMBER: _ClassVar[int]
    context: Context
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    history_is_partial: bool
    def __init__(self, context: _Optional[_Union[Context, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., history_is_partial: _Optional[bool] = ...) -> None: ...

class GetContextsByExternalIdRequest(_message.Message):
    __slots__ = ("external_id", "subject_user_id", "page_size", "page_token")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    external_id: ExternalId
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, external_id: _Optional[_Union[ExternalId, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetContextsByExternalIdResponse(_message.Message):
    __slots__ = ("contexts", "next_page_token")
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    contexts: _containers.RepeatedCompositeFieldContainer[Context]
    next_page_token: str
    def __init__(self, contexts: _Optional[_Iterable[_Union[Context, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListContextsRequest(_message.Message):
    __slots__ = ("agent_id", "owner_user_id", "created_from", "created_to", "state", "external_id", "metadata_contains_json", "app_id", "entity_node_id", "subject_user_id", "page_size", "page_token")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    CREATED_TO_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    owner_user_id: str
    created_from: _timestamp_pb2.Timestamp
    created_to: _timestamp_pb2.Timestamp
    state: ContextState
    external_id: ExternalId
    metadata_contains_json: str
    app_id: str
    entity_node_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, agent_id: _Optional[str] = ..., owner_user_id: _Optional[str] = ..., created_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[ContextState, str]] = ..., external_id: _Optional[_Union[ExternalId, _Mapping]] = ..., metadata_contains_json: _Optional[str] = ..., app_id: _Optional[str] = ..., entity_node_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListContextsResponse(_message.Message):
    __slots__ = ("contexts", "next_page_token")
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    contexts: _containers.RepeatedCompositeFieldContainer[Context]
    next_page_token: str
    def __init__(self, contexts: _Optional[_Iterable[_Union[Context, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateContextRequest(_message.Message):
    __slots__ = ("context_id", "context", "update_mask", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    context: ContextInput
    update_mask: _field_mask_pb2.FieldMask
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., context: _Optional[_Union[ContextInput, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateContextResponse(_message.Message):
    __slots__ = ("context",)
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    context: Context
    def __init__(self, context: _Optional[_Union[Context, _Mapping]] = ...) -> None: ...

class CloseContextRequest(_message.Message):
    __slots__ = ("context_id", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CloseContextResponse(_message.Message):
    __slots__ = ("context",)
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    context: Context
    def __init__(self, context: _Optional[_Union[Context, _Mapping]] = ...) -> None: ...

class ListMessagesRequest(_message.Message):
    __slots__ = ("context_id", "seq_from", "seq_to", "newest_first", "subject_user_id", "page_size", "page_token")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FROM_FIELD_NUMBER: _ClassVar[int]
    SEQ_TO_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    seq_from: int
    seq_to: int
    newest_first: bool
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, context_id: _Optional[str] = ..., seq_from: _Optional[int] = ..., seq_to: _Optional[int] = ..., newest_first: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    next_page_token: str
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetMessageRequest(_message.Message):
    __slots__ = ("context_id", "message_id", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    message_id: str
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., message_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetMessageResponse(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.ChatMessage
    def __init__(self, message: _Optional[_Union[_message_pb2.ChatMessage, _Mapping]] = ...) -> None: ...

class RetractMessagesRequest(_message.Message):
    __slots__ = ("context_id", "message_ids", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetractMessagesResponse(_message.Message):
    __slots__ = ("retracted_count",)
    RETRACTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    retracted_count: int
    def __init__(self, retracted_count: _Optional[int] = ...) -> None: ...

class SyncHistoryRequest(_message.Message):
    __slots__ = ("context_id", "get_or_create", "context", "node_id", "external_id", "graph_name", "app_id", "mapping_name", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    GET_OR_CREATE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    get_or_create: ExternalId
    context: ContextInput
    node_id: str
    external_id: str
    graph_name: str
    app_id: str
    mapping_name: str
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., get_or_create: _Optional[_Union[ExternalId, _Mapping]] = ..., context: _Optional[_Union[ContextInput, _Mapping]] = ..., node_id: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class SyncHistoryResponse(_message.Message):
    __slots__ = ("context_id", "created", "appended_count", "retracted_count", "unchanged_count", "nodes_failed", "roles_unknown", "left_out_count", "left_out")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    APPENDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RETRACTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    NODES_FAILED_FIELD_NUMBER: _ClassVar[int]
    ROLES_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    created: bool
    appended_count: int
    retracted_count: int
    unchanged_count: int
    nodes_failed: int
    roles_unknown: int
    left_out_count: int
    left_out: _containers.RepeatedCompositeFieldContainer[LeftOutMessage]
    def __init__(self, context_id: _Optional[str] = ..., created: _Optional[bool] = ..., appended_count: _Optional[int] = ..., retracted_count: _Optional[int] = ..., unchanged_count: _Optional[int] = ..., nodes_failed: _Optional[int] = ..., roles_unknown: _Optional[int] = ..., left_out_count: _Optional[int] = ..., left_out: _Optional[_Iterable[_Union[LeftOutMessage, _Mapping]]] = ...) -> None: ...

class LeftOutMessage(_message.Message):
    __slots__ = ("node_id", "reason", "detail")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    reason: str
    detail: str
    def __init__(self, node_id: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class IssueContextKeyRequest(_message.Message):
    __slots__ = ("context_id", "scopes", "ttl_s", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    ttl_s: int
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., ttl_s: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class IssueContextKeyResponse(_message.Message):
    __slots__ = ("key", "expires_at")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    key: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, key: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeleteContextRequest(_message.Message):
    __slots__ = ("context_id", "now", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    now: bool
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., now: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteContextResponse(_message.Message):
    __slots__ = ("erasure",)
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    erasure: Erasure
    def __init__(self, erasure: _Optional[_Union[Erasure, _Mapping]] = ...) -> None: ...

class GetErasureRequest(_message.Message):
    __slots__ = ("erasure_id", "subject_user_id")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    subject_user_id: str
    def __init__(self, erasure_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetErasureResponse(_message.Message):
    __slots__ = ("erasure",)
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    erasure: Erasure
    def __init__(self, erasure: _Optional[_Union[Erasure, _Mapping]] = ...) -> None: ...

class WaitForIndexRequest(_message.Message):
    __slots__ = ("context_id", "seq", "timeout_s", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    seq: int
    timeout_s: int
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., seq: _Optional[int] = ..., timeout_s: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class WaitForIndexResponse(_message.Message):
    __slots__ = ("index", "is_complete")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    IS_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    index: ContextIndex
    is_complete: bool
    def __init__(self, index: _Optional[_Union[ContextIndex, _Mapping]] = ..., is_complete: _Optional[bool] = ...) -> None: ...
