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

class QueryMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_MODE_UNSPECIFIED: _ClassVar[QueryMode]
    QUERY_MODE_RESULTS: _ClassVar[QueryMode]
    QUERY_MODE_ANSWER: _ClassVar[QueryMode]

class QueryScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_SCOPE_UNSPECIFIED: _ClassVar[QueryScope]
    QUERY_SCOPE_AUTO: _ClassVar[QueryScope]
    QUERY_SCOPE_PERSONAL: _ClassVar[QueryScope]
    QUERY_SCOPE_TEAM: _ClassVar[QueryScope]

class QueryDepth(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_DEPTH_UNSPECIFIED: _ClassVar[QueryDepth]
    QUERY_DEPTH_QUICK: _ClassVar[QueryDepth]
    QUERY_DEPTH_DEEP: _ClassVar[QueryDepth]

class ProviderState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROVIDER_STATE_UNSPECIFIED: _ClassVar[ProviderState]
    PROVIDER_STATE_OK: _ClassVar[ProviderState]
    PROVIDER_STATE_SKIPPED: _ClassVar[ProviderState]
    PROVIDER_STATE_ERROR: _ClassVar[ProviderState]
    PROVIDER_STATE_TIMEOUT: _ClassVar[ProviderState]
    PROVIDER_STATE_STALE: _ClassVar[ProviderState]

class MemoryQueryMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_QUERY_MODE_UNSPECIFIED: _ClassVar[MemoryQueryMode]
    MEMORY_QUERY_MODE_RECALL: _ClassVar[MemoryQueryMode]
    MEMORY_QUERY_MODE_REFLECT: _ClassVar[MemoryQueryMode]
QUERY_MODE_UNSPECIFIED: QueryMode
QUERY_MODE_RESULTS: QueryMode
QUERY_MODE_ANSWER: QueryMode
QUERY_SCOPE_UNSPECIFIED: QueryScope
QUERY_SCOPE_AUTO: QueryScope
QUERY_SCOPE_PERSONAL: QueryScope
QUERY_SCOPE_TEAM: QueryScope
QUERY_DEPTH_UNSPECIFIED: QueryDepth
QUERY_DEPTH_QUICK: QueryDepth
QUERY_DEPTH_DEEP: QueryDepth
PROVIDER_STATE_UNSPECIFIED: ProviderState
PROVIDER_STATE_OK: ProviderState
PROVIDER_STATE_SKIPPED: ProviderState
PROVIDER_STATE_ERROR: ProviderState
PROVIDER_STATE_TIMEOUT: ProviderState
PROVIDER_STATE_STALE: ProviderState
MEMORY_QUERY_MODE_UNSPECIFIED: MemoryQueryMode
MEMORY_QUERY_MODE_RECALL: MemoryQueryMode
MEMORY_QUERY_MODE_REFLECT: MemoryQueryMode

class QueryContextRequest(_message.Message):
    __slots__ = ("query", "mode", "scope", "depth", "limit", "providers", "provider_options", "context_ids", "tokens_max", "time_from", "time_to", "explain", "subject_user_id", "agent_id", "expand_refs", "score_min", "metadata_json")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    TIME_FROM_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPAND_REFS_FIELD_NUMBER: _ClassVar[int]
    SCORE_MIN_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    query: str
    mode: QueryMode
    scope: QueryScope
    depth: QueryDepth
    limit: int
    providers: ProviderSelection
    provider_options: ProviderOptions
    context_ids: _containers.RepeatedScalarFieldContainer[str]
    tokens_max: int
    time_from: _timestamp_pb2.Timestamp
    time_to: _timestamp_pb2.Timestamp
    explain: bool
    subject_user_id: str
    agent_id: str
    expand_refs: _containers.RepeatedScalarFieldContainer[str]
    score_min: float
    metadata_json: str
    def __init__(self, query: _Optional[str] = ..., mode: _Optional[_Union[QueryMode, str]] = ..., scope: _Optional[_Union[QueryScope, str]] = ..., depth: _Optional[_Union[QueryDepth, str]] = ..., limit: _Optional[int] = ..., providers: _Optional[_Union[ProviderSelection, _Mapping]] = ..., provider_options: _Optional[_Union[ProviderOptions, _Mapping]] = ..., context_ids: _Optional[_Iterable[str]] = ..., tokens_max: _Optional[int] = ..., time_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., explain: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., expand_refs: _Optional[_Iterable[str]] = ..., score_min: _Optional[float] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class ProviderSelection(_message.Message):
    __slots__ = ("ids", "families")
    IDS_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    families: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., families: _Optional[_Iterable[str]] = ...) -> None: ...

class ProviderOptions(_message.Message):
    __slots__ = ("workspace", "memory")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    workspace: WorkspaceOptions
    memory: MemoryOptions
    def __init__(self, workspace: _Optional[_Union[WorkspaceOptions, _Mapping]] = ..., memory: _Optional[_Union[MemoryOptions, _Mapping]] = ...) -> None: ...

class MemoryOptions(_message.Message):
    __slots__ = ("query_mode",)
    QUERY_MODE_FIELD_NUMBER: _ClassVar[int]
    query_mode: MemoryQueryMode
    def __init__(self, query_mode: _Optional[_Union[MemoryQueryMode, str]] = ...) -> None: ...

class WorkspaceOptions(_message.Message):
    __slots__ = ("node_ids",)
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryContextResponse(_message.Message):
    __slots__ = ("asked", "hits", "providers", "answer", "prompt_text", "prompt_tokens", "trace_id", "duration_ms", "explained", "expanded", "below_score_min_count", "parts")
    ASKED_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TEXT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    EXPLAINED_FIELD_NUMBER: _ClassVar[int]
    EXPANDED_FIELD_NUMBER: _ClassVar[int]
    BELOW_SCORE_MIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    asked: QueryAsked
    hits: _containers.RepeatedCompositeFieldContainer[QueryHit]
    providers: _containers.RepeatedCompositeFieldContainer[ProviderStatus]
    answer: QueryAnswer
    prompt_text: str
    prompt_tokens: int
    trace_id: str
    duration_ms: int
    explained: _containers.RepeatedCompositeFieldContainer[ProviderHits]
    expanded: _containers.RepeatedCompositeFieldContainer[ExpandedRef]
    below_score_min_count: int
    parts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, asked: _Optional[_Union[QueryAsked, _Mapping]] = ..., hits: _Optional[_Iterable[_Union[QueryHit, _Mapping]]] = ..., providers: _Optional[_Iterable[_Union[ProviderStatus, _Mapping]]] = ..., answer: _Optional[_Union[QueryAnswer, _Mapping]] = ..., prompt_text: _Optional[str] = ..., prompt_tokens: _Optional[int] = ..., trace_id: _Optional[str] = ..., duration_ms: _Optional[int] = ..., explained: _Optional[_Iterable[_Union[ProviderHits, _Mapping]]] = ..., expanded: _Optional[_Iterable[_Union[ExpandedRef, _Mapping]]] = ..., below_score_min_count: _Optional[int] = ..., parts: _Optional[_Iterable[str]] = ...) -> None: ...

