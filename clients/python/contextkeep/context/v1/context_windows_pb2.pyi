import datetime

from contextkeep.context.v1 import chat_history_pb2 as _chat_history_pb2
from contextkeep.context.v1 import contexts_pb2 as _contexts_pb2
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

class ForkInheritance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORK_INHERITANCE_UNSPECIFIED: _ClassVar[ForkInheritance]
    FORK_INHERITANCE_NOTHING: _ClassVar[ForkInheritance]
    FORK_INHERITANCE_PINS: _ClassVar[ForkInheritance]
    FORK_INHERITANCE_STATE: _ClassVar[ForkInheritance]
FORK_INHERITANCE_UNSPECIFIED: ForkInheritance
FORK_INHERITANCE_NOTHING: ForkInheritance
FORK_INHERITANCE_PINS: ForkInheritance
FORK_INHERITANCE_STATE: ForkInheritance

class WatchWindowRequest(_message.Message):
    __slots__ = ("window_id", "epoch_after", "entry_from", "until_now", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_AFTER_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_NOW_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    epoch_after: int
    entry_from: int
    until_now: bool
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., epoch_after: _Optional[int] = ..., entry_from: _Optional[int] = ..., until_now: _Optional[bool] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class WatchWindowResponse(_message.Message):
    __slots__ = ("broken", "entry", "window", "epoch_after", "entry_from")
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    EPOCH_AFTER_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FROM_FIELD_NUMBER: _ClassVar[int]
    broken: FoldReceipt
    entry: StateEntry
    window: Window
    epoch_after: int
    entry_from: int
    def __init__(self, broken: _Optional[_Union[FoldReceipt, _Mapping]] = ..., entry: _Optional[_Union[StateEntry, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ..., epoch_after: _Optional[int] = ..., entry_from: _Optional[int] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("window_id", "context_id", "model", "format", "tokens_family", "context_tokens", "token_limit", "system_prompt", "tools_json", "goal", "epoch", "reached_seq", "step_count", "left_out_count", "owner_user_id", "created_by", "created_at", "updated_at", "is_closed", "compression_profile", "config", "spent_tokens", "token_factor", "tokens_are_estimated", "left_out_refs", "imported")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FAMILY_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REACHED_SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IS_CLOSED_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_PROFILE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    SPENT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FACTOR_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ARE_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_REFS_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    context_id: str
    model: str
    format: _chat_history_pb2.MessageFormat
    tokens_family: str
    context_tokens: int
    token_limit: int
    system_prompt: str
    tools_json: str
    goal: str
    epoch: int
    reached_seq: int
    step_count: int
    left_out_count: int
    owner_user_id: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    is_closed: bool
    compression_profile: str
    config: WindowConfig
    spent_tokens: int
    token_factor: float
    tokens_are_estimated: bool
    left_out_refs: _containers.RepeatedScalarFieldContainer[str]
    imported: _message_pb2.Imported
    def __init__(self, window_id: _Optional[str] = ..., context_id: _Optional[str] = ..., model: _Optional[str] = ..., format: _Optional[_Union[_chat_history_pb2.MessageFormat, str]] = ..., tokens_family: _Optional[str] = ..., context_tokens: _Optional[int] = ..., token_limit: _Optional[int] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., goal: _Optional[str] = ..., epoch: _Optional[int] = ..., reached_seq: _Optional[int] = ..., step_count: _Optional[int] = ..., left_out_count: _Optional[int] = ..., owner_user_id: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., is_closed: _Optional[bool] = ..., compression_profile: _Optional[str] = ..., config: _Optional[_Union[WindowConfig, _Mapping]] = ..., spent_tokens: _Optional[int] = ..., token_factor: _Optional[float] = ..., tokens_are_estimated: _Optional[bool] = ..., left_out_refs: _Optional[_Iterable[str]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class WindowConfig(_message.Message):
    __slots__ = ("importance_weights", "tier_ratios", "high_mark", "low_mark", "keep_last_steps", "summarize_every_n_steps", "prices", "max_total_tokens", "cache_ttl_s", "checkpoint_every_n_steps", "recovery_strategy", "summarization_model", "summarization_prompt", "summarization_style", "learning", "prefetch", "notice_before_fold", "conversation_share", "rule_authors", "restore_files_share")
    IMPORTANCE_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    TIER_RATIOS_FIELD_NUMBER: _ClassVar[int]
    HIGH_MARK_FIELD_NUMBER: _ClassVar[int]
    LOW_MARK_FIELD_NUMBER: _ClassVar[int]
    KEEP_LAST_STEPS_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZE_EVERY_N_STEPS_FIELD_NUMBER: _ClassVar[int]
    PRICES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOTAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_TTL_S_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_EVERY_N_STEPS_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZATION_MODEL_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZATION_PROMPT_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZATION_STYLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    PREFETCH_FIELD_NUMBER: _ClassVar[int]
    NOTICE_BEFORE_FOLD_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_SHARE_FIELD_NUMBER: _ClassVar[int]
    RULE_AUTHORS_FIELD_NUMBER: _ClassVar[int]
    RESTORE_FILES_SHARE_FIELD_NUMBER: _ClassVar[int]
    importance_weights: ImportanceWeights
    tier_ratios: TierRatios
    high_mark: float
    low_mark: float
    keep_last_steps: int
    summarize_every_n_steps: int
    prices: TokenPrices
    max_total_tokens: int
    cache_ttl_s: int
    checkpoint_every_n_steps: int
    recovery_strategy: str
    summarization_model: str
    summarization_prompt: str
    summarization_style: str
    learning: bool
    prefetch: bool
    notice_before_fold: bool
    conversation_share: float
    rule_authors: _containers.RepeatedScalarFieldContainer[str]
    restore_files_share: float
    def __init__(self, importance_weights: _Optional[_Union[ImportanceWeights, _Mapping]] = ..., tier_ratios: _Optional[_Union[TierRatios, _Mapping]] = ..., high_mark: _Optional[float] = ..., low_mark: _Optional[float] = ..., keep_last_steps: _Optional[int] = ..., summarize_every_n_steps: _Optional[int] = ..., prices: _Optional[_Union[TokenPrices, _Mapping]] = ..., max_total_tokens: _Optional[int] = ..., cache_ttl_s: _Optional[int] = ..., checkpoint_every_n_steps: _Optional[int] = ..., recovery_strategy: _Optional[str] = ..., summarization_model: _Optional[str] = ..., summarization_prompt: _Optional[str] = ..., summarization_style: _Optional[str] = ..., learning: _Optional[bool] = ..., prefetch: _Optional[bool] = ..., notice_before_fold: _Optional[bool] = ..., conversation_share: _Optional[float] = ..., rule_authors: _Optional[_Iterable[str]] = ..., restore_files_share: _Optional[float] = ...) -> None: ...

class ImportanceWeights(_message.Message):
    __slots__ = ("recency", "relevance", "causal", "references", "success", "domain")
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    CAUSAL_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    recency: float
    relevance: float
    causal: float
    references: float
    success: float
    domain: float
    def __init__(self, recency: _Optional[float] = ..., relevance: _Optional[float] = ..., causal: _Optional[float] = ..., references: _Optional[float] = ..., success: _Optional[float] = ..., domain: _Optional[float] = ...) -> None: ...

class TierRatios(_message.Message):
    __slots__ = ("hot", "segments", "digests", "state")
    HOT_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    hot: float
    segments: float
    digests: float
    state: float
    def __init__(self, hot: _Optional[float] = ..., segments: _Optional[float] = ..., digests: _Optional[float] = ..., state: _Optional[float] = ...) -> None: ...

class TokenPrices(_message.Message):
    __slots__ = ("input", "cache_write", "cache_read", "output")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    input: float
    cache_write: float
    cache_read: float
    output: float
    def __init__(self, input: _Optional[float] = ..., cache_write: _Optional[float] = ..., cache_read: _Optional[float] = ..., output: _Optional[float] = ...) -> None: ...

class OpenWindowRequest(_message.Message):
    __slots__ = ("context_id", "model", "context_tokens", "format", "system_prompt", "tools_json", "goal", "token_budget", "output_reservation", "subject_user_id", "request_id", "compression_profile", "config")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RESERVATION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_PROFILE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    model: str
    context_tokens: int
    format: _chat_history_pb2.MessageFormat
    system_prompt: str
    tools_json: str
    goal: str
    token_budget: float
    output_reservation: int
    subject_user_id: str
    request_id: str
    compression_profile: str
    config: WindowConfig
    def __init__(self, context_id: _Optional[str] = ..., model: _Optional[str] = ..., context_tokens: _Optional[int] = ..., format: _Optional[_Union[_chat_history_pb2.MessageFormat, str]] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., goal: _Optional[str] = ..., token_budget: _Optional[float] = ..., output_reservation: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ..., compression_profile: _Optional[str] = ..., config: _Optional[_Union[WindowConfig, _Mapping]] = ...) -> None: ...

class OpenWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class CompressionProfile(_message.Message):
    __slots__ = ("name", "version", "is_built_in", "text", "created_by", "created_at", "learned", "imported")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_BUILT_IN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LEARNED_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    is_built_in: bool
    text: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    learned: LearnedProfile
    imported: _message_pb2.Imported
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., is_built_in: _Optional[bool] = ..., text: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., learned: _Optional[_Union[LearnedProfile, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class LearnedProfile(_message.Message):
    __slots__ = ("base", "app_id", "context_count", "line_factors", "result_factors", "line_counts", "result_counts")
    class LineFactorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class ResultFactorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class LineCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: LearnedCount
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[LearnedCount, _Mapping]] = ...) -> None: ...
    class ResultCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: LearnedCount
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[LearnedCount, _Mapping]] = ...) -> None: ...
    BASE_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LINE_FACTORS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FACTORS_FIELD_NUMBER: _ClassVar[int]
    LINE_COUNTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_COUNTS_FIELD_NUMBER: _ClassVar[int]
    base: str
    app_id: str
    context_count: int
    line_factors: _containers.ScalarMap[str, float]
    result_factors: _containers.ScalarMap[str, float]
    line_counts: _containers.MessageMap[str, LearnedCount]
    result_counts: _containers.MessageMap[str, LearnedCount]
    def __init__(self, base: _Optional[str] = ..., app_id: _Optional[str] = ..., context_count: _Optional[int] = ..., line_factors: _Optional[_Mapping[str, float]] = ..., result_factors: _Optional[_Mapping[str, float]] = ..., line_counts: _Optional[_Mapping[str, LearnedCount]] = ..., result_counts: _Optional[_Mapping[str, LearnedCount]] = ...) -> None: ...

class LearnedCount(_message.Message):
    __slots__ = ("seen", "asked")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    seen: int
    asked: int
    def __init__(self, seen: _Optional[int] = ..., asked: _Optional[int] = ...) -> None: ...

class SetLearningRequest(_message.Message):
    __slots__ = ("profile", "app_id", "is_frozen", "undo", "request_id")
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    IS_FROZEN_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    profile: str
    app_id: str
    is_frozen: bool
    undo: bool
    request_id: str
    def __init__(self, profile: _Optional[str] = ..., app_id: _Optional[str] = ..., is_frozen: _Optional[bool] = ..., undo: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class SetLearningResponse(_message.Message):
    __slots__ = ("profile", "app_id", "is_frozen", "version", "context_count")
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    IS_FROZEN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_COUNT_FIELD_NUMBER: _ClassVar[int]
    profile: str
    app_id: str
    is_frozen: bool
    version: int
    context_count: int
    def __init__(self, profile: _Optional[str] = ..., app_id: _Optional[str] = ..., is_frozen: _Optional[bool] = ..., version: _Optional[int] = ..., context_count: _Optional[int] = ...) -> None: ...

class PutProfileRequest(_message.Message):
    __slots__ = ("name", "text", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutProfileResponse(_message.Message):
    __slots__ = ("profile",)
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    profile: CompressionProfile
    def __init__(self, profile: _Optional[_Union[CompressionProfile, _Mapping]] = ...) -> None: ...

class ListProfilesRequest(_message.Message):
    __slots__ = ("name", "with_text", "page_size", "page_token", "with_evidence")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WITH_TEXT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    WITH_EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    with_text: bool
    page_size: int
    page_token: str
    with_evidence: bool
    def __init__(self, name: _Optional[str] = ..., with_text: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., with_evidence: _Optional[bool] = ...) -> None: ...

class ListProfilesResponse(_message.Message):
    __slots__ = ("profiles", "next_page_token")
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    profiles: _containers.RepeatedCompositeFieldContainer[CompressionProfile]
    next_page_token: str
    def __init__(self, profiles: _Optional[_Iterable[_Union[CompressionProfile, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetWindowRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetWindowResponse(_message.Message):
    __slots__ = ("window", "forks")
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    FORKS_FIELD_NUMBER: _ClassVar[int]
    window: Window
    forks: _containers.RepeatedCompositeFieldContainer[WindowFork]
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ..., forks: _Optional[_Iterable[_Union[WindowFork, _Mapping]]] = ...) -> None: ...

class WindowFork(_message.Message):
    __slots__ = ("ref", "context_id", "window_id", "created_at", "merged_ref", "is_ended")
    REF_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    MERGED_REF_FIELD_NUMBER: _ClassVar[int]
    IS_ENDED_FIELD_NUMBER: _ClassVar[int]
    ref: str
    context_id: str
    window_id: str
    created_at: _timestamp_pb2.Timestamp
    merged_ref: str
    is_ended: bool
    def __init__(self, ref: _Optional[str] = ..., context_id: _Optional[str] = ..., window_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., merged_ref: _Optional[str] = ..., is_ended: _Optional[bool] = ...) -> None: ...

class ListWindowsRequest(_message.Message):
    __slots__ = ("context_id", "subject_user_id", "page_size", "page_token")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, context_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWindowsResponse(_message.Message):
    __slots__ = ("windows", "next_page_token")
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    windows: _containers.RepeatedCompositeFieldContainer[Window]
    next_page_token: str
    def __init__(self, windows: _Optional[_Iterable[_Union[Window, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CloseWindowRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CloseWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class UpdateWindowRequest(_message.Message):
    __slots__ = ("window_id", "system_prompt", "tools_json", "goal", "subject_user_id", "request_id", "config", "token_budget", "output_reservation")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RESERVATION_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    system_prompt: str
    tools_json: str
    goal: str
    subject_user_id: str
    request_id: str
    config: WindowConfig
    token_budget: float
    output_reservation: int
    def __init__(self, window_id: _Optional[str] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., goal: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ..., config: _Optional[_Union[WindowConfig, _Mapping]] = ..., token_budget: _Optional[float] = ..., output_reservation: _Optional[int] = ...) -> None: ...

class UpdateWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class PinRequest(_message.Message):
    __slots__ = ("window_id", "text", "ref", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    text: str
    ref: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., text: _Optional[str] = ..., ref: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PinResponse(_message.Message):
    __slots__ = ("pin_id", "pins_tokens")
    PIN_ID_FIELD_NUMBER: _ClassVar[int]
    PINS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    pin_id: str
    pins_tokens: int
    def __init__(self, pin_id: _Optional[str] = ..., pins_tokens: _Optional[int] = ...) -> None: ...

class UnpinRequest(_message.Message):
    __slots__ = ("window_id", "pin_id", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    PIN_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    pin_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., pin_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UnpinResponse(_message.Message):
    __slots__ = ("pins_tokens",)
    PINS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    pins_tokens: int
    def __init__(self, pins_tokens: _Optional[int] = ...) -> None: ...

class StateEntryInput(_message.Message):
    __slots__ = ("section", "key", "text", "value")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    section: str
    key: str
    text: str
    value: str
    def __init__(self, section: _Optional[str] = ..., key: _Optional[str] = ..., text: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class StateEntryName(_message.Message):
    __slots__ = ("section", "key", "text")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    section: str
    key: str
    text: str
    def __init__(self, section: _Optional[str] = ..., key: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class PatchStateRequest(_message.Message):
    __slots__ = ("window_id", "set", "remove", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    set: _containers.RepeatedCompositeFieldContainer[StateEntryInput]
    remove: _containers.RepeatedCompositeFieldContainer[StateEntryName]
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., set: _Optional[_Iterable[_Union[StateEntryInput, _Mapping]]] = ..., remove: _Optional[_Iterable[_Union[StateEntryName, _Mapping]]] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PatchStateResponse(_message.Message):
    __slots__ = ("changed_count",)
    CHANGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    changed_count: int
    def __init__(self, changed_count: _Optional[int] = ...) -> None: ...

class PackRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "without_recall", "if_prefix_sha", "if_prefix_bytes", "files")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_RECALL_FIELD_NUMBER: _ClassVar[int]
    IF_PREFIX_SHA_FIELD_NUMBER: _ClassVar[int]
    IF_PREFIX_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    without_recall: bool
    if_prefix_sha: str
    if_prefix_bytes: int
    files: _chat_history_pb2.FileDelivery
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., without_recall: _Optional[bool] = ..., if_prefix_sha: _Optional[str] = ..., if_prefix_bytes: _Optional[int] = ..., files: _Optional[_Union[_chat_history_pb2.FileDelivery, str]] = ...) -> None: ...

class PackBodyRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "without_recall")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_RECALL_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    without_recall: bool
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., without_recall: _Optional[bool] = ...) -> None: ...

class PackBodyResponse(_message.Message):
    __slots__ = ("pack", "chunk")
    PACK_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    pack: PackResponse
    chunk: bytes
    def __init__(self, pack: _Optional[_Union[PackResponse, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class PackZones(_message.Message):
    __slots__ = ("system", "note", "verbatim", "masked", "digests", "segments", "state", "recalled", "pins", "conversation")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    VERBATIM_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    system: int
    note: int
    verbatim: int
    masked: int
    digests: int
    segments: int
    state: int
    recalled: int
    pins: int
    conversation: int
    def __init__(self, system: _Optional[int] = ..., note: _Optional[int] = ..., verbatim: _Optional[int] = ..., masked: _Optional[int] = ..., digests: _Optional[int] = ..., segments: _Optional[int] = ..., state: _Optional[int] = ..., recalled: _Optional[int] = ..., pins: _Optional[int] = ..., conversation: _Optional[int] = ...) -> None: ...

class PackOmissions(_message.Message):
    __slots__ = ("step_count", "tokens", "refs")
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    REFS_FIELD_NUMBER: _ClassVar[int]
    step_count: int
    tokens: int
    refs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, step_count: _Optional[int] = ..., tokens: _Optional[int] = ..., refs: _Optional[_Iterable[str]] = ...) -> None: ...

class PackResponse(_message.Message):
    __slots__ = ("messages_json", "prefix_bytes", "prefix_sha", "tokens", "tokens_by_zone", "step_count", "omitted", "epoch", "last_seq", "is_waiting", "fold_eta_steps", "wrap_up", "offset_bytes", "calibrated_tokens", "breakpoints", "pack_id", "recalled_refs", "annotations", "spans", "known_span_count", "is_catching_up", "files")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    PREFIX_BYTES_FIELD_NUMBER: _ClassVar[int]
    PREFIX_SHA_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BY_ZONE_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    IS_WAITING_FIELD_NUMBER: _ClassVar[int]
    FOLD_ETA_STEPS_FIELD_NUMBER: _ClassVar[int]
    WRAP_UP_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    CALIBRATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    PACK_ID_FIELD_NUMBER: _ClassVar[int]
    RECALLED_REFS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_SPAN_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_CATCHING_UP_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    messages_json: str
    prefix_bytes: int
    prefix_sha: str
    tokens: int
    tokens_by_zone: PackZones
    step_count: int
    omitted: PackOmissions
    epoch: int
    last_seq: int
    is_waiting: bool
    fold_eta_steps: int
    wrap_up: bool
    offset_bytes: int
    calibrated_tokens: int
    breakpoints: _containers.RepeatedCompositeFieldContainer[CacheBreakpoint]
    pack_id: str
    recalled_refs: _containers.RepeatedScalarFieldContainer[str]
    annotations: _containers.ScalarMap[str, str]
    spans: _containers.RepeatedCompositeFieldContainer[PackSpan]
    known_span_count: int
    is_catching_up: bool
    files: _containers.RepeatedCompositeFieldContainer[_chat_history_pb2.BodyFile]
    def __init__(self, messages_json: _Optional[str] = ..., prefix_bytes: _Optional[int] = ..., prefix_sha: _Optional[str] = ..., tokens: _Optional[int] = ..., tokens_by_zone: _Optional[_Union[PackZones, _Mapping]] = ..., step_count: _Optional[int] = ..., omitted: _Optional[_Union[PackOmissions, _Mapping]] = ..., epoch: _Optional[int] = ..., last_seq: _Optional[int] = ..., is_waiting: _Optional[bool] = ..., fold_eta_steps: _Optional[int] = ..., wrap_up: _Optional[bool] = ..., offset_bytes: _Optional[int] = ..., calibrated_tokens: _Optional[int] = ..., breakpoints: _Optional[_Iterable[_Union[CacheBreakpoint, _Mapping]]] = ..., pack_id: _Optional[str] = ..., recalled_refs: _Optional[_Iterable[str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., spans: _Optional[_Iterable[_Union[PackSpan, _Mapping]]] = ..., known_span_count: _Optional[int] = ..., is_catching_up: _Optional[bool] = ..., files: _Optional[_Iterable[_Union[_chat_history_pb2.BodyFile, _Mapping]]] = ...) -> None: ...

class PackSpan(_message.Message):
    __slots__ = ("pointer", "first_line", "last_line", "author", "ref", "trust")
    POINTER_FIELD_NUMBER: _ClassVar[int]
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    LAST_LINE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    pointer: str
    first_line: int
    last_line: int
    author: str
    ref: str
    trust: str
    def __init__(self, pointer: _Optional[str] = ..., first_line: _Optional[int] = ..., last_line: _Optional[int] = ..., author: _Optional[str] = ..., ref: _Optional[str] = ..., trust: _Optional[str] = ...) -> None: ...

class CacheBreakpoint(_message.Message):
    __slots__ = ("pointer", "zone", "tokens")
    POINTER_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    pointer: str
    zone: str
    tokens: int
    def __init__(self, pointer: _Optional[str] = ..., zone: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class FoldReceipt(_message.Message):
    __slots__ = ("epoch", "reason", "created_at", "last_seq", "step_count", "tokens_before", "tokens_after", "rules", "masked_steps", "merged_step_count", "dropped_count", "summaries", "state_tokens", "state_left_out_count", "first_change", "tokens_kept", "tokens_written_again", "pays_after_steps", "state_added", "state_removed", "token_factor", "prepared_last_seq", "checkpoint", "left_out_refs", "left_out_step_count")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    MASKED_STEPS_FIELD_NUMBER: _ClassVar[int]
    MERGED_STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    STATE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STATE_LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_CHANGE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_KEPT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_WRITTEN_AGAIN_FIELD_NUMBER: _ClassVar[int]
    PAYS_AFTER_STEPS_FIELD_NUMBER: _ClassVar[int]
    STATE_ADDED_FIELD_NUMBER: _ClassVar[int]
    STATE_REMOVED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FACTOR_FIELD_NUMBER: _ClassVar[int]
    PREPARED_LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_REFS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    reason: str
    created_at: _timestamp_pb2.Timestamp
    last_seq: int
    step_count: int
    tokens_before: int
    tokens_after: int
    rules: _containers.RepeatedScalarFieldContainer[str]
    masked_steps: _containers.RepeatedScalarFieldContainer[int]
    merged_step_count: int
    dropped_count: int
    summaries: _containers.RepeatedCompositeFieldContainer[PackPart]
    state_tokens: int
    state_left_out_count: int
    first_change: str
    tokens_kept: int
    tokens_written_again: int
    pays_after_steps: int
    state_added: _containers.RepeatedCompositeFieldContainer[StateChange]
    state_removed: _containers.RepeatedCompositeFieldContainer[StateChange]
    token_factor: float
    prepared_last_seq: int
    checkpoint: int
    left_out_refs: _containers.RepeatedScalarFieldContainer[str]
    left_out_step_count: int
    def __init__(self, epoch: _Optional[int] = ..., reason: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seq: _Optional[int] = ..., step_count: _Optional[int] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., rules: _Optional[_Iterable[str]] = ..., masked_steps: _Optional[_Iterable[int]] = ..., merged_step_count: _Optional[int] = ..., dropped_count: _Optional[int] = ..., summaries: _Optional[_Iterable[_Union[PackPart, _Mapping]]] = ..., state_tokens: _Optional[int] = ..., state_left_out_count: _Optional[int] = ..., first_change: _Optional[str] = ..., tokens_kept: _Optional[int] = ..., tokens_written_again: _Optional[int] = ..., pays_after_steps: _Optional[int] = ..., state_added: _Optional[_Iterable[_Union[StateChange, _Mapping]]] = ..., state_removed: _Optional[_Iterable[_Union[StateChange, _Mapping]]] = ..., token_factor: _Optional[float] = ..., prepared_last_seq: _Optional[int] = ..., checkpoint: _Optional[int] = ..., left_out_refs: _Optional[_Iterable[str]] = ..., left_out_step_count: _Optional[int] = ...) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("number", "reason", "label", "created_by", "created_at", "epoch", "last_seq", "step_count", "imported")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    number: int
    reason: str
    label: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    epoch: int
    last_seq: int
    step_count: int
    imported: _message_pb2.Imported
    def __init__(self, number: _Optional[int] = ..., reason: _Optional[str] = ..., label: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., epoch: _Optional[int] = ..., last_seq: _Optional[int] = ..., step_count: _Optional[int] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class CreateCheckpointRequest(_message.Message):
    __slots__ = ("window_id", "label", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    label: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., label: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateCheckpointResponse(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: Checkpoint
    def __init__(self, checkpoint: _Optional[_Union[Checkpoint, _Mapping]] = ...) -> None: ...

class ListCheckpointsRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "page_size", "page_token")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints", "next_page_token")
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[Checkpoint]
    next_page_token: str
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[Checkpoint, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("window_id", "checkpoint", "expected_last_seq", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    checkpoint: int
    expected_last_seq: int
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., checkpoint: _Optional[int] = ..., expected_last_seq: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ReportResponseRequest(_message.Message):
    __slots__ = ("window_id", "pack_id", "invalid", "expected_last_seq", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    PACK_ID_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    pack_id: str
    invalid: bool
    expected_last_seq: int
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., pack_id: _Optional[str] = ..., invalid: _Optional[bool] = ..., expected_last_seq: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ReportResponseResponse(_message.Message):
    __slots__ = ("pack", "receipt", "left_out_message_ids", "left_out_message_count")
    PACK_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    pack: PackResponse
    receipt: FoldReceipt
    left_out_message_ids: _containers.RepeatedScalarFieldContainer[str]
    left_out_message_count: int
    def __init__(self, pack: _Optional[_Union[PackResponse, _Mapping]] = ..., receipt: _Optional[_Union[FoldReceipt, _Mapping]] = ..., left_out_message_ids: _Optional[_Iterable[str]] = ..., left_out_message_count: _Optional[int] = ...) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("receipt", "left_out_message_ids", "left_out_message_count")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    receipt: FoldReceipt
    left_out_message_ids: _containers.RepeatedScalarFieldContainer[str]
    left_out_message_count: int
    def __init__(self, receipt: _Optional[_Union[FoldReceipt, _Mapping]] = ..., left_out_message_ids: _Optional[_Iterable[str]] = ..., left_out_message_count: _Optional[int] = ...) -> None: ...

class StateChange(_message.Message):
    __slots__ = ("section", "ref")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    section: str
    ref: str
    def __init__(self, section: _Optional[str] = ..., ref: _Optional[str] = ...) -> None: ...

class FoldRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "dry_run", "instructions")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    dry_run: bool
    instructions: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., dry_run: _Optional[bool] = ..., instructions: _Optional[str] = ...) -> None: ...

class FoldResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: FoldReceipt
    def __init__(self, receipt: _Optional[_Union[FoldReceipt, _Mapping]] = ...) -> None: ...

class PrepareFoldRequest(_message.Message):
    __slots__ = ("window_id", "expected_epoch", "subject_user_id", "instructions")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    expected_epoch: int
    subject_user_id: str
    instructions: str
    def __init__(self, window_id: _Optional[str] = ..., expected_epoch: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., instructions: _Optional[str] = ...) -> None: ...

class PrepareFoldResponse(_message.Message):
    __slots__ = ("receipt", "epoch")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    receipt: FoldReceipt
    epoch: int
    def __init__(self, receipt: _Optional[_Union[FoldReceipt, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class CommitFoldRequest(_message.Message):
    __slots__ = ("window_id", "expected_epoch", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    expected_epoch: int
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., expected_epoch: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CommitFoldResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: FoldReceipt
    def __init__(self, receipt: _Optional[_Union[FoldReceipt, _Mapping]] = ...) -> None: ...

class ForkWindowRequest(_message.Message):
    __slots__ = ("window_id", "task", "inherits", "model", "context_tokens", "system_prompt", "tools_json", "key_ttl_s", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    INHERITS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    KEY_TTL_S_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    task: str
    inherits: ForkInheritance
    model: str
    context_tokens: int
    system_prompt: str
    tools_json: str
    key_ttl_s: int
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., task: _Optional[str] = ..., inherits: _Optional[_Union[ForkInheritance, str]] = ..., model: _Optional[str] = ..., context_tokens: _Optional[int] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., key_ttl_s: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForkWindowResponse(_message.Message):
    __slots__ = ("window", "ref", "key", "key_expires_at")
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KEY_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    window: Window
    ref: str
    key: str
    key_expires_at: _timestamp_pb2.Timestamp
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ..., ref: _Optional[str] = ..., key: _Optional[str] = ..., key_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MergeWindowRequest(_message.Message):
    __slots__ = ("window_id", "tokens_max", "tool_call_id", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    tokens_max: int
    tool_call_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., tokens_max: _Optional[int] = ..., tool_call_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class MergeWindowResponse(_message.Message):
    __slots__ = ("context_id", "window_id", "ref", "message_id", "tokens", "is_whole", "fork_ref")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    IS_WHOLE_FIELD_NUMBER: _ClassVar[int]
    FORK_REF_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    window_id: str
    ref: str
    message_id: str
    tokens: int
    is_whole: bool
    fork_ref: str
    def __init__(self, context_id: _Optional[str] = ..., window_id: _Optional[str] = ..., ref: _Optional[str] = ..., message_id: _Optional[str] = ..., tokens: _Optional[int] = ..., is_whole: _Optional[bool] = ..., fork_ref: _Optional[str] = ...) -> None: ...

class ExpandRequest(_message.Message):
    __slots__ = ("window_id", "ref", "subject_user_id", "offset_bytes", "length_bytes")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_BYTES_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    ref: str
    subject_user_id: str
    offset_bytes: int
    length_bytes: int
    def __init__(self, window_id: _Optional[str] = ..., ref: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., length_bytes: _Optional[int] = ...) -> None: ...

class ExpandResponse(_message.Message):
    __slots__ = ("content", "sha256", "messages", "next_ref", "is_json", "size_bytes", "media_type")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_REF_FIELD_NUMBER: _ClassVar[int]
    IS_JSON_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    sha256: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    next_ref: str
    is_json: bool
    size_bytes: int
    media_type: str
    def __init__(self, content: _Optional[bytes] = ..., sha256: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., next_ref: _Optional[str] = ..., is_json: _Optional[bool] = ..., size_bytes: _Optional[int] = ..., media_type: _Optional[str] = ...) -> None: ...

class SearchWindowRequest(_message.Message):
    __slots__ = ("window_id", "query", "limit", "filter", "step_from", "step_to", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    query: str
    limit: int
    filter: _contexts_pb2.RecallFilter
    step_from: int
    step_to: int
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., query: _Optional[str] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[_contexts_pb2.RecallFilter, _Mapping]] = ..., step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class SearchWindowResponse(_message.Message):
    __slots__ = ("hits", "by_meaning")
    HITS_FIELD_NUMBER: _ClassVar[int]
    BY_MEANING_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[WindowHit]
    by_meaning: _contexts_pb2.ByMeaning
    def __init__(self, hits: _Optional[_Iterable[_Union[WindowHit, _Mapping]]] = ..., by_meaning: _Optional[_Union[_contexts_pb2.ByMeaning, _Mapping]] = ...) -> None: ...

class WindowHit(_message.Message):
    __slots__ = ("item", "step_from", "step_to", "zone")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    item: _contexts_pb2.RecalledItem
    step_from: int
    step_to: int
    zone: str
    def __init__(self, item: _Optional[_Union[_contexts_pb2.RecalledItem, _Mapping]] = ..., step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., zone: _Optional[str] = ...) -> None: ...

class PackPart(_message.Message):
    __slots__ = ("zone", "level", "step_from", "step_to", "ref", "tokens", "method", "verdict")
    ZONE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    zone: str
    level: int
    step_from: int
    step_to: int
    ref: str
    tokens: int
    method: str
    verdict: str
    def __init__(self, zone: _Optional[str] = ..., level: _Optional[int] = ..., step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., ref: _Optional[str] = ..., tokens: _Optional[int] = ..., method: _Optional[str] = ..., verdict: _Optional[str] = ...) -> None: ...

class ExplainPackRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class ExplainPackResponse(_message.Message):
    __slots__ = ("parts", "tokens_by_zone", "epoch")
    PARTS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BY_ZONE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[PackPart]
    tokens_by_zone: PackZones
    epoch: int
    def __init__(self, parts: _Optional[_Iterable[_Union[PackPart, _Mapping]]] = ..., tokens_by_zone: _Optional[_Union[PackZones, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class GetLineageRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "page_size", "page_token")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetLineageResponse(_message.Message):
    __slots__ = ("receipts", "next_page_token")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[FoldReceipt]
    next_page_token: str
    def __init__(self, receipts: _Optional[_Iterable[_Union[FoldReceipt, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class TraceMessageRequest(_message.Message):
    __slots__ = ("window_id", "ref", "text", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    ref: str
    text: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., ref: _Optional[str] = ..., text: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class TraceMessageResponse(_message.Message):
    __slots__ = ("messages", "sentence", "next_ref", "epoch")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    NEXT_REF_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[TracedMessage]
    sentence: TracedSentence
    next_ref: str
    epoch: int
    def __init__(self, messages: _Optional[_Iterable[_Union[TracedMessage, _Mapping]]] = ..., sentence: _Optional[_Union[TracedSentence, _Mapping]] = ..., next_ref: _Optional[str] = ..., epoch: _Optional[int] = ...) -> None: ...

class TracedMessage(_message.Message):
    __slots__ = ("ref", "place", "step_from", "step_to", "since", "is_whole", "lines")
    REF_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    IS_WHOLE_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    ref: str
    place: str
    step_from: int
    step_to: int
    since: TracedBreak
    is_whole: bool
    lines: _containers.RepeatedCompositeFieldContainer[ShownLine]
    def __init__(self, ref: _Optional[str] = ..., place: _Optional[str] = ..., step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., since: _Optional[_Union[TracedBreak, _Mapping]] = ..., is_whole: _Optional[bool] = ..., lines: _Optional[_Iterable[_Union[ShownLine, _Mapping]]] = ...) -> None: ...

class TracedBreak(_message.Message):
    __slots__ = ("epoch", "reason", "rule", "created_at")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    reason: str
    rule: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, epoch: _Optional[int] = ..., reason: _Optional[str] = ..., rule: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ShownLine(_message.Message):
    __slots__ = ("zone", "ref", "text")
    ZONE_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    zone: str
    ref: str
    text: str
    def __init__(self, zone: _Optional[str] = ..., ref: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class TracedSentence(_message.Message):
    __slots__ = ("ref", "is_shown", "last_epoch", "removed_by", "is_exact")
    REF_FIELD_NUMBER: _ClassVar[int]
    IS_SHOWN_FIELD_NUMBER: _ClassVar[int]
    LAST_EPOCH_FIELD_NUMBER: _ClassVar[int]
    REMOVED_BY_FIELD_NUMBER: _ClassVar[int]
    IS_EXACT_FIELD_NUMBER: _ClassVar[int]
    ref: str
    is_shown: bool
    last_epoch: int
    removed_by: TracedBreak
    is_exact: bool
    def __init__(self, ref: _Optional[str] = ..., is_shown: _Optional[bool] = ..., last_epoch: _Optional[int] = ..., removed_by: _Optional[_Union[TracedBreak, _Mapping]] = ..., is_exact: _Optional[bool] = ...) -> None: ...

class RecordUsageRequest(_message.Message):
    __slots__ = ("window_id", "epoch", "pack_tokens", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PACK_TOKENS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    epoch: int
    pack_tokens: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., epoch: _Optional[int] = ..., pack_tokens: _Optional[int] = ..., input_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., cache_write_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecordUsageResponse(_message.Message):
    __slots__ = ("token_factor", "typical_factor", "is_clamped")
    TOKEN_FACTOR_FIELD_NUMBER: _ClassVar[int]
    TYPICAL_FACTOR_FIELD_NUMBER: _ClassVar[int]
    IS_CLAMPED_FIELD_NUMBER: _ClassVar[int]
    token_factor: float
    typical_factor: float
    is_clamped: bool
    def __init__(self, token_factor: _Optional[float] = ..., typical_factor: _Optional[float] = ..., is_clamped: _Optional[bool] = ...) -> None: ...

class RecordOutcomeRequest(_message.Message):
    __slots__ = ("window_id", "step_from", "step_to", "success", "quality", "lesson", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    QUALITY_FIELD_NUMBER: _ClassVar[int]
    LESSON_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    step_from: int
    step_to: int
    success: bool
    quality: float
    lesson: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., success: _Optional[bool] = ..., quality: _Optional[float] = ..., lesson: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecordOutcomeResponse(_message.Message):
    __slots__ = ("step_from", "step_to", "memory_id")
    STEP_FROM_FIELD_NUMBER: _ClassVar[int]
    STEP_TO_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    step_from: int
    step_to: int
    memory_id: str
    def __init__(self, step_from: _Optional[int] = ..., step_to: _Optional[int] = ..., memory_id: _Optional[str] = ...) -> None: ...

class PackCost(_message.Message):
    __slots__ = ("read_tokens", "written_tokens", "base_tokens", "price")
    READ_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BASE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    read_tokens: int
    written_tokens: int
    base_tokens: float
    price: float
    def __init__(self, read_tokens: _Optional[int] = ..., written_tokens: _Optional[int] = ..., base_tokens: _Optional[float] = ..., price: _Optional[float] = ...) -> None: ...

class EstimateCostRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "steps", "step_tokens")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    STEP_TOKENS_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    steps: int
    step_tokens: int
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., steps: _Optional[int] = ..., step_tokens: _Optional[int] = ...) -> None: ...

class EstimateCostResponse(_message.Message):
    __slots__ = ("warm", "cold", "fold", "ahead", "folds", "sliding", "step_tokens", "typical_factor")
    WARM_FIELD_NUMBER: _ClassVar[int]
    COLD_FIELD_NUMBER: _ClassVar[int]
    FOLD_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    FOLDS_FIELD_NUMBER: _ClassVar[int]
    SLIDING_FIELD_NUMBER: _ClassVar[int]
    STEP_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TYPICAL_FACTOR_FIELD_NUMBER: _ClassVar[int]
    warm: PackCost
    cold: PackCost
    fold: PackCost
    ahead: PackCost
    folds: int
    sliding: PackCost
    step_tokens: int
    typical_factor: float
    def __init__(self, warm: _Optional[_Union[PackCost, _Mapping]] = ..., cold: _Optional[_Union[PackCost, _Mapping]] = ..., fold: _Optional[_Union[PackCost, _Mapping]] = ..., ahead: _Optional[_Union[PackCost, _Mapping]] = ..., folds: _Optional[int] = ..., sliding: _Optional[_Union[PackCost, _Mapping]] = ..., step_tokens: _Optional[int] = ..., typical_factor: _Optional[float] = ...) -> None: ...

class WindowStatsRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class WindowStatsResponse(_message.Message):
    __slots__ = ("step_count", "log_tokens", "tokens", "tokens_by_zone", "levels", "savings", "breaks", "predicted", "predicted_cached_share", "usage", "token_factor", "typical_factor", "tokens_are_estimated")
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOG_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BY_ZONE_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    SAVINGS_FIELD_NUMBER: _ClassVar[int]
    BREAKS_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_CACHED_SHARE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FACTOR_FIELD_NUMBER: _ClassVar[int]
    TYPICAL_FACTOR_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ARE_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    step_count: int
    log_tokens: int
    tokens: int
    tokens_by_zone: PackZones
    levels: _containers.RepeatedCompositeFieldContainer[LevelStats]
    savings: float
    breaks: _containers.RepeatedCompositeFieldContainer[BreakCount]
    predicted: PackCost
    predicted_cached_share: float
    usage: WindowUsage
    token_factor: float
    typical_factor: float
    tokens_are_estimated: bool
    def __init__(self, step_count: _Optional[int] = ..., log_tokens: _Optional[int] = ..., tokens: _Optional[int] = ..., tokens_by_zone: _Optional[_Union[PackZones, _Mapping]] = ..., levels: _Optional[_Iterable[_Union[LevelStats, _Mapping]]] = ..., savings: _Optional[float] = ..., breaks: _Optional[_Iterable[_Union[BreakCount, _Mapping]]] = ..., predicted: _Optional[_Union[PackCost, _Mapping]] = ..., predicted_cached_share: _Optional[float] = ..., usage: _Optional[_Union[WindowUsage, _Mapping]] = ..., token_factor: _Optional[float] = ..., typical_factor: _Optional[float] = ..., tokens_are_estimated: _Optional[bool] = ...) -> None: ...

class LevelStats(_message.Message):
    __slots__ = ("zone", "step_count", "log_tokens", "tokens", "ratio")
    ZONE_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LOG_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    RATIO_FIELD_NUMBER: _ClassVar[int]
    zone: str
    step_count: int
    log_tokens: int
    tokens: int
    ratio: float
    def __init__(self, zone: _Optional[str] = ..., step_count: _Optional[int] = ..., log_tokens: _Optional[int] = ..., tokens: _Optional[int] = ..., ratio: _Optional[float] = ...) -> None: ...

class BreakCount(_message.Message):
    __slots__ = ("reason", "count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: str
    count: int
    def __init__(self, reason: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class WindowUsage(_message.Message):
    __slots__ = ("call_count", "pack_tokens", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "cached_share", "base_tokens", "price")
    CALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    PACK_TOKENS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_SHARE_FIELD_NUMBER: _ClassVar[int]
    BASE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    call_count: int
    pack_tokens: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cached_share: float
    base_tokens: float
    price: float
    def __init__(self, call_count: _Optional[int] = ..., pack_tokens: _Optional[int] = ..., input_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., cache_write_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cached_share: _Optional[float] = ..., base_tokens: _Optional[float] = ..., price: _Optional[float] = ...) -> None: ...

class StateEntry(_message.Message):
    __slots__ = ("section", "key", "text", "value", "ref", "created_at", "source", "count", "failure_count", "last_step", "speaker")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    section: str
    key: str
    text: str
    value: str
    ref: str
    created_at: _timestamp_pb2.Timestamp
    source: str
    count: int
    failure_count: int
    last_step: int
    speaker: str
    def __init__(self, section: _Optional[str] = ..., key: _Optional[str] = ..., text: _Optional[str] = ..., value: _Optional[str] = ..., ref: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ..., count: _Optional[int] = ..., failure_count: _Optional[int] = ..., last_step: _Optional[int] = ..., speaker: _Optional[str] = ...) -> None: ...

class GetStateRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "sections", "page_size", "page_token")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    sections: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., sections: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetStateResponse(_message.Message):
    __slots__ = ("entries", "next_page_token")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[StateEntry]
    next_page_token: str
    def __init__(self, entries: _Optional[_Iterable[_Union[StateEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