class ExpandedRef(_message.Message):
    __slots__ = ("ref", "is_found", "text", "is_cut", "reason", "title", "scope", "as_of", "untrusted")
    REF_FIELD_NUMBER: _ClassVar[int]
    IS_FOUND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    UNTRUSTED_FIELD_NUMBER: _ClassVar[int]
    ref: str
    is_found: bool
    text: str
    is_cut: bool
    reason: str
    title: str
    scope: QueryScope
    as_of: _timestamp_pb2.Timestamp
    untrusted: bool
    def __init__(self, ref: _Optional[str] = ..., is_found: _Optional[bool] = ..., text: _Optional[str] = ..., is_cut: _Optional[bool] = ..., reason: _Optional[str] = ..., title: _Optional[str] = ..., scope: _Optional[_Union[QueryScope, str]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., untrusted: _Optional[bool] = ...) -> None: ...

class StreamQueryContextResponse(_message.Message):
    __slots__ = ("provider", "answer")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    provider: AnsweredProvider
    answer: QueryContextResponse
    def __init__(self, provider: _Optional[_Union[AnsweredProvider, _Mapping]] = ..., answer: _Optional[_Union[QueryContextResponse, _Mapping]] = ...) -> None: ...

class AnsweredProvider(_message.Message):
    __slots__ = ("status", "hits", "is_second_pass")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    IS_SECOND_PASS_FIELD_NUMBER: _ClassVar[int]
    status: ProviderStatus
    hits: _containers.RepeatedCompositeFieldContainer[QueryHit]
    is_second_pass: bool
    def __init__(self, status: _Optional[_Union[ProviderStatus, _Mapping]] = ..., hits: _Optional[_Iterable[_Union[QueryHit, _Mapping]]] = ..., is_second_pass: _Optional[bool] = ...) -> None: ...

class QueryAsked(_message.Message):
    __slots__ = ("query", "mode", "scope", "depth", "limit", "provider_ids", "context_ids", "node_ids", "tokens_max", "time_from", "time_to", "memory_query_mode", "agent_id", "metadata_json")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_IDS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_IDS_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    TIME_FROM_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_FIELD_NUMBER: _ClassVar[int]
    MEMORY_QUERY_MODE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    query: str
    mode: QueryMode
    scope: QueryScope
    depth: QueryDepth
    limit: int
    provider_ids: _containers.RepeatedScalarFieldContainer[str]
    context_ids: _containers.RepeatedScalarFieldContainer[str]
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    tokens_max: int
    time_from: _timestamp_pb2.Timestamp
    time_to: _timestamp_pb2.Timestamp
    memory_query_mode: MemoryQueryMode
    agent_id: str
    metadata_json: str
    def __init__(self, query: _Optional[str] = ..., mode: _Optional[_Union[QueryMode, str]] = ..., scope: _Optional[_Union[QueryScope, str]] = ..., depth: _Optional[_Union[QueryDepth, str]] = ..., limit: _Optional[int] = ..., provider_ids: _Optional[_Iterable[str]] = ..., context_ids: _Optional[_Iterable[str]] = ..., node_ids: _Optional[_Iterable[str]] = ..., tokens_max: _Optional[int] = ..., time_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., memory_query_mode: _Optional[_Union[MemoryQueryMode, str]] = ..., agent_id: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class QueryHit(_message.Message):
    __slots__ = ("ref", "rank", "provider_id", "family", "title", "snippet", "score", "scope", "sources", "metadata_json", "as_of", "trust", "untrusted", "part_numbers")
    REF_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    UNTRUSTED_FIELD_NUMBER: _ClassVar[int]
    PART_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    ref: str
    rank: int
    provider_id: str
    family: str
    title: str
    snippet: str
    score: float
    scope: QueryScope
    sources: _containers.RepeatedCompositeFieldContainer[HitSource]
    metadata_json: str
    as_of: _timestamp_pb2.Timestamp
    trust: int
    untrusted: bool
    part_numbers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ref: _Optional[str] = ..., rank: _Optional[int] = ..., provider_id: _Optional[str] = ..., family: _Optional[str] = ..., title: _Optional[str] = ..., snippet: _Optional[str] = ..., score: _Optional[float] = ..., scope: _Optional[_Union[QueryScope, str]] = ..., sources: _Optional[_Iterable[_Union[HitSource, _Mapping]]] = ..., metadata_json: _Optional[str] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., trust: _Optional[int] = ..., untrusted: _Optional[bool] = ..., part_numbers: _Optional[_Iterable[int]] = ...) -> None: ...

class HitSource(_message.Message):
    __slots__ = ("ref", "provider_id", "family", "label", "uri", "source_id", "scope", "as_of")
    REF_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    ref: str
    provider_id: str
    family: str
    label: str
    uri: str
    source_id: str
    scope: QueryScope
    as_of: _timestamp_pb2.Timestamp
    def __init__(self, ref: _Optional[str] = ..., provider_id: _Optional[str] = ..., family: _Optional[str] = ..., label: _Optional[str] = ..., uri: _Optional[str] = ..., source_id: _Optional[str] = ..., scope: _Optional[_Union[QueryScope, str]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ProviderStatus(_message.Message):
    __slots__ = ("provider_id", "family", "display_name", "state", "reason", "duration_ms", "hit_count", "as_of", "target", "mode")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    HIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    family: str
    display_name: str
    state: ProviderState
    reason: str
    duration_ms: int
    hit_count: int
    as_of: _timestamp_pb2.Timestamp
    target: str
    mode: str
    def __init__(self, provider_id: _Optional[str] = ..., family: _Optional[str] = ..., display_name: _Optional[str] = ..., state: _Optional[_Union[ProviderState, str]] = ..., reason: _Optional[str] = ..., duration_ms: _Optional[int] = ..., hit_count: _Optional[int] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., target: _Optional[str] = ..., mode: _Optional[str] = ...) -> None: ...

class QueryAnswer(_message.Message):
    __slots__ = ("text", "hit_refs", "method", "reason")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HIT_REFS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    text: str
    hit_refs: _containers.RepeatedScalarFieldContainer[str]
    method: str
    reason: str
    def __init__(self, text: _Optional[str] = ..., hit_refs: _Optional[_Iterable[str]] = ..., method: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ProviderHits(_message.Message):
    __slots__ = ("provider_id", "hits")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    hits: _containers.RepeatedCompositeFieldContainer[ExplainedHit]
    def __init__(self, provider_id: _Optional[str] = ..., hits: _Optional[_Iterable[_Union[ExplainedHit, _Mapping]]] = ...) -> None: ...

class ExplainedHit(_message.Message):
    __slots__ = ("ref", "place", "own_score", "score", "title", "shown_in")
    REF_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    OWN_SCORE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SHOWN_IN_FIELD_NUMBER: _ClassVar[int]
    ref: str
    place: int
    own_score: float
    score: float
    title: str
    shown_in: str
    def __init__(self, ref: _Optional[str] = ..., place: _Optional[int] = ..., own_score: _Optional[float] = ..., score: _Optional[float] = ..., title: _Optional[str] = ..., shown_in: _Optional[str] = ...) -> None: ...

class ListContextProvidersRequest(_message.Message):
    __slots__ = ("agent_id",)
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    def __init__(self, agent_id: _Optional[str] = ...) -> None: ...

class ListContextProvidersResponse(_message.Message):
    __slots__ = ("providers",)
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[ContextProvider]
    def __init__(self, providers: _Optional[_Iterable[_Union[ContextProvider, _Mapping]]] = ...) -> None: ...

class ContextProvider(_message.Message):
    __slots__ = ("provider_id", "family", "display_name", "scopes", "is_default", "is_installed", "deadline_ms", "is_enabled", "is_allowed", "last_test")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    IS_INSTALLED_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    IS_ENABLED_FIELD_NUMBER: _ClassVar[int]
    IS_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    LAST_TEST_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    family: str
    display_name: str
    scopes: _containers.RepeatedScalarFieldContainer[QueryScope]
    is_default: bool
    is_installed: bool
    deadline_ms: int
    is_enabled: bool
    is_allowed: bool
    last_test: LastTest
    def __init__(self, provider_id: _Optional[str] = ..., family: _Optional[str] = ..., display_name: _Optional[str] = ..., scopes: _Optional[_Iterable[_Union[QueryScope, str]]] = ..., is_default: _Optional[bool] = ..., is_installed: _Optional[bool] = ..., deadline_ms: _Optional[int] = ..., is_enabled: _Optional[bool] = ..., is_allowed: _Optional[bool] = ..., last_test: _Optional[_Union[LastTest, _Mapping]] = ...) -> None: ...

class LastTest(_message.Message):
    __slots__ = ("state", "duration_ms", "tested_at")
    STATE_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    TESTED_AT_FIELD_NUMBER: _ClassVar[int]
    state: ProviderState
    duration_ms: int
    tested_at: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[ProviderState, str]] = ..., duration_ms: _Optional[int] = ..., tested_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetQueryPolicyRequest(_message.Message):
    __slots__ = ("subject_user_id", "agent_id")
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    subject_user_id: str
    agent_id: str
    def __init__(self, subject_user_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class GetQueryPolicyResponse(_message.Message):
    __slots__ = ("providers", "target", "agent_id", "template_id")
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[ProviderPolicy]
    target: WorkspaceTarget
    agent_id: str
    template_id: str
    def __init__(self, providers: _Optional[_Iterable[_Union[ProviderPolicy, _Mapping]]] = ..., target: _Optional[_Union[WorkspaceTarget, _Mapping]] = ..., agent_id: _Optional[str] = ..., template_id: _Optional[str] = ...) -> None: ...

class ProviderPolicy(_message.Message):
    __slots__ = ("provider_id", "family", "is_enabled", "is_default", "deadline_ms", "setting", "is_allowed", "refused_by", "imported")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    IS_ENABLED_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    IS_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    family: str
    is_enabled: bool
    is_default: bool
    deadline_ms: int
    setting: ProviderSetting
    is_allowed: bool
    refused_by: str
    imported: _message_pb2.Imported
    def __init__(self, provider_id: _Optional[str] = ..., family: _Optional[str] = ..., is_enabled: _Optional[bool] = ..., is_default: _Optional[bool] = ..., deadline_ms: _Optional[int] = ..., setting: _Optional[_Union[ProviderSetting, _Mapping]] = ..., is_allowed: _Optional[bool] = ..., refused_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class WorkspaceTarget(_message.Message):
    __slots__ = ("whose", "node_ids")
    WHOSE_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    whose: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, whose: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ProviderSetting(_message.Message):
    __slots__ = ("provider_id", "enabled", "is_default", "deadline_ms", "workspace", "memory")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    enabled: bool
    is_default: bool
    deadline_ms: int
    workspace: WorkspaceOptions
    memory: MemoryOptions
    def __init__(self, provider_id: _Optional[str] = ..., enabled: _Optional[bool] = ..., is_default: _Optional[bool] = ..., deadline_ms: _Optional[int] = ..., workspace: _Optional[_Union[WorkspaceOptions, _Mapping]] = ..., memory: _Optional[_Union[MemoryOptions, _Mapping]] = ...) -> None: ...

class UpdateProviderSettingRequest(_message.Message):
    __slots__ = ("setting", "reset", "request_id")
    SETTING_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    setting: ProviderSetting
    reset: _containers.RepeatedScalarFieldContainer[str]
    request_id: str
    def __init__(self, setting: _Optional[_Union[ProviderSetting, _Mapping]] = ..., reset: _Optional[_Iterable[str]] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateProviderSettingResponse(_message.Message):
    __slots__ = ("setting",)
    SETTING_FIELD_NUMBER: _ClassVar[int]
    setting: ProviderSetting
    def __init__(self, setting: _Optional[_Union[ProviderSetting, _Mapping]] = ...) -> None: ...
